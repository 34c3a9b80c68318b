package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
)

// inBubble is a subtest in a bubble of testing/synctest: heartbeats come in time, and waiting takes no real time.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func take(t *testing.T, fsys vfs.FS, name string) *Lease {
	t.Helper()
	l, err := Acquire(context.Background(), fsys, name, LeaseOptions{})
	must(t, err)
	return l
}

// takeOn takes the lease of d.nc on a machine with this boot ID.
func takeOn(t *testing.T, m *crashtest.Machine, boot string) *Lease {
	t.Helper()
	return need(Acquire(context.Background(), m, "d.nc", LeaseOptions{Boot: boot}))
}

var must = testfiles.Must

func need[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// place is a file system and a name in an existing directory.
type place struct {
	fs   vfs.FS
	name string
}

func places(t *testing.T) map[string]place {
	return map[string]place{
		"memory": {vfs.NewMem(), "d.nc"},
		"system": {vfs.OS, filepath.Join(t.TempDir(), "d.nc")},
		"shared": {crashtest.NewMachines(vfs.NewMem()).Machine(true), "d.nc"},
	}
}

// TestOneHolder: a second process gets an error that names the first, and changes nothing. Release leaves no file.
func TestOneHolder(t *testing.T) {
	for where, p := range places(t) {
		t.Run(where, func(t *testing.T) {
			a := take(t, p.fs, p.name)
			_, err := Acquire(context.Background(), p.fs, p.name, LeaseOptions{})
			var in *InUseError
			if !errors.As(err, &in) || !errors.Is(err, fault.ErrInUse) || in.Lost || in.Holder == nil || in.Holder.ID != a.ID() || in.Holder.PID != os.Getpid() {
				t.Fatalf("second: %v", err)
			}
			for _, want := range []string{p.name, "in use by", fmt.Sprint(os.Getpid()), in.Holder.Host, "since"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			must(t, a.Check())
			if h, state, err := Inspect(p.fs, p.name); err != nil || h == nil || h.ID != a.ID() || state != HolderHere {
				t.Errorf("Inspect: %v %v %v", h, state, err)
			}
			must(t, a.Check()) // Inspect has not taken the lease
			must(t, a.Release())
			must(t, a.Release())
			if _, err := p.fs.Stat(LockName(p.name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("left: %v", err)
			}
			b := take(t, p.fs, p.name)
			if a.Check() == nil || b.Dead() != nil || b.Unsure() {
				t.Errorf("after Release: %v, %v, %v", a.Check(), b.Dead(), b.Unsure())
			}
			must(t, b.Release())
		})
	}
}

// TestDeadHolder: the kernel drops the locks of a dead process, and its lease is taken over at once.
func TestDeadHolder(t *testing.T) {
	mem := vfs.NewMem()
	a := take(t, mem, "d.nc")
	f := need(mem.OpenRW(LockName("d.nc")))
	must(t, errors.Join(f.Sync(), f.Close(), mem.SyncDir(".")))
	clone := mem.CrashClone(vfs.CrashOptions{})
	if h, state, err := Inspect(clone, "d.nc"); err != nil || h == nil || h.ID != a.ID() || state != HolderDead {
		t.Errorf("Inspect: %v %v %v", h, state, err)
	}
	b := take(t, clone, "d.nc")
	if b.Unsure() || b.Dead() == nil || b.Dead().ID != a.ID() {
		t.Errorf("unsure %v, dead %v", b.Unsure(), b.Dead())
	}
	must(t, b.Release())
}

// TestProcesses: a killed process loses its lease, and a living one keeps it.
func TestProcesses(t *testing.T) {
	const env = "BLOBIO_TEST_LEASE"
	if name := os.Getenv(env); name != "" {
		l, err := Acquire(context.Background(), vfs.OS, name, LeaseOptions{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("held")
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent process ends
		runtime.KeepAlive(l)                 // otherwise the garbage collector could close the file
		os.Exit(0)
	}
	name := filepath.Join(t.TempDir(), "d.nc")
	child := exec.Command(os.Args[0], "-test.run=^TestProcesses$")
	child.Env = append(os.Environ(), env+"="+name)
	stdin := need(child.StdinPipe())
	defer stdin.Close()
	out, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	defer child.Process.Kill()
	var word string
	if _, err := fmt.Fscan(out, &word); err != nil || word != "held" {
		t.Fatalf("the other process: %q, %v", word, err)
	}
	if !vfs.OS.Local(name) {
		t.Skip("the directory for temporary files is not known to be this machine's alone")
	}
	_, err = Acquire(context.Background(), vfs.OS, name, LeaseOptions{})
	var in *InUseError
	if !errors.As(err, &in) || in.Holder == nil || in.Holder.PID != child.Process.Pid {
		t.Fatalf("beside a living process: %v", err)
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	l := take(t, vfs.OS, name)
	if l.Unsure() || l.Dead() == nil || l.Dead().PID != child.Process.Pid {
		t.Errorf("unsure %v, dead %v", l.Unsure(), l.Dead())
	}
	must(t, l.Release())
}

// TestOtherMachine: where locks do not reach other machines, heartbeats decide. A silent holder loses its lease and its Check
// fails.
func TestOtherMachine(t *testing.T) {
	for _, locks := range []bool{true, false} {
		inBubble(t, fmt.Sprintf("locks=%v", locks), func(t *testing.T) {
			all := crashtest.NewMachines(vfs.NewMem())
			one, two := all.Machine(locks), all.Machine(locks)
			a := takeOn(t, one, "one")
			_, err := Acquire(context.Background(), two, "d.nc", LeaseOptions{Beat: time.Millisecond, Patience: time.Hour})
			if !errors.Is(err, fault.ErrInUse) {
				t.Fatalf("a beating heart: %v", err)
			}
			<-one.StopAt(1) // the machine is cut off: none of its writes reach the file
			b := take(t, two, "d.nc")
			if !b.Unsure() || b.Dead() == nil || b.Dead().ID != a.ID() {
				t.Errorf("unsure %v, dead %v", b.Unsure(), b.Dead())
			}
			one.Go()
			var in *InUseError
			if err := a.Check(); !errors.As(err, &in) || !in.Lost || in.Holder.ID != b.ID() {
				t.Errorf("the former holder: %v", err)
			}
			must(t, b.Settle())
			must(t, a.Release())
			must(t, b.Check()) // the former holder has not taken the new file
			must(t, b.Release())
		})
	}
}

// TestUnsureStays: all next holders are unsure until one of them calls Settle.
func TestUnsureStays(t *testing.T) { synctest.Test(t, testUnsureStays) }

func testUnsureStays(t *testing.T) {
	all := crashtest.NewMachines(vfs.NewMem())
	one, two := all.Machine(false), all.Machine(true)
	a := takeOn(t, one, "one")
	<-one.StopAt(1)
	for range 2 {
		b := takeOn(t, two, "two")
		if !b.Unsure() {
			t.Fatal("forgotten")
		}
		must(t, b.Share())
		m := need(Join(two, "d.nc", b.ID()))
		must(t, b.Release())
		must(t, m.Leave()) // the last member
	}
	b := takeOn(t, two, "two")
	must(t, b.Settle())
	if b.Unsure() || b.Check() != nil {
		t.Errorf("settled: %v, %v", b.Unsure(), b.Check())
	}
	must(t, b.Release())
	c := takeOn(t, two, "two")
	if c.Unsure() || c.Dead() != nil {
		t.Errorf("after it: %v, %v", c.Unsure(), c.Dead())
	}
	must(t, c.Release())
	one.Go()
	must(t, a.Release())
}

// TestWaitEnds: Acquire stops waiting for a silent holder when ctx ends.
func TestWaitEnds(t *testing.T) { synctest.Test(t, testWaitEnds) }

func testWaitEnds(t *testing.T) {
	all := crashtest.NewMachines(vfs.NewMem())
	one := all.Machine(false)
	a := takeOn(t, one, "one")
	<-one.StopAt(1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Acquire(ctx, all.Machine(false), "d.nc", LeaseOptions{Patience: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	one.Go()
	must(t, a.Release())
}

// TestMembers: a lease lasts until the last process of its holder has left.
func TestMembers(t *testing.T) {
	mem := vfs.NewMem()
	a := take(t, mem, "d.nc")
	must(t, a.Share())
	m := need(Join(mem, "d.nc", a.ID()))
	must(t, a.Release()) // for example, rank 0 was killed
	if _, err := Acquire(context.Background(), mem, "d.nc", LeaseOptions{}); !errors.Is(err, fault.ErrInUse) {
		t.Fatalf("while a process of the holder lives: %v", err)
	}
	must(t, m.Check())
	must(t, m.Leave())
	must(t, m.Leave())
	if _, err := mem.Stat(LockName("d.nc")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left: %v", err)
	}
	b := take(t, mem, "d.nc")
	if _, err := Join(mem, "d.nc", a.ID()); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("to join a lease that is another's: %v", err)
	}
	must(t, b.Share())
	if _, err := Join(mem, "d.nc", a.ID()); !errors.Is(err, fault.ErrInUse) {
		t.Errorf("to join one that another shares: %v", err)
	}
	must(t, b.Release())
}

// TestManyAtOnce: of writers that begin together, only one at a time gets the lease.
func TestManyAtOnce(t *testing.T) {
	for where, p := range places(t) {
		inBubble(t, where, func(t *testing.T) {
			const n = 8
			holds := make(chan string, 1)
			done := make(chan error, n)
			for range n {
				go func() {
					for {
						l, err := Acquire(context.Background(), p.fs, p.name, LeaseOptions{})
						if errors.Is(err, fault.ErrInUse) {
							time.Sleep(time.Second)
							continue
						}
						if err != nil {
							done <- err
							return
						}
						select {
						case holds <- l.ID():
						default:
							err = errors.New("two hold the lease")
						}
						err = errors.Join(err, l.Check())
						<-holds
						done <- errors.Join(err, l.Release())
						return
					}
				}()
			}
			for range n {
				must(t, <-done)
			}
		})
	}
}

// TestStaleName: a network client may still see a released lease and learn later that the file is gone.
func TestStaleName(t *testing.T) { synctest.Test(t, testStaleName) }

func testStaleName(t *testing.T) {
	for _, kind := range []vfs.OpKind{vfs.OpLock, vfs.OpRead} {
		for _, class := range []error{fs.ErrNotExist, vfs.ErrStale} {
			m := vfs.NewMem()
			must(t, vfs.WriteFile(m, LockName("d"), []byte("of one that is about to end")))
			stale := true
			fsys := vfs.NewFault(m, func(op vfs.Op) error {
				if !stale || op.Kind != kind || op.Name != LockName("d") {
					return nil
				}
				stale = false
				must(t, m.Remove(op.Name))
				return &fs.PathError{Op: kind.String(), Path: op.Name, Err: class}
			})
			l, err := Acquire(context.Background(), fsys, "d", LeaseOptions{})
			if err != nil || !l.Fresh() {
				t.Fatalf("%v, %v: %v", kind, class, err)
			}
			must(t, l.Release())
			stale = true
			must(t, vfs.WriteFile(m, LockName("d"), []byte("another")))
			if h, state, err := Inspect(fsys, "d"); h != nil || state != NoHolder || err != nil {
				t.Errorf("%v, %v: %v, %v, %v", kind, class, h, state, err)
			}
			if kind == vfs.OpRead {
				stale = true
				must(t, vfs.WriteFile(m, LockName("d"), []byte("a third")))
				if err := CheckHolder(fsys, "d", "x"); !errors.Is(err, fault.ErrInUse) {
					t.Errorf("%v: %v", class, err)
				}
			}
		}
	}
}

// TestPlanted: a link instead of the lock file is not followed. Torn or foreign content blocks no process.
func TestPlanted(t *testing.T) {
	dir := t.TempDir()
	name, victim := filepath.Join(dir, "d.nc"), filepath.Join(dir, "victim")
	must(t, os.WriteFile(victim, []byte("keep"), 0o666))
	if err := os.Symlink(victim, LockName(name)); err != nil {
		t.Skip(err)
	}
	if _, err := Acquire(context.Background(), vfs.OS, name, LeaseOptions{}); err == nil {
		t.Error("a link was followed")
	}
	other := take(t, vfs.OS, filepath.Join(dir, "other"))
	must(t, os.Remove(LockName(name)))
	must(t, os.Symlink(LockName(filepath.Join(dir, "other")), LockName(name)))
	if h, life, err := NewPulse(nil, name, nil).Look(); err == nil || h != nil || life == Alive {
		t.Errorf("who looks whether the holder is alive followed a link: %v %v", h, life)
	}
	if h, state, err := Inspect(vfs.OS, name); err == nil || h != nil {
		t.Errorf("who looks for the holder followed a link: %v %v", h, state)
	}
	must(t, other.Release())
	if b, err := os.ReadFile(victim); err != nil || string(b) != "keep" {
		t.Errorf("%q, %v", b, err)
	}
	must(t, os.Remove(LockName(name)))
	for _, b := range []string{"", "{", `{"id":""}`, "\x00\xff", strings.Repeat("x", 10000)} {
		must(t, os.WriteFile(LockName(name), []byte(b), 0o666))
		must(t, take(t, vfs.OS, name).Release())
	}
}

// TestAcquireFaults: if an operation fails, Acquire returns an error or a lease, and leaves no lock that blocks others. The same
// holds after a former holder has died.
func TestAcquireFaults(t *testing.T) { synctest.Test(t, testAcquireFaults) }

func testAcquireFaults(t *testing.T) {
	boom := errors.New("boom")
	died := vfs.NewMem()
	dead := take(t, shared{died}, "d.nc")
	dead.me.Host, dead.me.Boot = "elsewhere", "elsewhere"
	must(t, put(dead.file, dead.me.encode(), true))
	die(t, dead)
	must(t, died.SyncDir("."))
	for _, start := range []*vfs.Mem{vfs.NewMem(), died} {
		far := func(fsys vfs.FS) vfs.FS {
			if start == died {
				return shared{fsys}
			}
			return fsys
		}
		sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error {
			l, err := Acquire(context.Background(), far(fsys), "d.nc", LeaseOptions{})
			if err == nil {
				err = l.Release()
			}
			return err
		})}
		for f := range sc.Faults(t, crashtest.Fails(boom)) {
			if f.Err != nil && !errors.Is(f.Err, boom) {
				t.Errorf("%s: %v", f.When, f.Err)
			}
			l, err := Acquire(context.Background(), f.Mem[0], "d.nc", LeaseOptions{})
			if err != nil {
				t.Errorf("%s, then: %v", f.When, err)
				continue
			}
			must(t, l.Release())
		}
	}
}
