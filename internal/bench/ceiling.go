package bench

import (
	"context"
	"fmt"
	"os"
	"time"

	"blobio/internal/par"
	"blobio/internal/vfs"
)

// ceilingBlocks are the sizes of write tried for the raw ceiling, in bytes.
var ceilingBlocks = []int{256 << 10, 1 << 20, 4 << 20}

func rawWrite(name string, size int64, block, writers int, reserve, sync bool) (time.Duration, error) {
	bufs := make([][]byte, writers)
	for i := range bufs {
		bufs[i] = make([]byte, block)
		for k := range bufs[i] {
			bufs[i][k] = byte(k * 7)
		}
	}
	return inFreshFile(name, func(f vfs.File) error {
		if reserve {
			if err := f.Allocate(0, size); err != nil {
				return err
			}
		}
		if err := striped(size, block, writers, func(w int, off int64, n int) error {
			_, err := f.WriteAt(bufs[w][:n], off)
			return err
		}); err != nil || !sync {
			return err
		}
		return f.Sync()
	})
}

// inFreshFile times work on a file that is made for it and removed.
func inFreshFile(name string, work func(f vfs.File) error) (took time.Duration, err error) {
	f, err := vfs.OS.Create(name)
	if err != nil {
		return 0, err
	}
	defer func() {
		f.Close()
		if rerr := os.Remove(name); err == nil {
			err = rerr
		}
	}()
	start := time.Now()
	err = work(f)
	return time.Since(start), err
}

// readCeiling returns the time that plain positional reads of the file take, with the best block size.
func readCeiling(name string, readers int) (time.Duration, error) {
	f, err := vfs.OS.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return 0, err
	}
	best := time.Duration(-1)
	for _, block := range ceilingBlocks {
		bufs := make([][]byte, readers)
		for i := range bufs {
			bufs[i] = make([]byte, block)
		}
		start := time.Now()
		if err := striped(size, block, readers, func(w int, off int64, n int) error {
			if k, err := f.ReadAt(bufs[w][:n], off); k < n {
				return fmt.Errorf("read of %s at %d: %w", name, off, err)
			}
			return nil
		}); err != nil {
			return 0, err
		}
		if d := time.Since(start); best < 0 || d < best {
			best = d
		}
	}
	return best, nil
}

// striped gives blocks to workers in turn and waits for all.
func striped(size int64, block, workers int, f func(w int, off int64, n int) error) error {
	return par.Each(context.Background(), workers, workers, func(_ context.Context, w int) error {
		for off := int64(w) * int64(block); off < size; off += int64(workers) * int64(block) {
			if err := f(w, off, int(min(int64(block), size-off))); err != nil {
				return err
			}
		}
		return nil
	})
}
