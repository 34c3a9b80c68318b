package prefixdir

import (
	"blobio/internal/base/fault"
	"errors"
	"strings"
	"testing"
)

// TestClaims checks which datasets may overwrite files of other datasets.
func TestClaims(t *testing.T) {
	ctx := t.Context()
	for _, x := range []struct {
		what string
		ds   Dataset
		old  func(ds *Dataset)
		ok   bool
	}{
		{"a later checkpoint", Dataset{ID: 9, Name: "b"}, nil, true},
		{"an older one", Dataset{ID: 3, Name: "b"}, nil, false},
		{"of output", Dataset{ID: 9, Name: "b"}, func(ds *Dataset) { ds.Output = true }, false},
		{"of output of the same name", Dataset{ID: 9, Name: "ckpt.5"}, func(ds *Dataset) { ds.Output = true }, true},
		{"a newer one of the same name", Dataset{ID: 3, Name: "ckpt.5"}, nil, false},
		{"itself", Dataset{ID: 5, Name: "ckpt.5"}, func(ds *Dataset) { ds.Output = true }, true},
	} {
		d := memDir()
		old := ckpt(5)
		if x.old != nil {
			x.old(&old)
		}
		must(t, flush(ctx, d, old))
		p := d.Datasets.Place(5)
		m, err := d.Datasets.ReadMap(p)
		must(t, err)
		file := m.Paths()[0]
		c, err := d.Claims(x.ds)
		must(t, err)
		if err := c.Check("other/" + file); err != nil {
			t.Errorf("%s: a file of nobody: %v", x.what, err)
		}
		lost, err := c.Claim(ctx, "x", "./"+file)
		if (err == nil) != x.ok || err != nil && (!errors.Is(err, fault.ErrExist) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), `dataset 5 "ckpt.5"`)) {
			t.Errorf("%s: %v", x.what, err)
		}
		taken := x.ok && x.ds.ID != 5
		if (len(lost) == 1) != taken {
			t.Errorf("%s: lost %v", x.what, lost)
		}
		s, err := d.Datasets.ReadSummary(p)
		must(t, err)
		idx, err := d.Index.Read()
		must(t, err)
		if e, _ := idx.Entry("ckpt.5"); e.Complete == taken || s.Complete == taken {
			t.Errorf("%s: complete %v in the index, %v in the summary", x.what, e.Complete, s.Complete)
		}
		if lost, err = c.Claim(ctx, file); x.ok && (err != nil || len(lost) > 0) {
			t.Errorf("%s: again: %v %v", x.what, lost, err)
		}
	}
}
