package blob

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// dealtModel returns a dataset in which each element has one owner, for any number of ranks. way selects the distribution.
func dealtModel(records int64, ranks, way int) *model {
	const rows, cols = 3, 8
	s := dataset.NewSchema()
	tm, row, col := s.Dim("time", dataset.Unlimited), s.Dim("lev", rows), s.Dim("ncol", cols)
	d1, d2 := s.Decomp(col), s.Decomp(row, col)
	s.GlobalAtt("title", "dealt")
	s.Var("area", cdf5.Double, []dataset.DimID{col}, dataset.Decomposed(d1))
	s.Var("T", cdf5.Float, []dataset.DimID{tm, row, col}, dataset.Decomposed(d2), dataset.Att("_FillValue", float32(-1)))
	s.Var("flag", cdf5.Short, []dataset.DimID{tm, col}, dataset.Decomposed(d1))
	s.Var("time", cdf5.Double, []dataset.DimID{tm})
	m := &model{s: s, ranks: ranks, records: records, seed: 1}
	for _, dims := range [][]int64{{cols}, {rows, cols}} {
		n := dataset.Product(dims)
		reqs := make([][]decomp.Req, ranks)
		for at := range n {
			rank := int(at*7+int64(way)*3) % ranks
			reqs[rank] = append(reqs[rank], decomp.Req{Offset: at, Length: 1})
		}
		b := decomp.NewBuilder(dims, ranks)
		for rank, l := range reqs {
			if way%2 == 1 {
				slices.Reverse(l)
			}
			must(b.Set(rank, l))
		}
		mp := need(b.Map())
		m.maps = append(m.maps, mp)
	}
	return m
}

// leg is one session of a history. Its ranks write the records up to number to.
type leg struct {
	to         int64
	ranks, way int
	subfiles   int
	sets       int   // expected number of sets after the leg, for a layout that grows in place
	since      int64 // first record with the variables of extend; 0: no such variables
}

func (l leg) model() *model {
	m := dealtModel(l.to, l.ranks, l.way)
	if l.since > 0 {
		m = m.extended(l.since, extend)
	}
	return m
}

// sail runs the session of a leg, with a commit after each record if commits is set.
func (l leg) sail(fsys vfs.FS, o dataset.Settings, isolate, commits bool) error {
	o.Fs = fsys
	o.Subfiles = l.subfiles
	m := l.model()
	return run(l.ranks, func(ctx context.Context, c comm.Comm) error {
		c = isolateIf(c, isolate)
		_, serr := fsys.Stat(subfile.ManifestName("d.nc"))
		must(c.Barrier(ctx))
		var w *write.Writer
		var err error
		if serr != nil {
			w, err = write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &o)
		} else {
			w, err = m.append(ctx, c, "d.nc", &o)
		}
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		defer w.Abort()
		for rec := w.Puts.Records(); rec < l.to; rec++ {
			must(m.putRecord(w, rec, c.Rank(), serr != nil && rec == 0))
			if commits {
				if err := w.Commit(ctx); err != nil || w.Committed() != rec+1 {
					return fmt.Errorf("commit of record %d: %d committed, %w", rec, w.Committed(), err)
				}
			}
		}
		return w.Close(ctx)
	})
}

// continuedCases returns settings for histories.
func continuedCases() map[string]dataset.Settings {
	return map[string]dataset.Settings{
		"variable":         {},
		"final names":      {Options: dataset.Options{Renames: dataset.CommitManifestOnly}},
		"process":          {Options: dataset.Options{Layout: dataset.ProcessCentric}},
		"room":             {Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 2}},
		"compressed":       {Options: dataset.Options{Layout: dataset.ProcessCentric, Compress: dataset.Compress{Method: dataset.ShuffleZstd}}, Knobs: dataset.Knobs{Chunk: 8}},
		"compressed, room": {Options: dataset.Options{Layout: dataset.ProcessCentric, Records: 2, Compress: dataset.Compress{Method: dataset.Zstd}}, Knobs: dataset.Knobs{Chunk: 16}},
	}
}

