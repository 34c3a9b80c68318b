package blob

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
)

// A hdrField is one field of a CDF-5 header, found by walkHeader.
type hdrField struct {
	off  int64 // offset in the header
	n    int   // number of bytes
	kind string
	of   string // name of the dimension, attribute or variable
}

// walkHeader lists the fields of a CDF-5 header. It does not use the codec under test.
func walkHeader(b []byte, order binary.ByteOrder) []hdrField {
	w := &hdrWalk{b: b, order: order}
	w.add(3, "magic", "")
	w.add(1, "version", "")
	w.add(8, "numrecs", "")
	for range w.list("dim_list") {
		name := w.name("dimension")
		w.add(8, "dimension length", name)
	}
	w.atts("")
	for range w.list("var_list") {
		name := w.name("variable")
		for range w.num8("ndims", name) {
			w.add(8, "dimid", name)
		}
		w.atts(name + ":")
		w.add(4, "variable type", name)
		w.add(8, "vsize", name)
		w.add(8, "begin", name)
	}
	return w.out
}

type hdrWalk struct {
	b     []byte
	order binary.ByteOrder
	at    int64
	out   []hdrField
}

func (w *hdrWalk) add(n int, kind, of string) []byte {
	b := w.b[w.at : w.at+int64(n)]
	if n > 0 {
		w.out = append(w.out, hdrField{w.at, n, kind, of})
	}
	w.at += int64(n)
	return b
}

func (w *hdrWalk) num8(kind, of string) int64 { return int64(w.order.Uint64(w.add(8, kind, of))) }

func (w *hdrWalk) list(name string) int64 {
	w.add(4, "tag", name)
	return w.num8("nelems", name)
}

func (w *hdrWalk) name(kind string) string {
	n := w.num8("name length", kind)
	s := string(w.add(int(n), "name", kind))
	w.out[len(w.out)-1].of = s
	w.out[len(w.out)-2].of = s
	w.add(int(-n&3), "pad", s)
	return s
}

func (w *hdrWalk) atts(of string) {
	for range w.list(of + "att_list") {
		name := of + w.name("attribute")
		size := int64(cdf5.Type(w.order.Uint32(w.add(4, "attribute type", name))).Size())
		n := w.num8("attribute nelems", name) * size
		w.add(int(n), "attribute value", name)
		w.add(int(-n&3), "pad", name)
	}
}

// header returns the offset and the fields of a subfile's header.
func (s *sample) header(t testing.TB, name string) (base int64, fields []hdrField) {
	t.Helper()
	pl, _ := s.place(t, name)
	fields = walkHeader(s.files[name][pl.Header.Off:pl.Header.Off+pl.Header.Len], s.order())
	last := fields[len(fields)-1]
	if last.off+int64(last.n) != pl.Header.Len {
		t.Fatalf("%s: the fields end at %d, the header at %d", name, last.off+int64(last.n), pl.Header.Len)
	}
	return pl.Header.Off, fields
}

// bitsOf chooses the bits of a byte to flip.
func bitsOf(rnd *rand.Rand) []uint {
	if long {
		return []uint{0, 1, 2, 3, 4, 5, 6, 7}
	}
	return []uint{uint(rnd.Intn(8))}
}

func TestCorpusHeaderBits(t *testing.T) {
	eachSample(t, 1, func(t *testing.T, s *sample, rnd *rand.Rand) {
		for i := range len(s.files) {
			name := s.subfile(i)
			if s.files[name] == nil || !long && i == 0 && s.files[s.subfile(1)] != nil {
				continue // the first of several subfiles has no fields of its own kind
			}
			base, fields := s.header(t, name)
			for _, f := range fields {
				if !long && rnd.Intn(6) > 0 {
					continue
				}
				one := int64(-1)
				if !long && (f.n > 8 || f.kind == "name" || f.kind == "pad" || f.kind == "attribute value") {
					one = rnd.Int63n(int64(f.n))
				}
				for k := range int64(f.n) {
					if one >= 0 && k != one {
						continue
					}
					for _, bit := range bitsOf(rnd) {
						s.run(t, faulty{name: fmt.Sprintf("%s: bit %d of byte %d of %s %q", name, bit, k, f.kind, f.of),
							files: s.with(name, flipped(s.files[name], base+f.off+k, bit)), at: -1})
					}
				}
			}
		}
	})
}

// absurd lists wrong values for counts and lengths.
var absurd = []uint64{1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1, 0}

func (s *sample) number(n int, v uint64) []byte {
	b := make([]byte, 8)
	if n == 4 {
		s.order().PutUint32(b, uint32(v))
		return b[:4]
	}
	s.order().PutUint64(b, v)
	return b
}

func TestCorpusHeaderAbsurd(t *testing.T) {
	eachSample(t, 2, func(t *testing.T, s *sample, rnd *rand.Rand) {
		name := s.subfile(1)
		if s.files[name] == nil {
			name = s.subfile(0)
		}
		base, fields := s.header(t, name)
		for _, f := range fields {
			values := absurd
			if !long {
				values = slices.Clone(absurd)
				rnd.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
				values = values[:1]
			}
			switch f.kind {
			case "magic", "version", "name", "pad":
				continue
			case "attribute value":
				if f.n != 4 && f.n != 8 || strings.Contains(f.of, "description") {
					continue
				}
			}
			for _, v := range values {
				if f.n == 4 {
					v = uint64(uint32(v))
				}
				at := int64(-1)
				// If no later field can make the value valid, the error must have this field's offset.
				switch f.kind {
				case "nelems", "name length", "ndims", "dimid", "attribute nelems":
					if v > 0 {
						at = base + f.off
					}
				case "tag", "variable type", "attribute type":
					if v > 0 {
						at = base + f.off
					}
				case "begin":
					// header_blob has no begins.
					if s.layout == dataset.VariableCentric && v > 1<<62 {
						at = base + f.off
					}
				case "dimension length":
					if v > 1<<63-1 {
						at = base + f.off
					}
				}
				s.run(t, faulty{fmt.Sprintf("%s: %s %q is %#x", name, f.kind, f.of, v),
					s.patch(name, base+f.off, s.number(f.n, v)), name, at})
			}
		}
	})
}

