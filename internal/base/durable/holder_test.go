package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// still are options with a heartbeat so rare that none comes during a test.
var still = LeaseOptions{Beat: time.Hour, Patience: time.Millisecond}

func takeStill(t *testing.T, fsys vfs.FS, boot string) *Lease {
	t.Helper()
	o := still
	o.Boot = boot
	return need(Acquire(context.Background(), fsys, "d.nc", o))
}

// die ends a holder as if its process had ended.
func die(t *testing.T, l *Lease) {
	t.Helper()
	close(l.stop)
	<-l.done
	l.stop = nil
	must(t, l.file.Close())
}

// vanish writes a process number that no process has into the file and then calls die.
func vanish(t *testing.T, l *Lease) {
	t.Helper()
	l.me.PID = 1 << 30 // above any system's process numbers
	must(t, put(l.file, l.me.encode(), true))
	die(t, l)
}

// TestTwoMounts: locks may not reach another mount of a file system on the same machine. A holder whose process lives is dead
// only when its heartbeat stops.
func TestTwoMounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		all := crashtest.NewMachines(vfs.NewMem())
		one, two := all.Machine(true), all.Machine(true)
		o := LeaseOptions{Boot: "here"}
		a := need(Acquire(ctx, one, "d.nc", o))
		for range 3 {
			if _, err := Acquire(ctx, two, "d.nc", o); !errors.Is(err, fault.ErrInUse) {
				t.Fatalf("beside a writer that lives: %v", err)
			}
			must(t, a.Check())
		}
		die(t, a) // the process with the holder's number is still alive
		from := time.Now()
		b := need(Acquire(ctx, two, "d.nc", o))
		if waited := time.Since(from); waited < 30*time.Second || !b.Unsure() {
			t.Errorf("taken over after %v, unsure %v", waited, b.Unsure())
		}
		must(t, errors.Join(b.Settle(), b.Release()))
	})
}

// TestHolderGone: a free lock proves nothing if the number may belong to another process, or the holder to another machine.
func TestHolderGone(t *testing.T) {
	here := Holder{ID: "me", Host: "h", Boot: "b", PID: os.Getpid(), Proc: "5.70"}
	living.Store("lives", true)
	defer living.Delete("lives")
	for _, c := range []struct {
		h             *Holder
		local, shared bool
	}{
		{nil, true, false},
		{&Holder{Host: "h", Boot: "b", PID: 1 << 30}, true, true},
		{&Holder{Host: "h", Boot: "b", PID: os.Getppid()}, true, false},
		{&Holder{ID: "lives", Host: "h", Boot: "b", PID: os.Getpid()}, true, false},
		{&Holder{ID: "of a former process", Host: "h", Boot: "b", PID: os.Getpid()}, true, true},
		{&Holder{Host: "h", Boot: "b", PID: 1 << 30, Proc: "5.60"}, true, true},
		{&Holder{Host: "h", Boot: "b", PID: 1 << 30, Proc: "55.60"}, true, false}, // in another container
		{&Holder{ID: "of another container", Host: "h", Boot: "b", PID: os.Getpid(), Proc: "6.60"}, true, false},
		{&Holder{Host: "h", Boot: "b"}, true, false},
		{&Holder{Host: "h", Boot: "b", PID: -1}, true, false},
		{&Holder{Host: "container", Boot: "b", PID: 1 << 30}, true, false},
		{&Holder{Host: "h", Boot: "before", PID: 1 << 30}, true, false},
		{&Holder{Host: "h", PID: 1 << 30}, true, false},
		{&Holder{Host: "another", Boot: "another", PID: 1 << 30}, false, false},
	} {
		if runtime.GOOS == "windows" && c.shared && c.h.PID != os.Getpid() { // Windows cannot look up a process number, and has no locks
			c.shared = false
		}
		if local, shared := c.h.ended(&here, true), c.h.ended(&here, false); local != c.local || shared != c.shared {
			t.Errorf("%v of %+v: ended where local %v, where shared %v", c.h, c.h, local, shared)
		}
	}
}

