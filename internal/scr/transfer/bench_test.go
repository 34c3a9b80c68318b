package transfer

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"blobio/internal/base/vfs"
)

// benchDir is a folder in memory, where there is one.
func benchDir(b *testing.B) string {
	b.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "transfer")
	if err != nil {
		return b.TempDir()
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// BenchmarkCopy: one file of 256 MiB in memory, beside a loop of read and write and nothing else, and beside io.Copy,
// for which the kernel may copy by itself.
func BenchmarkCopy(b *testing.B) {
	const size = 256 << 20
	dir := benchDir(b)
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	if err := os.WriteFile(src, noise(1, size), 0o666); err != nil {
		b.Fatal(err)
	}
	for _, buf := range []int{1 << 20, 256 << 10} {
		b.Run(fmt.Sprintf("Copy/%dk", buf>>10), func(b *testing.B) {
			e := engine(b, Options{BufSize: buf})
			b.SetBytes(size)
			for b.Loop() {
				if _, err := e.Copy(context.Background(), Job{Src: src, Dst: dst, Size: size}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("plain/%dk", buf>>10), func(b *testing.B) {
			p := make([]byte, buf)
			b.SetBytes(size)
			for b.Loop() {
				if err := plainCopy(src, dst, p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("io.Copy", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			if err := ioCopy(src, dst); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// plainCopy is a copy to a new file under another name, renamed.
func plainCopy(src, dst string, p []byte) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(dst + ".new")
	if err != nil {
		return err
	}
	defer out.Close()
	for {
		n, err := in.Read(p)
		if err == io.EOF {
			return os.Rename(dst+".new", dst)
		}
		if err != nil {
			return err
		}
		if _, err := out.Write(p[:n]); err != nil {
			return err
		}
	}
}

func ioCopy(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(dst + ".new")
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return os.Rename(dst+".new", dst)
}

// BenchmarkCopyAll: many files, each for itself and in containers of 64 MiB.
func BenchmarkCopyAll(b *testing.B) {
	const count, size = 256, 64 << 10
	dir := benchDir(b)
	var jobs, packed []Job
	for i := range count {
		name := filepath.Join(dir, "src", fmt.Sprint(i))
		put(b, vfs.OS, name, noise(uint64(i), size))
		jobs = append(jobs, Job{Src: name, Dst: filepath.Join(dir, "dst", fmt.Sprint(i)), Size: size})
	}
	for i, j := range jobs {
		var err error
		if j.Out, err = Pack(64<<20, int64(i)*size, size, dir); err != nil {
			b.Fatal(err)
		}
		packed = append(packed, j)
	}
	for _, x := range []struct {
		name string
		jobs []Job
	}{{"files", jobs}, {"containers", packed}} {
		b.Run(x.name, func(b *testing.B) {
			e := engine(b, Options{Sync: true})
			b.SetBytes(count * size)
			for b.Loop() {
				if _, err := e.CopyAll(context.Background(), x.jobs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
