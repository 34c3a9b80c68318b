package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// sessionCase is a way to write a dataset with commits.
type sessionCase struct {
	crashCase
	async bool
	ranks int // number of ranks that write; 0: the model's
}

// sessionCases returns cases of both layouts. Some datasets grow in place, and others by sets. The ranks share a heap, or they
// are 1 to 4 ranks with separate heaps.
func sessionCases() (l []sessionCase) {
	add := func(name string, apart bool, ranks int, o dataset.Settings) {
		o.Workers = 1
		l = append(l, sessionCase{crashCase: crashCase{name: name, o: o, apart: apart}, ranks: ranks})
	}
	for _, n := range []int{1, 3} {
		add(fmt.Sprintf("variable-%d", n), false, 0, dataset.Settings{Options: dataset.Options{Subfiles: n}})
		add(fmt.Sprintf("sets-%d", n), false, 0, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: n}})
		add(fmt.Sprintf("room-%d", n), false, 0, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: n, Records: 4}})
	}
	add("final names", false, 0, dataset.Settings{Options: dataset.Options{Renames: dataset.CommitManifestOnly, Subfiles: 2}})
	add("final names of sets", false, 0, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Renames: dataset.CommitManifestOnly, Subfiles: 2}})
	add("compressed", false, 0, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Compress: dataset.Compress{Method: dataset.ShuffleZstd}}, Knobs: dataset.Knobs{Chunk: 8}})
	add("compressed room", false, 0, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Records: 4, Compress: dataset.Compress{Method: dataset.Zstd}}, Knobs: dataset.Knobs{Chunk: 8}})
	for n := 1; n <= 4; n++ {
		add(fmt.Sprintf("variable by %d", n), true, n, dataset.Settings{Options: dataset.Options{OwnMin: 1 << 20, Aggregators: 1, Subfiles: min(n, 2)}})
		add(fmt.Sprintf("room by %d", n), true, n, dataset.Settings{Options: dataset.Options{OwnMin: 8, Layout: dataset.ProcessCentric, Records: 4, Subfiles: 1}})
		add(fmt.Sprintf("sets by %d", n), true, n, dataset.Settings{Options: dataset.Options{OwnMin: 1 << 20, Layout: dataset.ProcessCentric, Subfiles: min(n, 2)}})
	}
	add("compressed room by 3", true, 3, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 4, Compress: dataset.Compress{Method: dataset.AutoCompression}}})
	add("compressed by 3", true, 3, dataset.Settings{Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.AutoCompression}}})
	for _, sc := range slices.Clone(l) {
		switch sc.name {
		case "variable-3", "sets-1", "room-3", "variable by 3", "room by 2", "compressed":
			sc.name, sc.async, sc.o.SyncMin = sc.name+" async", true, 1
			l = append(l, sc)
		}
	}
	return l
}

// model returns the dataset that the case writes.
func (sc sessionCase) model(records int64) *model {
	if sc.ranks == 0 {
		return tinyModel(1, records)
	}
	return tinyModelOf(1, records, sc.ranks)
}

// writeCommits runs a session on one rank, with a commit after each record. After each commit it calls told with the number of
// committed records.
func (sc sessionCase) writeCommits(ctx context.Context, c comm.Comm, m *model, o *dataset.Settings, add bool, told func(int64)) error {
	var w *write.Writer
	var err error
	if add {
		w, err = m.append(ctx, sc.comm(c), "d.nc", o)
	} else {
		w, err = write.CreateWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), o)
	}
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for rec := w.Puts.Records(); rec < m.records; rec++ {
		if err := m.putRecord(w, rec, c.Rank(), rec == 0); err != nil {
			return errors.Join(err, w.Close(ctx))
		}
		commit := w.Commit
		if sc.async {
			commit = w.CommitAsync
		}
		if err := commit(ctx); err != nil {
			return errors.Join(fmt.Errorf("commit: %w", err), w.Close(ctx))
		}
		if n := w.Committed(); n > 0 {
			told(n)
		}
	}
	if err := w.Close(ctx); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	told(m.records)
	return nil
}

// most keeps the highest number that was passed to tell.
type most struct{ n atomic.Int64 }

func (h *most) tell(n int64) {
	for {
		was := h.n.Load()
		if n <= was || h.n.CompareAndSwap(was, n) {
			return
		}
	}
}

