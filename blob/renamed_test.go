package blob

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestRenamedUnderWriter renames a dataset while a writer is at work. The writer must report this and commit nothing more. Its
// commits so far are under the new name, which no other writer can write while this writer lives.
func TestRenamedUnderWriter(t *testing.T) {
	type moment struct {
		name      string
		before    int64 // number of records of an earlier writer
		committed int64 // number of records that this writer has committed
	}
	for name, o := range crashtest.SomeOf(t, 2, map[string]dataset.Settings{
		"variable":      {Options: dataset.Options{Subfiles: 2}},
		"final names":   {Options: dataset.Options{Subfiles: 2, Renames: dataset.CommitManifestOnly}},
		"process":       {Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2}},
		"process, room": {Options: dataset.Options{Layout: dataset.ProcessCentric, Subfiles: 2, Records: 5}},
	}) {
		for _, at := range []moment{{"new", 0, 0}, {"committed", 0, 2}, {"appended", 2, 0}, {"appended, committed", 2, 2}} {
			for _, back := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/back %v", name, at.name, back), func(t *testing.T) {
					dir := t.TempDir()
					was, now := filepath.Join(dir, "was.nc"), filepath.Join(dir, "now.nc")
					o := o
					o.Durability = dataset.DurableNone
					have := at.before + at.committed
					k := &kept{base: now, seed: 1, records: have, o: o}
					all := *k
					all.records = have + 1
					m := all.model(2, 0)
					room := o
					o.Records = 0
					if at.before > 0 {
						must(run(2, func(ctx context.Context, c comm.Comm) error { return m.upTo(at.before).create(ctx, c, was, &o) }))
					}
					told := false
					noError(t, run(2, func(ctx context.Context, c comm.Comm) error {
						var w *write.Writer
						var err error
						if at.before > 0 {
							w, err = m.append(ctx, c, was, &room)
						} else {
							w, err = write.CreateWith(ctx, c, was, m.s, m.parts(c.Rank()), &room)
						}
						must(err)
						defer w.Abort()
						for rec := at.before; rec <= have; rec++ {
							err = m.putRecord(w, rec, c.Rank(), rec == 0)
							if err == nil {
								err = w.Flush(ctx)
							}
							if err == nil && rec < have {
								err = w.Commit(ctx)
							}
							must(err)
						}
						if c.Rank() == 0 {
							must(carriers[0].carry(filesOf(was, false), was, now))
							if have > 0 {
								if _, err := resume.Recover(ctx, now, nil); !errors.Is(err, dataset.ErrInUse) && !back {
									t.Errorf("recover under the new name: %v", err)
								}
							}
							if back {
								must(carriers[1].carry(filesOf(now, false), now, was))
							}
						}
						if err = c.Barrier(ctx); err != nil {
							return err
						}
						err = w.Commit(ctx)
						if err == nil && c.Rank() == 0 {
							told = true
						}
						if cerr := w.Close(ctx); (cerr == nil) != (err == nil) {
							t.Errorf("commit %v, close %v", err, cerr)
						}
						return nil
					}))
					if told { // files copied back to the old name count as the writer's files too
						if !back || at.committed > 0 {
							t.Error("a commit to what was renamed")
						}
						all.base = was
						all.expect(t, nil)
						all.base = now
					}
					if have == 0 {
						if _, err := canonicalOf(vfs.OS, now); !errors.Is(err, dataset.ErrNotCommitted) {
							t.Errorf("nothing was committed: %v", err)
						}
						need(resume.Recover(t.Context(), now, nil))
						if left := filesOf(now, true); len(left) > 0 {
							t.Errorf("left: %v", left)
						}
						return
					}
					k.expect(t, nil)
					need(resume.Recover(t.Context(), now, nil))
					k.expect(t, nil)
					must(run(2, func(ctx context.Context, c comm.Comm) error { return m.add(ctx, c, now, &o) }))
					all.expect(t, nil)
				})
			}
		}
	}
}

// TestHalfRenamed renames only the manifest. Reads and Check must report that the files exist under the former name.
func TestHalfRenamed(t *testing.T) {
	mem := vfs.NewMem()
	tinyModel(1, 1).writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}})
	must(mem.Rename("d.nc.manifest", "e.nc.manifest"))
	for k, want := range []string{"no subfile exists, but d.nc.0000 exists under the former name", "the first is e.nc.0001, but d.nc.0001 exists under the former name"} {
		if _, err := canonicalOf(mem, "e.nc"); !errors.Is(err, dataset.ErrMissing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		bad := checkErrors(mem, "e.nc")
		if !strings.Contains(fmt.Sprint(bad), fmt.Sprintf("missing, but d.nc.000%d exists under the former name", k)) {
			t.Errorf("check: %v", bad)
		}
		must(mem.Rename(subfile.Name("d.nc", k), subfile.Name("e.nc", k)))
	}
	wantSound(t, "check", mem, "e.nc")
}
