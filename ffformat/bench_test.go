package ffformat

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// benchFile is a file of 4 variables of 32 MiB on disk, in the page cache.
func benchFile(b *testing.B, h Hash) (*os.File, *Reader, []VarBuf) {
	b.Helper()
	var s []spec
	for i := range int32(4) {
		s = append(s, spec{i, 32 << 20, 32 << 20})
	}
	f, data := build(b, LayoutF, h, 16384, [][]spec{s})
	name := filepath.Join(b.TempDir(), "f.fti")
	must(b, os.WriteFile(name, data, 0o666))
	file, err := os.Open(name)
	must(b, err)
	b.Cleanup(func() { file.Close() })
	r, err := NewReader(file, f.Size, name, nil)
	must(b, err)
	var bufs []VarBuf
	for _, v := range f.Vars() {
		bufs = append(bufs, VarBuf{v.ID, make([]byte, v.Size)})
	}
	return file, r, bufs
}

// BenchmarkReadVars reads and verifies; Raw is the ceiling: the same preads alone, of
// one goroutine per variable.
func BenchmarkReadVars(b *testing.B) {
	for _, k := range []struct {
		name string
		hash Hash
	}{{"MD5", MD5}, {"Fast", Fast}} {
		b.Run(k.name, func(b *testing.B) {
			_, r, bufs := benchFile(b, k.hash)
			b.SetBytes(4 * 32 << 20)
			for b.Loop() {
				must(b, r.ReadVars(context.Background(), bufs, nil))
			}
		})
	}
	b.Run("Raw", func(b *testing.B) {
		file, _, bufs := benchFile(b, Fast)
		b.SetBytes(4 * 32 << 20)
		for b.Loop() {
			done := make(chan error)
			for i, v := range bufs {
				go func() {
					_, err := file.ReadAt(v.Data, int64(i)*32<<20)
					done <- err
				}()
			}
			for range bufs {
				must(b, <-done)
			}
		}
	})
}

// BenchmarkDecode is of a file with 9000 containers of 6000 variables.
func BenchmarkDecode(b *testing.B) {
	specs := make([][]spec, 3)
	for i := range int32(3000) {
		specs[0] = append(specs[0], spec{i, 8, 8})
		specs[1] = append(specs[1], spec{-1 - i, 8, 5})
		specs[2] = append(specs[2], spec{i, 3, 2})
	}
	f, data := build(b, LayoutF, MD5, 0, specs)
	b.SetBytes(f.metaBytes())
	for b.Loop() {
		if _, err := NewReader(bytes.NewReader(data), f.Size, "", nil); err != nil {
			b.Fatal(err)
		}
	}
}
