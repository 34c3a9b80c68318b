package blob

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/watch"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// kept is a dataset with its expected content.
type kept struct {
	base    string
	seed    int64
	records int64
	o       dataset.Settings
}

func (k *kept) model(ranks, way int) *model {
	m := dealtModel(k.records, ranks, way)
	m.seed = k.seed
	return m
}

// expect checks the content and the files of a dataset.
func (k *kept) expect(t *testing.T, after []string) {
	t.Helper()
	story := strings.Join(after, "\n")
	if got, err := canonicalOf(vfs.OS, k.base); err != nil {
		t.Fatalf("%s\n%s: %v", story, k.base, err)
	} else if want := k.model(2, 0).canonical(false); !bytes.Equal(got, want) {
		t.Fatalf("%s\n%s: %s", story, k.base, firstDiff(got, want))
	}
	wantSound(t, fmt.Sprintf("%s\n%s", story, k.base), vfs.OS, k.base)
	if s, err := watch.NewWatch(nil, k.base).Look(); err != nil || s.Records != k.records {
		t.Fatalf("%s\n%s: %v, %v, want %d records", story, k.base, s, err, k.records)
	}
}

// wander is a random history of datasets. Its steps write, copy, rename, continue, recover and destroy datasets.
type wander struct {
	rnd   *rand.Rand
	ways  []carrier
	dirs  []string
	all   []*kept
	story []string
	n     int
}

// fresh returns an unused dataset name.
func (h *wander) fresh() string {
	h.n++
	forms := []string{"F_h0.nc", "case.eam.h0.2010-%02d.nc", "with space %d", "d.%04d", "x.manifest%d", "w%08x.h5", "a+%d.nc", "ü.%d.partial"}
	name := forms[h.rnd.Intn(len(forms))]
	if strings.Contains(name, "%") {
		name = fmt.Sprintf(name, h.n)
	} else {
		name = fmt.Sprintf("%s-%d", name, h.n)
	}
	return filepath.Join(h.dirs[h.rnd.Intn(len(h.dirs))], name)
}

func (h *wander) say(format string, args ...any) {
	h.story = append(h.story, fmt.Sprintf(format, args...))
}

// carry copies or moves a dataset to a new name, with its lease if lock is set.
func (h *wander) carry(k *kept, lock bool) error {
	way := h.ways[h.rnd.Intn(len(h.ways))]
	return h.carryBy(way, k, lock)
}

func (h *wander) carryBy(way carrier, k *kept, lock bool) error {
	to := *k
	to.base = h.fresh()
	files := filesOf(k.base, lock)
	h.rnd.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	h.say("%s %s %s: %d files, %d records", way.name, k.base, to.base, len(files), k.records)
	if err := way.carry(files, k.base, to.base); err != nil {
		return err
	}
	if way.moves {
		*k = to
	} else {
		h.all = append(h.all, &to)
	}
	return nil
}

// write creates or extends a dataset with a random number of ranks. If live is set, it copies the dataset between commits, when
// there are also uncommitted data.
func (h *wander) write(k *kept, add, live bool) error {
	ranks, way := 1+h.rnd.Intn(3), h.rnd.Intn(3)
	k.o.Subfiles = 1 + h.rnd.Intn(ranks)
	from := k.records
	k.records += 1 + int64(h.rnd.Intn(3))
	m := k.model(ranks, way)
	h.say("write %s: %v, add %v, live %v, %d ranks, %d subfiles, records %d to %d", k.base, k.o.Layout, add, live, ranks, k.o.Subfiles, from, k.records-1)
	if !live && !add {
		return run(ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, k.base, &k.o) })
	}
	if !live {
		return run(ranks, func(ctx context.Context, c comm.Comm) error { return m.add(ctx, c, k.base, &k.o) })
	}
	return run(ranks, func(ctx context.Context, c comm.Comm) error {
		var w *write.Writer
		var err error
		if add {
			w, err = m.append(ctx, c, k.base, &k.o)
		} else {
			w, err = write.CreateWith(ctx, c, k.base, m.s, m.parts(c.Rank()), &k.o)
		}
		must(err)
		defer w.Abort()
		look := func(records int64) (err error) {
			if c.Rank() == 0 && records > 0 {
				copied := *k
				copied.records = records
				cp := h.ways[slices.IndexFunc(h.ways, func(w carrier) bool { return w.name == "cp" })]
				err = h.carryBy(cp, &copied, h.rnd.Intn(2) == 0)
			}
			return comm.Agree(ctx, c, err)
		}
		for rec := from; rec < k.records; rec++ {
			if err = m.putRecord(w, rec, c.Rank(), rec == 0); err == nil {
				err = w.Flush(ctx)
			}
			if err == nil {
				err = look(rec) // the copy must have the committed records only
			}
			if err == nil {
				err = w.Commit(ctx)
			}
			if err == nil {
				err = look(rec + 1)
			}
			must(err)
		}
		return w.Close(ctx)
	})
}

