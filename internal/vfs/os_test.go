package vfs

import (
	"path/filepath"
	"testing"
)

// BenchmarkOSWritev: 1 MiB in pieces of 1 KiB, with one system call, and with one per piece.
func BenchmarkOSWritev(b *testing.B) {
	bufs := make([][]byte, 1024)
	for i := range bufs {
		bufs[i] = make([]byte, 1024)
	}
	for _, k := range []struct {
		name  string
		write func(f File, off int64) (int64, error)
	}{
		{"vectored", func(f File, off int64) (int64, error) { return f.WritevAt(bufs, off) }},
		{"one by one", func(f File, off int64) (int64, error) { return writevLoop(f, bufs, off) }},
	} {
		b.Run(k.name, func(b *testing.B) {
			f, err := OS.Create(filepath.Join(b.TempDir(), "f"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := k.write(f, int64(i%16)<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
