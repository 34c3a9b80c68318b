package bench

import (
	"context"
	"path/filepath"
	"time"
)

// maxRaw caps the bytes with which ways to write are tried. What stands beside a write has as many bytes as that: the rate
// of more is not the same where memory becomes scarce.
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

// rawWritesInstead is rawWrites when the dataset of the row is removed: where files are memory, or the disk is nearly
// full, the plain writes get the pages and blocks that it had. Beside it they would have to take others, which in a
// virtual machine that has not used them yet is several times slower.
func (s *session) rawWritesInstead(dataset string, writers int, sync bool) func(context.Context, *Row) error {
	bound := s.rawWrites(writers, sync)
	return func(ctx context.Context, r *Row) error {
		if err := removeDataset(dataset); err != nil {
			return err
		}
		return bound(ctx, r)
	}
}

// rawWrite tries all ways the first time, the best one after that. Before each, the file system has done with what was
// removed: blocks that are given back would be paid for by who writes next.
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
	if s.maxRaw > 0 {
		limit = s.maxRaw
	}
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

// rawReads is the bound of a read: plain reads of a file.
func (s *session) rawReads(file string) func(context.Context, *Row) error {
	return func(ctx context.Context, r *Row) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := readCeiling(file, writers())
		if err != nil {
			return err
		}
		size, err := fileBytes(file)
		if err != nil {
			return err
		}
		r.bound("raw read", size, d.Seconds())
		return nil
	}
}

// memcpy copies bytes from one buffer of that size to another, each touched before.
func memcpy(size int64, workers int) time.Duration {
	a, b := make([]byte, size), make([]byte, size)
	for i := range a {
		a[i] = byte(i)
	}
	copy(b, a)
	start := time.Now()
	_ = striped(size, 1<<20, workers, func(_ int, off int64, n int) error {
		copy(b[off:off+int64(n)], a[off:off+int64(n)])
		return nil
	})
	return time.Since(start)
}
