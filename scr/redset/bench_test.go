package redset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
)

const (
	benchRanks = 4
	benchSize  = 64 << 20 // bytes per rank
)

// benchDir is a directory of memory storage.
func benchDir(b *testing.B) string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		b.Skip("SKIPPED: no /dev/shm")
	}
	dir, err := os.MkdirTemp("/dev/shm", "redset")
	if err != nil {
		b.Skip("SKIPPED: ", err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	for r := range benchRanks {
		must(b, os.Mkdir(filepath.Join(dir, fmt.Sprint(r)), 0o777))
	}
	return dir
}

func benchFile(dir string, r int) string { return filepath.Join(dir, fmt.Sprint(r), "data") }

// writeData writes the file of a rank anew, as a solver does: a buffer at a time.
func writeData(dir string, r int, src []byte) error {
	_ = os.Remove(benchFile(dir, r))
	f, err := vfs.OS.Create(benchFile(dir, r))
	if err != nil {
		return err
	}
	for off := 0; off < len(src); off += 1 << 20 {
		if _, err := f.WriteAt(src[off:off+1<<20], int64(off)); err != nil {
			return err
		}
	}
	return f.Close()
}

func benchSource() []byte {
	src := make([]byte, benchSize)
	for i := range src {
		src[i] = byte(i * 7 >> 3)
	}
	return src
}

var benchSchemes = []Options{{Scheme: XOR}, {Scheme: Partner}, {Scheme: RS, K: 2}, {Scheme: Single}}

// benchRun is f on the ranks, with the set of a scheme.
func benchRun(b *testing.B, mode string, o Options, f func(ctx context.Context, c comm.Comm, s *Set) error) {
	err := comm.Run(context.Background(), benchRanks, &comm.Options{DeadlockAfter: -1}, func(ctx context.Context, c comm.Comm) error {
		c = modes[mode](c)
		s, err := New(ctx, c, o)
		must(b, err)
		return f(ctx, c, s)
	})
	must(b, err)
}

// BenchmarkWriteAndEncode is the time from the first data write until encoded; "over-write" is its
// ratio to writing the data alone, taken in turns in the same run.
func BenchmarkWriteAndEncode(b *testing.B) {
	src := benchSource()
	for _, o := range benchSchemes {
		for _, mode := range []string{"shared", "isolated"} {
			b.Run(o.Scheme.String()+"/"+mode, func(b *testing.B) {
				dir := benchDir(b)
				b.SetBytes(benchRanks * benchSize)
				var alone, both time.Duration
				benchRun(b, mode, o, func(ctx context.Context, c comm.Comm, s *Set) error {
					r := c.Rank()
					prefix := filepath.Join(dir, fmt.Sprint(r), "rs.")
					for range b.N {
						for phase, total := range []*time.Duration{&alone, &both} {
							if err := Drop(vfs.OS, prefix, r); err != nil {
								return err
							}
							_ = os.Remove(benchFile(dir, r))
							if err := c.Barrier(ctx); err != nil {
								return err
							}
							start := time.Now()
							if err := writeData(dir, r, src); err != nil {
								return err
							}
							if phase == 1 {
								if err := s.Encode(ctx, vfs.OS, []string{benchFile(dir, r)}, prefix); err != nil {
									return err
								}
							} else if err := c.Barrier(ctx); err != nil {
								return err
							}
							if r == 0 {
								*total += time.Since(start)
							}
						}
					}
					return nil
				})
				b.ReportMetric(both.Seconds()/alone.Seconds(), "over-write")
				b.ReportMetric(float64(b.N)*benchRanks*benchSize/(both-alone).Seconds()/1e6, "encode-MB/s")
			})
		}
	}
}

// BenchmarkRebuild is the time in which one lost rank is rebuilt and all bytes of the others
// are verified. SetBytes counts all data; "lost-MB/s" the lost data.
func BenchmarkRebuild(b *testing.B) {
	src := benchSource()
	for _, o := range benchSchemes[:3] {
		b.Run(o.Scheme.String(), func(b *testing.B) {
			dir := benchDir(b)
			b.SetBytes(benchRanks * benchSize)
			var took time.Duration
			benchRun(b, "shared", o, func(ctx context.Context, c comm.Comm, s *Set) error {
				r := c.Rank()
				prefix := filepath.Join(dir, fmt.Sprint(r), "rs.")
				if err := writeData(dir, r, src); err != nil {
					return err
				}
				if err := s.Encode(ctx, vfs.OS, []string{benchFile(dir, r)}, prefix); err != nil {
					return err
				}
				for range b.N {
					if r == 1 {
						if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
							return err
						}
					}
					if err := c.Barrier(ctx); err != nil {
						return err
					}
					start := time.Now()
					if _, err := Recover(ctx, c, vfs.OS, prefix, nil); err != nil {
						return err
					}
					if r == 0 {
						took += time.Since(start)
					}
				}
				return nil
			})
			b.ReportMetric(float64(b.N)*benchSize/took.Seconds()/1e6, "lost-MB/s")
		})
	}
}

// BenchmarkCopy is what memory and files give: copies in memory, of as many goroutines as ranks, and
// file to file.
func BenchmarkCopy(b *testing.B) {
	src := benchSource()
	par := func(b *testing.B, f func(r int) error) {
		b.SetBytes(benchRanks * benchSize)
		for b.Loop() {
			var wg sync.WaitGroup
			for r := range benchRanks {
				wg.Go(func() {
					if err := f(r); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		}
	}
	b.Run("memory", func(b *testing.B) {
		dst := make([][]byte, benchRanks)
		for r := range dst {
			dst[r] = make([]byte, benchSize)
		}
		par(b, func(r int) error { copy(dst[r], src); return nil })
	})
	b.Run("write", func(b *testing.B) {
		dir := benchDir(b)
		par(b, func(r int) error { return writeData(dir, r, src) })
	})
	b.Run("files", func(b *testing.B) {
		dir := benchDir(b)
		must(b, writeData(dir, 0, src))
		b.SetBytes(benchSize)
		buf := make([]byte, 1<<20)
		for b.Loop() {
			in, err := vfs.OS.Open(benchFile(dir, 0))
			must(b, err)
			_ = os.Remove(benchFile(dir, 1))
			out, err := vfs.OS.Create(benchFile(dir, 1))
			must(b, err)
			for off := int64(0); off < benchSize; off += int64(len(buf)) {
				if _, err := in.ReadAt(buf, off); err != nil {
					b.Fatal(err)
				}
				if _, err := out.WriteAt(buf, off); err != nil {
					b.Fatal(err)
				}
			}
			in.Close()
			out.Close()
		}
	})
}
