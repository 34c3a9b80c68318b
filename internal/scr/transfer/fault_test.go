package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

var errBoom = errors.New("boom")

// setup returns a file system with two files. The destination of one of them already has an older
// version.
func setup(t testing.TB) (mem *vfs.Mem, jobs []Job, data [][]byte) {
	mem = vfs.NewMem()
	for i := range 3 {
		b := noise(uint64(i), 9000+i)
		src := fmt.Sprintf("/src/f%d", i)
		put(t, mem, src, b)
		j := job(src, fmt.Sprintf("/dst/d%d/f%d", i%2, i), b)
		j.Meta = true
		jobs, data = append(jobs, j), append(data, b)
	}
	put(t, mem, "/dst/d0/f0", []byte("old"))
	return mem, jobs, data
}

// content returns the data of a destination. ok is false if the file does not exist.
func content(t testing.TB, fsys vfs.FS, j Job) (b []byte, ok bool) {
	t.Helper()
	if _, err := fsys.Stat(j.Dst); errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	return get(t, fsys, j.Dst), true
}

// wholeOrNot fails the test unless each destination holds all new data, all old data, or no data.
func wholeOrNot(t testing.TB, fsys vfs.FS, jobs []Job, data [][]byte, when string) {
	t.Helper()
	for i, j := range jobs {
		b, ok := content(t, fsys, j)
		if ok && !bytes.Equal(b, data[i]) && !(i == 0 && string(b) == "old") {
			t.Errorf("%s: %s has %d bytes, neither new nor old", when, j.Dst, len(b))
		}
	}
}