// recordsSeen checks that a dataset equals m after some commit, and returns the number of records. It returns -1 if there is no
// dataset.
func recordsSeen(t *testing.T, fsys vfs.FS, when string, m *model) int64 {
	t.Helper()
	ctx := context.Background()
	r, err := read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: 1}, dataset.Knobs{Fs: fsys})
	bad := checkErrors(fsys, "d.nc")
	if err != nil {
		if !errors.Is(err, dataset.ErrNotCommitted) && !read.IsGone(err) || len(bad) == 0 {
			t.Fatalf("%s: open: %v, Check: %v\nfiles: %v", when, err, bad, names(fsys, "."))
		}
		return -1
	}
	defer r.Close()
	got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
	if err != nil {
		t.Fatalf("%s: %v\nfiles: %v", when, err, names(fsys, "."))
	}
	if want := m.upTo(r.Now().Data.Records).canonical(false); !bytes.Equal(got, want) {
		t.Fatalf("%s: not what was committed with %d records: %s\nfiles: %v", when, r.Now().Data.Records, firstDiff(got, want), names(fsys, "."))
	}
	if len(bad) > 0 {
		t.Fatalf("%s: reads well, but Check finds %v\nfiles: %v", when, bad, names(fsys, "."))
	}
	return r.Now().Data.Records
}

// goOnAfter checks that the next writer can add a record after a crash.
func (sc sessionCase) goOnAfter(t *testing.T, c crash, m *model, have int64) {
	t.Helper()
	o := sc.with(c.fs, false)
	o.Records = 0
	if have < 0 {
		o.Force = true
		err := run(m.ranks, func(ctx context.Context, co comm.Comm) error { return m.create(ctx, sc.comm(co), "d.nc", o) })
		if err != nil {
			t.Fatalf("%s: create after it: %v\nfiles: %v", c.when, err, names(c.fs, "."))
		}
		expect(t, c, "create after it", m)
		return
	}
	next := m.upTo(have + 1)
	if err := run(m.ranks, func(ctx context.Context, co comm.Comm) error { return next.add(ctx, sc.comm(co), "d.nc", o) }); err != nil {
		t.Fatalf("%s: append after it: %v\nfiles: %v", c.when, err, names(c.fs, "."))
	}
	expect(t, c, "append after it", next)
}

// TestSessionCrash cuts the power before each operation of a writer with commits. A reader must find the last commit or the one
// in progress, never a mixture, and the next writer must be able to continue.
func TestSessionCrash(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		for _, add := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-append=%v", sc.name, add), func(t *testing.T) {
				t.Parallel()
				m, start := sc.model(4), vfs.NewMem()
				var told most
				if told.n.Store(-1); add {
					was := m.upTo(1)
					o := sc.with(start, false)
					if o.Records > 0 {
						o.Records = 1
					}
					must(run(m.ranks, func(ctx context.Context, c comm.Comm) error { return was.create(ctx, sc.comm(c), "d.nc", o) }))
					told.n.Store(1)
				}
				cs := crashtest.Scenario{Start: disk(start), Seed: 3, Torn: times(1, 4), Every: times(5, 2) * raced(3), Mark: func() int64 { return 1 + told.n.Load() },
					Run: crashtest.One(func(fsys vfs.FS) error {
						return run(m.ranks, func(ctx context.Context, c comm.Comm) error {
							o := sc.with(fsys, false)
							if add && o.Records > 0 {
								o.Records = 3
							}
							return sc.writeCommits(ctx, c, m, o, add, told.tell)
						})
					})}
				counts := map[int64]int{}
				for k, cut := range cs.Cuts(t) {
					c := crash{fs: cut.Mem[0], when: cut.When, strict: cut.Strict, last: cut.Last}
					n, least := recordsSeen(t, c.fs, c.when, m), cut.Mark-1
					if n < least || n > max(least, 0)+2 || c.last && n != m.records {
						t.Fatalf("%s: %d records, but %d were committed\nfiles: %v", c.when, n, least, names(c.fs, "."))
					}
					counts[n]++
					if k%times(7, 1) == 0 {
						sc.goOnAfter(t, c, m, n)
					}
				}
				if len(counts) < 4 && !raceEnabled {
					t.Errorf("records %v: the test sees few of the commits", counts)
				}
			})
		}
	}
}