// TestHeartbeat: on a shared file system the lease file keeps changing.
func TestHeartbeat(t *testing.T) { synctest.Test(t, testHeartbeat) }

func testHeartbeat(t *testing.T) {
	m := crashtest.NewMachines(vfs.NewMem()).Machine(true)
	a := take(t, m, "d.nc")
	time.Sleep(defaultPeriod + time.Second)
	h, _, err := holderOf(m, LockName("d.nc"))
	if err != nil || h == nil || h.Beat != beats {
		t.Errorf("%+v, %v", h, err)
	}
	must(t, a.Release())
}

// TestDeadHere: where locks do not reach other machines, the lock still shows at once that a holder on this machine is dead.
func TestDeadHere(t *testing.T) { synctest.Test(t, testDeadHere) }

func testDeadHere(t *testing.T) {
	m := crashtest.NewMachines(vfs.NewMem()).Machine(true)
	a := takeStill(t, m, "here")
	vanish(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // so Acquire must not wait
	b, err := Acquire(ctx, m, "d.nc", LeaseOptions{Beat: time.Hour, Patience: time.Hour, Boot: "here"})
	if err != nil || b.Dead() == nil || b.Dead().ID != a.ID() {
		t.Fatal(err)
	}
	must(t, b.Release())
	if me().Boot == "" {
		t.Skip("the system does not tell when it was started")
	}
	a = takeStill(t, m, "")
	vanish(t, a)
	if h, state, err := Inspect(m, "d.nc"); err != nil || h == nil || h.ID != a.ID() || state != HolderDead {
		t.Errorf("%v %v %v", h, state, err)
	}
}

// TestInspectOtherMachine: a holder on a machine whose locks are not visible here is never reported dead.
func TestInspectOtherMachine(t *testing.T) { synctest.Test(t, testInspectOtherMachine) }

func testInspectOtherMachine(t *testing.T) {
	for _, locks := range []bool{true, false} {
		all := crashtest.NewMachines(vfs.NewMem())
		two := all.Machine(locks)
		if h, state, err := Inspect(two, "d.nc"); err != nil || h != nil || state != NoHolder {
			t.Errorf("nobody: %v %v %v", h, state, err)
		}
		a := takeStill(t, all.Machine(locks), "one")
		if h, state, err := Inspect(two, "d.nc"); err != nil || h == nil || h.ID != a.ID() || state != HolderUnsure {
			t.Errorf("locks %v: %v %v %v", locks, h, state, err)
		}
		must(t, a.Check())
		must(t, a.Release())
	}
}

// TestHeartbeatOfFormer: the late heartbeat of a stopped former holder does not change the new lease.
func TestHeartbeatOfFormer(t *testing.T) { synctest.Test(t, testHeartbeatOfFormer) }

func testHeartbeatOfFormer(t *testing.T) {
	for _, locks := range []bool{true, false} {
		all := crashtest.NewMachines(vfs.NewMem())
		a := takeStill(t, all.Machine(locks), "one")
		b := takeStill(t, all.Machine(locks), "two")
		must(t, put(a.file, a.me.encode(), true))
		must(t, b.Check())
		must(t, a.Release())
		must(t, b.Check())
		must(t, b.Release())
	}
}

// TestHeirs: of two processes that take over a dead holder's lease, the first one keeps it.
func TestHeirs(t *testing.T) { synctest.Test(t, testHeirs) }

func testHeirs(t *testing.T) {
	looks := 0
	for heirBetween(t, looks+1) {
		looks++
	}
	if looks < 3 {
		t.Errorf("the second heir looks %d times at the dead holder's file", looks)
	}
}

// heirBetween lets a second heir take over just before the k-th open of the dead holder's file. It reports whether the file was
// opened k times.
func heirBetween(t *testing.T, k int) bool {
	all := crashtest.NewMachines(vfs.NewMem())
	die(t, takeStill(t, all.Machine(false), "one"))
	two, three := all.Machine(false), all.Machine(false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var first *Lease
	opens := 0
	slow := vfs.NewFault(three, func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && op.Name == LockName("d.nc") {
			if opens++; opens == k {
				first = takeStill(t, two, "two")
				cancel()
			}
		}
		return nil
	})
	second, err := Acquire(ctx, slow, "d.nc", LeaseOptions{Beat: time.Hour, Patience: 1, Boot: "three"})
	if first == nil {
		must(t, err)
		opens = k // opens during Release are not counted
		must(t, second.Release())
		return false
	}
	if err == nil {
		t.Fatalf("look %d: both have the lease", k)
	}
	must(t, first.Check())
	must(t, first.Release())
	return true
}

// TestRemovedLease: a file that its holder removes while another process locks it is not a lease.
func TestRemovedLease(t *testing.T) {
	mem := vfs.NewMem()
	a := take(t, mem, "d.nc")
	once := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpLock && !once {
			once = true
			return a.Release()
		}
		return nil
	})
	b := take(t, fsys, "d.nc")
	must(t, b.Check())
	if _, err := Acquire(context.Background(), mem, "d.nc", LeaseOptions{}); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("a third: %v", err)
	}
	must(t, mem.Remove(LockName("d.nc")))
	var in *InUseError
	if err := b.Check(); !errors.As(err, &in) || !in.Lost || in.Holder != nil {
		t.Errorf("gone: %v", err)
	}
	must(t, b.Release())
}

