package prefixdir

import (
	"errors"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// TestDropAfterCrash cuts the power before each operation of DropAfter. Afterwards the index must list either all datasets or
// only the datasets to be kept.
func TestDropAfterCrash(t *testing.T) {
	ctx := t.Context()
	base := memDir()
	for id := 1; id <= 4; id++ {
		must(t, flush(ctx, base, ckpt(id)))
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{base.FS.(*vfs.Mem)}, Run: crashtest.One(func(fsys vfs.FS) error {
		_, _, err := at(fsys).DropAfter(ctx, "1")
		return err
	})}
	points := 0
	for f := range sc.Faults(t, crashtest.Dies(errPower)) {
		if !errors.Is(f.Err, errPower) {
			t.Fatalf("%s: %v", f.When, f.Err)
		}
		points++
		d := at(f.Mem[0].CrashClone(vfs.CrashOptions{}))
		x, err := d.Index.Read()
		must(t, err)
		if got := names(x.Entries()); got != "ckpt.4 ckpt.3 ckpt.2 ckpt.1" && got != "ckpt.1" {
			t.Errorf("%s: %s are listed", f.When, got)
		}
		of, _, err := d.DropAfter(ctx, "ckpt.1")
		must(t, err)
		x, err = d.Index.Read()
		must(t, err)
		if of.ID != 1 || names(x.Entries()) != "ckpt.1" || x.Current() != "ckpt.1" {
			t.Errorf("%s: afterwards %s, current %s", f.When, names(x.Entries()), x.Current())
		}
		if x, _, err = d.Index.Rebuild(); err != nil || names(x.Entries()) != "ckpt.1" {
			t.Errorf("%s: a dropped dataset came back: %s, %v", f.When, names(x.Entries()), err)
		}
	}
	if points < 6 {
		t.Errorf("%d points", points)
	}
}

// TestAdd checks that dropped datasets can be listed again by number or name, unless they have no valid summary.
func TestAdd(t *testing.T) {
	ctx := t.Context()
	d := memDir()
	for id := 1; id <= 3; id++ {
		must(t, flush(ctx, d, ckpt(id)))
	}
	if of, n, err := d.DropAfter(ctx, "ckpt.1"); of.Name != "ckpt.1" || n != 2 || err != nil {
		t.Errorf("DropAfter: %s, %d, %v", of.Name, n, err)
	}
	if _, n, err := d.DropAfter(ctx, "2"); n != 0 || !errors.Is(err, fault.ErrMissing) {
		t.Errorf("after one that is not there: %d, %v", n, err)
	}
	for _, word := range []string{"3", "ckpt.2", "2"} { // list again a dataset that is already listed
		if f, err := d.Add(ctx, word); err != nil || f.Summary.Dropped {
			t.Errorf("Add %s: %v", word, err)
		}
	}
	x, _, err := d.Index.Rebuild()
	must(t, err)
	if names(x.Entries()) != "ckpt.3 ckpt.2 ckpt.1" {
		t.Errorf("after Add the summaries say %s", names(x.Entries()))
	}
	if e, err := x.Find("3"); e.Name != "ckpt.3" || err != nil {
		t.Errorf("Find: %+v, %v", e, err)
	}
	if f, err := d.Add(ctx, "9"); !errors.Is(err, fault.ErrMissing) || f.Err != nil {
		t.Errorf("Add of nothing: %+v, %v", f, err)
	}
	must(t, d.Datasets.Create(4)) // begun but unfinished
	if f, err := d.Add(ctx, "4"); !errors.Is(err, fault.ErrMissing) || f.Err == nil {
		t.Errorf("Add of a dataset without a summary: %+v, %v", f, err)
	}
	must(t, d.Index.Update(ctx, func(x *Index) error { return errors.Join(x.Remove("ckpt.1"), x.SetComplete("ckpt.2", false)) }))
	if n, err := d.Relist(ctx); n != 3 || err != nil {
		t.Errorf("Relist: %d, %v", n, err)
	}
	if x, err = d.Index.Read(); err != nil || names(x.Candidates()) != "ckpt.3 ckpt.2 ckpt.1" {
		t.Errorf("Relist: %s, %v", names(x.Candidates()), err)
	}
}

// TestForget checks that Forget removes a dataset from the flush file, and does not change an unreadable flush file.
func TestForget(t *testing.T) {
	d := memDir()
	must(t, d.Create())
	must(t, d.Flush.Forget(1)) // the file does not exist
	f, err := d.Flush.Load()
	must(t, err)
	for id := 1; id <= 2; id++ {
		must(t, f.Put(ckpt(id), PFS))
	}
	must(t, d.Flush.Write(f))
	must(t, d.Flush.Forget(1))
	must(t, d.Flush.Forget(7))
	f, err = d.Flush.Read()
	must(t, err)
	if _, ok := f.Entry(1); ok || len(f.Entries()) != 1 {
		t.Errorf("left: %+v", f.Entries())
	}
	must(t, kvtree.WriteFile(d.FS, d.File(flushName), kvtree.New()))
	must(t, d.Flush.Forget(2))
}
