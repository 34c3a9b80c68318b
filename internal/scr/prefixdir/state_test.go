package prefixdir

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cadence"
	"blobio/scr/kvtree"
)

// TestHaltTogether checks that all decrements are counted when several writers
// decrement concurrently under the lock.
func TestHaltTogether(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	must(t, Open(nil, dir).Halt.Update(ctx, func(h *cadence.Halt) error {
		h.CheckpointsLeft = cadence.Int(100)
		return nil
	}))
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			d := Open(nil, dir)
			for range 10 {
				errs[i] = errors.Join(errs[i], d.Halt.Update(ctx, func(h *cadence.Halt) error { h.Countdown(1); return nil }))
			}
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	h, err := Open(nil, dir).Halt.Read(ctx)
	if err != nil || h.CheckpointsLeft != cadence.Int(60) {
		t.Errorf("%+v, %v; want 60 left", h, err)
	}
}

func TestHaltDamaged(t *testing.T) {
	d := Open(nil, t.TempDir())
	ctx := t.Context()
	if h, err := d.Halt.Read(ctx); err != nil || h != (cadence.Halt{}) {
		t.Errorf("no file: %+v, %v", h, err)
	}
	must(t, d.Create())
	must(t, os.WriteFile(d.File(haltName), []byte("\x95\x1f\xc3\xf5torn"), 0o666))
	if _, err := d.Halt.Read(ctx); !fault.IsDamage(err) {
		t.Errorf("damaged: %v", err)
	}
	must(t, d.Halt.Update(ctx, func(h *cadence.Halt) error { h.ExitReason = "enough"; return nil }))
	if h, err := d.Halt.Read(ctx); err != nil || h.ExitReason != "enough" {
		t.Errorf("%+v, %v", h, err)
	}
	if b, err := os.ReadFile(d.File(haltName + damagedSuffix)); err != nil || len(b) != 8 {
		t.Errorf("copy of the damaged file: %q, %v", b, err)
	}
	no := errors.New("no")
	if err := d.Halt.Update(ctx, func(h *cadence.Halt) error { h.ExitReason = ""; return no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	// An invalid value must not be overwritten.
	bad := kvtree.New()
	bad.Value("ExitAfter").SetStr("tomorrow")
	must(t, kvtree.WriteFile(nil, d.File(haltName), bad))
	if err := d.Halt.Update(ctx, func(*cadence.Halt) error { return nil }); !fault.IsDamage(err) {
		t.Errorf("%v", err)
	}
}

// TestCheckLocks checks that missing locks are reported once, and that locks are not
// tried again.
func TestCheckLocks(t *testing.T) {
	d := memDir()
	d.FS = vfs.NewFault(d.FS, func(op vfs.Op) error {
		if op.Kind == vfs.OpLock {
			return vfs.ErrNoLocks
		}
		return nil
	})
	d.NoLock = false
	must(t, d.Create())
	if err := d.Halt.Update(t.Context(), func(*cadence.Halt) error { return nil }); !errors.Is(err, kvtree.ErrNoLocks) {
		t.Errorf("%v", err)
	}
	if err := d.Index.Update(t.Context(), func(x *Index) error { return x.Add(ckpt(1), true) }); !errors.Is(err, kvtree.ErrNoLocks) {
		t.Errorf("%v", err)
	}
	if err := d.CheckLocks(); !errors.Is(err, kvtree.ErrNoLocks) {
		t.Errorf("%v", err)
	}
	must(t, d.CheckLocks())
	must(t, d.Index.Update(t.Context(), func(x *Index) error { return x.Add(ckpt(1), true) }))
	must(t, d.Halt.Update(t.Context(), func(h *cadence.Halt) error { h.ExitReason = "enough"; return nil }))
	with := Open(nil, t.TempDir())
	must(t, with.Create())
	must(t, with.CheckLocks())
	if list, err := os.ReadDir(with.File("")); err != nil || len(list) > 0 || with.NoLock {
		t.Errorf("%v left, lock %v, %v", list, with.NoLock, err)
	}
}

// TestIndexTogether runs several writers with a lock of the operating system.
func TestIndexTogether(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			d := Open(nil, dir)
			for n := range 5 {
				errs[i] = errors.Join(errs[i], d.Index.Update(context.Background(), func(x *Index) error { return x.Add(ckpt(1+i*5+n), true) }))
			}
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	if x, err := Open(nil, dir).Index.Read(); err != nil || x.Len() != 20 {
		t.Errorf("%d entries, %v", x.Len(), err)
	}
}

func TestFlushFile(t *testing.T) {
	d := memDir()
	must(t, d.Create())
	f, err := d.Flush.Read()
	must(t, err)
	must(t, f.Put(ckpt(1), Cache|PFS))
	must(t, f.Put(ckpt(2), Cache|Flushing))
	out := ckpt(3)
	out.Checkpoint, out.Output = false, true
	must(t, f.Put(out, Cache))
	f.Tree.GetKVInt(keyDatasets, 2).SetKV("LOCATION", "ELSEWHERE")
	must(t, d.Flush.Write(f))
	f, err = d.Flush.Read()
	must(t, err)
	if !f.Is(2, Cache|Flushing) || f.Is(1, Flushing) || f.Is(9, 0) {
		t.Errorf("%+v", f.Entries())
	}
	if f.NeedFlush(1) || !f.NeedFlush(2) || !f.NeedFlush(3) {
		t.Errorf("%+v", f.Entries())
	}
	must(t, f.Clear(2, Flushing))
	must(t, f.Add(2, PFS))
	if f.NeedFlush(2) || f.Tree.GetKVInt(keyDatasets, 2).GetKV("LOCATION", "ELSEWHERE") == nil {
		t.Errorf("%+v", f.Entries())
	}
	must(t, f.Clear(1, Cache|PFS)) // a dataset without locations is removed
	if _, ok := f.Entry(1); ok {
		t.Error("a dataset that is nowhere is still there")
	}
	if err := f.Add(1, PFS); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("%v", err)
	}
	must(t, d.Nodes.Write(3))
	must(t, d.Prerun())
	if f, err = d.Flush.Read(); err != nil || len(f.Entries()) != 0 {
		t.Errorf("after prerun: %v %v", f.Entries(), err)
	}
	if _, ok, err := d.Nodes.Read(); ok || err != nil {
		t.Errorf("after prerun: %v %v", ok, err)
	}
	// The example of the original documentation has the keys DSET and DIR.
	a := kvtree.New()
	e := a.SetKVInt("DSET", 18)
	e.SetKV("LOCATION", "PFS")
	e.SetKV("LOCATION", "CACHE")
	e.Value("DIR").SetStr("scr.dataset.18")
	must(t, kvtree.WriteFile(d.FS, d.File(flushName), a))
	f, err = d.Flush.Read()
	must(t, err)
	if e, ok := f.Entry(18); !ok || f.From != GenA || e.Name != "scr.dataset.18" || e.Location != Cache|PFS || !e.Checkpoint {
		t.Errorf("%+v", e)
	}
	// A damaged file is treated as empty, and its bytes are kept.
	must(t, d.FS.Remove(d.File(flushName)))
	g, err := d.FS.Create(d.File(flushName))
	must(t, err)
	_, err = g.WriteAt([]byte("garbage"), 0)
	must(t, errors.Join(err, g.Close()))
	if _, err := d.Flush.Read(); !fault.IsDamage(err) {
		t.Errorf("damaged: %v", err)
	}
	if f, err := d.Flush.Load(); err != nil || len(f.Entries()) != 0 {
		t.Errorf("damaged: %v", err)
	}
}