// denied refuses changes to files.
type denied struct{ vfs.FS }

func (d denied) OpenRW(name string) (vfs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

// TestLeasePermission: if a process may not write to a lease, the error names the holder.
func TestLeasePermission(t *testing.T) {
	mem := vfs.NewMem()
	a := take(t, mem, "d.nc")
	_, err := Acquire(context.Background(), denied{mem}, "d.nc", LeaseOptions{})
	var in *InUseError
	if !errors.As(err, &in) || in.Holder == nil || in.Holder.ID != a.ID() || in.Lost {
		t.Error(err)
	}
	must(t, a.Release())
}

// TestHolderBounds: only a bounded part of a large lease file is read.
func TestHolderBounds(t *testing.T) {
	mem := vfs.NewMem()
	must(t, vfs.WriteFile(mem, LockName("d.nc"), []byte(strings.Repeat("x", 3*maxHolder))))
	if h, b, err := holderOf(mem, LockName("d.nc")); err != nil || h != nil || len(b) != maxHolder {
		t.Errorf("%v, %d bytes, %v", h, len(b), err)
	}
}

func TestTag(t *testing.T) {
	if tag := TagOf(NewID()); !IsTag(tag) {
		t.Errorf("%q", tag)
	}
	for id, want := range map[string]string{"0123456789abcdef": "w01234567", "01234567": "w01234567", "0123456": "", "": ""} {
		if got := TagOf(id); got != want {
			t.Errorf("tag of %q: %q, want %q", id, got, want)
		}
	}
	for _, s := range []string{"", "w", "000000001", "w0123456", "w012345678", "w0123456g", "wABCDEF01", "wwritings"} {
		if IsTag(s) {
			t.Errorf("%q is a tag", s)
		}
	}
}

func TestLockName(t *testing.T) {
	for name, want := range map[string]string{"d.nc": ".d.nc.lock", "a/d.nc": "a/.d.nc.lock", "/d": "/.d.lock"} {
		if got := LockName(name); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, file := range []string{"", ".lock", "..lock", "d.lock", ".d.locks", ".d"} {
		if name, ok := LockOf(file); ok {
			t.Errorf("%q is the lease of %q", file, name)
		}
	}
	if name, ok := LockOf(".d.nc.lock"); !ok || name != "d.nc" {
		t.Error(fmt.Sprint(name, ok))
	}
}
