package blob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"
)

// retainCase is a dataset of two ranks with three variables: a decomposed record variable, a decomposed fixed variable, and a
// variable without a decomposition.
type retainCase struct {
	s           *dataset.Schema
	d           dataset.DecompID
	t, area, tm dataset.VarID
}

const retainRanks, retainPer = 2, 5

func newRetainCase() *retainCase {
	k := &retainCase{s: dataset.NewSchema()}
	rec, col := k.s.Dim("time", dataset.Unlimited), k.s.Dim("ncol", retainRanks*retainPer)
	k.d = k.s.Decomp(col)
	k.t = k.s.Var("T", cdf5.Double, []dataset.DimID{rec, col}, dataset.Decomposed(k.d))
	k.area = k.s.Var("area", cdf5.Float, []dataset.DimID{col}, dataset.Decomposed(k.d))
	k.tm = k.s.Var("bounds", cdf5.Double, []dataset.DimID{rec, col})
	must(k.s.Err)
	return k
}

func (k *retainCase) parts(rank int) []write.Part {
	return []write.Part{{Decomp: k.d, Runs: []decomp.Req{{Offset: int64(rank * retainPer), Length: retainPer}}}}
}

// retainValue is the value of an element of the variables T and bounds.
func retainValue(rec int64, i int) float64 { return float64(100*rec) + float64(i) + 0.5 }

// putChanged puts this rank's elements of T and the given parts of bounds. It changes each slice right after its Put.
func (k *retainCase) putChanged(w *write.Writer, rank int, rec int64, parts ...int) error {
	var x [retainPer]float64
	put := func(at int, f func() error) error {
		for i := range x {
			x[i] = retainValue(rec, at+i)
		}
		err := f()
		for i := range x {
			x[i] = -1e9
		}
		return err
	}
	err := put(rank*retainPer, func() error { return write.Put(w, k.t, rec, x[:]) })
	for _, at := range parts {
		err = errors.Join(err, put(at*retainPer, func() error {
			return write.PutAt(w, k.tm, rec, []int64{int64(at * retainPer)}, []int64{retainPer}, x[:])
		}))
	}
	return err
}

func (k *retainCase) putArea(w *write.Writer, rank int) error {
	var a [retainPer]float32
	for i := range a {
		a[i] = float32(rank*retainPer + i)
	}
	err := write.Put(w, k.area, 0, a[:])
	clear(a[:])
	return err
}

func (k *retainCase) verify(t *testing.T, fsys vfs.FS, name string, records int64) {
	t.Helper()
	ctx, r := t.Context(), opened(t, fsys, name, nil)
	if r.Now().Data.Records != records {
		t.Fatalf("%d records, want %d", r.Now().Data.Records, records)
	}
	for _, v := range []string{"T", "bounds"} {
		got := make([]float64, records*retainRanks*retainPer)
		noError(t, r.Read(ctx, v, nil, nil, got))
		for i, x := range got {
			if want := retainValue(int64(i)/(retainRanks*retainPer), i%(retainRanks*retainPer)); x != want {
				t.Fatalf("%s: element %d is %v, want %v, the value at Put", v, i, x, want)
			}
		}
	}
	area := make([]float32, retainRanks*retainPer)
	noError(t, r.Read(ctx, "area", nil, nil, area))
	for i, x := range area {
		if x != float32(i) {
			t.Fatalf("area: element %d is %v, want %d, the value at Put", i, x, i)
		}
	}
}

// TestPutCopies checks the default CopyOnPut: the file has the values from the time of the Put, although the slice changes
// later.
func TestPutCopies(t *testing.T) {
	const records = 3
	compress := dataset.Compress{Method: dataset.ShuffleZstd}
	for name, o := range map[string]dataset.Settings{
		"variable":            {},
		"process":             {Options: dataset.Options{Layout: dataset.ProcessCentric}},
		"process, records":    {Options: dataset.Options{Layout: dataset.ProcessCentric, Records: records}},
		"process, compressed": {Options: dataset.Options{Layout: dataset.ProcessCentric, Records: records, Compress: compress}},
		"own":                 {Options: dataset.Options{OwnMin: 1}},
	} {
		for _, apart := range []bool{false, true} {
			for how, flush := range map[string]func(*write.Writer, context.Context) error{
				"Close": nil, "Flush": (*write.Writer).Flush, "FlushAsync": (*write.Writer).FlushAsync,
			} {
				t.Run(fmt.Sprintf("%s/apart %v/%s", name, apart, how), func(t *testing.T) {
					k := newRetainCase()
					mem := vfs.NewMem()
					cc := crashCase{o: o, apart: apart}
					noError(t, run(retainRanks, func(ctx context.Context, c comm.Comm) error {
						w := need(write.CreateWith(ctx, cc.comm(c), "d.nc", k.s, k.parts(c.Rank()), cc.with(mem, false)))
						must(k.putArea(w, c.Rank()))
						for rec := range int64(records) {
							must(k.putChanged(w, c.Rank(), rec, 0, 1))
							if flush != nil {
								must(flush(w, ctx))
							}
						}
						return w.Close(ctx)
					}))
					k.verify(t, mem, "d.nc", records)
				})
			}
		}
	}
}

