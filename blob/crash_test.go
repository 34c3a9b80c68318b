package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"blobio/blob/internal/check"
	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// crash is the state of the disk after a power loss during some work.
type crash struct {
	fs     vfs.FS
	when   string
	strict bool
	last   bool // the power loss comes after the end of the work
}

// after returns the state after a second power loss, if the file system can simulate it.
func (c crash) after() vfs.FS {
	if m, ok := c.fs.(*vfs.Mem); ok {
		return m.CrashClone(vfs.CrashOptions{})
	}
	return c.fs
}

func crashes(t *testing.T, start *vfs.Mem, seed int64, random int, work func(fsys vfs.FS) error) []crash {
	t.Helper()
	return crashesOf(t, start, seed, random, times(9, 1)*raced(3), work)
}

// crashesOf simulates a power loss before every n-th changing operation of work, with n = every, and after the last operation.
// Each power loss is simulated in the worst case and with random losses.
func crashesOf(t *testing.T, start *vfs.Mem, seed int64, random, every int, work func(fsys vfs.FS) error) (l []crash) {
	t.Helper()
	s := crashtest.Scenario{Start: disk(start), Run: crashtest.One(work), Seed: seed, Torn: random, Every: every}
	for _, c := range s.Cuts(t) {
		l = append(l, crash{c.Mem[0], c.When, c.Strict, c.Last})
	}
	return l
}

// seen determines whether the dataset reads as was or now.
func seen(t *testing.T, c crash, base string, was, now []byte) (state string) {
	t.Helper()
	got, err := canonicalOf(c.fs, base)
	bad := checkErrors(c.fs, base)
	switch {
	case err != nil:
		if was != nil || !errors.Is(err, dataset.ErrNotCommitted) && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: open: %v\nfiles: %v", c.when, err, names(c.fs, "."))
		}
		if len(bad) == 0 {
			t.Fatalf("%s: open says %v, Check finds nothing", c.when, err)
		}
		state = "none"
	case was != nil && bytes.Equal(got, was):
		state = "was"
	case bytes.Equal(got, now):
		state = "now"
	default:
		t.Fatalf("%s: neither the old dataset nor the new one: %s\nfiles: %v", c.when, firstDiff(got, now), names(c.fs, "."))
	}
	if err == nil && len(bad) > 0 {
		t.Fatalf("%s: reads as %q, but Check finds %v\nfiles: %v", c.when, state, bad, names(c.fs, "."))
	}
	if c.last && state != "now" {
		t.Fatalf("%s: the commit had returned, but the dataset reads as %q\nfiles: %v", c.when, state, names(c.fs, "."))
	}
	return state
}

// nextWriter replaces the dataset after a crash, or appends to it.
func nextWriter(t *testing.T, cc crashCase, c crash, k int, state string, was, now *model) {
	t.Helper()
	if crashtest.Places() != nil {
		cc.o.Lease = leaseOn(1)
	} else if cc.far {
		cc.o.Lease.Boot = "another machine" // the lease seems to be another machine's
	}
	if k/2%2 == 0 {
		m := tinyModel(77, 1)
		if err := cc.create(m, c.fs, true); err != nil {
			t.Fatalf("%s: create after it: %v\nfiles: %v", c.when, err, names(c.fs, "."))
		}
		expect(t, c, "create after it", m)
		return
	}
	base := now
	if state == "was" {
		base = was
	}
	m := base.upTo(base.records + 1)
	o := cc.with(c.fs, false)
	if r, err := read.OpenWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: c.fs}); err == nil {
		o.Subfiles, _ = r.Now().Data.Subfiles()
		if r.Now().Data.Layout == dataset.VariableCentric {
			o.Compress = dataset.Compress{}
		}
		r.Close()
	}
	err := run(m.ranks, func(ctx context.Context, co comm.Comm) error { return m.add(ctx, co, "d.nc", o) })
	if state == "none" {
		if !errors.Is(err, dataset.ErrNotCommitted) && !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: append to what was never committed: %v\nfiles: %v", c.when, err, names(c.fs, "."))
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: append after it: %v\nfiles: %v", c.when, err, names(c.fs, "."))
	}
	expect(t, c, "append after it", m)
}

// expect compares a dataset with a model after a second power loss, and fails if other files remain.
func expect(t *testing.T, c crash, what string, m *model) {
	t.Helper()
	after := c.after()
	got, err := canonicalOf(after, "d.nc")
	if err != nil {
		t.Fatalf("%s, %s: %v\nfiles: %v", c.when, what, err, names(after, "."))
	}
	if want := m.canonical(false); !bytes.Equal(got, want) {
		t.Fatalf("%s, %s: %s\nfiles: %v", c.when, what, firstDiff(got, want), names(after, "."))
	}
	if l := names(c.fs, "."); strings.Contains(fmt.Sprint(l), ".lock") {
		t.Fatalf("%s, %s: the lease was not given back: %v", c.when, what, l)
	}
	_ = after.Remove(durable.LockName("d.nc")) // the removal of the lease need not survive a power loss
	for f := range check.CheckWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: after}) {
		if f.Severity != dataset.Note {
			t.Fatalf("%s, %s: %v\nfiles: %v", c.when, what, f, names(after, "."))
		}
	}
	r := opened(t, after, "d.nc", nil)
	n := 1 // the manifest
	for _, s := range r.Files.Manifest.Sets {
		n += len(s.Subfiles)
	}
	if l := names(after, "."); len(l) != n {
		t.Fatalf("%s, %s: leftovers, want %d files: %v", c.when, what, n, l)
	}
}

