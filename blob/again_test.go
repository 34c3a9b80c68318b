package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
)

// TestCommitAgain fills the disk before each commit and frees space after it, until the commit succeeds. Each attempt gets one
// more successful file operation than the last attempt. A failed commit is an error on all ranks, and readers find the
// previously committed data.
func TestCommitAgain(t *testing.T) {
	cases := slices.DeleteFunc(sessionCases(), func(sc sessionCase) bool { return sc.async || sc.o.Compress.On() })
	for _, sc := range crashtest.Some(t, 6, cases) {
		t.Run(sc.name, func(t *testing.T) {
			m := sc.model(4)
			mem := vfs.NewMem()
			tries := 0
			var room atomic.Int64 // file operations that still succeed
			full := vfs.NewFault(mem, func(op vfs.Op) error {
				switch op.Kind {
				case vfs.OpCreate, vfs.OpWrite, vfs.OpAllocate:
					if !strings.HasSuffix(op.Name, ".lock") && room.Add(-1) < 0 {
						return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: syscall.ENOSPC}
					}
				}
				return nil
			})
			room.Store(1 << 40)
			found := func(want int64) error {
				r, err := read.OpenWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: mem})
				if want == 0 && errors.Is(err, dataset.ErrNotCommitted) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("%d records: %w", want, err)
				}
				defer r.Close()
				got, err := convertBytes(context.Background(), r, &convert.ConvertOptions{Workers: 1})
				if err != nil || !bytes.Equal(got, m.upTo(want).canonical(false)) {
					return fmt.Errorf("%d records: other bytes: %w", want, err)
				}
				return nil
			}
			noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				w := need(write.CreateWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), sc.with(full, false)))
				defer w.Abort()
				for rec := range m.records {
					must(m.putRecord(w, rec, c.Rank(), rec == 0))
					for more := int64(0); ; more++ {
						must(c.Barrier(ctx))
						if c.Rank() == 0 {
							room.Store(more)
						}
						must(c.Barrier(ctx))
						err := w.Commit(ctx)
						if err == nil {
							break
						}
						if !errors.Is(err, syscall.ENOSPC) || more > 100 {
							return fmt.Errorf("record %d, %d steps: %w", rec, more, err)
						}
						if err = c.Barrier(ctx); err == nil && c.Rank() == 0 {
							tries++
							err = found(rec)
						}
						if err != nil {
							return fmt.Errorf("record %d, %d steps: %w", rec, more, err)
						}
					}
					must(c.Barrier(ctx))
					if c.Rank() == 0 {
						room.Store(1 << 40)
						must(found(rec + 1))
					}
				}
				return w.Close(ctx)
			}))
			noError(t, found(m.records))
			if tries < int(m.records) {
				t.Errorf("%d commits without space, want %d at least", tries, m.records)
			}
		})
	}
}

// TestRecoverFull checks for each layout that Recover works on a full disk: Recover removes files that belong to no committed
// state before it writes.
func TestRecoverFull(t *testing.T) {
	for _, sc := range sessionCases() {
		switch sc.name {
		case "variable-1", "variable-3", "sets-3", "room-1":
		default:
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			m := sc.model(4)
			mem := vfs.NewMem()
			var left *vfs.Mem
			noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				w := need(write.CreateWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), sc.with(mem, false)))
				defer w.Abort()
				for rec := range m.records - 1 {
					must(m.putRecord(w, rec, c.Rank(), rec == 0))
					must(errors.Join(w.Flush(ctx), c.Barrier(ctx)))
					if rec == m.records-2 {
						if c.Rank() == 0 {
							left = syncedClone(mem)
						}
						return c.Barrier(ctx) // the writer dies with uncommitted data
					}
					must(w.Commit(ctx))
				}
				return nil
			}))
			name := "d.nc+9.0000.w0123abcd.partial"
			if sc.o.Layout == dataset.VariableCentric {
				name = "d.nc.0000"
			}
			f, err := left.OpenRW(name) // imitates a large uncommitted write
			if errors.Is(err, fs.ErrNotExist) {
				f, err = left.Create(name)
			}
			noError(t, err)
			_, err = f.WriteAt(make([]byte, 1<<16), 1<<13)
			noError(t, errors.Join(err, f.Close()))
			left.SetCapacity(left.Used())
			need(resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: left}))
			r := opened(t, left, "d.nc", nil)
			got, err := convertBytes(context.Background(), r, &convert.ConvertOptions{Workers: 1})
			if err != nil || !bytes.Equal(got, m.upTo(m.records-2).canonical(false)) {
				t.Errorf("%d records, want %d: %v", r.Now().Data.Records, m.records-2, err)
			}
		})
	}
}