func TestFaultAtEachOperation(t *testing.T) {
	ctx := context.Background()
	mem, jobs, _ := setup(t)
	c := vfs.Count(mem)
	if _, err := engine(t, Options{FS: c, BufSize: 4096, Files: 1, Sync: true}).CopyAll(ctx, jobs); err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= c.Ops(); n++ {
		mem, jobs, data := setup(t)
		results, err := engine(t, Options{FS: vfs.FailNth(mem, n, errBoom), BufSize: 4096, Files: 1, Sync: true}).CopyAll(ctx, jobs)
		when := fmt.Sprintf("operation %d failed", n)
		if !errors.Is(err, errBoom) {
			t.Errorf("%s: %v", when, err)
		}
		wholeOrNot(t, mem, jobs, data, when)
		noTemps(t, mem, "/dst")
		for i, r := range results {
			if b, _ := content(t, mem, jobs[i]); r.Done && !bytes.Equal(b, data[i]) {
				t.Errorf("%s: job %d is said to be done", when, i)
			}
		}
		// The next attempt must copy the rest.
		res, err := engine(t, Options{FS: mem, Sync: true}).Resume(ctx, jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range res {
			if b, _ := content(t, mem.CrashClone(vfs.CrashOptions{}), jobs[i]); !bytes.Equal(b, data[i]) || !r.Done {
				t.Errorf("%s: job %d was not resumed", when, i)
			}
			if results[i].Done && !r.Skipped {
				t.Errorf("%s: job %d was done and is copied again", when, i)
			}
		}
	}
}

// A failed device may leave unfinished files, but never under their final names.
func TestFaultDeviceDies(t *testing.T) {
	for n := int64(1); n < 80; n++ {
		mem, jobs, data := setup(t)
		_, err := engine(t, Options{FS: vfs.FailFrom(mem, n, errBoom), BufSize: 4096, Files: 1, Sync: true}).CopyAll(context.Background(), jobs)
		wholeOrNot(t, mem, jobs, data, fmt.Sprintf("dead from %d", n))
		if err == nil {
			return
		}
	}
	t.Error("more operations than expected")
}

func TestCrashAtEachOperation(t *testing.T) {
	ctx := context.Background()
	mem, jobs, data := setup(t)
	sc := crashtest.Scenario{On: []*vfs.Mem{mem}, Torn: 4, Run: crashtest.One(func(fsys vfs.FS) error {
		_, err := engine(t, Options{BufSize: 4096, Files: 1, Sync: true, FS: fsys}).CopyAll(ctx, jobs)
		return err
	})}
	for _, cut := range sc.Cuts(t) {
		c, when := cut.Mem[0], cut.When
		wholeOrNot(t, c, jobs, data, when)
		if cut.Last {
			for i, j := range jobs {
				if b, _ := content(t, c, j); !bytes.Equal(b, data[i]) {
					t.Errorf("job %d was reported and is not durable", i)
				}
			}
		}
		// The run after the crash finishes the copies.
		if _, err := engine(t, Options{FS: c, Sync: true}).Resume(ctx, jobs); err != nil {
			t.Fatal(err)
		}
		for i, j := range jobs {
			if b, _ := content(t, c, j); !bytes.Equal(b, data[i]) {
				t.Errorf("%s: job %d was not resumed", when, i)
			}
		}
	}
}

func TestFlippedByteInSource(t *testing.T) {
	mem, jobs, data := setup(t)
	j := jobs[0]
	for _, at := range []int{0, 4095, 4096, 8999} {
		flipped := bytes.Clone(data[0])
		flipped[at] ^= 4
		put(t, mem, j.Src, flipped)
		for _, sync := range []bool{false, true} {
			_, err := engine(t, Options{FS: mem, BufSize: 4096, Sync: sync}).Copy(context.Background(), j)
			if !errors.Is(err, fault.ErrChecksum) {
				t.Errorf("byte %d: %v", at, err)
			}
			if got := get(t, mem, j.Dst); string(got) != "old" {
				t.Errorf("byte %d: the destination was replaced", at)
			}
			noTemps(t, mem, "/dst")
		}
	}
}

func TestWrongSize(t *testing.T) {
	mem, jobs, data := setup(t)
	for n, class := range map[int]error{len(data[0]) - 1: fault.ErrTruncated, 0: fault.ErrTruncated, len(data[0]) + 1: fault.ErrCorrupt} {
		put(t, mem, jobs[0].Src, append(bytes.Clone(data[0]), 0)[:n])
		if _, err := engine(t, Options{FS: mem}).Copy(context.Background(), jobs[0]); !errors.Is(err, class) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	wholeOrNot(t, mem, jobs, data, "wrong size")
	noTemps(t, mem, "/dst")
}

// A source that changes during the copy must be rejected.
func TestSourceChanges(t *testing.T) {
	for name, change := range map[string]func(f vfs.File) error{
		"grows":   func(f vfs.File) error { _, err := f.WriteAt([]byte{1}, 9000); return err },
		"shrinks": func(f vfs.File) error { return f.Truncate(5000) },
	} {
		mem, jobs, data := setup(t)
		j := jobs[0]
		j.HasCRC = false
		reads := 0
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpRead {
				if reads++; reads == 2 {
					f, err := mem.OpenRW(j.Src)
					if err != nil {
						return err
					}
					return errors.Join(change(f), f.Close())
				}
			}
			return nil
		})
		_, err := engine(t, Options{FS: fsys, DstFS: mem, BufSize: 4096}).Copy(context.Background(), j)
		if !errors.Is(err, fault.ErrCorrupt) && !errors.Is(err, fault.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
		wholeOrNot(t, mem, jobs, data, name)
		noTemps(t, mem, "/dst")
	}
}

func TestDiskFull(t *testing.T) {
	mem, jobs, data := setup(t)
	small := vfs.NewMem()
	small.SetCapacity(8192)
	_, err := engine(t, Options{FS: mem, DstFS: small, BufSize: 4096, Sync: true, Files: 1}).CopyAll(context.Background(), jobs[:1])
	if !errors.Is(err, vfs.ErrNoSpace) {
		t.Errorf("%v", err)
	}
	if _, err := small.Stat(jobs[0].Dst); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a destination: %v", err)
	}
	noTemps(t, small, "/dst")
	if small.Used() != 0 {
		t.Errorf("%d bytes are still used", small.Used())
	}
	small.SetCapacity(0)
	if _, err := engine(t, Options{FS: mem, DstFS: small, Sync: true}).CopyAll(context.Background(), jobs[:1]); err != nil {
		t.Fatal(err)
	}
	wholeOrNot(t, small, jobs, data, "disk with room")
}

func TestShortWrite(t *testing.T) {
	mem, jobs, data := setup(t)
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && op.Off == 4096 {
			return &vfs.ShortWrite{N: 10, Err: vfs.ErrNoSpace}
		}
		return nil
	})
	if _, err := engine(t, Options{FS: mem, DstFS: fsys, BufSize: 4096}).Copy(context.Background(), jobs[0]); !errors.Is(err, vfs.ErrNoSpace) {
		t.Fatal(err)
	}
	wholeOrNot(t, mem, jobs, data, "short write")
	noTemps(t, mem, "/dst")
}
