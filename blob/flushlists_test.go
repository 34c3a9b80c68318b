package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/subfile"
)

// counting is a Comm of ranks with separate heaps. It counts the collective calls of the Comm and of all Comms made from it. It
// does not count Share, because ranks with separate heaps do not need it.
type counting struct {
	comm.Comm
	n *int
}

func count(c comm.Comm) counting { return counting{commtest.Isolate(c), new(int)} }

func (c counting) Apart() bool { return true }

func (c counting) Barrier(ctx context.Context) error { *c.n++; return c.Comm.Barrier(ctx) }

func (c counting) Bcast(ctx context.Context, root int, b []byte) ([]byte, error) {
	*c.n++
	return c.Comm.Bcast(ctx, root, b)
}

func (c counting) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	*c.n++
	return c.Comm.Gather(ctx, root, b)
}

func (c counting) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	*c.n++
	return c.Comm.Allgather(ctx, b)
}

func (c counting) Alltoallv(ctx context.Context, b [][]byte) ([][]byte, error) {
	*c.n++
	return c.Comm.Alltoallv(ctx, b)
}

func (c counting) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	*c.n++
	if len(v) > 8 {
		return nil, fmt.Errorf("%d words at once, want at most 8", len(v))
	}
	return c.Comm.AllreduceInt64(ctx, v, op)
}

func (c counting) ExscanInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	*c.n++
	return c.Comm.ExscanInt64(ctx, v, op)
}

func (c counting) Split(ctx context.Context, color, key int) (comm.Comm, error) {
	*c.n++
	s, err := c.Comm.Split(ctx, color, key)
	if s == nil {
		return nil, err
	}
	return counting{s, c.n}, err
}

func (c counting) SplitNode(ctx context.Context) (comm.Comm, error) {
	*c.n++
	s, err := c.Comm.SplitNode(ctx)
	return counting{s, c.n}, err
}

func (c counting) Share(ctx context.Context, v any) ([]any, error) {
	*c.n++
	return c.Comm.Share(ctx, v)
}

func (c counting) SharedMemory(ctx context.Context, n int) (comm.Memory, error) {
	*c.n++
	m, err := comm.SharedMemory(ctx, c.Comm, n)
	return countingMemory{m, c.n}, err
}

type countingMemory struct {
	comm.Memory
	n *int
}

func (m countingMemory) Fence(ctx context.Context) error { *m.n++; return m.Memory.Fence(ctx) }

