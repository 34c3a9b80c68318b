package blob

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
	"blobio/internal/subfile"
)

// lateSizes is a file system on which a process sees the size 0 for subfiles that other processes have extended.
type lateSizes struct{ *vfs.Mem }

type lateSize struct{ vfs.File }

func (lateSize) Size() (int64, error) { return 0, nil }

func (l lateSizes) OpenRW(name string) (vfs.File, error) {
	f, err := l.Mem.OpenRW(name)
	if _, _, is := subfile.Split(name); is && err == nil {
		f = lateSize{f}
	}
	return f, err
}

// TestSessionLateSize checks that a commit keeps records that other processes have written, although the process sees an
// outdated size of the file.
func TestSessionLateSize(t *testing.T) {
	m, mem := tinyModelOf(1, 3, 3), vfs.NewMem()
	guard := dataset.VarID(len(m.s.Vars) - 1)
	part := *m
	part.absent = map[rankRec]bool{}
	for rank := range m.ranks {
		part.absent[rankRec{guard, 1, rank}] = true
	}
	o := &dataset.Settings{Options: dataset.Options{Subfiles: 1, OwnMin: 1}, Knobs: dataset.Knobs{Fs: lateSizes{mem}}}
	noError(t, run(m.ranks, func(ctx context.Context, in comm.Comm) error {
		c := commtest.Isolate(in)
		w := need(write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), o))
		defer w.Abort()
		for rec := range m.records {
			must(part.putRecord(w, rec, c.Rank(), rec == 0))
			err := w.Commit(ctx)
			if held := new(write.HeldBackError); rec > 0 && errors.As(err, &held) && held.Var == m.s.Vars[guard].Name && held.Put == rec+1 {
				err = nil
			} else if rec > 0 && err == nil {
				err = errors.New("nothing said of a record that is held back")
			}
			if err != nil || w.Committed() != 1 {
				return fmt.Errorf("%d committed, want 1: %w", w.Committed(), err)
			}
		}
		if err := errors.Join(m.put(w, guard, 1, c.Rank(), 1, nil), w.Commit(ctx)); err != nil || w.Committed() != 3 {
			return fmt.Errorf("%d committed, want 3: %w", w.Committed(), err)
		}
		return w.Close(ctx)
	}))
	if n := recordsSeen(t, mem, "closed", m); n != m.records {
		t.Errorf("%d records", n)
	}
}
