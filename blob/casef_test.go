package blob_test

import (
	"context"
	"os"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/e3smcases"
)

// caseF is history h0 of the F case, 414 variables of one record: what its ranks write.
type caseF struct {
	ownMin   int64 // see CreateTuned
	messages bool
	schema   *blob.Schema
	vars     []e3smcases.Var
	parts    [][]blob.Part // by rank
	elems    [][]int64     // by rank and map from 0
	whole    []int64       // elements of a variable that is not decomposed
	types    []cdf5.Type   // in the file and in memory
	bytes    int64         // of all data
}

// newCaseF deals the captured maps of 16 ranks (at ne 4) to fewer ranks, as the replay of the reference does.
func newCaseF(tb testing.TB, ne, ranks int) *caseF {
	tb.Helper()
	full, err := e3smcases.GenF(ne, 72, max(16, ranks))
	if err != nil {
		tb.Fatal(err)
	}
	c, err := e3smcases.Load("F_h0")
	if err != nil {
		tb.Fatal(err)
	}
	if c, err = c.WithMapDims(full); err != nil {
		tb.Fatal(err)
	}
	f := &caseF{vars: c.Vars}
	if f.schema, err = c.Schema(false); err != nil {
		tb.Fatal(err)
	}
	f.parts, f.elems = make([][]blob.Part, ranks), make([][]int64, ranks)
	for r := range ranks {
		first, n := decomp.Deal(full[0].Ranks(), ranks, r)
		for d, m := range full {
			var reqs []decomp.Req
			for k := first; k < first+n; k++ {
				reqs = m.AppendReqs(reqs, k)
			}
			dims := m.Dims()
			reqs = decomp.SortCoalesce(reqs, dims[len(dims)-1])
			f.parts[r] = append(f.parts[r], blob.Part{Decomp: blob.DecompID(d + 1), Runs: reqs})
			sum := int64(0)
			for _, q := range reqs {
				sum += q.Length
			}
			f.elems[r] = append(f.elems[r], sum)
		}
	}
	for v := range c.Vars {
		t, _ := c.Vars[v].FileType(false)
		f.types = append(f.types, t)
		f.whole = append(f.whole, c.Elems(v))
		n := c.Elems(v)
		if k := c.Vars[v].Map; k > 0 {
			n = full[k-1].Total()
		}
		f.bytes += n * int64(t.Size())
	}
	return f
}

// data are the arrays of a rank.
func (f *caseF) data(rank int) []any {
	out := make([]any, len(f.vars))
	for v := range f.vars {
		n := f.whole[v]
		if k := f.vars[v].Map; k > 0 {
			n = f.elems[rank][k-1]
		}
		out[v] = cdf5.NewSlice(f.types[v], int(n))
		b, _ := cdf5.Bytes(out[v])
		for i := range b {
			b[i] = byte(i*7 + v + rank)
		}
	}
	return out
}

// write is one rank's work from open to close.
func (f *caseF) write(ctx context.Context, c comm.Comm, name string, data []any, o *blob.Options) error {
	return f.timed(ctx, c, name, data, o, func(int) {})
}

// timed calls done after Create, Flush and Close, with 0, 1 and 2.
func (f *caseF) timed(ctx context.Context, c comm.Comm, name string, data []any, o *blob.Options, done func(phase int)) error {
	w, err := blob.CreateTuned(ctx, c, name, f.schema, f.parts[c.Rank()], o, f.ownMin, f.messages)
	if err != nil {
		return err
	}
	done(0)
	for v, d := range data {
		switch x := d.(type) {
		case []float64:
			err = blob.Put(w, blob.VarID(v), 0, x)
		case []float32:
			err = blob.Put(w, blob.VarID(v), 0, x)
		case []int32:
			err = blob.Put(w, blob.VarID(v), 0, x)
		case []byte:
			err = blob.Put(w, blob.VarID(v), 0, x)
		}
		if err != nil {
			return err
		}
	}
	if err := w.Flush(ctx); err != nil {
		return err
	}
	done(1)
	if err := w.Close(ctx); err != nil {
		return err
	}
	done(2)
	return nil
}

// memoryDir is a directory in memory if there is one.
func memoryDir(tb testing.TB) string {
	if dir, err := os.MkdirTemp("/dev/shm", "blob"); err == nil {
		tb.Cleanup(func() { os.RemoveAll(dir) })
		return dir
	}
	return tb.TempDir()
}

// BenchmarkIsolated: ranks that share no memory, open to close.
func BenchmarkIsolated(b *testing.B) {
	const ranks = 16
	f := newCaseF(b, 4, ranks)
	data := make([][]any, ranks)
	for r := range data {
		data[r] = f.data(r)
	}
	dir := memoryDir(b)
	for _, how := range []struct {
		name    string
		isolate bool
		o       blob.Options
	}{
		{"together", false, blob.Options{}},
		{"variable", true, blob.Options{}},
		{"process", true, blob.Options{Layout: blob.ProcessCentric}},
		{"process-records", true, blob.Options{Layout: blob.ProcessCentric, Records: 1}},
	} {
		b.Run(how.name, func(b *testing.B) {
			b.SetBytes(f.bytes)
			o := how.o
			o.Durability, o.Force, o.Retain = blob.DurableNone, true, blob.LendUntilFlush
			for b.Loop() {
				err := comm.Run(context.Background(), ranks, nil, func(ctx context.Context, c comm.Comm) error {
					if how.isolate {
						c = comm.Isolate(c)
					}
					return f.write(ctx, c, dir+"/f.nc", data[c.Rank()], &o)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
