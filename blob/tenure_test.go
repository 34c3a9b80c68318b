package blob

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/lease"
	"blobio/blob/internal/process"
	"blobio/blob/internal/resume"
	"blobio/blob/internal/write"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// takenOver removes the lease of d.nc from its holder and takes it.
func takenOver(t *testing.T, mem *vfs.Mem) *lease.Tenure {
	t.Helper()
	must(mem.Remove(durable.LockName("d.nc")))
	return need(lease.Hold(context.Background(), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"))
}

// TestHeldFiles checks that a writer that has lost its lease cannot open files by their final names, because these may belong
// to the new writer.
func TestHeldFiles(t *testing.T) {
	mem := vfs.NewMem()
	ten := need(lease.Hold(context.Background(), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"))
	h := process.Held{FS: mem, Proc: new(process.Process)}
	h.Proc.Tenure.Store(ten)
	final, own := subfile.Name("d.nc", 0), subfile.PartialBy(subfile.Name("d.nc", 1), ten.Tag())
	must(errors.Join(vfs.WriteFile(mem, final, []byte("theirs")), vfs.WriteFile(mem, own, []byte("ours"))))
	opens := func(name string, want error) {
		t.Helper()
		f, err := h.OpenRW(name)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err == nil {
			must(f.Close())
		}
	}
	opens(final, nil)
	opens(own, nil)
	next := takenOver(t, mem)
	opens(final, dataset.ErrInUse)
	opens(own, nil)
	must(errors.Join(ten.Release(), next.Check(), next.Release()))
}

// TestExplainEnded checks how a rank explains an error if rank 0 has already released the lease. A released lease is not a
// takeover, so the rank must return its own error unchanged.
func TestExplainEnded(t *testing.T) {
	mem := vfs.NewMem()
	ten := need(lease.Hold(context.Background(), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"))
	other := lease.Serve(mem, "d.nc", ten.Id, false)
	must(ten.Release())
	for _, cause := range []error{context.Canceled, comm.ErrMismatch} {
		if err := other.Explain(cause); err != cause {
			t.Errorf("given back: %v, want %v", err, cause)
		}
	}
	if err := other.Check(); !errors.Is(err, dataset.ErrInUse) || !strings.Contains(err.Error(), "its process released it or another writer has taken over") {
		t.Errorf("check: %v", err)
	}
	next := need(lease.Hold(context.Background(), &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"))
	if err := other.Explain(fs.ErrNotExist); !errors.Is(err, dataset.ErrInUse) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "taken over by") {
		t.Errorf("taken over: %v", err)
	}
	must(mem.Remove(durable.LockName("d.nc"))) // next has not released its lease, so another writer must have taken over
	if err := next.Explain(fs.ErrNotExist); !errors.Is(err, dataset.ErrInUse) || !strings.Contains(err.Error(), "another writer has taken over") {
		t.Errorf("taken over, by somebody who has ended: %v", err)
	}
	must(next.Release())
}

// TestJoinedProcess checks the lease of a writer with several processes. The lease lasts as long as any process lives that has
// opened a file by its final name.
func TestJoinedProcess(t *testing.T) {
	ctx := context.Background()
	for _, apart := range []bool{false, true} {
		mem := vfs.NewMem()
		ten := need(lease.Hold(ctx, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"))
		must(ten.Lease.Share())
		other := lease.Serve(mem, "d.nc", lease.IdOf(ten.Words()), apart)
		proc := new(process.Process)
		proc.Tenure.Store(other)
		for _, name := range []string{subfile.PartialBy("d.nc.0000", ten.Tag()), "d.nc.0000"} {
			if other.Member != nil {
				t.Error("joined to open what nobody else does")
			}
			if _, err := (process.Held{FS: mem, Proc: proc}).OpenRW(name); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
		must(ten.Release())
		third, err := lease.Hold(ctx, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc")
		if apart && !errors.Is(err, dataset.ErrInUse) || !apart && err != nil {
			t.Errorf("apart %v: %v", apart, err)
		}
		must(other.Leave())
		if apart {
			if third, err = lease.Hold(ctx, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}}, "d.nc"); err != nil {
				t.Error(err)
			}
		}
		late := lease.Serve(mem, "d.nc", other.Id, true)
		proc.Tenure.Store(late)
		if _, err := (process.Held{FS: mem, Proc: proc}).OpenRW("d.nc.0000"); !errors.Is(err, dataset.ErrInUse) {
			t.Errorf("to open files of what is another's: %v", err)
		}
		must(third.Release())
		if err := late.Join(); !errors.Is(err, dataset.ErrInUse) {
			t.Errorf("to join what nobody holds: %v", err)
		}
	}
}

// TestAnotherProgram checks a dataset that another program, which ignores leases, has replaced. A writer must not replace these
// files.
func TestAnotherProgram(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := vfs.NewMem()
		was, now, theirs := tinyModel(1, 1), tinyModel(2, 1), tinyModel(3, 1)
		o := func(fsys vfs.FS) *dataset.Settings {
			return &dataset.Settings{Options: dataset.Options{Layout: layout, Force: true}, Knobs: dataset.Knobs{Fs: fsys}}
		}
		was.writeTo(t, mem, o(mem))
		elsewhere := vfs.NewMem()
		theirs.writeTo(t, elsewhere, o(elsewhere))
		manifest, err := vfs.ReadFile(elsewhere, subfile.ManifestName("d.nc"), 1<<20)
		must(err)
		err = run(now.ranks, func(ctx context.Context, c comm.Comm) error {
			w, err := write.CreateWith(ctx, c, "d.nc", now.s, now.parts(c.Rank()), o(mem))
			must(err)
			must(errors.Join(now.putRecord(w, 0, c.Rank(), true), w.Flush(ctx)))
			if c.Rank() == 0 {
				err = errors.Join(mem.Remove(subfile.ManifestName("d.nc")), vfs.WriteFile(mem, subfile.ManifestName("d.nc"), manifest))
			}
			return errors.Join(comm.Agree(ctx, c, err), w.Close(ctx))
		})
		if !errors.Is(err, dataset.ErrInUse) || !strings.Contains(err.Error(), "another program replaced or renamed the dataset") {
			t.Errorf("%v: %v", layout, err)
		}
		if b, err := vfs.ReadFile(mem, subfile.ManifestName("d.nc"), 1<<20); err != nil || string(b) != string(manifest) {
			t.Errorf("%v: their manifest is gone: %v", layout, err)
		}
	}
}

// TestRecoverDurable checks that the changes of Recover survive a power cut.
func TestRecoverDurable(t *testing.T) {
	ctx := context.Background()
	was := tinyModel(1, 1)
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		o := func(fsys vfs.FS) *dataset.Settings {
			return &dataset.Settings{Options: dataset.Options{Layout: layout, Durability: dataset.DurableCommit}, Knobs: dataset.Knobs{Fs: fsys}}
		}
		start := vfs.NewMem()
		was.writeTo(t, start, o(start))
		for _, c := range crashes(t, start, 5, 1, func(fsys vfs.FS) error {
			grown := was.upTo(2)
			return run(grown.ranks, func(ctx context.Context, c comm.Comm) error { return grown.add(ctx, c, "d.nc", o(fsys)) })
		}) {
			if _, err := resume.RecoverWith(ctx, "d.nc", nil, dataset.Knobs{Fs: c.fs}); err != nil {
				t.Fatalf("%s: %v", c.when, err)
			}
			after := c.after()
			if todo, err := resume.RecoverWith(ctx, "d.nc", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: after}); err != nil || len(todo) > 0 {
				t.Fatalf("%v, %s: after a power cut: %v %v", layout, c.when, todo, err)
			}
		}
	}
}

// TestAppendBesideFormer checks a former writer on another machine that still has a file open. Its writes to this file must not
// reach a dataset to which a later writer has appended.
func TestAppendBesideFormer(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	was := tinyModel(1, 1)
	was.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
	all := crashtest.NewMachines(mem)
	one, two := all.Machine(true), all.Machine(true)
	quiet := func(boot string) durable.LeaseOptions {
		return durable.LeaseOptions{Beat: time.Hour, Patience: 2 * time.Millisecond, Boot: boot}
	}
	former := need(durable.Acquire(ctx, one, "d.nc", quiet("one")))
	f := need(one.OpenRW(subfile.Name("d.nc", 0)))
	size, err := f.Size()
	must(err)
	grown := was.upTo(2)
	must(run(grown.ranks, func(ctx context.Context, c comm.Comm) error {
		return grown.add(ctx, c, "d.nc", &dataset.Settings{Knobs: dataset.Knobs{Fs: two, Lease: quiet("two")}})
	}))
	_, err = f.WriteAt(bytes.Repeat([]byte("former"), int(size)), 0)
	must(errors.Join(err, f.Sync(), f.Close(), former.Release()))
	expect(t, crash{fs: mem, when: "after a write of the former holder"}, "appended", grown)
}

// TestAbandonBesideHeir checks that a writer that has lost its lease and gives up does not remove files with final names.
func TestAbandonBesideHeir(t *testing.T) {
	for _, layout := range []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric} {
		mem := vfs.NewMem()
		m := tinyModel(1, 1)
		final := subfile.Name("d.nc", 0)
		err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			w, err := write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &dataset.Settings{Options: dataset.Options{Layout: layout, Renames: dataset.CommitManifestOnly, Subfiles: 1}, Knobs: dataset.Knobs{Fs: mem}})
			if err != nil {
				return err
			}
			err = m.putRecord(w, 0, c.Rank(), true)
			if c.Rank() == 0 {
				takenOver(t, mem)
				err = errors.Join(err, mem.Remove(final), vfs.WriteFile(mem, final, []byte("theirs")))
			}
			if err = comm.Agree(ctx, c, err); err != nil {
				return err
			}
			return w.Close(ctx)
		})
		if !errors.Is(err, dataset.ErrInUse) {
			t.Errorf("%v: %v", layout, err)
		}
		if b, err := vfs.ReadFile(mem, final, 1<<20); err != nil || string(b) != "theirs" {
			t.Errorf("%v: the file of the new writer: %q, %v", layout, b, err)
		}
	}
}

// TestLostBesideCommit checks a writer that notices the loss of its lease during its commit. It must never rename the new
// writer's record, not even for a moment: readers would not find the new commit, and the next writer would remove it.
func TestLostBesideCommit(t *testing.T) {
	for i := range 4 {
		old, late := i&1 != 0, i&2 != 0 // old: a dataset is replaced; late: the lease is lost just before the record gets its name
		mem := vfs.NewMem()
		m := tinyModel(1, 1)
		if old {
			m.writeTo(t, mem, &dataset.Settings{Knobs: dataset.Knobs{Fs: mem}})
		}
		var take atomic.Pointer[func() error] // makes the new writer's commit; nil: not yet, or done
		fsys := vfs.NewFault(mem, func(op vfs.Op) error {
			if late && op.Kind == vfs.OpCreate && strings.HasPrefix(op.Name, subfile.NextName("d.nc")) {
				if f := take.Swap(nil); f != nil {
					return (*f)()
				}
			}
			if op.Kind == vfs.OpRename && op.Name == subfile.NextName("d.nc") {
				if st, err := subfile.ReadState(mem, "d.nc"); err == nil && st.Manifest != nil && st.Manifest.Writer == "w0000beef" {
					t.Errorf("old %v, late %v: the commit of the new writer is renamed", old, late)
				}
			}
			return nil
		})
		err := run(m.ranks, func(ctx context.Context, c comm.Comm) error {
			w, err := write.CreateWith(ctx, c, "d.nc", m.s, m.parts(c.Rank()), &dataset.Settings{Options: dataset.Options{Force: old}, Knobs: dataset.Knobs{Fs: fsys}})
			must(err)
			err = errors.Join(m.putRecord(w, 0, c.Rank(), true), w.Flush(ctx))
			if c.Rank() == 0 {
				f := func() error {
					takenOver(t, mem)
					theirs := w.Commits.NewManifest(0, make([]subfile.Subfile, 1))
					theirs.Writer = "w0000beef"
					return subfile.WriteNext(mem, "d.nc", theirs, true, subfile.By{Tag: theirs.Writer})
				}
				if take.Store(&f); !late {
					err = errors.Join(err, f())
				}
			}
			return errors.Join(comm.Agree(ctx, c, err), w.Close(ctx))
		})
		if !errors.Is(err, dataset.ErrInUse) || errors.As(err, new(*dataset.InDoubtError)) || late && take.Load() != nil {
			t.Errorf("old %v, late %v: %v", old, late, err)
		}
	}
}

// TestRecoverBesideSeal checks Recover of a store whose former writer may be alive. Recover removes the former writer's hidden
// file. It must not decide that the former writer has closed its files: the next writer must find this out.
func TestRecoverBesideSeal(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	store := durable.Seal{Format: "blobio store", Version: 1}
	b, err := store.Encode(&struct{ durable.SealHead }{store.Head(1)})
	must(errors.Join(err, vfs.WriteFile(mem, "seal", b)))
	all := crashtest.NewMachines(mem)
	one, two := all.Machine(true), all.Machine(true)
	quiet := func(boot string) durable.LeaseOptions {
		return durable.LeaseOptions{Beat: time.Hour, Patience: 2 * time.Millisecond, Boot: boot}
	}
	former := need(durable.Acquire(ctx, one, "seal", quiet("one")))
	hidden := durable.HiddenName("seal", former.ID())
	must(vfs.WriteFile(mem, hidden, []byte("half")))
	steps, err := resume.RecoverWith(ctx, "seal", nil, dataset.Knobs{Fs: two, Lease: quiet("two")})
	if err != nil || len(steps) != 1 || steps[0].File != hidden {
		t.Errorf("%v, %v", steps, err)
	}
	if steps, err := resume.RecoverWith(ctx, "seal", &resume.RecoverOptions{DryRun: true}, dataset.Knobs{Fs: two}); err != nil || len(steps) > 0 {
		t.Errorf("after it: %v, %v", steps, err)
	}
	next := need(durable.Acquire(ctx, two, "seal", quiet("two")))
	if !next.Unsure() {
		t.Error("the next writer is not told that the former may be alive")
	}
	must(errors.Join(next.Settle(), next.Release(), former.Release()))
}
