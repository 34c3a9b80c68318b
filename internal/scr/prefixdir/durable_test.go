package prefixdir

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestRemoveSummaryDurable checks that the removal of a summary survives a power loss.
func TestRemoveSummaryDurable(t *testing.T) {
	d := memDir()
	must(t, flush(t.Context(), d, ckpt(1)))
	must(t, d.Datasets.RemoveSummary(d.Datasets.Place(1)))
	after := at(d.FS.(*vfs.Mem).CrashClone(vfs.CrashOptions{}))
	if s, err := after.Datasets.ReadSummary(after.Datasets.Place(1)); err == nil {
		t.Errorf("the summary is back: %+v", s)
	}
}

// TestMapReplacedCrash cuts the power while a map of several parts is replaced. Afterwards the old map or the new map exists,
// or no map, but never a mix of both.
func TestMapReplacedCrash(t *testing.T) {
	write := func(fsys vfs.FS, what string) error {
		d := at(fsys)
		if err := d.Datasets.Create(1); err != nil {
			return err
		}
		w := mapWriter{d: &d.Datasets, dir: d.Datasets.Dir(1), ranks: 4, bytes: mapBytes, entries: 2}
		return w.write(func(rank int) ([]File, error) { return []File{{Path: fmt.Sprint(what, rank)}}, nil })
	}
	start := memDir().FS.(*vfs.Mem)
	must(t, write(start, "old"))
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error { return write(fsys, "new") })}
	for f := range sc.Faults(t, crashtest.Dies(errPower)) {
		n, m := f.N, f.Mem[0]
		for seed := range int64(64) {
			d := at(m.CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}))
			all, err := d.Datasets.ReadMap(d.Datasets.Place(1))
			if err != nil {
				continue
			}
			found := ""
			for _, name := range all.Paths() {
				found += name[:3]
			}
			if found != strings.Repeat("old", 4) && found != strings.Repeat("new", 4) {
				t.Fatalf("operation %d, seed %d: files %s", n, seed, found)
			}
		}
	}
}

// TestWithdrawUnfinished cuts the power while the map of a dataset is written, and while the next run withdraws it. The files of an
// older dataset without checksums have the same names. The older dataset must stay usable, even when the hidden files are gone.
func TestWithdrawUnfinished(t *testing.T) {
	files := func(int) ([]File, error) { return []File{{Path: "s", HasSize: true, Size: 1}}, nil }
	start := memDir().FS.(*vfs.Mem)
	d := at(start)
	must(t, errors.Join(vfs.WriteFile(start, "p/s", []byte("1")), vfs.WriteFile(start, Hidden("p/s"), []byte("2")), start.SyncDir("p")))
	must(t, errors.Join(d.Datasets.WriteMap(1, 1, files), d.Datasets.WriteSummary(ckpt(1), true)))
	must(t, d.Index.Update(t.Context(), func(x *Index) error { return x.Add(ckpt(1), true) }))
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error {
		d := at(fsys)
		return errors.Join(d.Datasets.WriteMap(2, 1, files), d.WithdrawUnfinished())
	})}
	for f := range sc.Faults(t, crashtest.Dies(errPower)) {
		for seed := range int64(16) {
			d := at(f.Mem[0].CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}))
			must(t, d.WithdrawUnfinished())
			must(t, d.FS.Remove(Hidden("p/s")))
			x, err := d.Index.Read()
			must(t, err)
			e, _ := x.Entry("ckpt.1")
			if taken, err := d.Overwritten(x).Of(e); taken != nil || err != nil {
				t.Fatalf("%s, seed %d: %v, %v", f.When, seed, taken, err)
			}
		}
	}
}
