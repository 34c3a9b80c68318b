package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// maxRaw caps the bytes with which ways to write are tried. A bound has as many bytes as the write that it stands beside,
// because the rate changes with the bytes where memory becomes scarce.
const maxRaw = 2 << 30

// rawKey is a bound of writes, rawWay how it is reached best.
type rawKey struct {
	size    int64
	writers int
	sync    bool
}

type rawWay struct {
	block   int
	reserve bool
}

// rawWrites is the bound of a write: the same bytes by as many writers, in the best of
// the block sizes, into a fresh file or one whose space is reserved first, that time included.
func (s *session) rawWrites(writers int, sync bool) func(context.Context, *Row) error {
	return func(ctx context.Context, r *Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := s.rawWrite(rawKey{r.Bytes, writers, sync})
		if err != nil {
			return err
		}
		r.bound("raw write", r.Bytes, d.Seconds())
		return nil
	}
}

// rawWrite tries all ways the first time, the best one after that. Before each, the file system has freed the removed blocks;
// otherwise the next writer would pay for that.
func (s *session) rawWrite(k rawKey) (time.Duration, error) {
	name := filepath.Join(s.dir, ".ceiling")
	once := func(size int64, w rawWay) (time.Duration, error) {
		settle(s.dir)
		return rawWrite(name, size, w.block, k.writers, w.reserve, k.sync)
	}
	if w, ok := s.best[k]; ok {
		return once(k.size, w)
	}
	least, way, limit := time.Duration(-1), rawWay{}, int64(maxRaw)
	for _, block := range ceilingBlocks {
		for _, reserve := range []bool{false, true} {
			d, err := once(min(k.size, limit), rawWay{block, reserve})
			if err != nil {
				return 0, err
			}
			if least < 0 || d < least {
				least, way = d, rawWay{block, reserve}
			}
		}
	}
	if s.best == nil {
		s.best = map[rawKey]rawWay{}
	}
	s.best[k] = way
	if k.size > limit {
		return once(k.size, way)
	}
	return least, nil
}

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
