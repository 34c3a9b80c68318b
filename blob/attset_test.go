package blob

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestSetAtt sets and changes attributes while a dataset is written. Commits, Close and appends commit the attributes, with or
// without new records.
func TestSetAtt(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		if sc.async {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			mem, m, want := vfs.NewMem(), sc.model(4), sc.model(0)
			give := func(ctx context.Context, w *write.Writer, of string, name string, value any) error {
				v := dataset.VarID(-1)
				if of != "" {
					v, _ = w.Job.Schema.VarID(of)
				}
				return w.SetAtt(ctx, v, name, value)
			}
			expected := func(of string, name string, value any) {
				v := dataset.VarID(-1)
				if of != "" {
					v, _ = want.s.VarID(of)
				}
				a := need(dataset.AttOf(name, value))
				want.s.SetAtt(v, a)
			}
			look := func(when string, records int64) {
				want.records = records
				readsAs(t, when, mem, "d.nc", want)
				wantSound(t, when, mem, "d.nc")
			}
			session := func(o *dataset.Settings, begin func(ctx context.Context, c comm.Comm) (*write.Writer, error), steps ...func(ctx context.Context, w *write.Writer, rank int) error) {
				t.Helper()
				noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
					c = sc.comm(c)
					w := need(begin(ctx, c))
					defer w.Abort()
					for k, s := range steps {
						if err := s(ctx, w, c.Rank()); err != nil {
							return fmt.Errorf("step %d: %w", k, err)
						}
						must(c.Barrier(ctx))
					}
					return w.Close(ctx)
				}))
			}
			one := func(f func()) func(ctx context.Context, w *write.Writer, rank int) error {
				return func(_ context.Context, _ *write.Writer, rank int) error {
					if rank == 0 {
						f()
					}
					return nil
				}
			}
			put := func(rec int64) func(ctx context.Context, w *write.Writer, rank int) error {
				return func(ctx context.Context, w *write.Writer, rank int) error {
					return errors.Join(m.putRecord(w, rec, rank, rec == 0), give(ctx, w, "", "history", fmt.Sprint("record ", rec)), w.Commit(ctx))
				}
			}
			o := sc.with(mem, false)
			session(o, func(ctx context.Context, c comm.Comm) (*write.Writer, error) {
				return write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o)
			},
				put(0), one(func() { expected("", "history", "record 0"); look("first commit", 1) }),
				func(ctx context.Context, w *write.Writer, _ int) error {
					return errors.Join(give(ctx, w, "T", "range", []float64{1.5, -2}), give(ctx, w, "", "title", "tiny, changed"), w.Commit(ctx))
				},
				one(func() {
					expected("T", "range", []float64{1.5, -2})
					expected("", "title", "tiny, changed")
					look("commit without records", 1)
				}),
				put(1), put(2), put(3), one(func() { expected("", "history", "record 3"); look("commits", 4) }),
				func(ctx context.Context, w *write.Writer, rank int) error {
					for _, err := range []error{w.SetAtt(ctx, 1, "_FillValue", float32(3)), w.SetAtt(ctx, 99, "a", "b"), w.SetAtt(ctx, -1, "a", struct{}{}), w.SetAtt(ctx, -1, "rank", rank)} {
						if !errors.Is(err, dataset.ErrUsage) && (m.ranks > 1 || err != nil) {
							return fmt.Errorf("a wrong attribute: %v", err)
						}
					}
					was := w.Commits.AttBytes
					w.Commits.AttBytes = write.MaxSetAtts - 5 // pretends that earlier sessions have set attributes of this size
					if err := give(ctx, w, "", "long", "12"); !errors.Is(err, dataset.ErrTooLarge) {
						return fmt.Errorf("an attribute too many: %v", err)
					}
					w.Commits.AttBytes = was
					return give(ctx, w, "", "end", int32(7))
				})
			if expected("", "end", int32(7)); m.ranks == 1 {
				return // a single rank has also set the attribute "rank"
			}
			look("close", 4)
			o = sc.with(mem, false)
			o.Records = 0
			again := func(ctx context.Context, c comm.Comm) (*write.Writer, error) {
				return resume.AppendWith(ctx, c, "d.nc", m.parts(c.Rank()), o)
			}
			session(o, again, func(ctx context.Context, w *write.Writer, _ int) error {
				return give(ctx, w, "flag", "note", "added later")
			})
			expected("flag", "note", "added later")
			look("append without records", 4)
			m.records = 5
			session(o, again, put(4))
			expected("", "history", "record 4")
			look("append", 5)
			wantSound(t, "check", mem, "d.nc")
		})
	}
}

// TestSetAttCrash checks that after a power failure a reader finds the records and the attributes of the same commit.
func TestSetAttCrash(t *testing.T) {
	for name, o := range crashtest.SomeOf(t, 2, continuedCases()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Workers = 1
			if o.Records > 0 {
				o.Records = 3
			}
			m := dealtModel(3, 2, 0)
			write := func(fsys vfs.FS, to int64, ranks int) error {
				m := dealtModel(to, ranks, 0)
				return run(ranks, func(ctx context.Context, c comm.Comm) error {
					o := o
					o.Fs = fsys
					var w *write.Writer
					var err error
					if to == 3 {
						w, err = write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &o)
					} else {
						o.Records = 0
						w, err = resume.AppendWith(ctx, c, "d.nc", m.parts(c.Rank()), &o)
					}
					must(err)
					for rec := w.Puts.Records(); rec < to; rec++ {
						if err := errors.Join(m.putRecord(w, rec, c.Rank(), rec == 0), w.SetAtt(ctx, -1, "records", int32(rec+1)), w.Commit(ctx)); err != nil {
							return errors.Join(err, w.Close(ctx))
						}
					}
					return w.Close(ctx)
				})
			}
			cs := crashtest.Scenario{Seed: 7, Torn: times(1, 4), Every: times(3, 1) * raced(5), Run: crashtest.One(func(fsys vfs.FS) error {
				return errors.Join(write(fsys, 3, 2), write(fsys, 5, 3))
			})}
			seen := map[int64]bool{}
			for _, cut := range cs.Cuts(t) {
				r, err := read.OpenWith(t.Context(), "d.nc", &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: cut.Mem[0]})
				if err != nil {
					if !errors.Is(err, dataset.ErrNotCommitted) && !read.IsGone(err) {
						t.Fatalf("%s: %v", cut.When, err)
					}
					continue
				}
				a := cdf5.FindAtt(r.Now().Data.Schema.Attributes(), "records")
				if a == nil || a.Value.([]int32)[0] != int32(r.Now().Data.Records) {
					t.Fatalf("%s: attribute %v with %d records", cut.When, a, r.Now().Data.Records)
				}
				seen[r.Now().Data.Records] = true
				r.Close()
			}
			if len(seen) < int(m.records) && !raceEnabled {
				t.Errorf("seen: %v", seen)
			}
		})
	}
}
