package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"blobio/blob/internal/convert"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/watch"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// TestFollow opens a reader at the first commit and refreshes it until the writer has finished, while another goroutine reads
// through the same reader. The reader must see each record completely, and must learn that no more will come. A second reader
// opens the dataset repeatedly. It must see only complete commits, and never fewer records than before.
func TestFollow(t *testing.T) {
	for _, sc := range crashtest.Some(t, 2, sessionCases()) {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m := sc.model(4)
			base := filepath.Join(t.TempDir(), "d.nc")
			first, told := make(chan struct{}), make(chan error, 1)
			var once sync.Once
			go func() { <-first; told <- followAll(base, m) }()
			stop, beside, most := make(chan struct{}), make(chan error, 1), int64(0)
			go func() { beside <- follow(base, m, stop, &most) }()
			o := sc.o
			err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
				defer once.Do(func() { close(first) })
				w := need(write.CreateWith(ctx, sc.comm(c), base, m.s, m.parts(c.Rank()), &o))
				commit := w.Commit
				for rec := range m.records {
					must(errors.Join(m.putRecord(w, rec, c.Rank(), rec == 0), commit(ctx)))
					once.Do(func() { close(first) })
					if sc.async {
						commit = w.CommitAsync
					}
				}
				return w.Close(ctx)
			})
			rerr := <-told
			close(stop)
			if rerr = errors.Join(rerr, <-beside); err != nil || rerr != nil {
				t.Errorf("writer: %v; readers: %v", err, rerr)
			}
		})
	}
}

// follow opens and reads a dataset repeatedly until stop is closed.
func follow(base string, m *model, stop chan struct{}, most *int64) error {
	ctx := context.Background()
	for last := int64(-1); ; {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Millisecond):
		}
		r, err := read.Open(ctx, base, nil)
		if errors.Is(err, dataset.ErrNotCommitted) || read.IsGone(err) {
			if last >= 0 {
				return fmt.Errorf("behind %d records: %w", last, err)
			}
			continue
		}
		if err != nil {
			return err
		}
		n := r.Now().Data.Records
		got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1})
		if err = errors.Join(err, r.Close()); err != nil || n < last || !bytes.Equal(got, m.upTo(n).canonical(false)) {
			return fmt.Errorf("%d records, %d before: %v", n, last, err)
		}
		last, *most = n, n
	}
}

// followAll refreshes one reader of a dataset until the writer has finished.
func followAll(base string, m *model) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := read.Open(ctx, base, &read.OpenOptions{Verify: read.VerifyAlways})
	if err != nil {
		return err
	}
	defer r.Close()
	stop, beside := make(chan struct{}), make(chan error, 1)
	go func() { // each read must see one state
		for {
			select {
			case <-stop:
				beside <- nil
				return
			default:
			}
			n := r.Now().Data.Records
			got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1, Records: &read.Range{End: n}})
			if err != nil || !bytes.Equal(got, m.upTo(n).canonical(false)) {
				beside <- fmt.Errorf("%d records beside a refresh: %w", n, err)
				return
			}
		}
	}()
	next := int64(0)
	for rec, err := range r.NewRecords(ctx, 0) {
		if err != nil {
			return err
		}
		if rec != next || r.Now().Data.Records <= rec {
			return fmt.Errorf("record %d of %d, want %d", rec, r.Now().Data.Records, next)
		}
		next++
		got, err := convertBytes(ctx, r, &convert.ConvertOptions{Workers: 1, Records: &read.Range{End: next}})
		if err != nil || !bytes.Equal(got, m.upTo(next).canonical(false)) {
			return fmt.Errorf("%d records: %w", next, err)
		}
	}
	close(stop)
	if err := <-beside; err != nil {
		return err
	}
	if next != m.records {
		return fmt.Errorf("%d records, want %d", next, m.records)
	}
	n, err := r.WaitRecords(ctx, m.records+1)
	if err != nil || n != m.records {
		return fmt.Errorf("behind the end: %d, %w", n, err)
	}
	s, err := watch.NewWatch(nil, base).Settle(ctx)
	if err != nil || s.State != watch.Finished || s.Records != m.records || !s.Committed {
		return fmt.Errorf("at the end: %+v, %w", s, err)
	}
	return nil
}

