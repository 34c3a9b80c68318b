package versioned

import (
	"blobio/internal/base/fault"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand"
	"reflect"
	"strings"
	"testing"
)

// FuzzRecord: encoding and decoding an accepted record gives the same record.
func FuzzRecord(f *testing.F) {
	r := &record{SealHead: records.Head(3), Order: "little", Spec: spec{Name: "a", Type: "float64", Shape: []int64{2, 100}, Chunk: 512},
		Generations: []geometry{newGeometry(1, 200, 3, 64), newGeometry(4, 300, 2, 64)},
		Files:       []fileInfo{{Name: dataName(1, 1, 0), Gen: 1, Born: 1, Size: 900, Sum: strings.Repeat("0a", 16), Segs: []int{0, 2}}},
		Versions:    []verInfo{{VersionInfo: VersionInfo{Generation: 1, Shape: []int64{2, 100}}}, {VersionInfo: VersionInfo{Number: 7, Label: "x", Generation: 4, Shape: []int64{3, 100}, Changed: 1, Written: 2}}}}
	b, err := r.encode()
	must(f, err)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte("{}\ncrc32 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// The fuzzer cannot find a right checksum, so also try the input with the right checksum.
		for _, b := range [][]byte{b, resummed(b)} {
			r, err := decodeRecord(b, "x")
			if err != nil {
				continue
			}
			out, err := r.encode()
			must(t, err)
			again, err := decodeRecord(out, "x")
			if err != nil || !reflect.DeepEqual(r, again) {
				t.Fatalf("%+v\n%+v\n%v", r, again, err)
			}
			for _, g := range r.Generations { // sizes computed from the fields are bounded, too
				if n := g.Seg * 8 / int64(r.Spec.Chunk); n > 8*maxSegChunks || n < 0 || g.segLen(g.Segs-1) < 0 {
					t.Fatalf("%+v", g)
				}
			}
			for _, v := range r.versions() {
				if g, ok := r.generation(v.Generation); !ok || elems(v.Shape) > g.Capacity {
					t.Fatalf("%+v", v)
				}
			}
		}
	})
}

// resummed sets the right checksum in a record.
func resummed(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	line = append(bytes.Clone(line), '\n')
	return fmt.Appendf(line, "crc32 %08x\n", crc32.ChecksumIEEE(line))
}

// FuzzTable: encoding and decoding an accepted table gives the same table, and its entries are
// within bounds.
func FuzzTable(f *testing.F) {
	var b []byte
	for i := range int64(5) {
		b = appendEntry(b, entry{i * 3, i, i * 512, 512, hashChunk([]byte{byte(i)})})
	}
	f.Add(b, int64(20), int64(5*512), int64(9))
	f.Add(b[:50], int64(20), int64(5*512), int64(9))
	f.Fuzz(func(t *testing.T, b []byte, chunks, data, born int64) {
		chunks = min(max(chunks, 0), 1<<16)
		es, err := decodeTable(b, "x", 1, chunks, data, born)
		if err != nil {
			return
		}
		var out []byte
		x := newSegIndex(chunks)
		for _, e := range es {
			out = appendEntry(out, e)
			if e.off < 0 || e.stored < 0 || e.off+e.stored > data || e.off+e.stored < 0 {
				t.Fatalf("%+v of %d bytes", e, data)
			}
		}
		if !bytes.Equal(out, b) {
			t.Fatal("another table")
		}
		x.add(3, es)
		for _, e := range es {
			p, ok := x.find(e.chunk, e.since)
			if !ok || p.since != e.since {
				t.Fatalf("%+v: found %+v", e, p)
			}
		}
		x.prune([]int64{born})
		x.live([]int64{born}, nil, born+1, func(p fileEntry) {
			if p.since > born {
				t.Fatalf("%+v is seen by %d", p, born)
			}
		})
	})
}

// FuzzLevelTable: in an accepted level array the boxes follow one another within the array.
func FuzzLevelTable(f *testing.F) {
	for n := range 3 {
		l := LevelInfo{Level: n, Dim: 2, Comps: 1 + n, Ratio: 2, Boxes: boxes(rand.New(rand.NewSource(1)), 2*n, 2)}
		l.layout()
		b := append(l.header(crc32.Checksum(l.table(), castagnoli)), l.table()...)
		f.Add(b, l.used())
		f.Add(b[:len(b)*2/3], l.used())
	}
	f.Fuzz(func(t *testing.T, b []byte, have int64) {
		for _, b := range [][]byte{b, sealedTable(b)} {
			l, err := readTable("x", have, func(lo, hi int64, dst []byte) error {
				if lo < 0 || hi > have || hi-lo != int64(len(dst)) {
					t.Fatalf("reads [%d, %d) of %d into %d", lo, hi, have, len(dst))
				}
				if hi > int64(len(b)) {
					return fault.ErrTruncated
				}
				copy(dst, b[lo:hi])
				return nil
			})
			if err != nil {
				continue
			}
			at := tableBytes(len(l.Boxes))
			for i := range l.Boxes {
				lo, hi := l.dataRange(i)
				if lo != at || hi < lo || hi > have || (hi-lo)/8 != l.Boxes[i].Cells()*int64(l.Comps) {
					t.Fatalf("box %d at [%d, %d) of %d", i, lo, hi, have)
				}
				at = hi
			}
			if at != l.used() {
				t.Fatalf("%d bytes in use, want %d", l.used(), at)
			}
		}
	})
}

// sealedTable returns a level array with the right checksums.
func sealedTable(b []byte) []byte {
	b = bytes.Clone(b)
	if len(b) < levelHeader {
		return b
	}
	copy(b, levelMagic)
	n := int64(binary.LittleEndian.Uint32(b[20:]))
	if end := tableBytes(int(min(n, maxBoxes))); end <= int64(len(b)) {
		binary.LittleEndian.PutUint32(b[76:], crc32.Checksum(b[levelHeader:end], castagnoli))
	}
	binary.LittleEndian.PutUint32(b[80:], crc32.Checksum(b[:80], castagnoli))
	return b
}