// TestCollectives counts collective calls of ranks with separate heaps: in Create, in each of six flushes, and in Close. The
// fourth flush has fewer variables than the others.
func TestCollectives(t *testing.T) {
	const (
		own     = 1
		windows = 1 << 40
	)
	for _, tc := range []struct {
		what  string
		o     dataset.Settings
		want  string
		spare bool // only rank 0 puts the variables without a decomposition
	}{
		{"own", dataset.Settings{Options: dataset.Options{OwnMin: own, Subfiles: 1}}, "5; 4 2 2 2 2 2; 9", false},
		{"one window", dataset.Settings{Options: dataset.Options{OwnMin: windows, Subfiles: 1}}, "5; 4 3 3 3 3 3; 9", false},
		{"by node", dataset.Settings{Options: dataset.Options{OwnMin: windows}}, "5; 4 3 3 3 3 3; 9", false},
		{"messages", dataset.Settings{Knobs: dataset.Knobs{Messages: true}, Options: dataset.Options{OwnMin: windows, Subfiles: 1}}, "5; 3 3 3 3 3 3; 9", false},
		{"process-centric", dataset.Settings{Options: dataset.Options{OwnMin: windows, Layout: dataset.ProcessCentric, Subfiles: 1, Records: 6}}, "6; 4 3 3 3 3 3; 9", false},
		{"striped", dataset.Settings{Options: dataset.Options{OwnMin: windows, Subfiles: 1, Stripe: dataset.Stripe{Size: 4096}}}, "5; 4 3 3 3 3 3; 9", false},
		{"rank 0's, own", dataset.Settings{Options: dataset.Options{OwnMin: own, Subfiles: 1}}, "5; 5 3 3 2 3 3; 9", true},
		{"rank 0's, one window", dataset.Settings{Options: dataset.Options{OwnMin: windows, Subfiles: 1}}, "5; 5 4 4 3 4 4; 9", true},
		{"rank 0's, by node", dataset.Settings{Options: dataset.Options{OwnMin: windows}}, "5; 5 4 4 3 4 4; 9", true},
	} {
		m, got := tinyModel(1, 6), ""
		o := tc.o
		o.Fs = vfs.NewMem()
		if err := run(m.ranks, func(ctx context.Context, in comm.Comm) error {
			c := count(in)
			told := func() (n int) { n, *c.n = *c.n, 0; return n }
			w, err := write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &o)
			must(err)
			defer w.Abort()
			list := []int{told()}
			for rec := range m.records {
				if rec == 3 { // no rank puts the last variable
					err = errors.Join(write.Put(w, 1, rec, make([]float32, w.Job.Count(1))), write.Put(w, 2, rec, make([]int16, w.Job.Count(1))))
				} else if tc.spare {
					err = m.putSparely(w, rec, rec, c.Rank())
				} else {
					err = m.putRecord(w, rec, c.Rank(), rec == 0)
				}
				if err == nil {
					err = w.Flush(ctx)
				}
				must(err)
				list = append(list, told())
			}
			must(w.Close(ctx))
			if c.Rank() == 0 {
				got = fmt.Sprintf("%d; %s; %d", list[0], strings.Trim(fmt.Sprint(list[1:]), "[]"), told())
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", tc.what, err)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.what, got, tc.want)
		}
	}
}

// TestFlushLists checks flushes in which all ranks put the same variables, and flushes in which one rank puts others. The files
// must equal the files of ranks with a shared heap, and their checksums must be right.
func TestFlushLists(t *testing.T) {
	type putter func(m *model, w *write.Writer, rec int64, rank int) error
	all := func(m *model, w *write.Writer, rec int64, rank int) error { return m.putRecord(w, rec, rank, rec == 0) }
	sparely := func(m *model, w *write.Writer, rec int64, rank int) error { return m.putSparely(w, rec, rec, rank) }
	const odd = 1                      // the rank that puts differently
	oddly := func(put putter) putter { // in record 3
		return func(m *model, w *write.Writer, rec int64, rank int) error {
			if rec == 3 && rank == odd {
				return put(m, w, rec, rank)
			}
			return all(m, w, rec, rank)
		}
	}
	later := func(put putter) putter { // applies put from record 3 on; before, only rank 0 puts variables without a decomposition
		return func(m *model, w *write.Writer, rec int64, rank int) error {
			if rec < 3 {
				return sparely(m, w, rec, rank)
			}
			return put(m, w, rec, rank)
		}
	}
	for _, tc := range []struct {
		name string
		put  putter
	}{
		{"same", all},
		{"one variable less", oddly(func(m *model, w *write.Writer, rec int64, rank int) error { return m.put(w, 1, rec, rank, 1, nil) })},
		{"nothing", oddly(func(*model, *write.Writer, int64, int) error { return nil })},
		{"other record", func(m *model, w *write.Writer, rec int64, rank int) error {
			if rec >= 3 && rank == odd {
				rec = 8 - rec // the odd rank puts records 3, 4, 5 in reverse order
			}
			return all(m, w, rec, rank)
		}},
		{"twice", oddly(func(m *model, w *write.Writer, rec int64, rank int) error {
			return errors.Join(m.putRecord(w, 2, rank, false), m.putRecord(w, rec, rank, false))
		})},
		{"the fixed again", func(m *model, w *write.Writer, rec int64, rank int) error {
			return m.putRecord(w, rec, rank, rec == 0 || rec == 4)
		}},
		{"other order", oddly(func(m *model, w *write.Writer, rec int64, rank int) error {
			return errors.Join(m.put(w, 3, rec, rank, 3, nil), m.put(w, 2, rec, rank, 2, nil), m.put(w, 1, rec, rank, 1, nil))
		})},
		{"undecomposed by one", sparely},
		{"undecomposed by one, once not", func(m *model, w *write.Writer, rec int64, rank int) error {
			if rec == 3 {
				return errors.Join(m.put(w, 1, rec, rank, 1, nil), m.put(w, 2, rec, rank, 2, nil))
			}
			return sparely(m, w, rec, rank)
		}},
		{"undecomposed by one, of another record", later(func(m *model, w *write.Writer, rec int64, rank int) error {
			return m.putSparely(w, rec, 8-rec, rank) // rank 0 puts records 3, 4, 5 in reverse order
		})},
		{"undecomposed alone", later(func(m *model, w *write.Writer, rec int64, rank int) error {
			if rank > 0 {
				return nil
			}
			return m.put(w, 3, rec, rank, 3, nil)
		})},
		{"undecomposed alone, of two records", later(func(m *model, w *write.Writer, rec int64, rank int) error {
			return m.put(w, 3, (rec+int64(rank))%6, rank, 3, nil)
		})},
		{"a record again", func(m *model, w *write.Writer, rec int64, rank int) error {
			return m.putRecord(w, min(rec, 4), rank, rec == 0)
		}},
	} {
		m := tinyModel(2, 6)
		for _, o := range crashtest.Some(t, 3, []dataset.Settings{
			{Options: dataset.Options{OwnMin: 1, Subfiles: 1}},
			{Options: dataset.Options{OwnMin: 1 << 40, Subfiles: 2}},
			{Options: dataset.Options{OwnMin: 6, Subfiles: 1}}, // some pieces are larger than OwnMin, and some are smaller
			{Knobs: dataset.Knobs{Messages: true}, Options: dataset.Options{OwnMin: 1 << 40, Subfiles: 1}},
			{Options: dataset.Options{OwnMin: 1, Layout: dataset.ProcessCentric, Subfiles: 1, Records: 6}},
			{Options: dataset.Options{OwnMin: 1 << 40, Layout: dataset.ProcessCentric, Subfiles: 1, Records: 6}},
		}) {
			for _, async := range []int64{-1, 3} { // record to flush in the background; -1: none
				var want [][]byte
				for _, wrap := range []func(comm.Comm) comm.Comm{func(c comm.Comm) comm.Comm { return c }, commtest.Isolate} {
					o := o
					mem := vfs.NewMem()
					o.Fs = mem
					if err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
						w := need(write.CreateWith(ctx, wrap(c), "d.nc", m.s, m.parts(c.Rank()), &o))
						defer w.Abort()
						for rec := range m.records {
							must(tc.put(m, w, rec, c.Rank()))
							flush := w.Flush
							if rec == async {
								flush = w.FlushAsync
							}
							must(flush(ctx))
						}
						return w.Close(ctx)
					}); err != nil {
						t.Fatalf("%s, %+v: %v", tc.name, o, err)
					}
					for _, f := range checkErrors(mem, "d.nc") {
						t.Errorf("%s, %+v: %v", tc.name, o, f)
					}
					for k := range o.Subfiles {
						got := need(slurp(mem, subfile.Name("d.nc", k)))
						if len(want) <= k {
							want = append(want, got)
						} else if !bytes.Equal(got, want[k]) {
							t.Errorf("%s, %+v: subfile %d: %s", tc.name, o, k, firstDiff(got, want[k]))
						}
					}
				}
			}
		}
	}
}

