//go:build linux && !386 && !arm

package mount

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"blobio/bench"
	"blobio/blob"
	"blobio/e3smcases"
)

// BenchmarkRead reads whole files once, 1 MiB at a time: of both layouts through a mount, and beside them the converted file through a file
// system of go-fuse that passes it on.
func BenchmarkRead(b *testing.B) {
	dir := b.TempDir()
	maps, err := e3smcases.GenF(10, 72, 64)
	ok(b, err)
	res, err := bench.Replay(b.Context(), bench.ReplayOptions{Case: "F", Maps: maps, Records: 1, Subfiles: 2, Pattern: e3smcases.Unique, Dir: dir, Convert: true, Options: blob.Options{Durability: blob.DurableNone}})
	ok(b, err)
	at, _, _ := mountedAt(b, dir, &Options{Verify: blob.VerifyOnce})
	beside := b.TempDir()
	loop, end := context.WithCancel(b.Context())
	up, ended := make(chan bool), make(chan error, 1)
	go func() { ended <- Loopback(loop, dir, beside, func() { close(up) }) }()
	<-up
	defer func() { end(); ok(b, <-ended) }()
	for _, r := range res {
		if r.Case != "F_h0" {
			continue
		}
		for kind, name := range map[string]string{"converted": filepath.Join(beside, filepath.Base(r.Canonical)), "mounted": filepath.Join(at, filepath.Base(r.Path))} {
			b.Run(r.Layout+"/"+kind, func(b *testing.B) {
				buf := make([]byte, 1<<20)
				begun := used(b)
				for b.Loop() {
					f, err := os.Open(name)
					ok(b, err)
					n := int64(0)
					for {
						k, err := f.Read(buf)
						n += int64(k)
						if errors.Is(err, io.EOF) {
							break
						}
						ok(b, err)
					}
					b.SetBytes(n)
					ok(b, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)) // what the kernel keeps
					ok(b, f.Close())
				}
				b.ReportMetric(float64(used(b)-begun)/1e6/float64(b.N), "cpu-ms/op") // of reader and server together
			})
		}
	}
}

// used is the time that this process has spent on processors.
func used(b *testing.B) time.Duration {
	var u unix.Rusage
	ok(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