// beating watches a writer on another machine, with the clock of a bubble. The heartbeat first shows that the writer is alive,
// and later that it is dead.
func beating(t *testing.T) {
	t.Helper()
	mem := vfs.NewMem()
	until := func(fsys vfs.FS, want watch.WritingState) {
		t.Helper()
		w := watch.NewWatch(fsys, "d.nc")
		for end := time.Now().Add(2 * time.Minute); ; time.Sleep(w.Next()) {
			s := need(w.Look())
			if s.State == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%+v, want %v", s, want)
			}
		}
	}
	lo := durable.LeaseOptions{Period: time.Second / 2, Boot: "another"}
	l := need(durable.Acquire(context.Background(), farFS{mem}, "d.nc", lo))
	defer l.Release()
	noError(t, vfs.WriteFile(mem, subfile.NextName("d.nc"), nil)) // a torn announcement
	until(farFS{mem}, watch.Writing)
	until(farFS{syncedClone(mem)}, watch.Died)
}

// changeHolder changes the holder in the lease file of d.nc.
func changeHolder(t *testing.T, fsys vfs.FS, f func(h *durable.Holder)) {
	t.Helper()
	name := durable.LockName("d.nc")
	b, err := vfs.ReadFile(fsys, name, 4096)
	h := new(durable.Holder)
	if err == nil {
		err = json.Unmarshal(b, h)
	}
	if err == nil {
		f(h)
		if b, err = json.Marshal(h); err == nil {
			err = rewrite(fsys, name, append(b, '\n'))
		}
	}
	noError(t, err)
}

// rewrite replaces the content of a file.
func rewrite(fsys vfs.FS, name string, b []byte) error {
	f, err := fsys.OpenRW(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Truncate(int64(len(b))), f.Close())
}

// TestRefreshReplaced checks that Refresh reports that the dataset was replaced, and that the reader can then be closed.
func TestRefreshReplaced(t *testing.T) {
	mem := vfs.NewMem()
	sc := sessionCases()[0]
	m := sc.model(2)
	write := func(force bool) {
		t.Helper()
		noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			o := sc.with(mem, false)
			o.Force = force
			w := need(write.CreateWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), o))
			for rec := range m.records {
				must(m.putRecord(w, rec, c.Rank(), rec == 0))
			}
			return w.Close(ctx)
		}))
	}
	write(false)
	r := opened(t, mem, "d.nc", nil)
	if n, err := r.Refresh(context.Background()); n != 2 || err != nil {
		t.Errorf("unchanged: %d, %v", n, err)
	}
	write(true)
	if _, err := r.Refresh(context.Background()); !errors.Is(err, dataset.ErrBroken) {
		t.Errorf("replaced: %v", err)
	}
}

// TestHopeless checks a watch of a lease that cannot be read, on a shared file system. The watch cannot find whether the holder
// is alive, and becomes hopeless after UnsurePatience.
func TestHopeless(t *testing.T) {
	mem := vfs.NewMem()
	must(vfs.WriteFile(mem, "d.nc.0000.w0123abcd.partial", nil))
	must(vfs.WriteFile(mem, durable.LockName("d.nc"), nil))
	closed := vfs.NewFault(farFS{mem}, func(op vfs.Op) error {
		if op.Name == durable.LockName("d.nc") {
			return &fs.PathError{Op: "open", Path: op.Name, Err: fs.ErrPermission}
		}
		return nil
	})
	clock := time.Unix(1e9, 0)
	w := watch.NewWatchAt(closed, "d.nc", func() time.Time { return clock })
	for range 31 {
		s, err := w.Look()
		if err != nil || s.State != watch.WritingOrDied || s.Committed || s.Writer != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		if late := clock.Sub(time.Unix(1e9, 0)) >= watch.UnsurePatience; w.Hopeless(s) != late {
			t.Fatalf("%v: hopeless: %v", clock.Sub(time.Unix(1e9, 0)), !late)
		}
		clock = clock.Add(time.Second)
	}
}

