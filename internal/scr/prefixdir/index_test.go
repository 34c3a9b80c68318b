package prefixdir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

var day = time.Date(2026, 11, 21, 1, 46, 22, 0, time.UTC)

func ckpt(id int) Dataset {
	return Dataset{ID: id, Name: fmt.Sprintf("ckpt.%d", id), Ckpt: id, Checkpoint: true, Files: 1, Size: 10, Complete: true}
}

func memDir() *Dir {
	m := vfs.NewMem()
	if err := errors.Join(m.Mkdir("p"), m.SyncDir("/")); err != nil {
		panic(err)
	}
	d := Open(m, "p")
	d.Index.location = time.UTC
	return d
}

func names(all []Entry) string {
	var s []string
	for _, e := range all {
		s = append(s, e.Name)
	}
	return strings.Join(s, " ")
}

func TestIndexSearch(t *testing.T) {
	x := memDir().Index.New()
	for id := 1; id <= 6; id++ {
		must(t, x.Add(ckpt(id), id != 5))
	}
	out := ckpt(7)
	out.Checkpoint, out.Output, out.Ckpt = false, true, 0
	must(t, x.Add(out, true))
	if got := names(x.Candidates()); got != "ckpt.6 ckpt.4 ckpt.3 ckpt.2 ckpt.1" {
		t.Errorf("all: %s", got)
	}
	must(t, x.SetCurrent("ckpt.2"))
	if got := names(x.Candidates()); got != "ckpt.2 ckpt.1" {
		t.Errorf("up to the current one: %s", got)
	}
	must(t, x.SetCurrent("ckpt.4"))
	must(t, x.MarkFailed("ckpt.3", day))
	if got := names(x.Candidates()); got != "ckpt.4 ckpt.2 ckpt.1" {
		t.Errorf("from the current one: %s", got)
	}
	must(t, x.MarkFailed("ckpt.4", day))
	if got := names(x.Candidates()); got != "ckpt.2 ckpt.1" {
		t.Errorf("current failed: %s", got)
	}
	if e, ok := x.Newest(6); !ok || e.ID != 2 {
		t.Errorf("newest below 6: %+v", e)
	}
	must(t, x.ClearFailed("ckpt.4"))
	if e, ok := x.Newest(6); !ok || e.ID != 4 || !e.Current {
		t.Errorf("newest below 6: %+v", e)
	}
	must(t, x.Remove("ckpt.4")) // dataset 3 has failed: dataset 2 becomes current
	if x.Current() != "ckpt.2" || x.Len() != 6 {
		t.Errorf("current %q of %d", x.Current(), x.Len())
	}
	must(t, x.Remove("ckpt.1"))
	if x.Current() != "ckpt.2" {
		t.Errorf("current %q", x.Current())
	}
	must(t, x.Remove("ckpt.2"))
	if x.Current() != "" {
		t.Errorf("current %q, nothing older is left", x.Current())
	}
	must(t, x.MarkFetched("ckpt.6", day.Add(time.Hour)))
	must(t, x.MarkFetched("ckpt.6", day))
	must(t, x.MarkFlushed("ckpt.6", day))
	must(t, x.MarkFlushed("ckpt.6", day.Add(time.Second)))
	if e, _ := x.Entry("ckpt.6"); len(e.Fetched) != 2 || !e.Fetched[0].Equal(day) || !e.Flushed.Equal(day.Add(time.Second)) {
		t.Errorf("%+v", e)
	}
}