// TestCopiesInALongRun checks that a writer frees its copies of written values, and that values kept until Close count only
// once. Then any number of flushes stays within the memory limit.
func TestCopiesInALongRun(t *testing.T) {
	const puts = 8 * (retainPer + retainPer*retainRanks) // bytes that rank 0 puts in a record
	for name, o := range map[string]dataset.Settings{
		// With a shared heap, variables without a decomposition count twice.
		"variable":         {Options: dataset.Options{Memory: 2*puts + 8*retainPer}},
		"process, records": {Options: dataset.Options{Memory: 2*puts + 8*retainPer, Layout: dataset.ProcessCentric, Records: 100}},
		"process":          {Options: dataset.Options{Memory: 7 * puts, Layout: dataset.ProcessCentric}},
	} {
		for _, apart := range []bool{false, true} {
			for how, flush := range map[string]func(*write.Writer, context.Context) error{"Flush": (*write.Writer).Flush, "FlushAsync": (*write.Writer).FlushAsync} {
				t.Run(fmt.Sprintf("%s/apart %v/%s", name, apart, how), func(t *testing.T) {
					k := newRetainCase()
					cc := crashCase{o: o, apart: apart}
					records, kept := int64(100), [retainRanks]int64{}
					if o.Layout == dataset.ProcessCentric && o.Records == 0 {
						records = 2 // each record is put many times
						kept = [...]int64{2*puts + 4*retainPer, 2*8*retainPer + 4*retainPer}
					}
					mem := vfs.NewMem()
					noError(t, run(retainRanks, func(ctx context.Context, c comm.Comm) error {
						w := need(write.CreateWith(ctx, cc.comm(c), "d.nc", k.s, k.parts(c.Rank()), cc.with(mem, false)))
						for n := range int64(100) {
							parts := []int{1, 0, 1} // all parts of bounds, one of them twice
							if n >= records && n%3 == 0 {
								parts = parts[:1] // less
							}
							if err := k.putChanged(w, c.Rank(), n%records, parts...); err != nil {
								return fmt.Errorf("put %d: %w", n, err)
							}
							if err := flush(w, ctx); err != nil {
								return fmt.Errorf("flush %d: %w", n, err)
							}
						}
						must(k.putArea(w, c.Rank()))
						must(w.Flush(ctx))
						want := kept[c.Rank()]
						if !apart {
							want = kept[0] + kept[1]
						}
						must(c.Barrier(ctx))
						if got, _ := w.Job.Copies(); got != want {
							return fmt.Errorf("%d bytes in copies, want %d", got, want)
						}
						return w.Close(ctx)
					}))
					k.verify(t, mem, "d.nc", records)
				})
			}
		}
	}
}

// TestCopiesOverTheCap checks that a Put that exceeds the limit of copies fails, and that its error gives advice. If the advice
// is to flush, the same Put must succeed after a Flush. Lent data do not count.
func TestCopiesOverTheCap(t *testing.T) {
	const one = 8 * retainPer
	for name, tc := range map[string]struct {
		o      dataset.Settings
		advice string // "": fits
	}{
		"variable":            {dataset.Settings{}, "call Flush earlier, or lend data until Flush"},
		"process, records":    {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 2}}, "call Flush earlier, or lend data until Flush"},
		"process":             {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric}}, "set Options.Records, or lend data until Close"},
		"variable, lent":      {dataset.Settings{Options: dataset.Options{Retain: dataset.LendUntilFlush}}, ""},
		"process, lent":       {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 2, Retain: dataset.LendUntilFlush}}, ""},
		"process, lent so on": {dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Retain: dataset.LendUntilClose}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			k := newRetainCase()
			tc.o.Memory, tc.o.Fs = one, vfs.NewMem()
			w, err := write.CreateWith(ctx, comm.Self(), "d.nc", k.s, k.parts(0), &tc.o)
			noError(t, err)
			defer w.Abort()
			x := [2][]float64{make([]float64, retainPer), make([]float64, retainPer)}
			noError(t, write.Put(w, k.t, 0, x[0]))
			err = write.Put(w, k.t, 1, x[1])
			if tc.advice == "" {
				noError(t, err)
			} else if !errors.Is(err, dataset.ErrTooLarge) || !strings.Contains(err.Error(), tc.advice) {
				t.Fatalf("%v, want ErrTooLarge with %q", err, tc.advice)
			}
			if w.Puts.Records() != int64(len(x)) && tc.advice == "" || w.Puts.Records() != 1 && tc.advice != "" {
				t.Errorf("%d records", w.Puts.Records())
			}
			noError(t, w.Flush(ctx))
			if tc.advice == "call Flush earlier, or lend data until Flush" {
				noError(t, write.Put(w, k.t, 1, x[1]))
			}
			noError(t, w.Close(ctx))
		})
	}
}
