package blob

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/blob/internal/layout"
)

// TestCompressedEntries: a wrong checksum, or a form of a later version, in any entry of the index is an error of whoever reads the chunk.
func TestCompressedEntries(t *testing.T) {
	le := binary.LittleEndian
	forms := map[byte]int{}
	for _, method := range []Method{Zstd, ShuffleZstd} {
		s := packedSample(t, 1, false, method)
		name := s.subfile(0)
		pl, _ := s.place(t, name)
		idx := pl.Packed.IndexOff
		ents := idx + layout.IndexHead + pl.TableLen()
		for k := int64(0); k < pl.Packed.Index.Total; k += int64(times(3, 1)) {
			at := ents + k*layout.IndexEntryLen
			forms[s.files[name][at+12]]++
			for what, c := range map[string]struct {
				change func(entry []byte)
				want   error
			}{
				"sum of the stored bytes": {func(e []byte) { le.PutUint32(e[16:], le.Uint32(e[16:])^1) }, ErrChecksum},
				"sum of the content":      {func(e []byte) { le.PutUint32(e[20:], le.Uint32(e[20:])^1) }, ErrChecksum},
				"form":                    {func(e []byte) { e[14] = 1 }, ErrCorrupt},
			} {
				b := slices.Clone(s.files[name])
				c.change(b[at : at+layout.IndexEntryLen])
				o := s.run(t, faulty{name: fmt.Sprintf("%s of entry %d", what, k), files: s.with(name, resealed(b, idx)), at: -1})
				if len(o.errs) == 0 || !errors.Is(o.errs[0], c.want) {
					t.Errorf("%v: %s of entry %d: reading: %v, want %v", method, what, k, o.errs, c.want)
				}
				if len(o.faults) == 0 {
					t.Errorf("%v: %s of entry %d: no finding", method, what, k)
				}
			}
		}
	}
	for f := byte(1); f < layout.FormCount; f++ {
		if forms[f] == 0 {
			t.Errorf("no entry of form %d: %v", f, forms)
		}
	}
}

// TestCompressedHead: each field of the head of the index, and the version in the header, is compared.
func TestCompressedHead(t *testing.T) {
	s := packedSample(t, 1, false, ShuffleZstd)
	name := s.subfile(0)
	pl, _ := s.place(t, name)
	base, fields := s.header(t, name)
	i := slices.IndexFunc(fields, func(f hdrField) bool { return f.kind == "attribute value" && f.of == layout.AttPacked })
	at := base + fields[i].off
	for _, v := range []uint64{0, layout.PackedVersion + 1, 1 << 31} {
		o := s.run(t, faulty{fmt.Sprintf("version %d", int32(v)), s.patch(name, at, s.number(4, v)), name, at})
		if len(o.errs) == 0 || !errors.Is(o.errs[0], ErrVersion) {
			t.Errorf("version %d: %v", int32(v), o.errs)
		}
	}
	for k := int64(0); k < layout.IndexHead; k++ {
		o := s.run(t, faulty{name: fmt.Sprintf("byte %d of the head", k), files: s.with(name, flipped(s.files[name], pl.Packed.IndexOff+k, 2)), at: -1})
		if len(o.errs) == 0 || len(o.faults) == 0 {
			t.Errorf("byte %d of the head: %v, %v", k, o.errs, o.faults)
		}
	}
}
