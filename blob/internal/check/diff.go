package check

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// DiffOptions is blob.DiffOptions.
type DiffOptions struct {
	Vars      []string                // variables to compare; nil: all
	ValueOnly bool                    // do not compare attributes and dimensions
	Order     bool                    // compare the order of dimensions, variables and attributes
	AbsTol    float64                 // values that differ by no more than this count as equal
	RelTol    float64                 // values count as equal if their difference, divided by the larger magnitude, is no more than this
	Progress  func(done, total int64) // bytes of the first dataset's elements
}

// Diff is blob.Diff.
func Diff(ctx context.Context, a, b *read.Reader, o *DiffOptions) iter.Seq[dataset.Finding] {
	a, b = a.Now(), b.Now()
	return func(yield func(dataset.Finding) bool) {
		var opt DiffOptions
		if o != nil {
			opt = *o
		}
		tell := func(numbers any, field, format string, args ...any) bool {
			return yield(dataset.Finding{Severity: dataset.Error, Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...), Numbers: numbers})
		}
		say := func(field, format string, args ...any) bool { return tell(nil, field, format, args...) }
		if a.Data.Records != b.Data.Records && !tell(both{a.Data.Records, b.Data.Records}, "records", "%d against %d", a.Data.Records, b.Data.Records) {
			return
		}
		if !opt.ValueOnly {
			for _, d := range a.Data.Schema.Differ(b.Data.Schema, opt.Order, opt.Order) {
				if !tell(bothOf(d.X, d.Y), "", "%s", d.Msg) {
					return
				}
			}
		}
		for v := range b.Data.Schema.Vars {
			name := b.Data.Schema.Vars[v].Name
			if _, ok := a.Data.Schema.VarID(name); !ok && opt.ValueOnly && (len(opt.Vars) == 0 || slices.Contains(opt.Vars, name)) {
				if !say("", "variable %q is only in the second", name) {
					return
				}
			}
		}
		d := &differ{ctx: ctx, a: a, b: b, o: opt, form: read.Form{Big: dataset.HostBig, Known: read.NewKnown()}}
		for v := range a.Data.Schema.Vars {
			name := a.Data.Schema.Vars[v].Name
			w, ok := b.Data.Schema.VarID(name)
			if len(opt.Vars) > 0 && !slices.Contains(opt.Vars, name) {
				continue
			}
			if !ok {
				if opt.ValueOnly && !say("", "variable %q is only in the first", name) {
					return
				}
				continue
			}
			if !slices.Equal(a.Data.Schema.Shape(dataset.VarID(v)), b.Data.Schema.Shape(w)) || a.Data.Schema.Vars[v].Record != b.Data.Schema.Vars[w].Record {
				if opt.ValueOnly && !tell(both{a.Data.Schema.Shape(dataset.VarID(v)), b.Data.Schema.Shape(w)}, fmt.Sprintf("variable %q", name), "shape %v against %v", a.Data.Schema.Shape(dataset.VarID(v)), b.Data.Schema.Shape(w)) {
					return
				}
				continue
			}
			if err := d.variable(dataset.VarID(v), w); err != nil {
				yield(fault.Of(dataset.Error, "", err))
				return
			}
			if d.count > 0 && !tell(valueNumbers{d.count, d.total, d.first, jsonNumber(d.x), jsonNumber(d.y), jsonNumber(d.most)}, fmt.Sprintf("variable %q", name),
				"%d of %d values differ; the first at %s: %v against %v; the largest difference is %g", d.count, d.total, indexText(d.first), d.x, d.y, d.most) {
				return
			}
		}
	}
}

// differ compares the variables of two datasets one by one.
type differ struct {
	ctx  context.Context
	a, b *read.Reader
	o    DiffOptions
	form read.Form
	read int64

	count, total int64
	first        []int64 // indices
	x, y         any
	most         float64
}

// diffWindow is the number of bytes of a variable that are compared at once.
const diffWindow = 16 << 20

