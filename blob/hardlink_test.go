package blob

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/comm"
	"blobio/internal/base/vfs"
)

// TestHardLinks copies a dataset with cp -l, as hard links. Continuing or recovering one of the datasets must not change the
// bytes of the other.
func TestHardLinks(t *testing.T) {
	link := carrier{carry: func(files []string, base, to string) (err error) {
		for _, f := range files {
			must(os.Link(f, renamedTo(f, base, to)))
		}
		return nil
	}}
	probe := filepath.Join(t.TempDir(), "probe")
	must(os.WriteFile(probe, nil, 0o666))
	if err := os.Link(probe, probe+"2"); err != nil {
		t.Skip(err)
	}
	if info, err := os.Stat(probe); err != nil || vfs.Links(info) != 2 {
		t.Skipf("the system does not count names: %v", err)
	}
	bytesOf := func(base string) map[string][]byte {
		all := map[string][]byte{}
		for _, f := range filesOf(base, false) {
			b := need(os.ReadFile(f))
			all[filepath.Base(f)] = b
		}
		return all
	}
	for _, o := range []dataset.Settings{{Options: dataset.Options{Subfiles: 2}}, {Options: dataset.Options{Subfiles: 2, Layout: dataset.ProcessCentric}}} {
		for _, dies := range []bool{false, true} { // in one case the writer dies after two puts and one commit
			dir := t.TempDir()
			k := &kept{base: filepath.Join(dir, "d.nc"), seed: 1, records: 2, o: o}
			cp := *k
			cp.base = filepath.Join(dir, "copy.nc")
			m := k.model(2, 0)
			must(run(2, func(ctx context.Context, c comm.Comm) error { return m.create(ctx, c, k.base, &k.o) }))
			must(link.carry(filesOf(k.base, false), k.base, cp.base))
			was := bytesOf(cp.base)
			m = dealtModel(4, 2, 0)
			m.seed = 1
			must(run(2, func(ctx context.Context, c comm.Comm) error {
				w, err := m.append(ctx, c, k.base, &k.o)
				must(err)
				defer w.Abort()
				if err = m.putRecord(w, 2, c.Rank(), false); err == nil {
					err = w.Commit(ctx)
				}
				if err == nil {
					err = m.putRecord(w, 3, c.Rank(), false)
				}
				if err == nil && dies {
					err = w.Flush(ctx)
				} else if err == nil {
					err = w.Close(ctx)
				}
				return err
			}))
			k.records = 4
			if dies {
				k.records = 3
			}
			for name, b := range bytesOf(cp.base) {
				if !bytes.Equal(b, was[name]) {
					t.Errorf("%v, dies %v: an append to d.nc has changed %s", o.Layout, dies, name)
				}
			}
			k.expect(t, nil)
			cp.expect(t, nil)
			need(resume.Recover(t.Context(), cp.base, nil))
			k.expect(t, nil)

			third := *k // a copy of a dead writer's files
			third.base = filepath.Join(dir, "third.nc")
			must(link.carry(filesOf(k.base, false), k.base, third.base))
			was = bytesOf(k.base)
			need(resume.Recover(t.Context(), third.base, nil))
			third.expect(t, nil)
			for name, b := range bytesOf(k.base) {
				if !bytes.Equal(b, was[name]) {
					t.Errorf("%v, dies %v: recover of third.nc has changed %s", o.Layout, dies, name)
				}
			}
			for _, x := range []*kept{&cp, &third} {
				x.records += 2
				m := x.model(2, 0)
				must(run(2, func(ctx context.Context, c comm.Comm) error { return m.add(ctx, c, x.base, &x.o) }))
			}
			for _, x := range []*kept{k, &cp, &third} {
				x.expect(t, nil)
			}
		}
	}
}