// putSparely puts a record of tinyModel. Only rank 0 puts the variable without a decomposition, and for this variable the
// record is at.
func (m *model) putSparely(w *write.Writer, rec, at int64, rank int) error {
	err := errors.Join(m.put(w, 1, rec, rank, 1, nil), m.put(w, 2, rec, rank, 2, nil))
	if rank == 0 {
		err = errors.Join(err, m.put(w, 3, at, rank, 3, nil))
	}
	if rec == 0 {
		err = errors.Join(err, m.put(w, 0, 0, rank, 0, nil))
	}
	return err
}

// TestFlushErrors checks that an error on one rank in a flush is an error of this flush on all ranks, and that the writer then
// fails. The causes are a failed write of the rank, a failed write of an aggregator, and a cancelled context.
func TestFlushErrors(t *testing.T) {
	m := tinyModel(1, 6)
	for _, tc := range []struct {
		name   string
		ownMin int64
		rank   int // the rank that fails; -1: the aggregator fails
		want   error
	}{
		{"own write", 1, 3, errMine},
		{"window", 1 << 40, -1, errMine},
		{"context", 1, 2, context.Canceled},
		{"context, windows", 1 << 40, 2, context.Canceled},
	} {
		mem := vfs.NewMem()
		var fails [8]bool // fails[r]: writes of rank r fail
		errs := make([]error, m.ranks)
		after := make([]error, m.ranks)
		if err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			r := c.Rank()
			fsys := vfs.NewFault(mem, func(op vfs.Op) error {
				if fails[r] && op.Kind == vfs.OpWrite {
					return errMine
				}
				return nil
			})
			o := &dataset.Settings{Knobs: dataset.Knobs{Fs: fsys}, Options: dataset.Options{OwnMin: tc.ownMin, Subfiles: 1}}
			w, err := write.CreateWith(ctx, commtest.Isolate(c), "d.nc", m.s, m.parts(r), o)
			if err != nil {
				return err
			}
			defer w.Abort()
			for rec := range int64(3) {
				if err := errors.Join(m.putRecord(w, rec, r, rec == 0), w.Flush(ctx)); err != nil {
					return err
				}
			}
			if err := m.putRecord(w, 3, r, false); err != nil {
				return err
			}
			its, cancel := context.WithCancel(ctx)
			defer cancel()
			fails[r] = r == tc.rank || tc.rank < 0
			if fails[r] && tc.want == context.Canceled {
				cancel()
			}
			errs[r] = w.Flush(its)
			after[r] = w.Flush(ctx)
			return nil
		}); err != nil && tc.want != context.Canceled { // a cancelled context ends the run with an error
			t.Errorf("%s: %v", tc.name, err)
		}
		for r, err := range errs {
			if err == nil || !strings.Contains(err.Error(), tc.want.Error()) {
				t.Errorf("%s: rank %d: %v, want %v", tc.name, r, err, tc.want)
			}
			if !errors.Is(after[r], dataset.ErrBroken) {
				t.Errorf("%s: rank %d, the next flush: %v, want ErrBroken", tc.name, r, after[r])
			}
		}
	}
}

