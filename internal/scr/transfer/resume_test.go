package transfer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// goroutines returns the stacks of the running goroutines of this package, without the tests.
func goroutines() string {
	buf := make([]byte, 1<<20)
	var out []string
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "transfer.(*Engine)") || strings.Contains(g, "transfer.(*batch)") || strings.Contains(g, "transfer.(*server)") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}

// noGoroutines fails the test if a goroutine of this package still runs. It waits for a moment, because a goroutine that has closed
// its channel may not have ended yet.
func noGoroutines(t testing.TB) {
	t.Helper()
	left := ""
	for range 60_000 {
		if left = goroutines(); left == "" {
			return
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	t.Errorf("still running:\n%s", left)
}

// If copies are cancelled at any block, all files at their destinations must be whole, and the copies can be resumed.
func TestCancelAndResume(t *testing.T) {
	ctx := context.Background()
	for stop := 1; stop < 30; stop++ {
		mem := vfs.NewMem()
		var jobs []Job
		var data [][]byte
		for i := range 5 {
			b := noise(uint64(i), 20_000+i)
			put(t, mem, fmt.Sprintf("/src/%d", i), b)
			j := job(fmt.Sprintf("/src/%d", i), fmt.Sprintf("/dst/%d", i), b)
			if i == 4 {
				j.HasCRC, j.Size = false, -1
			}
			jobs, data = append(jobs, j), append(data, b)
		}
		reached := 0
		part, cancel := context.WithCancel(ctx)
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite {
				if reached++; reached == stop {
					cancel()
				}
			}
			return nil
		})
		first, err := engine(t, Options{FS: fsys, BufSize: 4096, Files: 1, Sync: true}).Resume(part, jobs)
		cancel()
		if reached < stop {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if !errors.Is(err, context.Canceled) && !first[4].Done {
			t.Errorf("cancelled: %v", err)
		}
		noTemps(t, mem, "/dst")
		noGoroutines(t)
		for i, j := range jobs {
			if b, ok := content(t, mem, j); ok != first[i].Done || ok && !bytes.Equal(b, data[i]) {
				t.Errorf("stopped at block %d: job %d: done %v, there %v", stop, i, first[i].Done, ok)
			}
		}
		written := vfs.Count(mem)
		again, err := engine(t, Options{FS: written, BufSize: 4096, Sync: true}).Resume(ctx, jobs)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		for i, r := range again {
			if r.Skipped != first[i].Done {
				t.Errorf("stopped at block %d: job %d: done %v, then skipped %v", stop, i, first[i].Done, r.Skipped)
			}
			if !r.Skipped {
				want += r.Size
			} else if first[i].CRC != r.CRC || first[i].Size != r.Size {
				t.Errorf("job %d: %+v, then %+v", i, first[i], r)
			}
		}
		if n := written.Bytes(vfs.OpWrite); n != want {
			t.Errorf("%d bytes written, missing were %d", n, want)
		}
	}
	t.Error("there are more blocks than expected")
}

// A file that has the right size but other bytes is copied again.
func TestResumeDistrusts(t *testing.T) {
	ctx := context.Background()
	for name, spoil := range map[string]func(b []byte) []byte{
		"flipped": func(b []byte) []byte { b[777] ^= 1; return b },
		"short":   func(b []byte) []byte { return b[:len(b)-1] },
		"long":    func(b []byte) []byte { return append(b, 0) },
		"empty":   func(b []byte) []byte { return nil },
	} {
		for _, known := range []bool{true, false} {
			mem := vfs.NewMem()
			data := noise(8, 10_000)
			put(t, mem, "/f", data)
			j := job("/f", "/g", data)
			if !known {
				j.HasCRC, j.Size = false, -1
			}
			e := engine(t, Options{FS: mem})
			if _, err := e.Copy(ctx, j); err != nil {
				t.Fatal(err)
			}
			put(t, mem, "/g", spoil(get(t, mem, "/g")))
			res, err := e.Resume(ctx, []Job{j})
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := content(t, mem, j); !bytes.Equal(b, data) {
				t.Errorf("%s: not copied again", name)
			}
			if res[0].Skipped {
				t.Errorf("%s: taken for whole", name)
			}
		}
	}
}

func TestResumeEndsWithContext(t *testing.T) {
	mem := vfs.NewMem()
	data := noise(5, 100_000)
	put(t, mem, "/f", data)
	c := stuckClock{make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-c.waiting; cancel() }()
	if _, err := engine(t, Options{FS: mem, Rate: 1000, Clock: c}).Resume(ctx, []Job{job("/f", "/g", data)}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	noGoroutines(t)
	noTemps(t, mem, "/")
}

// The first failure stops all other jobs.
func TestFirstFailureStopsTheRest(t *testing.T) {
	mem := vfs.NewMem()
	var jobs []Job
	for i := range 50 {
		data := noise(uint64(i), 5000)
		put(t, mem, fmt.Sprintf("/src/%d", i), data)
		jobs = append(jobs, job(fmt.Sprintf("/src/%d", i), fmt.Sprintf("/dst/%d", i), data))
	}
	jobs[7].CRC ^= 1
	for _, files := range []int{1, 3} {
		res, err := engine(t, Options{FS: mem, Files: files}).CopyAll(context.Background(), jobs)
		var je *JobError
		if !errors.As(err, &je) || je.Index != 7 || !errors.Is(err, fault.ErrChecksum) || !strings.Contains(err.Error(), "/src/7") {
			t.Fatal(err)
		}
		done := 0
		for _, r := range res {
			if r.Done {
				done++
			}
		}
		// With one file at a time, exactly the files before the failure are done. With several files at a time, other copies continue
		// until the failing one ends.
		if files == 1 && done != 7 || done < 5 || done > 49 {
			t.Errorf("%d at once: %d files were copied", files, done)
		}
	}
	noGoroutines(t)
	noTemps(t, mem, "/dst")
}

func TestMeta(t *testing.T) {
	mem := vfs.NewMem()
	data := noise(1, 100)
	put(t, mem, "/f", data)
	at := time.Unix(1e9, 123)
	if err := vfs.SetMeta(mem, "/f", vfs.Meta{Mode: vfs.ModeRegular | 0o440, Mtime: at, Atime: at}); err != nil {
		t.Fatal(err)
	}
	for _, meta := range []bool{false, true} {
		j := job("/f", "/g", data)
		j.Meta = meta
		if _, err := engine(t, Options{FS: mem, Sync: true}).Copy(context.Background(), j); err != nil {
			t.Fatal(err)
		}
		m, err := vfs.MetaOf(mem, "/g")
		if err != nil {
			t.Fatal(err)
		}
		if same := m.Mode == vfs.ModeRegular|0o440 && m.Mtime.Equal(at); same != meta {
			t.Errorf("Meta %v: %o %v", meta, m.Mode, m.Mtime)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Files: -1}, {Files: 1025}, {BufSize: 1}, {BufSize: -1}, {Rate: -1}, {CPU: -1}} {
		if _, err := New(o); !errors.Is(err, fault.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// An existing whole file must be made durable before it is reported, because a killed process may not have synced the file and its
// folders.
func TestResumeMakesDurable(t *testing.T) {
	ctx := context.Background()
	for _, inContainer := range []bool{false, true} {
		mem := vfs.NewMem()
		data := noise(3, 10_000)
		put(t, mem, "/src", data)
		if err := mem.MkdirAll("/a/b/c"); err != nil {
			t.Fatal(err)
		}
		f, err := mem.Create("/a/b/c/f")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
		j := job("/src", "/a/b/c/f", data)
		if inContainer {
			j.Dst, j.Out = "", []Segment{{"/a/b/c/f", 0, 10_000}}
		}
		e := engine(t, Options{FS: mem, Sync: true})
		for range 2 {
			res, err := e.Resume(ctx, []Job{j})
			if err != nil || !res[0].Skipped {
				t.Fatal(res, err)
			}
		}
		if got := get(t, mem.CrashClone(vfs.CrashOptions{}), "/a/b/c/f"); !bytes.Equal(got, data) {
			t.Error("not durable")
		}
	}
}
