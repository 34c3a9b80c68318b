package check

import (
	"bytes"
	"errors"
	"io"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/unpack"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// container compares the bytes of a process-centric subfile outside of header and data with the bytes that blobio writes: HDF5
// metadata, which blobio itself hardly uses, and the gaps. A file of another program that later got a manifest has its
// datasets at other offsets, and is not compared.
func (c *checker) container(p *checkPart, f vfs.File) {
	if p.Info == nil || !p.Place.ByRank {
		return
	}
	if u, ok := f.(unpack.File); ok {
		f = u.File
	}
	own := p.Place.Clone()
	meta, err := own.Container(own.DataLen)
	if err != nil || own.Header.Off != p.Place.Header.Off || own.DataOff != p.Place.DataOff || own.Packed != nil && own.Packed.IndexOff != p.Place.Packed.IndexOff {
		return
	}
	got, want := make([]byte, own.DataOff), make([]byte, own.DataOff)
	for _, piece := range meta.Pieces {
		if piece.Off < own.DataOff {
			copy(want[piece.Off:], piece.Data)
		}
	}
	if err := layout.ReadFull(f, got, 0, p.Name, "HDF5 metadata"); err != nil {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return
	}
	if got[superblockVersion] != want[superblockVersion] {
		return // libhdf5 wrote the file, and its datasets have the same offsets by chance
	}
	copy(want[own.Header.Off:own.Header.Off+own.Header.Len], got[own.Header.Off:]) // leave out the header, because it has a checksum of its own
	if i := firstOther(got, want); i >= 0 {
		c.say(dataset.Warning, place{p.Name, int64(i), "HDF5 metadata"}, nil, "found %#02x, but blobio writes %#02x: other programs may fail to read the file", got[i], want[i])
	}
	if own.Packed != nil {
		end := own.DataOff + own.Packed.Stored
		c.spare(p, f, end, own.Packed.IndexOff-end, layout.DataPacked)
	}
}

// superblockVersion is the offset of the version in the HDF5 superblock, after the signature.
const superblockVersion = 8

func firstOther(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// spare reports whether n unused bytes, fewer than 8, are zeros. Bytes beyond the end of the file count as zeros.
func (c *checker) spare(p *checkPart, f io.ReaderAt, off, n int64, behind string) bool {
	var b [8]byte
	k, err := f.ReadAt(b[:n], off)
	if err != nil && !errors.Is(err, io.EOF) {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return false
	}
	for i, x := range b[:k] {
		if x != 0 {
			c.say(dataset.Warning, place{p.Name, off + int64(i), "padding behind " + behind}, nil, "found %#02x in unused padding, want 0", x)
			return false
		}
	}
	return true
}

// pads checks the bytes between the extents of a variable-centric subfile.
func (c *checker) pads(p *checkPart, f io.ReaderAt) {
	pl := p.Place
	if p.Info == nil || !pl.Grows {
		return
	}
	bad := 0
	for _, x := range pl.Header.Extents(true, 0, p.set.Records) {
		k := pl.Pad(x.Var)
		if k == 0 {
			continue
		}
		if off, n := pl.Header.At.Extent(x.Var, x.Rec); !c.spare(p, f, off+n, k, read.FieldOf(pl, x.Var, x.Rec+p.set.First)) {
			bad++
		}
		if bad == maxListed || c.ctx.Err() != nil {
			return
		}
	}
}
