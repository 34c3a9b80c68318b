package prefixdir

import (
	"testing"
)

// constant returns a prefix directory of the original SCR in which datasets have the same file names. Datasets 1 to 3 have
// the same files and are all listed as complete. Dataset 4 has its own files.
func constant(t *testing.T) *Dir {
	ctx, d := t.Context(), memDir()
	for id := 1; id <= 4; id++ {
		must(t, flush(ctx, d, ckpt(id)))
	}
	m, err := d.Datasets.ReadMap(d.Datasets.Place(3))
	must(t, err)
	for id := 1; id < 3; id++ {
		must(t, d.Datasets.WriteMap(id, m.Ranks, func(rank int) ([]File, error) { return m.Files[rank], nil }))
		must(t, d.Datasets.WriteSummary(ckpt(id), true))
		must(t, d.Index.Update(ctx, func(x *Index) error { return x.SetComplete(ckpt(id).Name, true) }))
	}
	return d
}

// overwritten returns the overwritten datasets and the whole datasets of the index, newest first.
func overwritten(t *testing.T, d *Dir) (taken, whole []int) {
	x, err := d.Index.Read()
	must(t, err)
	over := d.Overwritten(x)
	for _, e := range x.Entries() {
		by, err := over.Of(e)
		must(t, err)
		if by != nil {
			taken = append(taken, e.ID)
			if by.By.ID != 3 {
				t.Errorf("%d is %v", e.ID, by)
			}
		} else if e.Complete {
			whole = append(whole, e.ID)
		}
	}
	return taken, whole
}

func same(a []int, b ...int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestOverwritten checks that only the newest of several datasets with the same files is whole. The order of calls must not
// matter.
func TestOverwritten(t *testing.T) {
	d := constant(t)
	if taken, whole := overwritten(t, d); !same(taken, 2, 1) || !same(whole, 4, 3) {
		t.Error(taken, whole)
	}
	x, err := d.Index.Read()
	must(t, err)
	over := d.Overwritten(x)
	for _, id := range []int{1, 4, 2, 3} {
		e, _ := x.Entry(ckpt(id).Name)
		by, err := over.Of(e)
		must(t, err)
		if (by != nil) != (id < 3) {
			t.Error(id, by)
		}
	}
}

// TestOverwrittenIncomplete checks that an unfinished newer dataset also overwrites older ones.
func TestOverwrittenIncomplete(t *testing.T) {
	d := constant(t)
	x, err := d.Index.Read()
	must(t, err)
	newest, _ := x.Entry(ckpt(3).Name)
	must(t, d.Datasets.markIncomplete(newest))
	must(t, d.Index.Update(t.Context(), func(x *Index) error { return x.SetComplete(ckpt(3).Name, false) }))
	if taken, whole := overwritten(t, d); !same(taken, 2, 1) || !same(whole, 4) {
		t.Error(taken, whole)
	}
}

// TestOverwrittenLeave checks that older datasets do not become whole when the newest is removed from the index, neither for
// this library nor for the original SCR.
func TestOverwrittenLeave(t *testing.T) {
	for what, leave := range map[string]func(d *Dir) error{
		"drop":       func(d *Dir) error { return d.Drop(t.Context(), ckpt(3).Name) },
		"drop-after": func(d *Dir) error { _, _, err := d.DropAfter(t.Context(), ckpt(2).Name); return err },
		"delete":     func(d *Dir) error { return d.Delete(t.Context(), ckpt(3).Name) },
		"rebuild":    func(d *Dir) error { _, err := d.Relist(t.Context()); return err },
	} {
		d := constant(t)
		must(t, leave(d))
		for id := 1; id < 3; id++ {
			s, err := d.Datasets.ReadSummary(d.Datasets.Place(id))
			must(t, err)
			x, err := d.Index.Read()
			must(t, err)
			if e, ok := x.Entry(ckpt(id).Name); !ok || e.Complete || s.Complete {
				t.Errorf("%s: %d: %v %+v, summary %v", what, id, ok, e, s.Complete)
			}
		}
	}
}