// TestDigest checks that different schemas have different digests.
func TestDigest(t *testing.T) {
	seen := map[int64]string{}
	for _, tc := range []struct {
		name string
		s    func() *dataset.Schema
	}{
		{"empty", dataset.NewSchema},
		{"dimension", func() *dataset.Schema { s := dataset.NewSchema(); s.Dim("x", 2); return s }},
		{"its length", func() *dataset.Schema { s := dataset.NewSchema(); s.Dim("x", 3); return s }},
		{"its name", func() *dataset.Schema { s := dataset.NewSchema(); s.Dim("y", 3); return s }},
		{"attribute", func() *dataset.Schema { s := dataset.NewSchema(); s.GlobalAtt("x", int32(3)); return s }},
		{"its type", func() *dataset.Schema { s := dataset.NewSchema(); s.GlobalAtt("x", float32(3)); return s }},
		{"its value", func() *dataset.Schema { s := dataset.NewSchema(); s.GlobalAtt("x", int32(4)); return s }},
		{"text", func() *dataset.Schema { s := dataset.NewSchema(); s.GlobalAtt("x", "4"); return s }},
		{"variable", func() *dataset.Schema {
			s := dataset.NewSchema()
			s.Var("v", cdf5.Int, []dataset.DimID{s.Dim("x", 2)})
			return s
		}},
		{"its type", func() *dataset.Schema {
			s := dataset.NewSchema()
			s.Var("v", cdf5.UInt, []dataset.DimID{s.Dim("x", 2)})
			return s
		}},
		{"its attribute", func() *dataset.Schema {
			s := dataset.NewSchema()
			s.Var("v", cdf5.Int, []dataset.DimID{s.Dim("x", 2)}, dataset.Att("u", "m"))
			return s
		}},
		{"its map", func() *dataset.Schema {
			s := dataset.NewSchema()
			x := s.Dim("x", 2)
			s.Var("v", cdf5.Int, []dataset.DimID{x}, dataset.Decomposed(s.Decomp(x)))
			return s
		}},
		{"no map", func() *dataset.Schema {
			s := dataset.NewSchema()
			x := s.Dim("x", 2)
			s.Decomp(x)
			s.Var("v", cdf5.Int, []dataset.DimID{x})
			return s
		}},
	} {
		d := tc.s().Digest()
		if old, ok := seen[d]; ok || d < 0 || d != tc.s().Digest() {
			t.Errorf("%s: digest %d, as of %q", tc.name, d, old)
		}
		seen[d] = tc.name
	}
}

// TestPartOverWhole puts a part of a variable after the whole. The next flush must write the part's values before it returns,
// because the caller may then reuse the lent data.
func TestPartOverWhole(t *testing.T) {
	m := tinyModel(1, 3)
	const clock = dataset.VarID(3)
	mem := vfs.NewMem()
	o := dataset.Settings{Knobs: dataset.Knobs{Fs: mem}, Options: dataset.Options{Retain: dataset.LendUntilFlush, Subfiles: 1}}
	noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		w := need(write.CreateWith(ctx, commtest.Isolate(c), "d.nc", m.s, m.parts(c.Rank()), &o))
		defer w.Abort()
		for rec := range m.records {
			err := m.putRecord(w, rec, c.Rank(), rec == 0)
			part := []float64{float64(10 + rec)}
			err = errors.Join(err, write.PutAt(w, clock, rec, nil, nil, part))
			must(errors.Join(err, w.Flush(ctx)))
			part[0] = -1
		}
		return w.Close(ctx)
	}))
	err := run(1, func(ctx context.Context, c comm.Comm) error {
		r := need(read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem}))
		defer r.Close()
		got := make([]float64, m.records)
		if err := r.Read(ctx, "time", []int64{0}, []int64{m.records}, got); err != nil || !slices.Equal(got, []float64{10, 11, 12}) {
			return fmt.Errorf("%v, want 10, 11, 12 (%v)", got, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
