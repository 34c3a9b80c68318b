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

// Options of Of. The zero value, or nil, means the defaults.
type Options struct {
	Workers  int                     // windows at once; default: number of CPUs
	Memory   int64                   // cap of windows in bytes; default 256 MiB
	Progress func(done, total int64) // bytes
}

// A Row sums up one record of a variable, or all of it.
type Row struct {
	Var    int   // in the schema
	Record int64 // -1: all
	Summary
}

// most and least are the bytes of a window: one that has a whole record reads each blob once.
const most, least = 64 << 20, 1 << 20

// Of yields the records of each variable that has numbers, and then the whole of it. A variable without records has only that. Values are
// what the stored numbers mean (cf.Meaning). The mean does not depend on the number of workers.
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

// records is how many records a variable has; 1 if it has none.
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

// maxItems is how many windows are numbered at a time.
const maxItems = 1 << 24

// window is a part of a record, or of a variable that has one element in each record some records.
type window struct {
	rec, lo, n int64
	sums       []Summary // one, or one for each record
	err        error
}

// variable yields the rows of one variable; false to stop.
func (j *job) variable(ctx context.Context, v int, yield func(Row, error) bool) bool {
	sv := &j.w.Schema().Vars()[v]
	elems, recs := j.w.Schema().Elems(blob.VarID(v)), j.records(v)
	single := sv.Record && len(sv.Dims) == 1
	per := elems // elements that are numbered by windows: of a record, or all records
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

// read reads a window and sums it up.
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
