package stats

import (
	"context"
	"iter"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/base/par"
	"blobio/internal/view/cf"
)

// Options are the options of Of. The zero value, or nil, means the defaults.
type Options struct {
	Workers  int                     // concurrent windows; default: number of CPUs
	Memory   int64                   // memory limit of windows in bytes; default 256 MiB
	Progress func(done, total int64) // in bytes
}

// A Row summarizes one record of a variable, or the whole variable.
type Row struct {
	Var    int   // index in the schema
	Record int64 // -1: all
	Summary
}

// most and least bound the bytes of a window. A window with a whole record reads each blob once.
const most, least = 64 << 20, 1 << 20

// Of yields a row for each record of each numeric variable, then a row for the whole variable. A fixed variable has only the
// latter. Values are the meanings of stored numbers (cf.Meaning). The mean does not depend on the number of workers.
func Of(ctx context.Context, w *blob.View, o *Options) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var opt Options
		if o != nil {
			opt = *o
		}
		if opt.Memory == 0 {
			opt.Memory = 256 << 20
		}
		opt.Workers = par.Workers(opt.Workers)
		j := &job{w: w, o: opt}
		s := w.Schema()
		for v := range s.Vars() {
			j.total += j.bytes(v)
		}
		for v := range s.Vars() {
			if s.Vars()[v].Type != cdf5.Char && !j.variable(ctx, v, yield) {
				return
			}
		}
	}
}

// job is one call of Of.
type job struct {
	w           *blob.View
	o           Options
	done, total int64
}

// records returns the number of records of a variable, or 1 for a fixed variable.
func (j *job) records(v int) int64 {
	if j.w.Schema().Vars()[v].Record {
		return j.w.Records()
	}
	return 1
}

func (j *job) bytes(v int) int64 {
	sv := &j.w.Schema().Vars()[v]
	if sv.Type == cdf5.Char {
		return 0
	}
	return j.w.Schema().Elems(blob.VarID(v)) * int64(sv.Type.Size()) * j.records(v)
}

// maxItems is the maximum number of windows numbered at a time.
const maxItems = 1 << 24

// window is a part of a record, or several records of a variable with one element per record.
type window struct {
	rec, lo, n int64
	sums       []Summary // one summary, or one for each record
	err        error
}

// variable yields the rows of one variable; it returns false to stop.
func (j *job) variable(ctx context.Context, v int, yield func(Row, error) bool) bool {
	sv := &j.w.Schema().Vars()[v]
	elems, recs := j.w.Schema().Elems(blob.VarID(v)), j.records(v)
	single := sv.Record && len(sv.Dims) == 1
	per := elems // number of elements that are divided into windows: the elements of one record, or of all records
	if single {
		per, recs = recs, 1
	}
	step := max(1, min(most, max(least, j.o.Memory/int64(2*j.o.Workers)))/int64(sv.Type.Size()))
	pieces := (per + step - 1) / step
	mean := cf.MeaningOf(sv)
	all, rec := Row{Var: v, Record: -1}, Row{Var: v}
	for from, end := int64(0), recs*pieces; from < end; from += maxItems {
		for _, x := range par.Ordered(ctx, j.o.Workers, int(min(maxItems, end-from)), func(ctx context.Context, i int) window {
			k := from + int64(i)
			x := window{rec: k / pieces, lo: k % pieces * step}
			x.n = min(step, per-x.lo)
			x.read(ctx, j.w, sv, single, mean)
			return x
		}) {
			if x.err != nil {
				yield(Row{}, x.err)
				return false
			}
			if j.done += x.n * int64(sv.Type.Size()); j.o.Progress != nil {
				j.o.Progress(j.done, j.total)
			}
			for i := range x.sums {
				all.Join(&x.sums[i])
				if single {
					if !yield(Row{v, x.lo + int64(i), x.sums[i]}, nil) {
						return false
					}
					continue
				}
				rec.Join(&x.sums[i])
			}
			if sv.Record && !single && x.lo+x.n == per {
				rec.Record = x.rec
				if !yield(rec, nil) {
					return false
				}
				rec = Row{Var: v}
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(Row{}, err)
			return false
		}
	}
	return yield(all, nil)
}

// read reads and summarizes a window.
func (x *window) read(ctx context.Context, w *blob.View, sv *blob.Variable, single bool, mean *cf.Meaning) {
	data := cdf5.NewSlice(sv.Type, int(x.n))
	if !single {
		if x.err = w.ReadRuns(ctx, sv.Name, x.rec, []decomp.Req{{Offset: x.lo, Length: x.n}}, data); x.err == nil {
			x.sums = []Summary{of(data, mean)}
		}
		return
	}
	if x.err = w.Read(ctx, sv.Name, []int64{x.lo}, []int64{x.n}, data); x.err != nil {
		return
	}
	for i := range int(x.n) {
		x.sums = append(x.sums, of(elem.Sub(data, i, i+1), mean))
	}
}