// writeTo writes the model as a committed and synced dataset.
func (m *model) writeTo(t *testing.T, fsys vfs.FS, o *dataset.Settings) {
	t.Helper()
	noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, "d.nc", o) }))
}

func crashTest(t *testing.T, start *vfs.Mem, cc crashCase, was, now *model, work func(fsys vfs.FS) error) {
	t.Helper()
	var old []byte
	if was != nil {
		old = was.canonical(false)
	}
	want := now.canonical(false)
	counts := map[string]int{}
	for k, c := range crashes(t, start, 1, times(1, 6), work) {
		state := seen(t, c, "d.nc", old, want)
		counts[state]++
		if k%times(3, 1) == 0 {
			nextWriter(t, cc, c, k, state, was, now)
		}
	}
	if counts["now"] == 0 || counts["now"] == sum(counts) {
		t.Fatalf("states %v: the test sees one side only", counts)
	}
}

func sum(m map[string]int) (n int) {
	for _, k := range m {
		n += k
	}
	return n
}

// TestCrashCreate checks a power loss at any operation of a first session: the dataset is absent or complete.
func TestCrashCreate(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, withFar()) {
		t.Run(cc.name, func(t *testing.T) {
			t.Parallel()
			now := tinyModel(1, 2)
			crashTest(t, vfs.NewMem(), cc, nil, now, func(fsys vfs.FS) error { return cc.create(now, fsys, false) })
		})
	}
}

// TestCrashReplace checks a power loss while a dataset is replaced by another with a different layout, number of subfiles and
// values. Until the new dataset is complete, the old one must stay.
func TestCrashReplace(t *testing.T) {
	for k, cc := range crashtest.Some(t, 2, withFar()) {
		for _, foreign := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s-foreign=%v", cc.name, foreign), func(t *testing.T) {
				t.Parallel()
				was, now := tinyModel(2, 1), tinyModel(1, 2)
				start := vfs.NewMem()
				first := dataset.Settings{Options: dataset.Options{Layout: dataset.Layout((k / 2) % 2), Subfiles: 2 + k%2}, Knobs: dataset.Knobs{Fs: start}}
				was.writeTo(t, start, &first)
				if foreign { // a dataset of another program has no manifest
					must(start.Remove(subfile.ManifestName("d.nc")))
					must(start.SyncDir("."))
				}
				crashTest(t, start, cc, was, now, func(fsys vfs.FS) error { return cc.create(now, fsys, true) })
			})
		}
	}
}

// TestCrashAppend checks a power loss during appends, with and without new variables and dimensions. Each append must add all
// its data or nothing.
func TestCrashAppend(t *testing.T) {
	for i, cc := range crashtest.Some(t, 2, withFar()) {
		for _, since := range []int64{0, int64(1 + i%2)} {
			t.Run(fmt.Sprintf("%s-since=%d", cc.name, since), func(t *testing.T) {
				t.Parallel()
				m := tinyModel(1, 1)
				if since > 0 {
					m = m.extended(2*since-1, extendTiny)
				}
				fsys := vfs.NewMem()
				m.writeTo(t, fsys, cc.with(fsys, false))
				for range 2 {
					next := m.upTo(m.records + 2)
					work := func(fsys vfs.FS) error { return cc.add(next, fsys) }
					crashTest(t, fsys, cc, m, next, work)
					noError(t, work(fsys))
					m = next
				}
			})
		}
	}
}

// TestCrashAdopt checks a power loss during an append to a dataset of another program.
func TestCrashAdopt(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, crashCases()) {
		t.Run(cc.name, func(t *testing.T) {
			t.Parallel()
			m := tinyModel(1, 1)
			fsys := vfs.NewMem()
			m.writeTo(t, fsys, cc.with(fsys, false))
			must(fsys.Remove(subfile.ManifestName("d.nc")))
			must(fsys.SyncDir("."))
			next := m.upTo(2)
			crashTest(t, fsys, cc, m, next, func(fsys vfs.FS) error { return cc.add(next, fsys) })
		})
	}
}