// TestSessionFault lets each operation fail once. All ranks must get the error, earlier commits must stay, and the next writer
// must be able to continue.
func TestSessionFault(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		inParallel(t, sc.name, func(t *testing.T) {
			m := sc.model(3)
			var told most
			var errs []error
			s := crashtest.Scenario{Every: times(13, 2) * raced(3), Run: func(d *crashtest.Disks) (err error) {
				told.n.Store(-1)
				o := sc.with(d.FS[0], false)
				if o.Records > 0 {
					o.Records = m.records
				}
				errs, err = eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
					return sc.writeCommits(ctx, c, m, o, false, told.tell)
				})
				return err
			}}
			k := 0
			for f := range s.Faults(t, faults...) {
				left, when, err := f.FS[0], f.When, f.Err
				if err == nil && !mayIgnore(*f.Op) && !writtenLater(*f.Op, f.Way.Err) {
					t.Fatalf("%s: no error\nfiles: %v", when, names(left, "."))
				}
				for r, e := range errs {
					if err != nil && !tells(e, f.Way.Err) {
						t.Fatalf("%s: rank %d has %v, others %v", when, r, e, err)
					}
				}
				n := recordsSeen(t, left, when, m)
				if n < told.n.Load() || err == nil && n != m.records {
					t.Fatalf("%s: %d records, but %d were committed (%v)\nfiles: %v", when, n, told.n.Load(), err, names(left, "."))
				}
				c := crash{fs: left, when: when}
				if after := recordsSeen(t, c.after(), when+", then power loss", m); after < told.n.Load() {
					t.Fatalf("%s: %d records after a power loss, but %d were committed", when, after, told.n.Load())
				}
				if k++; k%times(3, 1) == 0 {
					sc.goOnAfter(t, c, m, n)
				}
			}
		})
	}
}

// TestSessionHeaders checks that after each commit another program can read the subfiles without manifest and log. Their
// headers count only committed records.
func TestSessionHeaders(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		if sc.o.Layout != dataset.VariableCentric {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m, mem := sc.model(4), vfs.NewMem()
			var mu sync.Mutex
			looks := 0
			look := func(committed int64) {
				mu.Lock()
				defer mu.Unlock()
				alone := vfs.NewMem()
				entries := need(mem.ReadDir("."))
				for _, e := range entries {
					if _, _, is := subfile.Split(e.Name()); !is {
						continue
					}
					b := need(slurp(mem, e.Name()))
					if n := int64(binary.BigEndian.Uint64(b[layout.NumrecsAt:])); n != committed {
						t.Errorf("%s: numrecs %d, %d are committed", e.Name(), n, committed)
					}
					must(vfs.WriteFile(alone, e.Name(), b))
				}
				readsAs(t, fmt.Sprintf("%d committed", committed), alone, "d.nc", m.upTo(committed))
				looks++
			}
			sc.async = false
			err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				return sc.writeCommits(ctx, c, m, sc.with(mem, false), false, func(n int64) {
					must(c.Barrier(ctx))
					if c.Rank() == 0 {
						look(n)
					}
					must(c.Barrier(ctx))
				})
			})
			if err != nil || looks != 5 {
				t.Errorf("%v, %d looks", err, looks)
			}
		})
	}
}

// TestAbortCloses checks that Abort closes all files, before and after a commit.
func TestAbortCloses(t *testing.T) {
	for _, commits := range []bool{false, true} {
		for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
			var mu sync.Mutex
			open := map[string]int{}
			fsys := vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				switch op.Kind {
				case vfs.OpOpen, vfs.OpCreate:
					if subfile.Base(op.Name) == "d.nc" && !strings.Contains(op.Name, "manifest") {
						open["subfiles"]++
					}
				case vfs.OpClose:
					if subfile.Base(op.Name) == "d.nc" && !strings.Contains(op.Name, "manifest") {
						open["subfiles"]--
					}
				}
				return nil
			})
			m := tinyModel(2, 2)
			noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				w, err := write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: 2, Records: 2}, Knobs: dataset.Knobs{Fs: fsys}})
				if err != nil {
					return err
				}
				must(m.putRecord(w, 0, c.Rank(), true))
				if commits {
					err = w.Commit(ctx)
				} else {
					err = w.Flush(ctx)
				}
				w.Abort()
				return err
			}))
			if n := open["subfiles"]; n != 0 {
				t.Errorf("%v, committed %v: %d files are open", layout, commits, n)
			}
		}
	}
}
