package parfs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/internal/base/fault"
)

// TestTwoWriters: while a machine writes, another one gets an error that names the first, changes nothing, and reads what was committed.
// When the first is killed, the other takes over after the time that the guide says, and commits; the first one's bytes are nowhere.
func TestTwoWriters(t *testing.T) {
	all := systems(t)
	t.Parallel()
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			dir := s.folder(t)
			first := boot(t, "first", filepath.Join(dir[0], "d.nc"))
			if got := first.ask(t, "write 1"); got != "ok" {
				t.Fatal(got)
			}
			if got := first.ask(t, "hold 2"); got != "holds" {
				t.Fatal(got)
			}
			name := filepath.Join(dir[1], "d.nc")
			if err := write(name, 3, nil); !errors.Is(err, fault.ErrInUse) || !strings.Contains(err.Error(), "first") {
				t.Errorf("the second writer: %v", err)
			}
			if v, err := read(name); v != 1 || err != nil {
				t.Errorf("read while two write: %d, %v", v, err)
			}
			first.kill()
			if v, err := read(name); v != 1 || err != nil {
				t.Errorf("read beside a dead writer: %d, %v", v, err)
			}
			must(t, write(name, 3, nil)) // it waits until the first counts as dead
			if v, err := read(name); v != 3 || err != nil {
				t.Errorf("read after the other has taken over: %d, %v", v, err)
			}
			clean(t, name)
		})
	}
}

// clean fails the test if check finds anything or the directory has leftovers. A client may know for a moment names that another one has
// removed.
func clean(t *testing.T, name string) {
	t.Helper()
	must(t, until(func() error {
		for f := range blob.Check(context.Background(), name, nil) {
			return fmt.Errorf("check: %v", f)
		}
		left, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".*"))
		if more, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*partial")); err != nil || len(left)+len(more) > 0 {
			return fmt.Errorf("left: %v %v, %v", left, more, err)
		}
		return nil
	}))
}

// TestReaderWhileCommitting: a reader on one machine finds one whole state at each moment while another machine replaces the dataset, and none that is
// older than one it has seen.
func TestReaderWhileCommitting(t *testing.T) {
	each(t, func(t *testing.T, s *system) {
		const last = 8
		dir := s.folder(t)
		w := boot(t, "writer", filepath.Join(dir[0], "d.nc"))
		if got := w.ask(t, "write 1"); got != "ok" {
			t.Fatal(got)
		}
		name := filepath.Join(dir[1], "d.nc")
		done := make(chan error, 1)
		go func() {
			for v := 2; v <= last; v++ {
				fmt.Fprintf(w.in, "write %d\n", v)
				if !w.out.Scan() || w.out.Text() != "ok" {
					done <- fmt.Errorf("value %d: %s", v, w.out.Text())
					return
				}
			}
			done <- nil
		}()
		seen, reads, states := int32(0), 0, 0
		for over := false; !over; {
			select {
			case err := <-done:
				must(t, err)
				over = true
			default:
			}
			v, err := read(name)
			if errors.Is(err, blob.ErrBroken) {
				continue // replaced after it was opened, which the reader has noticed
			}
			if err != nil {
				t.Fatalf("read %d, after state %d: %v", reads, seen, err)
			}
			if v < seen {
				t.Fatalf("state %d after state %d", v, seen)
			}
			if v > seen {
				states++
			}
			seen = v
			reads++
		}
		must(t, until(func() error {
			if v, err := read(name); err != nil || v != last {
				return fmt.Errorf("at the end: %d, %v", v, err)
			}
			return nil
		}))
		t.Logf("%d reads, %d states of %d", reads, states, last)
		clean(t, name)
	})
}
