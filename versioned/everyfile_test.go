package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
)

// goOn opens a hierarchy at its newest undamaged snapshot, compares all data, and makes another snapshot.
func goOn(ctx context.Context, c comm.Comm, st *Store) (snapshot int64, err error) {
	h, err := OpenHierarchy(ctx, c, st, "amr", nil)
	for s := int64(restartSteps - 1); err != nil && s > 0; s-- {
		h, err = OpenHierarchyAt(ctx, c, st, "amr", s, nil)
	}
	if err != nil {
		return 0, err
	}
	step := h.Info(0).Step
	got := make([]float64, 16)
	for l := range len(h.levels) {
		lo, hi := h.now[l].dataRange(0)
		err := h.Array(l).getBytes(ctx, []int64{lo}, []int64{hi}, bytesOf(got))
		if err != nil || !slices.Equal(native(got), levelState(l, step)) {
			return 0, fmt.Errorf("WRONG: level %d at step %d: %v, %v", l, step, got, err)
		}
		if err := c.Barrier(ctx); err != nil { // all ranks have compared their data
			return step, err
		}
		own := map[int][]float64{}
		if c.Rank() == int(h.Info(l).Boxes[0].Owner) {
			own[0] = levelState(l, step+1)
		}
		if _, err := h.Save(ctx, l, float64(step+1), 1, step+1, own); err != nil {
			return step, err
		}
	}
	if _, err := h.Snapshot(ctx); err != nil {
		return step, err
	}
	return step, h.Close(ctx)
}

// TestEveryFile: each file of a store is changed, truncated or deleted. No read returns wrong bytes. If only a record is damaged,
// the hierarchy continues unchanged, and the next commit restores the record.
func TestEveryFile(t *testing.T) {
	mem, st := memStore(t)
	ranks(t, 2, func(ctx context.Context, c comm.Comm) error { return restart(ctx, c, st) })
	for _, d := range []string{".", "d", "d/amr.level0", "d/amr.level1", "d/amr.global"} {
		must(t, mem.SyncDir(d))
	}
	n, older := 0, 0
	for _, array := range names(t, mem, "d") {
		for i, file := range names(t, mem, "d/"+array) {
			for _, how := range []string{"flip", "cut", "delete"} {
				n++
				m := mem.CrashClone(vfs.CrashOptions{})
				what := fmt.Sprintf("%s of %s/%s", how, array, file)
				harm(t, m, "d/"+array+"/"+file, how, int64(131*i+57*n))
				isRecord := slices.Contains(arrays.Seals, file)
				for name := range arraysIn(t, m) {
					v := openOne(t, m, name)
					bad := 0
					for f := range v.Check(bg, nil) {
						bad += int(btoi(f.Severity >= fault.Error))
					}
					if (bad > 0) != (name == array) {
						t.Errorf("%s: %d findings in %s", what, bad, name)
					}
				}
				var step int64
				err := comm.Run(bg, 2, nil, func(ctx context.Context, c comm.Comm) error {
					s, err := goOn(ctx, c, &Store{Dir: "d", FS: m})
					if c.Rank() == 0 {
						step = s
					}
					return err
				})
				if err != nil && strings.Contains(err.Error(), "WRONG") || isRecord && (err != nil || step != restartSteps) {
					t.Fatalf("%s: went on from step %d, %v", what, step, err)
				}
				if err != nil && !damaged(err) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrMissing) {
					t.Errorf("%s: %v", what, err)
				}
				older += int(btoi(err != nil || step != restartSteps))
				if !isRecord {
					continue
				}
				for name := range arraysIn(t, m) {
					if _, bad := readRecords(m, "d/"+name); errors.Join(bad...) != nil {
						t.Errorf("%s: after the next commit: %v", what, bad)
					}
				}
			}
		}
	}
	t.Logf("%d damages, %d of them cost a snapshot", n, older)
}

func arraysIn(t *testing.T, m vfs.FS) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	list, err := arrays.List("d", m)
	must(t, err)
	for _, n := range list {
		out[n] = true
	}
	return out
}

func openOne(t *testing.T, m vfs.FS, name string) *View {
	t.Helper()
	v, err := OpenView("d/"+name, m, nil)
	must(t, err)
	t.Cleanup(func() { v.Close() })
	return v
}

// sound checks that Check finds no faults.
func sound(t *testing.T, v *View) {
	t.Helper()
	for f := range v.Check(bg, nil) {
		if f.Severity >= fault.Error {
			t.Error(f)
		}
	}
}

// TestRecordOfOlderPrograms: a store written by an older program, with a single record and no sums of versions, is valid. The
// next commit writes the second record.
func TestRecordOfOlderPrograms(t *testing.T) {
	mem := salvageStores(t)["all"]
	want := contents(t, mem)
	rec, err := readRecord(mem, "d/a")
	must(t, err)
	rec.Twice = false
	for i := range rec.Versions {
		rec.Versions[i].Sum = ""
	}
	b, err := records.Encode(rec)
	must(t, err)
	must(t, durable.Replace(mem, "d/a/"+recordName, b, durable.ReplaceOptions{Sync: true, SyncDir: true}))
	remove(t, mem, "d/a/"+secondName)
	if got := contents(t, mem); !maps.Equal(got, want) {
		t.Error("other versions than before")
	}
	sound(t, openOne(t, mem, "a"))
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Open(ctx, c, &Store{Dir: "d", FS: mem}, "a", nil)
		must(t, err)
		inc(ctx, t, a)
		return a.Close(ctx)
	})
	if _, bad := readRecords(mem, "d/a"); errors.Join(bad...) != nil {
		t.Error(bad)
	}
}
