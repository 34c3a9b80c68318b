package transfer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestServeCommands(t *testing.T) {
	n := newNode(t)
	stop := n.serve(ServeOptions{Rate: 20_000}) // minutes for all
	n.fill(3, 1<<20, CommandStop)
	n.until("stopped", func(f *File) bool { return f.State == StateStopped })
	n.set(func(f *File) { f.Command = CommandRun })
	n.until("running", func(f *File) bool { return f.State == StateRunning && f.Items[0].Written > 0 })
	n.set(func(f *File) { f.Command = CommandStop })
	f := n.until("stopped again", func(f *File) bool { return f.State == StateStopped })
	if f.Done || f.Failed || f.Items[2].Whole() {
		t.Errorf("%+v", f)
	}
	n.whole(f)
	for i := 0; strings.Contains(goroutines(), "start.func"); i++ { // the last one may be on its way out
		if i == 60_000 {
			t.Fatalf("still copying:\n%s", goroutines())
		}
		time.Sleep(time.Millisecond)
	}
	n.set(func(f *File) { f.Command = CommandExit })
	n.until("exiting", func(f *File) bool { return f.State == StateExiting })
	if err := stop(); err != nil {
		t.Error(err)
	}
	noGoroutines(t)
}

// A command that was given meanwhile is not answered as if it were the old one.
func TestServeCommandMeanwhile(t *testing.T) {
	n := newMemNode(t)
	n.fill(1, 100, CommandStop)
	s, err := newServer(ServeOptions{FS: n.fs, Prefix: n.root, File: n.file, Lock: n.lock})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(context.Background(), CommandRun, StateRunning); err != nil {
		t.Fatal(err)
	}
	if f := n.read(); f.State != "" {
		t.Errorf("state %s", f.State)
	}
}

// TestServeAskedAgain: a copy that was made, and is asked for again when it is gone, is made again, also of a file without bytes,
// of which WRITTEN does not tell.
func TestServeAskedAgain(t *testing.T) {
	n := newNode(t)
	items := n.fill(2, 0, CommandRun) // of 0 and 1 bytes
	stop := n.serve(ServeOptions{})
	for range 3 {
		f := n.until("done", func(f *File) bool { return f.Done })
		n.whole(f)
		for _, i := range items {
			if err := n.fs.Remove(i.Dst); err != nil {
				t.Fatal(err)
			}
		}
		n.set(func(f *File) {
			for _, i := range items {
				f.Put(i)
			}
			f.Done = false
		})
	}
	n.until("done", func(f *File) bool { return f.Done })
	for _, i := range items {
		if _, err := n.fs.Stat(i.Dst); err != nil {
			t.Error(err)
		}
	}
	if err := stop(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestServeAskedMeanwhile: likewise when it is asked for while the process, which has read the file before, writes it, and
// after a stop.
func TestServeAskedMeanwhile(t *testing.T) {
	ctx := context.Background()
	for count := 1; count <= 2; count++ { // a file of 0 bytes, and another one
		n := newMemNode(t)
		items := n.fill(count, 0, CommandRun)
		s, err := newServer(ServeOptions{FS: n.fs, Prefix: n.root, File: n.file, Lock: n.lock})
		if err != nil {
			t.Fatal(err)
		}
		finish := func() {
			for !n.read().Done {
				if s.run != nil {
					<-s.run.done
				}
				if _, err := s.poll(ctx); err != nil {
					t.Fatal(err)
				}
			}
			n.whole(n.read())
			for _, i := range items {
				if _, err := n.fs.Stat(i.Dst); err != nil {
					t.Errorf("%d files: %v", count, err)
				}
			}
		}
		again := func() {
			for _, i := range items {
				if err := n.fs.Remove(i.Dst); err != nil {
					t.Fatal(err)
				}
			}
			n.set(func(f *File) {
				for _, i := range items {
					f.Put(i)
				}
				f.Done, f.Command = false, CommandRun
			})
		}
		finish()
		again()
		if err := s.write(ctx, CommandRun, StateStopped); err != nil {
			t.Fatal(err)
		}
		finish()
		n.set(func(f *File) { f.Items, f.Command = nil, CommandStop })
		if _, err := s.poll(ctx); err != nil {
			t.Fatal(err)
		}
		again()
		finish()
	}
}