func TestIndexMisuse(t *testing.T) {
	x := memDir().Index.New()
	must(t, x.Add(ckpt(1), true))
	other := ckpt(2)
	other.Name = "ckpt.1"
	for what, err := range map[string]error{"name of another": x.Add(other, true), "number of another": x.Add(Dataset{ID: 1, Name: "x"}, true)} {
		if !errors.Is(err, fault.ErrExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"", "a\x00"} {
		if err := x.Add(Dataset{ID: 9, Name: name}, true); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := x.Add(Dataset{Name: "zero"}, true); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("dataset 0: %v", err)
	}
	for what, err := range map[string]error{"remove": x.Remove("no"), "current": x.SetCurrent("no"), "failed": x.MarkFailed("no", day)} {
		if !errors.Is(err, fault.ErrMissing) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestIndexA reads the example of the original documentation, extended by a second copy of a dataset.
func TestIndexA(t *testing.T) {
	d := memDir()
	must(t, d.Create())
	a := kvtree.New()
	a.Value("VERSION").SetInt(1)
	a.Value("CURRENT").SetStr("scr.dataset.18")
	a.Value("SITE").SetStr("mine")
	put := func(id int, name string, flushed string, complete int) {
		a.SetKV("DIR", name).Value("DSET").SetInt(id)
		e := a.SetKVInt("DSET", id).SetKV("DIR", name)
		e.Value("COMPLETE").SetInt(complete)
		if flushed != "" {
			e.Value("FLUSHED").SetStr(flushed)
		}
		e.Value("SPECIAL").SetStr("kept")
		e.Set("DSET", Dataset{ID: id, Name: name, Ckpt: id, Checkpoint: true, Complete: true}.Tree())
	}
	put(18, "scr.dataset.18", "2011-08-08T18:31:47", 1)
	put(12, "scr.dataset.12", "2011-08-08T18:30:30", 1)
	put(12, "copy.of.12", "2011-08-09T00:00:00", 0)
	a.GetKVInt("DSET", 12).GetKV("DIR", "scr.dataset.12").SetKV("FETCHED", "2011-08-08T18:31:47")
	for _, where := range []string{d.File(indexName), "p/index.scr"} {
		must(t, kvtree.WriteFile(d.FS, where, a))
		x, err := d.Index.Read()
		must(t, err)
		must(t, d.FS.Remove(where))
		if x.From != GenA || x.Current() != "scr.dataset.18" || x.Tree.GetKV("SITE", "mine") == nil {
			t.Errorf("%v %q", x.From, x.Current())
		}
		if got := names(x.Entries()); got != "scr.dataset.18 scr.dataset.12 copy.of.12" {
			t.Errorf("entries: %s", got)
		}
		e, ok := x.Entry("scr.dataset.12")
		if !ok || len(e.Fetched) != 1 || e.Flushed.Format(timeLayout) != "2011-08-08T18:30:30" || !e.Complete || e.Copy {
			t.Errorf("%+v", e)
		}
		if x.entryTree(12).GetKV("SPECIAL", "kept") == nil {
			t.Error("an unknown key was lost")
		}
		if _, ok := x.Entry("copy.of.12"); ok {
			t.Error("a copy is found as a dataset of version 2")
		}
		// Write as generation C and read again: all entries must be kept, and the keys of version 1
		// must be gone.
		must(t, d.Index.Write(x))
		y, err := d.Index.Read()
		must(t, err)
		if y.From != GenC || names(y.Entries()) != names(x.Entries()) || y.Tree.Has("DIR") || y.entryTree(18).Has("DIR") {
			t.Errorf("%v %s", y.From, names(y.Entries()))
		}
		must(t, d.FS.Remove(d.File(indexName)))
	}
}

// TestIndexB reads an index with the key NAME instead of DIR.
func TestIndexB(t *testing.T) {
	d := memDir()
	must(t, d.Create())
	b := kvtree.New()
	b.Value("VERSION").SetInt(1)
	b.SetKV("NAME", "ckpt.3").Value("DSET").SetInt(3)
	e := b.SetKVInt("DSET", 3).SetKV("NAME", "ckpt.3")
	e.Value("COMPLETE").SetInt(1)
	e.Set("DSET", ckpt(3).Tree())
	must(t, kvtree.WriteFile(d.FS, d.File(indexName), b))
	x, err := d.Index.Read()
	must(t, err)
	want := d.Index.New()
	must(t, want.Add(ckpt(3), true))
	if x.From != GenB || !x.Tree.Equal(want.Tree) {
		t.Errorf("%v %+v", x.From, x.Entries())
	}
}

func TestIndexDamaged(t *testing.T) {
	for what, change := range map[string]func(t *kvtree.Tree){
		"version":   func(t *kvtree.Tree) { t.Value("VERSION").SetInt(3) },
		"number":    func(t *kvtree.Tree) { t.SetKV("DSET", "x") },
		"leading 0": func(t *kvtree.Tree) { t.SetKV("DSET", "01") },
		"complete":  func(t *kvtree.Tree) { t.GetKV("DSET", "1").Value("COMPLETE").SetStr("yes") },
		"time":      func(t *kvtree.Tree) { t.GetKV("DSET", "1").Value("FLUSHED").SetStr("yesterday") },
		"other id":  func(t *kvtree.Tree) { t.GetKV("DSET", "1").Get("DSET").Value("ID").SetStr("2") },
	} {
		d := memDir()
		must(t, d.Create())
		x := d.Index.New()
		must(t, x.Add(ckpt(1), true))
		change(x.Tree)
		must(t, d.Index.Write(x))
		if _, err := d.Index.Read(); !fault.IsDamage(err) {
			t.Errorf("%s: %v", what, err)
		}
		_, rebuilt, _, err := d.Index.Load()
		if later := what == "version"; errors.Is(err, fault.ErrVersion) != later || rebuilt == later {
			t.Errorf("%s: rebuilt %v, %v", what, rebuilt, err)
		}
	}
}

func TestDropAndDelete(t *testing.T) {
	ctx := t.Context()
	d := memDir()
	for id := 1; id <= 3; id++ {
		must(t, flush(ctx, d, ckpt(id)))
	}
	must(t, d.Drop(ctx, "ckpt.3"))
	x, err := d.Index.Read()
	must(t, err)
	if names(x.Entries()) != "ckpt.2 ckpt.1" || x.Current() != "ckpt.2" {
		t.Errorf("%s, current %s", names(x.Entries()), x.Current())
	}
	x, _, err = d.Index.Rebuild()
	must(t, err)
	if names(x.Entries()) != "ckpt.2 ckpt.1" {
		t.Errorf("a dropped dataset came back: %s", names(x.Entries()))
	}
	must(t, d.Delete(ctx, "ckpt.2"))
	for _, gone := range []string{"p/ckpt.2", d.Datasets.Dir(2)} {
		if _, err := d.FS.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", gone, err)
		}
	}
	if last, err := d.Datasets.LastID(nil); last != 3 || err != nil {
		t.Errorf("last number %d, %v", last, err)
	}
	x, err = d.Index.Read()
	must(t, err)
	if names(x.Entries()) != "ckpt.1" || x.Current() != "ckpt.1" {
		t.Errorf("%s, current %s", names(x.Entries()), x.Current())
	}
	must(t, whole(d, x.Entries()[0]))
	if err := d.Delete(ctx, "ckpt.2"); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("delete again: %v", err)
	}
}

// TestLost checks that Lost finds datasets that the index has lost, and that they can be listed
// again.
func TestLost(t *testing.T) {
	ctx := t.Context()
	d := memDir()
	for id := 1; id <= 3; id++ {
		must(t, flush(ctx, d, ckpt(id)))
	}
	must(t, d.Datasets.Create(4)) // begun but unfinished
	must(t, d.Index.Update(ctx, func(x *Index) error {
		return errors.Join(x.Remove("ckpt.1"), x.SetComplete("ckpt.2", false))
	}))
	x, err := d.Index.Read()
	must(t, err)
	found, err := d.Datasets.Survey()
	must(t, err)
	if len(found) != 4 || !errors.Is(found[3].Err, fault.ErrMissing) {
		t.Fatalf("%+v", found)
	}
	var ids []int
	for _, f := range x.Lost(found) {
		ids = append(ids, f.ID)
		must(t, x.Adopt(f))
	}
	if !slices.Equal(ids, []int{1, 2}) || len(x.Lost(found)) != 0 || names(x.Candidates()) != "ckpt.3 ckpt.2 ckpt.1" {
		t.Errorf("lost %v, then %s", ids, names(x.Candidates()))
	}
	if err := x.Adopt(found[3]); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("adopted: %v", err)
	}
}