// spoil overwrites or removes all files of a dataset. Other datasets must not change.
func (h *wander) spoil(k *kept) {
	noise := h.rnd.Intn(2) == 0
	h.say("spoil %s: noise %v", k.base, noise)
	for _, f := range filesOf(k.base, true) {
		if noise {
			b := make([]byte, 3000)
			h.rnd.Read(b)
			must(os.WriteFile(f, b, 0o666))
		}
	}
	defer func() { h.all = slices.DeleteFunc(h.all, func(o *kept) bool { return o == k }) }()
	if noise {
		for _, o := range h.all {
			if o != k {
				need(canonicalOf(vfs.OS, o.base))
			}
		}
	}
	for _, f := range filesOf(k.base, true) {
		must(os.Remove(f))
	}
}

// step makes one random change.
func (h *wander) step() error {
	if len(h.all) == 0 || h.rnd.Intn(6) == 0 {
		k := &kept{base: h.fresh(), seed: int64(h.n), o: dataset.Settings{Options: dataset.Options{Durability: dataset.DurableNone, Layout: dataset.Layout(h.rnd.Intn(2))}}}
		if k.o.Layout == dataset.ProcessCentric && h.rnd.Intn(3) == 0 {
			k.o.Compress.Method = dataset.ShuffleZstd
		}
		k.o.Renames = []int{0, dataset.CommitManifestOnly}[h.rnd.Intn(2)]
		err := h.write(k, false, h.rnd.Intn(2) == 0)
		h.all = append(h.all, k)
		return err
	}
	k := h.all[h.rnd.Intn(len(h.all))]
	switch h.rnd.Intn(6) {
	case 0, 1, 2:
		return h.carry(k, h.rnd.Intn(2) == 0)
	case 3:
		return h.write(k, true, h.rnd.Intn(2) == 0)
	case 4:
		h.say("recover %s", k.base)
		if _, err := resume.Recover(context.Background(), k.base, nil); err != nil {
			return err
		}
	case 5:
		if len(h.all) > 1 {
			h.spoil(k)
		}
	}
	return nil
}

// TestCopiesAndRenames checks that every dataset is complete and independent after any copies and renames, whatever happens to
// the dataset that it was copied from.
func TestCopiesAndRenames(t *testing.T) { wanderAll(t, carriers, times(1, 100)) }

// TestCopiesByPrograms is TestCopiesAndRenames with mv, cp, rsync and tar.
func TestCopiesByPrograms(t *testing.T) { wanderAll(t, programs(t), times(12, 100)) }

func wanderAll(t *testing.T, ways []carrier, orders int) {
	for seed := range orders {
		top := t.TempDir()
		h := &wander{rnd: rand.New(rand.NewSource(int64(seed))), ways: ways}
		for _, d := range []string{"one", "two"} {
			h.dirs = append(h.dirs, filepath.Join(top, d))
			must(os.Mkdir(h.dirs[len(h.dirs)-1], 0o777))
		}
		for range 14 {
			if err := h.step(); err != nil {
				t.Fatalf("order %d: %s\n%v", seed, strings.Join(h.story, "\n"), err)
			}
			for _, k := range h.all {
				k.expect(t, append([]string{fmt.Sprintf("order %d", seed)}, h.story...))
			}
		}
		for _, d := range h.dirs {
			sets := need(subfile.List(vfs.OS, d))
			var found, want []string
			for _, s := range sets {
				found = append(found, s.Base)
			}
			for _, k := range h.all {
				if filepath.Dir(k.base) == d {
					want = append(want, k.base)
				}
			}
			slices.Sort(want)
			if !slices.Equal(found, want) {
				t.Fatalf("%s\nin %s: %v, want %v", strings.Join(h.story, "\n"), d, found, want)
			}
		}
	}
}
