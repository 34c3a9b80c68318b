package redset

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"blobio/comm"
)

// BenchmarkEncode protects a file of 4 MiB that was just written, as at the end of a checkpoint.
func BenchmarkEncode(b *testing.B) {
	const size = 4 << 20
	data := make([]byte, size)
	rand.New(rand.NewSource(1)).Read(data)
	for _, c := range []struct {
		scheme Scheme
		ranks  int
	}{{Single, 1}, {Partner, 2}, {XOR, 4}} {
		b.Run(fmt.Sprintf("%v/%d", c.scheme, c.ranks), func(b *testing.B) {
			dir := b.TempDir()
			if st, err := os.Stat("/dev/shm"); err == nil && st.IsDir() { // the cache of a checkpoint is usually in memory
				if dir, err = os.MkdirTemp("/dev/shm", "bench"); err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { os.RemoveAll(dir) })
			}
			b.SetBytes(int64(size * c.ranks))
			b.ReportAllocs()
			err := comm.Run(b.Context(), c.ranks, nil, func(ctx context.Context, cm comm.Comm) error {
				s, err := New(ctx, cm, Options{Scheme: c.scheme, Group: fmt.Sprint(cm.Rank())})
				if err != nil {
					return err
				}
				name := filepath.Join(dir, fmt.Sprint("file", cm.Rank()))
				for range b.N {
					if cm.Rank() == 0 {
						b.StopTimer()
					}
					_ = os.Remove(name)
					if err := os.WriteFile(name, data, 0o600); err != nil {
						return err
					}
					if err := cm.Barrier(ctx); err != nil {
						return err
					}
					if cm.Rank() == 0 {
						b.StartTimer()
					}
					if err := s.Encode(ctx, nil, []string{name}, filepath.Join(dir, "red.")); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