// TestCrashTwice checks a power loss during the recovery from a power loss.
func TestCrashTwice(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, crashCases()) {
		t.Run(cc.name, func(t *testing.T) {
			t.Parallel()
			was, now, third := tinyModel(2, 1), tinyModel(1, 2), tinyModel(3, 1)
			start := vfs.NewMem()
			was.writeTo(t, start, cc.with(start, false))
			first := crashes(t, start, 5, 1, func(fsys vfs.FS) error { return cc.create(now, fsys, true) })
			old, new1, new2 := was.canonical(false), now.canonical(false), third.canonical(false)
			for k, c := range first {
				if k%times(25, 5) != 0 && (k < len(first)-12 || k%times(4, 1) != 0) {
					continue
				}
				before := old
				if seen(t, c, "d.nc", old, new1) == "now" {
					before = new1
				}
				for _, d := range crashes(t, c.fs.(*vfs.Mem), int64(k), 1, func(fsys vfs.FS) error { return cc.create(third, fsys, true) }) {
					d.when = c.when + "; then " + d.when
					seen(t, d, "d.nc", before, new2)
				}
			}
		})
	}
}

// TestCrashUnfinishedTwice checks a power loss during the rewrite of a dataset that was never committed. The remains of the
// first attempt must not be accepted as a dataset.
func TestCrashUnfinishedTwice(t *testing.T) {
	for _, cc := range crashtest.Some(t, 2, crashCases()) {
		t.Run(cc.name, func(t *testing.T) {
			t.Parallel()
			now, third := tinyModel(1, 2), tinyModel(3, 1)
			first := crashes(t, vfs.NewMem(), 6, 1, func(fsys vfs.FS) error { return cc.create(now, fsys, false) })
			for k, c := range first {
				if k%times(12, 4) != 1 || seen(t, c, "d.nc", nil, now.canonical(false)) != "none" {
					continue
				}
				for _, d := range crashes(t, c.fs.(*vfs.Mem), int64(k), 1, func(fsys vfs.FS) error { return cc.create(third, fsys, true) }) {
					d.when = c.when + "; then " + d.when
					seen(t, d, "d.nc", nil, third.canonical(false))
				}
			}
		})
	}
}

// TestCrashConvert checks a power loss during a conversion: the output is complete or absent, and the conversion can be
// repeated.
func TestCrashConvert(t *testing.T) {
	src := tinyModel(1, 2)
	other := tinyModel(2, 1)
	start := vfs.NewMem()
	must(start.Mkdir("in"))
	must(start.SyncDir("."))
	noError(t, run(src.ranks, func(ctx context.Context, c comm.Comm) error {
		return src.create(ctx, c, "in/s.nc", &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: start}})
	}))
	for _, replace := range []bool{false, true} {
		for _, co := range []convert.ConvertOptions{
			{}, {NetCDF4: &convert.NetCDF4Options{Deflate: 1}}, {NetCDF4: &convert.NetCDF4Options{ChunkBytes: 8}}, {Blobs: true}, {Blobs: true, Subfiles: 3}, {Blobs: true, Layout: dataset.ProcessCentric}, {Blobs: true, Layout: dataset.ProcessCentric, Subfiles: 2, Ranks: 3},
		} {
			t.Run(fmt.Sprintf("replace=%v-blobs=%v-%v-%d-nc4=%v", replace, co.Blobs, co.Layout, co.Subfiles, co.NetCDF4 != nil), func(t *testing.T) {
				t.Parallel()
				from := start.CrashClone(vfs.CrashOptions{})
				var was []byte
				if replace {
					was = other.canonical(false)
					if co.Blobs {
						other.writeTo(t, from, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: from}})
					} else {
						must(errors.Join(vfs.WriteFile(from, "d.nc", was), from.SyncDir(".")))
					}
				}
				convert := func(fsys vfs.FS) error {
					ctx := context.Background()
					r, err := read.OpenWith(ctx, "in/s.nc", nil, dataset.Knobs{Fs: fsys})
					if err != nil {
						return err
					}
					defer r.Close()
					o := co
					o.Force, o.Workers = true, 1
					return convert.Convert(ctx, r, "d.nc", &o)
				}
				want := src.canonical(false)
				counts := map[string]int{}
				for k, c := range crashes(t, from, 3, times(2, 6), convert) {
					counts[seen(t, c, "d.nc", was, want)]++
					if k%3 == 0 {
						if err := convert(c.fs); err != nil {
							t.Fatalf("%s: converted again: %v\nfiles: %v", c.when, err, names(c.fs, "."))
						}
						again := crash{fs: c.after(), when: c.when + "; converted again", last: true}
						seen(t, again, "d.nc", nil, want)
						l := slices.DeleteFunc(names(again.fs, "."), func(s string) bool { return s == "in(0)" || strings.Contains(s, ".lock") })
						if n := map[bool]int{false: 1, true: max(co.Subfiles, 1) + 1}[co.Blobs]; len(l) != n {
							t.Fatalf("%s: leftovers, want %d files: %v", again.when, n, l)
						}
					}
				}
				if !raceEnabled && (counts["now"] == 0 || counts["now"] == sum(counts)) { // with the race detector the sample is small
					t.Fatalf("states %v: the test sees one side only", counts)
				}
			})
		}
	}
}