func (d *differ) variable(v, w dataset.VarID) error {
	d.count, d.total, d.most = 0, 0, 0
	av, bv := &d.a.Data.Schema.Vars[v], &d.b.Data.Schema.Vars[w]
	recs := int64(1)
	if av.Record {
		recs = min(d.a.Data.Records, d.b.Data.Records)
	}
	n := d.a.Data.Schema.Elems(v)
	asz, bsz := int64(av.Type.Size()), int64(bv.Type.Size())
	step := max(1, diffWindow/max(asz, bsz))
	step = min(step, max(n, 1))
	ab, bb := make([]byte, step*asz), make([]byte, step*bsz)
	for rec := range recs {
		for lo := int64(0); lo < n; lo += step {
			hi := min(n, lo+step)
			x, y := ab[:(hi-lo)*asz], bb[:(hi-lo)*bsz]
			if err := d.a.Elems.ReadAll(d.ctx, []read.Want{read.NewWant(v, rec, lo, hi, x, d.form)}); err != nil {
				return err
			}
			if err := d.b.Elems.ReadAll(d.ctx, []read.Want{read.NewWant(w, rec, lo, hi, y, d.form)}); err != nil {
				return err
			}
			d.total += hi - lo
			if d.read += int64(len(x)); d.o.Progress != nil {
				d.o.Progress(d.read, 0)
			}
			if av.Type == bv.Type && bytes.Equal(x, y) {
				continue
			}
			d.values(av, bv, x, y, rec, lo)
		}
	}
	return nil
}

// values compares windows whose bytes differ.
func (d *differ) values(av, bv *dataset.Variable, x, y []byte, rec, lo int64) {
	shape := d.a.Data.Schema.ShapeOf(av.Dims, av.Record)
	exact := av.Type == bv.Type && (av.Type == cdf5.Int64 || av.Type == cdf5.UInt64) // integers may exceed the 53 bits of a float64
	asz, bsz := av.Type.Size(), bv.Type.Size()
	p, q := asFloats(av.Type, x), asFloats(bv.Type, y)
	for i := range p {
		var delta float64
		same := p[i] == q[i] || p[i] != p[i] && q[i] != q[i]
		if exact {
			delta = distance(av.Type == cdf5.Int64, x[i*asz:], y[i*bsz:])
			same = delta == 0
		} else {
			delta = math.Abs(p[i] - q[i])
		}
		// An infinite difference exceeds every tolerance, even a tolerance relative to an infinite
		// value.
		if same || !math.IsInf(delta, 0) && (delta <= d.o.AbsTol || delta <= d.o.RelTol*max(math.Abs(p[i]), math.Abs(q[i]))) {
			continue
		}
		if d.count == 0 {
			d.first = indexOf(av, shape, rec, lo+int64(i))
			d.x, d.y = p[i], q[i]
			if exact {
				d.x, d.y = exactly(av.Type == cdf5.Int64, x[i*asz:]), exactly(av.Type == cdf5.Int64, y[i*bsz:])
			}
		}
		d.count++
		if delta > d.most || delta != delta {
			d.most = delta
		}
	}
}

// distance returns the difference of two 64-bit integers in host order.
func distance(signed bool, x, y []byte) float64 {
	a, b := binary.NativeEndian.Uint64(x), binary.NativeEndian.Uint64(y)
	if signed && int64(a) < int64(b) || !signed && a < b {
		a, b = b, a
	}
	return float64(a - b)
}

func exactly(signed bool, x []byte) any {
	v := binary.NativeEndian.Uint64(x)
	if signed {
		return int64(v)
	}
	return v
}

// asFloats converts host-order elements of a file type for comparison.
func asFloats(t cdf5.Type, b []byte) []float64 {
	out := make([]float64, len(b)/t.Size())
	if t == cdf5.Char {
		t = cdf5.UByte
	}
	_ = cdf5.FromFile(out, b, dataset.HostBig, t) // every type fits a float64
	return out
}

// indexOf returns the indices for a position in the flattened record. For a variable with records, the
// record number comes first.
func indexOf(v *dataset.Variable, shape []int64, rec, flat int64) []int64 {
	idx := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		idx[i] = flat % shape[i]
		flat /= shape[i]
	}
	if v.Record {
		idx = append([]int64{rec}, idx...)
	}
	return idx
}

// indexText formats indices as "[rec,i,j]".
func indexText(idx []int64) string {
	return strings.ReplaceAll(fmt.Sprint(idx), " ", ",")
}