// TestContinued writes a history in sessions of different numbers of ranks (4, 7, 3), maps and subfiles, with and without
// commits. After each session the dataset must convert to the same bytes as a dataset written in one session, and each record
// must read correctly.
func TestContinued(t *testing.T) {
	legs := []leg{{2, 4, 0, 2, 1, 0}, {4, 7, 0, 3, 2, 0}, {6, 7, 0, 3, 2, 0}, {8, 3, 0, 1, 3, 0}, {10, 3, 1, 1, 4, 0}, {12, 3, 1, 2, 5, 0}, {14, 4, 0, 2, 6, 0}}
	for name, o := range crashtest.SomeOf(t, 2, continuedCases()) {
		for _, isolate := range []bool{false, true} {
			for _, commits := range crashtest.Some(t, 1, []bool{false, true}) {
				t.Run(fmt.Sprintf("%s-apart=%v-commits=%v", name, isolate, commits), func(t *testing.T) {
					t.Parallel()
					mem := vfs.NewMem()
					for _, l := range legs {
						if err := l.sail(mem, o, isolate, commits); err != nil {
							t.Fatalf("%d ranks up to record %d: %v\nfiles: %v", l.ranks, l.to, err, names(mem, "."))
						}
						l.look(t, mem, o.Layout == dataset.VariableCentric)
					}
				})
			}
		}
	}
}

// look compares the dataset with the leg's model.
func (l leg) look(t *testing.T, mem vfs.FS, grows bool) {
	t.Helper()
	ctx := t.Context()
	m := dealtModel(l.to, 1, 0)
	r, err := read.OpenWith(ctx, "d.nc", &read.OpenOptions{Workers: 1, Verify: read.VerifyAlways}, dataset.Knobs{Fs: mem})
	if err != nil {
		t.Fatalf("up to %d: %v\nfiles: %v", l.to, err, names(mem, "."))
	}
	defer r.Close()
	got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
	if want := m.canonical(false); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("up to %d: %v, %s\nfiles: %v", l.to, err, firstDiff(got, want), names(mem, "."))
	}
	if n := len(r.Now().Files.Manifest.Sets); grows && n != l.sets {
		t.Errorf("up to %d: %d sets, want %d", l.to, n, l.sets)
	}
	for rec := range l.to {
		x := []float32{0}
		if err := r.ReadRuns(ctx, "T", rec, []decomp.Req{{Offset: rec, Length: 1}}, x); err != nil || float64(x[0]) != m.x(1, rec, rec) {
			t.Errorf("record %d: %v %v", rec, x, err)
		}
		sum := 0
		for b, err := range r.Now().Elems.Blobs(ctx, "T", rec) {
			noError(t, err)
			one, err := r.Now().Elems.RankBlob(ctx, "T", rec, b.Rank)
			if err != nil || fmt.Sprint(one) != fmt.Sprint(b) {
				t.Fatalf("blob %d of record %d: %v", b.Rank, rec, err)
			}
			sum += len(b.Data.([]float32))
		}
		if sum != 24 {
			t.Errorf("the blobs of record %d have %d elements", rec, sum)
		}
		at, err := r.Now().Elems.Where(ctx, "flag", []int64{rec, 5})
		if err != nil || at == nil || at.Record != rec {
			t.Fatalf("where: %v %v", at, err)
		}
		b, err := element(need(slurp(mem, at.File)), at, 2)
		if err != nil || float64(binary.BigEndian.Uint16(b)) != m.x(2, rec, 5) {
			t.Errorf("record %d at %+v: %x, %v", rec, at, b, err)
		}
		mp, err := r.Now().Maps.MapOf(ctx, 1, rec)
		if err != nil || at.Rank >= mp.Ranks() {
			t.Errorf("map of record %d: %v", rec, err)
		}
	}
	wantSound(t, fmt.Sprintf("up to %d", l.to), mem, "d.nc")
	if steps, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: mem}); err != nil || len(steps) > 0 {
		t.Errorf("up to %d: left to recover: %v %v", l.to, steps, err)
	}
}

