package read

import (
	"fmt"
	"math"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/slab"
)

// Range is the records First, First+1, ... below End.
type Range struct{ First, End int64 }

// Selection is what is taken of a dataset: some variables and records, in the order of the source.
type Selection struct {
	R       *Reader
	Schema  *dataset.Schema // of what is taken
	Src     []dataset.VarID // by variable of it; nil: the same
	first   int64           // record of the source
	Records int64           // how many
	recs    Index           // of the source, if not those from first on

	Arrays []*slab.Array // by variable: what is taken of its arrays; nil: everything
}

// Choose takes the variables (nil: all) and records (nil: all) that are asked for. what is named in errors.
func (r *Reader) Choose(what string, vars []string, q *Range) (Selection, error) {
	c := Selection{R: r, Records: r.Data.Records}
	if q != nil {
		if q.First < 0 || q.End < q.First || q.End > r.Data.Records {
			return c, fault.Usage("%s: records %d to %d, but %s has %d", what, q.First, q.End, r.Files.Base, r.Data.Records)
		}
		c.first, c.Records = q.First, q.End-q.First
	}
	want := map[string]bool{}
	for _, name := range vars {
		v, ok := r.Data.Schema.VarID(name)
		if !ok {
			return c, fault.Usage("%s: no variable %q in %s", what, name, r.Files.Base)
		}
		want[r.Data.Schema.Vars[v].Name] = true
	}
	s := dataset.NewSchema()
	s.Dims, s.Atts, s.Decomps = r.Data.Schema.Dims, r.Data.Schema.Atts, r.Data.Schema.Decomps
	for i := range r.Data.Schema.Vars {
		if len(want) == 0 || want[r.Data.Schema.Vars[i].Name] {
			s.Vars = append(s.Vars, r.Data.Schema.Vars[i])
			c.Src = append(c.Src, dataset.VarID(i))
		}
	}
	c.Schema = s
	left := int64(math.MaxInt64 / 2)
	for v := range s.Vars {
		sv := &s.Vars[v]
		n, recs := s.Elems(dataset.VarID(v))*int64(sv.Type.Size()), int64(1)
		if sv.Record {
			recs = c.Records
		}
		if n > 0 && recs > left/n {
			return c, fmt.Errorf("%s: %d records of %q and what is before them are over the limit of 2^62 bytes: %w", what, recs, sv.Name, dataset.ErrTooLarge)
		}
		left -= n * recs
	}
	return c, nil
}

// source returns a variable and a record of it in the terms of the source.
func (c *Selection) source(v dataset.VarID, rec int64) (dataset.VarID, int64) {
	if c.Schema.Vars[v].Record {
		if rec += c.first; c.recs != nil {
			rec = c.recs.At(rec)
		}
	}
	if c.Src == nil {
		return v, rec
	}
	return c.Src[v], rec
}

// target is the caller's slice of a read: elements of the file's type go into
// it directly where its type is the same, and through a buffer otherwise.
type target struct {
	dst  any
	raw  []byte // of dst, host order, if no conversion is needed
	size int64
	file cdf5.Type
	buf  []byte
}

func newTarget(dst any, file cdf5.Type, n int64) (*target, error) {
	have, mem, ok := cdf5.SliceLen(dst)
	if !ok {
		return nil, fault.Usage("into a %T, want a slice of numbers", dst)
	}
	if int64(have) != n {
		return nil, fault.Usage("into %d elements, want %d", have, n)
	}
	t := &target{dst: dst, size: int64(file.Size()), file: file}
	if _, text := dst.(string); text {
		return nil, fault.Usage("into a string, want []byte")
	}
	if raw, _ := cdf5.Bytes(dst); dataset.SameType(mem, file) && int64(len(raw)) == n*t.size { // an []int may be narrower
		t.raw = raw
	} else if file == cdf5.Char {
		return nil, fault.Usage("char into %T, want []byte", dst)
	}
	return t, nil
}

// bytes returns room for n elements of the file's type from element at on.
func (t *target) bytes(at, n int64) []byte {
	if t.raw != nil {
		return t.raw[at*t.size : (at+n)*t.size]
	}
	if int64(cap(t.buf)) < n*t.size {
		t.buf = make([]byte, n*t.size)
	}
	t.buf = t.buf[:n*t.size]
	return t.buf
}

// convert moves what bytes returned to its place.
func (t *target) convert(at, n int64) error {
	if t.raw != nil {
		return nil
	}
	return cdf5.FromFile(subslice(t.dst, at, n), t.buf, dataset.HostBig, t.file)
}

func subslice(s any, at, n int64) any { return elem.Sub(elem.Fixed(s), int(at), int(at+n)) }

// NewSlice makes a slice of n elements of a file type, and its bytes.
func NewSlice(t cdf5.Type, n int64) (any, []byte) {
	s := cdf5.NewSlice(t, int(n))
	b, _ := cdf5.Bytes(s)
	return s, b
}