// TestCorpusHeaderMeaning checks well-formed headers that no subfile can have. The error must have the offset of the wrong
// field.
func TestCorpusHeaderMeaning(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, manifest := range []bool{true, false} {
			s := newSample(t, layout, 2, manifest)
			name := s.subfile(1)
			base, fields := s.header(t, name)
			find := func(kind, of string) hdrField {
				for _, f := range fields {
					if f.kind == kind && f.of == of {
						return f
					}
				}
				t.Fatalf("no %s %q", kind, of)
				return hdrField{}
			}
			for _, c := range []struct {
				kind, of string
				v        uint64
			}{
				{"attribute value", "num_decompositions", 3},
				{"attribute value", "num_decompositions", 1},
				{"attribute value", "num_decompositions", 1<<31 - 1},
				{"attribute value", "num_decompositions", 1<<32 - 1},
				{"attribute value", "num_subfiles", 0},
				{"attribute value", "num_subfiles", 9},
				{"attribute value", "global_nprocs", 0},
				{"attribute value", "global_nprocs", 1<<32 - 1},
				{"attribute value", "T:decomposition_ID", 0},
				{"attribute value", "T:decomposition_ID", 3},
				{"attribute value", "D1.nreqs:global_dimids", 4},
				{"attribute value", "D1.nreqs:global_dimids", 0},
				{"dimension length", "nblobs", 4},
				{"dimension length", "nblobs", 1 << 40},
			} {
				f := find(c.kind, c.of)
				at := base + f.off
				switch {
				case c.of == "num_decompositions" && c.v < 1<<31-1:
					at = base + find("tag", "dim_list").off // the dimensions contradict num_decompositions
				case c.of == "global_nprocs" && c.v == 0:
					at = base + find("attribute value", "num_subfiles").off // num_subfiles exceeds the number of ranks
				case c.of == "nblobs" && c.v > 4:
					at = -1 // the sizes overflow before nblobs itself is checked
				case c.of == "D1.nreqs:global_dimids":
					if c.v == 0 { // dimension 0 is the unlimited one
						at = base + f.off
					}
				}
				if layout == dataset.ProcessCentric || c.of != "nblobs" {
					s.run(t, faulty{fmt.Sprintf("%s %q is %d", c.kind, c.of, int32(c.v)), s.patch(name, base+f.off, s.number(f.n, c.v)), name, at})
				}
			}
			// Wrong names of a dimension and of map variables.
			for _, c := range []struct{ kind, of string }{{"name", "D2.nelems"}, {"name", "D1.max_nreqs"}, {"name", "D2.lengths"}} {
				f := find(c.kind, c.of)
				s.run(t, faulty{"another name for " + c.of, s.patch(name, base+f.off, []byte("X")), name, base + f.off - 8})
			}
			// The required attribute is missing, so the error has the offset of the attribute list.
			f := find("name", "num_subfiles")
			if layout == dataset.ProcessCentric {
				s.run(t, faulty{"no num_subfiles", s.patch(name, base+f.off, []byte("X")), name, base + find("tag", "att_list").off})
			}
			// Types of the right size but of the wrong kind.
			f = find("variable type", "D1.nreqs")
			s.run(t, faulty{"nreqs is a float", s.patch(name, base+f.off, s.number(4, uint64(cdf5.Float))), name, base + f.off})
			f = find("variable type", "D1.blob_count")
			s.run(t, faulty{"blob_count is a double", s.patch(name, base+f.off, s.number(4, uint64(cdf5.Double))), name, base + f.off})
		}
	}
}

func TestLocator(t *testing.T) {
	for _, s := range samples(t) {
		pl, _ := s.place(t, s.subfile(0))
		base, fields := s.header(t, s.subfile(0))
		at := pl.Header.Locate()
		got := map[string]int64{}
		for i := range pl.Header.Dims {
			got["dimension length "+pl.Header.Dims[i].Name] = at.DimLen(i)
		}
		for i := range pl.Header.Atts {
			got["attribute value "+pl.Header.Atts[i].Name] = at.GlobalAtt(pl.Header.Atts[i].Name)
		}
		for v := range pl.Header.Vars {
			name := pl.Header.Vars[v].Name
			got["variable type "+name] = at.VarType(v)
			got["ndims "+name] = at.DimIDs(v)
			for i := range pl.Header.Vars[v].Atts {
				a := pl.Header.Vars[v].Atts[i].Name
				got["attribute value "+name+":"+a] = at.VarAtt(v, a)
			}
		}
		n := 0
		for _, f := range fields {
			if off, ok := got[f.kind+" "+f.of]; ok {
				n++
				if off != base+f.off {
					t.Errorf("%s: %s %q at %#x, want %#x", s.name, f.kind, f.of, off, base+f.off)
				}
			}
		}
		if n != len(got) {
			t.Errorf("%s: %d places looked at, want %d", s.name, n, len(got))
		}
	}
}
