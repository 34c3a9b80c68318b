package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/watch"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestHeldBack checks variables without a decomposition. Puts by any one rank complete a record, with any number of subfiles. A
// variable that nobody puts in any record holds no record back. Commit, status and Check report held-back records for as long
// as there are any.
func TestHeldBack(t *testing.T) {
	const ranks, vars = 4, 400
	for _, subfiles := range crashtest.Some(t, 2, []int{1, 2, 4}) {
		for _, who := range crashtest.Some(t, 2, []int{0, 2, ranks - 1}) {
			for _, apart := range []bool{false, true} {
				mem := vfs.NewMem()
				s := dataset.NewSchema()
				td, x := s.Dim("time", dataset.Unlimited), s.Dim("x", ranks)
				d := s.Decomp(x)
				clock := s.Var("clock", cdf5.Double, []dataset.DimID{td})
				field := s.Var("T", cdf5.Double, []dataset.DimID{td, x}, dataset.Decomposed(d))
				var last dataset.VarID
				for k := range vars {
					last = s.Var(fmt.Sprint("v", k), cdf5.Double, []dataset.DimID{td, x}, dataset.Decomposed(d))
				}
				err := run(ranks, func(ctx context.Context, c comm.Comm) error {
					c = isolateIf(c, apart)
					r := int64(c.Rank())
					w, err := write.CreateWith(ctx, c, "d.nc", s, []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: r, Length: 1}}}}, &dataset.Settings{Options: dataset.Options{Subfiles: subfiles}, Knobs: dataset.Knobs{Fs: mem}})
					must(err)
					defer w.Abort()
					put := func(rec int64, v dataset.VarID) error { return write.Put(w, v, rec, []float64{float64(100*rec + r)}) }
					for rec := range int64(2) {
						for v := field; v < last; v++ {
							err = errors.Join(err, put(rec, v))
						}
						if int(r) == who {
							err = errors.Join(err, write.Put(w, clock, rec, []float64{float64(rec)}))
						}
						if err = errors.Join(err, w.Commit(ctx)); err != nil || w.Committed() != rec+1 {
							return fmt.Errorf("%d committed, want %d: %w", w.Committed(), rec+1, err)
						}
					}
					if err := put(1, last); !errors.Is(err, dataset.ErrUsage) || !strings.Contains(err.Error(), "is already committed") {
						return fmt.Errorf("put of what a commit has filled: %v", err)
					}
					for v := field; v < last; v++ { // rank 3 omits one variable, and nobody puts the clock
						if r != 3 || v != field+7 {
							err = errors.Join(err, put(2, v))
						}
					}
					must(err)
					must(heldIs(w.Commit(ctx), mem, c, `record 2 is held back: no rank has put "clock" of record 2`))
					if int(r) == who {
						err = write.Put(w, clock, 2, []float64{2})
					}
					must(errors.Join(err, heldIs(w.Commit(ctx), mem, c, `record 2 is held back: rank 3 has not put "v6" of record 2`)))
					if r == 3 {
						err = put(2, field+7)
					}
					return errors.Join(err, heldIs(w.Commit(ctx), mem, c, ""), c.Barrier(ctx))
				})
				if err != nil {
					t.Fatalf("%d subfiles, rank %d, apart %v: %v", subfiles, who, apart, err)
				}
				r := need(read.OpenWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: mem}))
				got := make([]float64, 3)
				if err := r.Read(t.Context(), "clock", nil, nil, got); err != nil || fmt.Sprint(got) != "[0 1 2]" {
					t.Errorf("%d subfiles, rank %d, apart %v: clock %v, %v", subfiles, who, apart, got, err)
				}
				r.Close()
			}
		}
	}
}

// heldIs checks that a commit's result and the files report the held-back records want; "" means none.
func heldIs(err error, mem *vfs.Mem, c comm.Comm, want string) error {
	ctx := context.Background()
	if want == "" && err != nil || want != "" && (err == nil || err.Error() != "d.nc: "+want) {
		return fmt.Errorf("commit: %v, want %q", err, want)
	}
	if c.Rank() == 0 {
		st, err := watch.NewWatchAt(mem, "d.nc", nil).Look()
		if err != nil || (st.Held == nil) != (want == "") || !strings.Contains(st.String(), want) {
			return fmt.Errorf("status %v, %v, want %q", st, err, want)
		}
		said := want == ""
		for f := range check.CheckWith(ctx, "d.nc", &check.CheckOptions{Quick: true}, dataset.Knobs{Fs: mem}) {
			if f.Severity >= dataset.Error || want == "" && f.Field == "held_back" {
				return fmt.Errorf("check: %v", f)
			}
			said = said || f.Field == "held_back" && strings.Contains(f.String(), want)
		}
		if !said {
			return fmt.Errorf("check does not say %q", want)
		}
	}
	return c.Barrier(ctx)
}