// TestContinuedNarrower continues a dataset with another map: it owns element 3, which has no owner in the first map, and lacks
// other elements. Elements without an owner in the later map read as fill values. Convert to blobs returns an error, because
// the output has the first map and would lose element 3.
func TestContinuedNarrower(t *testing.T) {
	mem := vfs.NewMem()
	was := tinyModel(1, 1) // element 3 has no owner
	must(run(was.ranks, func(ctx context.Context, c comm.Comm) error {
		return was.create(ctx, c, "d.nc", &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	}))
	b := decomp.NewBuilder([]int64{7}, 2)
	must(errors.Join(b.Set(0, []decomp.Req{{Offset: 3, Length: 3}}), b.Set(1, []decomp.Req{{Offset: 0, Length: 1}})))
	mp := need(b.Map())
	now := &model{s: was.s, maps: []*decomp.Map{mp}, ranks: 2, records: 2, seed: 1}
	must(run(2, func(ctx context.Context, c comm.Comm) error {
		return now.add(ctx, c, "d.nc", &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	}))
	r, err := read.OpenWith(t.Context(), "d.nc", nil, dataset.Knobs{Fs: mem})
	must(err)
	defer r.Close()
	x := make([]float32, 7)
	must(r.Read(t.Context(), "T", []int64{1, 0}, []int64{1, 7}, x))
	for at, v := range x {
		want := float64(-1)
		if at == 0 || at >= 3 && at < 6 {
			want = now.x(1, 1, int64(at))
		}
		if float64(v) != want {
			t.Errorf("element %d of record 1: %v, want %v", at, v, want)
		}
	}
	if c, err := r.Now().Maps.Coverage(t.Context(), 1); err != nil || c.Uncovered != 3 {
		t.Errorf("coverage %v %v", c, err)
	}
	err = convert.ConvertWith(t.Context(), comm.Self(), r, "out.h5", &convert.ConvertOptions{Blobs: true, Layout: dataset.ProcessCentric}, dataset.Knobs{Fs: mem})
	if !errors.Is(err, dataset.ErrUsage) {
		t.Errorf("convert that loses element 3: %v", err)
	}
}

// TestContinuedCrash cuts the power before each operation of a writer that continues a dataset of other ranks. The writer adds
// variables and commits, also in the background. A reader must find the last commit or the one in progress, and another number
// of ranks must be able to continue.
func TestContinuedCrash(t *testing.T) {
	for name, o := range crashtest.SomeOf(t, 2, continuedCases()) {
		for ranks := 1; ranks <= 4; ranks++ {
			for _, since := range []int64{0, 2} {
				if raceEnabled && ranks != 3 {
					continue
				}
				t.Run(fmt.Sprintf("%s by %d-since=%d", name, ranks, since), func(t *testing.T) {
					t.Parallel()
					start := vfs.NewMem()
					o := o // parallel subtests change their copies
					o.Workers, o.Records = 1, 0
					must(leg{to: 1, ranks: 4, subfiles: 2}.sail(start, o, false, false))
					must(leg{to: 2, ranks: 2, subfiles: 1}.sail(start, o, false, true))
					if o.Layout == dataset.ProcessCentric && continuedCases()[name].Records > 0 {
						o.Records = 3
					}
					var told most
					told.n.Store(2)
					m, all := leg{to: 5, ranks: ranks, way: 1, since: since}.model(), leg{to: 6, ranks: 1, since: since}.model()
					cs := crashtest.Scenario{Start: disk(start), Seed: 5, Torn: times(1, 4), Every: times(37, 1) * raced(2), Mark: told.n.Load,
						Run: crashtest.One(func(fsys vfs.FS) error {
							told.n.Store(2)
							sc := sessionCase{crashCase: crashCase{o: o, apart: ranks%2 == 0}, async: ranks == 2}
							return run(ranks, func(ctx context.Context, c comm.Comm) error {
								return sc.writeCommits(ctx, c, m, sc.with(fsys, false), true, told.tell)
							})
						})}
					for k, cut := range cs.Cuts(t) {
						n := recordsSeen(t, cut.Mem[0], cut.When, all)
						if n < cut.Mark || n > cut.Mark+1 && ranks != 2 || n > cut.Mark+2 || cut.Last && n != m.records {
							t.Fatalf("%s: %d records, but %d were committed\nfiles: %v", cut.When, n, cut.Mark, names(cut.Mem[0], "."))
						}
						if k%times(7, 1) == 0 {
							if err := (leg{to: n + 1, ranks: 3, way: 1, subfiles: 2, since: since}).sail(cut.Mem[0], dataset.Settings{}, false, k%2 == 0); err != nil {
								t.Fatalf("%s: append after it: %v\nfiles: %v", cut.When, err, names(cut.Mem[0], "."))
							}
							if got := recordsSeen(t, cut.Mem[0], cut.When+", and append", all); got != n+1 {
								t.Fatalf("%s: %d records after an append, want %d", cut.When, got, n+1)
							}
						}
					}
				})
			}
		}
	}
}

// TestContinuedFault lets each operation of a continuing writer fail once. All ranks must get the error, committed data must
// stay, and another session must be able to continue.
func TestContinuedFault(t *testing.T) {
	for name, o := range crashtest.SomeOf(t, 2, continuedCases()) {
		for _, since := range []int64{0, 2} {
			t.Run(fmt.Sprintf("%s-since=%d", name, since), func(t *testing.T) {
				t.Parallel()
				start := vfs.NewMem()
				o := o
				o.Workers = 1
				fixed := o.Records > 0
				if o.Records = 0; fixed {
					o.Records = 2
				}
				was := o
				was.Records = 0
				must(leg{to: 2, ranks: 4, subfiles: 2}.sail(start, was, false, true))
				m, all := leg{to: 4, ranks: 3, way: 1, since: since}.model(), leg{to: 5, ranks: 1, since: since}.model()
				var told most
				var errs []error
				s := crashtest.Scenario{Start: disk(start), Every: times(47, 1) * raced(2), Run: func(d *crashtest.Disks) (err error) {
					told.n.Store(2)
					sc := sessionCase{crashCase: crashCase{o: o}}
					errs, err = eachRank(m.ranks, func(ctx context.Context, c comm.Comm) error {
						return sc.writeCommits(ctx, c, m, sc.with(d.FS[0], false), true, told.tell)
					})
					return err
				}}
				k := 0
				for f := range s.Faults(t, faults...) {
					if f.Err == nil && !mayIgnore(*f.Op) && !writtenLater(*f.Op, f.Way.Err) {
						t.Fatalf("%s: no error\nfiles: %v", f.When, names(f.FS[0], "."))
					}
					for r, e := range errs {
						if f.Err != nil && !tells(e, f.Way.Err) {
							t.Fatalf("%s: rank %d has %v, others %v", f.When, r, e, f.Err)
						}
					}
					n := recordsSeen(t, f.FS[0], f.When, all)
					if n < told.n.Load() || f.Err == nil && n != m.records {
						t.Fatalf("%s: %d records, but %d were committed (%v)\nfiles: %v", f.When, n, told.n.Load(), f.Err, names(f.FS[0], "."))
					}
					if k++; k%times(3, 1) == 0 {
						if err := (leg{to: n + 1, ranks: 2, subfiles: 1, since: since}).sail(f.FS[0], dataset.Settings{}, false, true); err != nil {
							t.Fatalf("%s: append after it: %v\nfiles: %v", f.When, err, names(f.FS[0], "."))
						}
						if got := recordsSeen(t, f.FS[0], f.When+", and append", all); got != n+1 {
							t.Fatalf("%s: %d records after an append, want %d", f.When, got, n+1)
						}
					}
				}
			})
		}
	}
}
