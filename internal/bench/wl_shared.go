package bench

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"blobio/internal/vfs"
)

// shared is about what a file system of servers charges for: names, syncs and small writes. A plain file beside each row is opened, written, synced
// and closed on the clock, as a dataset is; with the names of a dataset its own is durable, too.
func (s *session) shared(ctx context.Context) error {
	for _, name := range []string{"F_h0", "F_h1", "G"} {
		letter, _, _ := strings.Cut(name, "_")
		maps, err := s.mapsOf(letter)
		if err != nil {
			return err
		}
		for _, sync := range []bool{false, true} {
			j := Job{Case: name, Ranks: 16, Maps: maps, Sync: sync, Names: sync}
			if s.Quick {
				j.Ranks = 4
			}
			what := "write"
			if sync {
				what = "write, durable"
			}
			list, err := s.inProcess(j, strings.Replace(name, "_", " ", 1)+" "+s.capturedSize(), what, 0)
			if err != nil {
				return err
			}
			for i := range list {
				list[i].bound = s.plainInstead(list[i].clear, sync)
			}
			if err := s.race(ctx, true, list...); err != nil {
				return err
			}
		}
	}
	return nil
}

// plainWays are the ways to write a plain file of which the best counts.
var plainWays = []rawWay{{block: 256 << 10}, {block: 1 << 20}, {block: 4 << 20}}

// plainInstead measures a plain file when the datasets are removed, by one writer and by as many as a dataset has.
func (s *session) plainInstead(clear func() error, sync bool) func(context.Context, *Row) error {
	best := map[int64]func() (time.Duration, error){}
	return func(_ context.Context, r *Row) error {
		if err := clear(); err != nil {
			return err
		}
		name := s.path("plain")
		if best[r.Bytes] == nil {
			least := time.Duration(-1)
			for _, n := range counts(writers()) {
				for _, w := range plainWays {
					once := func() (time.Duration, error) { return plainWhole(name, r.Bytes, w.block, n, sync) }
					d, err := once()
					if err != nil {
						return err
					}
					if least < 0 || d < least {
						least, best[r.Bytes] = d, once
					}
				}
			}
			settle(s.dir)
		}
		d, err := best[r.Bytes]()
		if err == nil {
			r.bound("raw write", r.Bytes, d.Seconds())
		}
		return err
	}
}

// plainWhole times a file from open to close, and the sync of its directory; it is removed.
func plainWhole(name string, size int64, block, writers int, sync bool) (took time.Duration, err error) {
	buf := make([]byte, block)
	for i := range buf {
		buf[i] = byte(i * 7)
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
	err = striped(size, block, writers, func(_ int, off int64, n int) error {
		_, err := f.WriteAt(buf[:n], off)
		return err
	})
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil && sync {
		err = vfs.SyncParent(vfs.OS, name)
	}
	return time.Since(start), err
}
