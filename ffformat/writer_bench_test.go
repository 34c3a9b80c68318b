package ffformat

import (
	"context"
	"crypto/md5"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"blobio/internal/vfs"
)

// benchSize is the protected size of the benchmarks in bytes.
const benchSize = 256 << 20

func benchDir(b *testing.B) string {
	if fi, err := os.Stat("/dev/shm"); err == nil && fi.IsDir() {
		if dir, err := os.MkdirTemp("/dev/shm", "ff"); err == nil {
			b.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	return b.TempDir()
}

func benchVars(n int) []VarBuf {
	rng := rand.NewChaCha8([32]byte{1})
	vars := make([]VarBuf, n)
	for i := range vars {
		vars[i] = VarBuf{int32(i), make([]byte, benchSize/n)}
		rng.Read(vars[i].Data)
	}
	return vars
}

// BenchmarkCeiling is what the writer is held against: plain positional writes of as
// many bytes from memory (the better of one and two writers, in blocks of 1 MiB), and
// the hashes on all processors.
func BenchmarkCeiling(b *testing.B) {
	vars := benchVars(4)
	dir := benchDir(b)
	each := func(f func(v *VarBuf)) {
		var wg sync.WaitGroup
		for i := range vars {
			wg.Go(func() { f(&vars[i]) })
		}
		wg.Wait()
	}
	for _, fresh := range []bool{true, false} {
		b.Run(fmt.Sprintf("write/fresh=%v", fresh), func(b *testing.B) {
			b.SetBytes(benchSize)
			f, err := vfs.OS.Create(dir + "/raw")
			must(b, err)
			defer os.Remove(dir + "/raw")
			defer f.Close()
			for b.Loop() {
				if fresh {
					f.Truncate(0)
				}
				for i := range vars {
					for off := 0; off < benchSize/4; off += 1 << 20 {
						if _, err := f.WriteAt(vars[i].Data[off:off+1<<20], int64(i*benchSize/4+off)); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
	b.Run("MD5", func(b *testing.B) {
		b.SetBytes(benchSize)
		for b.Loop() {
			each(func(v *VarBuf) { md5.Sum(v.Data) })
		}
	})
	b.Run("XXH3", func(b *testing.B) {
		b.SetBytes(benchSize)
		for b.Loop() {
			each(func(v *VarBuf) {
				for off := 0; off < len(v.Data); off += DefaultBlockSize {
					xxh3.Hash128(v.Data[off : off+DefaultBlockSize])
				}
			})
		}
	})
}

// BenchmarkUpdate writes four variables, or a single one: full into a fresh file, full into
// one that is there, and differential with a share of the blocks changed, evenly spread. In
// memory where there is /dev/shm. Rates are of the protected size.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{4, 1} {
		for _, hash := range []Hash{MD5, Fast} {
			for _, share := range []int{-2, -1, 0, 1, 10, 50, 100} { // percent; -1: full, -2: full and fresh
				what := fmt.Sprintf("changed=%d%%", share)
				if share < 0 {
					what = []string{"full", "fresh"}[-1-share]
				}
				b.Run(fmt.Sprintf("vars=%d/%s/%s", n, []string{"MD5", "Fast"}[hash], what), func(b *testing.B) {
					benchUpdate(b, benchVars(n), hash, share)
				})
			}
		}
	}
}

func benchUpdate(b *testing.B, vars []VarBuf, hash Hash, share int) {
	ctx := context.Background()
	dir := benchDir(b)
	w, err := NewWriter(&WriterOptions{Hash: hash})
	must(b, err)
	f, err := vfs.OS.Create(dir + "/f")
	must(b, err)
	defer os.Remove(dir + "/f")
	defer f.Close()
	var prev *Digests
	update := func() {
		u, err := w.Begin(f, UpdateOptions{CkptID: 1, Timestamp: time.Now().UnixNano(), Prev: prev, Differential: share >= 0, Fresh: share == -2})
		must(b, err)
		must(b, u.AddAll(ctx, vars))
		res, err := u.Finish(ctx)
		must(b, err)
		if share >= 0 {
			prev = res.Digests
		}
	}
	update()
	b.SetBytes(benchSize)
	for b.Loop() {
		b.StopTimer()
		if share == -2 {
			f.Truncate(0)
		}
		for i := range vars {
			for k := 0; k < len(vars[i].Data)/DefaultBlockSize; k++ {
				if k%100*share/100 != (k%100+1)*share/100 && share > 0 {
					vars[i].Data[k*DefaultBlockSize+77]++
				}
			}
		}
		b.StartTimer()
		update()
	}
}
