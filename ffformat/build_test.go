package ffformat

import (
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"

	"pgregory.net/rapid"
)

// spec describes a container of a test file. A chunk of -1 means that the container has no content.
type spec struct {
	id          int32
	room, chunk int64
}

// seven are the containers of checkpoint 7 of the example, in units of 100 ints.
var seven = [][]spec{
	{{1, 400, 400}, {2, 800, 400}, {3, 1200, 800}},
	{{4, 1600, 1600}},
	{{2, 1600, -1}, {3, 1600, -1}},
	{{5, 2000, 2000}},
	{{2, 800, -1}, {3, 800, -1}},
}

// six are the containers of checkpoint 6, all full.
var six = [][]spec{
	{{1, 400, 400}, {2, 800, 800}, {3, 1200, 1200}},
	{{4, 1600, 1600}},
	{{2, 1600, 1600}, {3, 1600, 1600}},
	{{5, 2000, 2000}},
	{{2, 800, 800}, {3, 800, 800}},
}

// fill writes the content of a chunk.
func fill(p []byte, id, cid int32) {
	x := uint32(id)*2654435761 + uint32(cid)*40503 + 1
	for i := range p {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		p[i] = byte(x>>7) | 1 // never zero
	}
}

// layOut places containers by the growth rule and sets all fields except the hashes.
func layOut(l Layout, specs [][]spec) *File {
	f := &File{Layout: l, FB: FileBlock{MaxFs: -1, PtFs: -1, Timestamp: 1795220042}}
	if l.table().fb.ckptID.len > 0 {
		f.FB.CkptID = 7
	}
	ids := map[int32]int32{}
	count := map[int32]int32{}
	sum := map[int32]int64{}
	for _, b := range specs {
		var bl Block
		for _, s := range b {
			if _, ok := ids[s.id]; !ok {
				ids[s.id] = int32(len(ids))
			}
			c := Container{ID: s.id, ContainerID: count[s.id], HasContent: s.chunk >= 0, Dptr: sum[s.id], ChunkSize: max(0, s.chunk), ContainerSize: s.room}
			if l.table().vmd.idx.len > 0 {
				c.Idx = ids[s.id]
			}
			count[s.id]++
			sum[s.id] += s.room
			bl.Containers = append(bl.Containers, c)
		}
		f.Blocks = append(f.Blocks, bl)
	}
	f.layOut() //nolint:errcheck // the error for layout E is ignored, because some tests need sizes too large for it
	return f
}

// build makes a sound file like a file of FTI, but with the checksum that FTI's reader expects.
func build(t rapid.TB, l Layout, h Hash, blockSize int, specs [][]spec) (*File, []byte) {
	t.Helper()
	f := layOut(l, specs)
	f.Hash = h
	if h == Fast {
		f.BlockSize = blockSize
	}
	b := make([]byte, f.Size)
	for i := range f.Blocks {
		for j := range f.Blocks[i].Containers {
			c := &f.Blocks[i].Containers[j]
			p := b[c.Fptr : c.Fptr+c.ChunkSize]
			fill(p, c.ID, c.ContainerID)
			c.Hash = chunkHash(f, p)
		}
	}
	reseal(t, f, b)
	return f, b
}

// chunkHash computes the hash of a chunk in the simplest way.
func chunkHash(f *File, p []byte) digest {
	if f.Hash == MD5 {
		return md5.Sum(p)
	}
	var ds []byte
	for len(p) > 0 {
		k := min(len(p), f.BlockSize)
		d := fastBlock(p[:k])
		ds = append(ds, d[:]...)
		p = p[k:]
	}
	return fastChunk(ds)
}

// reseal computes the checksum and the hash of f and writes the metadata to b.
func reseal(t rapid.TB, f *File, b []byte) {
	t.Helper()
	sum := readerChecksum(f.Blocks)
	put(t, f, b)
	switch {
	case f.Hash == Fast:
		sum = fastChecksum(f.BlockSize)
	case f.Layout == LayoutA:
		d := md5.Sum(b[f.Layout.fbSize():])
		sum = hex.EncodeToString(d[:])
	case f.Layout == LayoutB:
		h := md5.New()
		for p := range f.all() {
			if p.HasContent && p.Fptr >= 0 && p.ChunkSize >= 0 && p.ChunkSize <= int64(len(b)) && p.Fptr <= int64(len(b))-p.ChunkSize {
				h.Write(b[p.Fptr : p.Fptr+p.ChunkSize])
			}
		}
		sum = hex.EncodeToString(h.Sum(nil))
	}
	must(t, f.seal(sum))
	put(t, f, b)
}

func put(t rapid.TB, f *File, b []byte) {
	t.Helper()
	pieces, err := f.encode()
	must(t, err)
	for _, p := range pieces {
		copy(b[p.Off:], p.Data)
	}
}

// findings returns the findings of Check, without the note about ids that no hash covers.
func findings(t rapid.TB, b []byte, name string, o *Options) []Finding {
	t.Helper()
	var all []Finding
	for f := range Check(context.Background(), bytes.NewReader(b), int64(len(b)), name, o) {
		if f.Severity != fault.Note || f.Field != "id" {
			all = append(all, f)
		}
	}
	return all
}

func md5Hex(b []byte) string {
	d := md5.Sum(b)
	return hex.EncodeToString(d[:])
}