// TestRecoverGivesUp checks that Recover lists the lost held-back records of a dead writer once. Without such records it lists
// none.
func TestRecoverGivesUp(t *testing.T) {
	s := dataset.NewSchema()
	td, x := s.Dim("time", dataset.Unlimited), s.Dim("x", 2)
	d := s.Decomp(x)
	v := s.Var("T", cdf5.Double, []dataset.DimID{td, x}, dataset.Decomposed(d))
	for _, l := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		for _, whole := range []bool{false, true} {
			mem := vfs.NewMem()
			noError(t, run(2, func(ctx context.Context, c comm.Comm) error {
				r := int64(c.Rank())
				w, err := write.CreateWith(ctx, c, "d.nc", s, []write.Part{{Decomp: d, Runs: []decomp.Req{{Offset: r, Length: 1}}}}, &dataset.Settings{Options: dataset.Options{Layout: l}, Knobs: dataset.Knobs{Fs: mem}})
				must(err)
				defer w.Abort() // the writer dies before Close
				must(errors.Join(write.Put(w, v, 0, []float64{1}), w.Commit(ctx)))
				if r == 0 || whole {
					err = write.Put(w, v, 1, []float64{2})
				}
				must(err)
				if err := w.Commit(ctx); whole && err != nil || !whole && !errors.As(err, new(*write.HeldBackError)) {
					return fmt.Errorf("commit: %v", err)
				}
				return c.Barrier(ctx)
			}))
			for k, o := range []*resume.RecoverOptions{{DryRun: true}, nil, nil} {
				steps := need(resume.RecoverWith(t.Context(), "d.nc", o, dataset.Knobs{Fs: mem}))
				n := 0
				for _, s := range steps {
					if strings.HasPrefix(s.What, "discard data that this commit") {
						if n++; s.What != `discard data that this commit does not include: record 1 is held back: rank 1 has not put "T" of record 1` || !strings.HasPrefix(s.File, "d.nc.manifest.w") {
							t.Errorf("%v: %v", l, s)
						}
					}
				}
				if want := k < 2 && !whole; n > 1 || want != (n == 1) {
					t.Errorf("%v, whole %v, %d: %v", l, whole, k, steps)
				}
			}
			if st, err := watch.NewWatchAt(mem, "d.nc", nil).Look(); err != nil || st.Held != nil {
				t.Errorf("%v: %v, %v", l, st, err)
			}
		}
	}
}

// TestTwoValues checks that two ranks that put different values of one element get an error on all ranks, in the next flush.
// The error names both ranks. Equal bytes are no error, also for NaN, other memory types and parts of the array.
func TestTwoValues(t *testing.T) {
	const n = 1000 // larger than the values that a rank sends with its list of puts
	s := dataset.NewSchema()
	td, x := s.Dim("time", dataset.Unlimited), s.Dim("x", n)
	v := s.Var("v", cdf5.Float, []dataset.DimID{td, x})
	for _, tc := range []struct {
		put  func(w *write.Writer, rank int) error
		want string
	}{
		{func(w *write.Writer, rank int) error { // rank 0 puts two parts, rank 1 the whole, and rank 3 a part
			a := make([]float32, n)
			a[5] = float32(math.NaN())
			switch rank {
			case 0:
				return errors.Join(write.PutAt(w, v, 0, []int64{400}, []int64{n - 400}, a[400:]), write.PutAt(w, v, 0, []int64{0}, []int64{400}, a[:400]))
			case 1:
				return write.Put(w, v, 0, a)
			case 3:
				return write.PutAt(w, v, 0, []int64{3}, []int64{4}, a[3:7])
			}
			return nil
		}, ""},
		{func(w *write.Writer, rank int) error {
			a := make([]float64, n)
			if rank == 2 {
				a[7] = 1
			}
			return write.Put(w, v, 0, a)
		}, `d.nc: put of "v", record 0: ranks 0 and 2 put different values of element 7`},
		{func(w *write.Writer, rank int) error {
			if rank == 0 {
				return nil
			}
			return write.PutAt(w, v, 0, []int64{int64(10 * rank)}, []int64{11}, append(make([]float64, 10), float64(rank)/2))
		}, `d.nc: put of "v", record 0: ranks 1 and 2 put different values of element 20`},
	} {
		for _, apart := range []bool{false, true} {
			err := run(4, func(ctx context.Context, c comm.Comm) error {
				c = isolateIf(c, apart)
				w := need(write.CreateWith(ctx, c, "d.nc", s, nil, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: vfs.NewMem()}}))
				defer w.Abort()
				must(tc.put(w, c.Rank()))
				if err := w.Flush(ctx); tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, dataset.ErrUsage) || !strings.Contains(err.Error(), tc.want)) {
					return fmt.Errorf("%v, want %q", err, tc.want)
				}
				return nil
			})
			if err != nil {
				t.Errorf("apart %v: %v", apart, err)
			}
		}
	}
}
