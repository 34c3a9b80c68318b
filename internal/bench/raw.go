package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// rawBlock is the size of one plain write or read, in bytes.
const rawBlock = 1 << 20

// rawWriting describes the plain writes measured next to a row.
type rawWriting struct {
	writers int
	sync    bool // wait for the device
	names   bool // also wait for the name of the file
}

// rawWrites measures plain writes of the same number of bytes as the row.
func (s *session) rawWrites(w rawWriting) func(context.Context, *Row) error {
	return func(ctx context.Context, r *Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := w.run(s.path("raw"), r.Bytes)
		if err == nil {
			r.bound("raw write", r.Bytes, d.Seconds())
		}
		return err
	}
}

// rawWritesInstead is rawWrites after clear has removed the row's dataset. If files are in memory, or the disk is nearly full,
// the plain writes reuse the pages and blocks of the dataset. New pages and blocks may be several times slower.
func (s *session) rawWritesInstead(clear func() error, w rawWriting) func(context.Context, *Row) error {
	bound := s.rawWrites(w)
	return func(ctx context.Context, r *Row) error {
		if err := clear(); err != nil {
			return err
		}
		settle(s.dir)
		return bound(ctx, r)
	}
}

// run times a file from open to close, including syncs, and removes the file.
func (w rawWriting) run(name string, size int64) (took time.Duration, err error) {
	block := make([]byte, rawBlock)
	for i := range block {
		block[i] = byte(i * 7)
	}
	defer func() {
		if rerr := os.Remove(name); err == nil {
			err = rerr
		}
	}()
	start := time.Now()
	f, err := vfs.OS.Create(name)
	if err != nil {
		return 0, err
	}
	err = striped(size, w.writers, func(_ int, off int64, n int) error {
		_, err := f.WriteAt(block[:n], off)
		return err
	})
	if err == nil && w.sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && w.names {
		err = vfs.SyncParent(vfs.OS, name)
	}
	return time.Since(start), err
}

// rawReads measures plain reads of a file, with one reader per core.
func (s *session) rawReads(file string) func(context.Context, *Row) error {
	return func(ctx context.Context, r *Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := vfs.OS.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		size, err := f.Size()
		if err != nil {
			return err
		}
		blocks := make([][]byte, writers())
		for i := range blocks {
			blocks[i] = make([]byte, rawBlock)
		}
		start := time.Now()
		if err := striped(size, len(blocks), func(w int, off int64, n int) error {
			if k, err := f.ReadAt(blocks[w][:n], off); k < n {
				return fmt.Errorf("read of %s at %d: %w", file, off, err)
			}
			return nil
		}); err != nil {
			return err
		}
		r.bound("raw read", size, time.Since(start).Seconds())
		return nil
	}
}

// striped assigns blocks to workers in turn and waits for all.
func striped(size int64, workers int, f func(w int, off int64, n int) error) error {
	return par.Each(context.Background(), workers, workers, func(_ context.Context, w int) error {
		for off := int64(w) * rawBlock; off < size; off += int64(workers) * rawBlock {
			if err := f(w, off, int(min(rawBlock, size-off))); err != nil {
				return err
			}
		}
		return nil
	})
}