// TestStatus checks the status at each moment of a writer's life, from the writer's machine and from another machine whose
// clock the test controls. A dead writer's data must stay readable. The watch must report the death after one to two heartbeat
// periods.
func TestStatus(t *testing.T) {
	m := sessionCases()[0].model(3)
	sc := sessionCases()[0]
	mem := vfs.NewMem()
	period := 30 * time.Second
	look := func(when string, fsys vfs.FS, want watch.WritingState, records int64) *watch.Status {
		t.Helper()
		s, err := watch.NewWatch(fsys, "d.nc").Look()
		if err != nil || s.State != want || s.Records != records {
			t.Fatalf("%s: %+v, %v; want %v with %d records", when, s, err, want, records)
		}
		return s
	}
	var dead, early *vfs.Mem
	var follower *read.Reader
	noError(t, run(m.ranks, func(ctx context.Context, c comm.Comm) error {
		o := sc.with(mem, false)
		o.Heartbeat = period
		w, err := write.CreateWith(ctx, sc.comm(c), "d.nc", m.s, m.parts(c.Rank()), o)
		must(err)
		here := func(f func()) error {
			err := c.Barrier(ctx)
			if err == nil && c.Rank() == 0 {
				f()
			}
			return errors.Join(err, c.Barrier(ctx))
		}
		err = here(func() {
			s := look("before a commit", mem, watch.Writing, 0)
			if s.Committed || s.Writer == nil || s.Writer.Period != period.Seconds() {
				t.Errorf("before a commit: %+v", s)
			}
			early = syncedClone(mem)
		})
		must(err)
		for rec := range m.records {
			must(errors.Join(m.putRecord(w, rec, c.Rank(), rec == 0), w.Commit(ctx)))
			if err := here(func() {
				if s := look("behind a commit", mem, watch.Writing, rec+1); s.Commit != rec+1 || !s.Committed || s.LastCommit.IsZero() {
					t.Errorf("behind commit %d: %+v", rec+1, s)
				}
				var err error
				if follower == nil {
					follower, err = read.OpenWith(ctx, "d.nc", nil, dataset.Knobs{Fs: mem})
				}
				noError(t, err)
				if n, err := follower.Refresh(ctx); n != rec+1 || err != nil { // the record is visible right after its commit
					t.Errorf("refreshed behind commit %d: %d records, %v", rec+1, n, err)
				}
			}); err != nil {
				return err
			}
			if rec == 1 {
				must(here(func() { dead = syncedClone(mem) }))
			}
		}
		return w.Close(ctx)
	}))
	defer follower.Close()
	if s := look("behind Close", mem, watch.Finished, 3); s.Writer != nil {
		t.Errorf("behind Close: %+v", s)
	}
	for _, mem := range []*vfs.Mem{dead, early} {
		changeHolder(t, mem, func(h *durable.Holder) { h.Host, h.Boot = "elsewhere", "another" })
	}
	for _, x := range []struct {
		fs      *vfs.Mem
		records int64
	}{{dead, 2}, {early, 0}} {
		clock := time.Unix(1e9, 0)
		w := watch.NewWatchAt(farFS{x.fs}, "d.nc", func() time.Time { return clock })
		for step := range 100 {
			s, err := w.Look()
			noError(t, err)
			silent := time.Duration(step) * period / 10
			switch {
			case silent < period && s.State != watch.WritingOrDied:
				t.Fatalf("%v silent: %+v", silent, s)
			case silent >= 2*period && (s.State != watch.Died || s.Records != x.records):
				t.Fatalf("%v silent: %+v", silent, s)
			}
			if step == 5 { // with a new beat the writer is alive, whatever the clocks show
				changeHolder(t, x.fs, func(h *durable.Holder) { h.Beat++ })
				if s, err = w.Look(); err != nil || s.State != watch.Writing {
					t.Fatalf("a beat: %+v, %v", s, err)
				}
				break
			}
			clock = clock.Add(period / 10)
		}
		last := clock
		for {
			s := need(w.Look())
			if s.State == watch.Died {
				break
			}
			if clock = clock.Add(w.Pulse.Next()); clock.Sub(last) > 2*period {
				t.Fatalf("not told within twice the period: %+v", s)
			}
		}
		if silent := clock.Sub(last); silent < period {
			t.Errorf("told as dead after %v of a period of %v", silent, period)
		}
	}
	bubble(t, beating)
	cut := syncedClone(dead)
	noError(t, rewrite(cut, durable.LockName("d.nc"), nil))
	look("a power cut that has left an empty lease", cut, watch.Died, 2)
	if _, w, err := resume.WriterIn(cut, "d.nc"); err != nil || w != "dead" {
		t.Errorf("an empty lease: %+v, %v", w, err)
	}
	r := opened(t, dead, "d.nc", nil)
	here, _ := os.Hostname()
	// The holder was a process of this machine, and another process now has its id.
	changeHolder(t, dead, func(h *durable.Holder) { h.Host, h.Boot, h.Proc = here, vfs.BootID(), h.Proc+"1" })
	var died *watch.WriterDiedError
	if n, err := r.WaitRecords(context.Background(), 3); n != 2 || !errors.As(err, &died) || died.Status.Records != 2 {
		t.Errorf("waiting for a dead writer: %d, %v", n, err)
	}
	need(resume.RecoverWith(context.Background(), "d.nc", nil, dataset.Knobs{Fs: dead}))
	look("recovered", dead, watch.Died, 2)
	if n, err := r.Refresh(context.Background()); n != 2 || err != nil {
		t.Errorf("recovered: %d, %v", n, err)
	}
}
