package cello

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"blobio/comm"
	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

func tiny() caseSpec {
	return caseSpec{rank: 2, roots: [3]int{2, 2}, block: [3]int{4, 4}, ghost: 1, minLevel: -1, maxLevel: 1, refine: 0.5, seed: 2, typ: amr.Float64, particles: true}
}

// names lists the entries of a directory.
func names(fsys vfs.FS, dir string) (l []string) {
	es, _ := fsys.ReadDir(dir)
	for _, e := range es {
		l = append(l, e.Name())
	}
	return l
}

// noLease removes the lease file from a list, because a lease file that could not be removed durably ends with the process.
func noLease(l []string) []string {
	return slices.DeleteFunc(l, func(n string) bool { return n == durable.LockName("c") })
}

// state reports whether the checkpoint exists. The test fails if the checkpoint exists but is not whole.
func state(t *testing.T, c *testCase, fsys vfs.FS, dir, when string) (there bool) {
	t.Helper()
	_, err := fsys.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if err := c.holds(context.Background(), dir, &OpenOptions{FS: fsys}); err != nil {
		t.Fatalf("%s: the directory is there, but: %v\n%v", when, err, names(fsys, dir))
	}
	if l := errorsOf(findings(fsys, dir, nil)); len(l) > 0 {
		t.Fatalf("%s: %v", when, l)
	}
	return true
}

// TestCrash: a power loss at any operation leaves no checkpoint or a whole one, with unsynced data lost completely or at random.
// The next Write succeeds in spite of the remains.
func TestCrash(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	sc := crashtest.Scenario{Torn: crashtest.Times(1, 2), Seed: 1, Run: crashtest.One(func(fsys vfs.FS) error {
		return c.write(ctx, 3, false, "c", &Options{Files: 3, FS: fsys})
	})}
	l := sc.Cuts(t)
	there := 0
	for i, s := range l {
		mem := s.Mem[0]
		ok := state(t, c, mem, "c", s.When)
		if s.Last && !ok {
			t.Fatalf("%s: it is not there", s.When)
		}
		if ok {
			there++
			continue
		}
		if _, err := Open(ctx, "c"+cellodir.PartialSuffix, &OpenOptions{FS: mem}); err == nil {
			// If the partial directory is whole, only the rename was missing.
			if !state(t, c, mem, "c"+cellodir.PartialSuffix, s.When) {
				t.Fatalf("%s: half a checkpoint opens", s.When)
			}
		}
		if i%2 == 0 {
			if err := c.write(ctx, 2, false, "c", &Options{Files: 2, FS: mem}); err != nil {
				t.Fatalf("%s: written again: %v (%v)", s.When, err, names(mem, "."))
			}
			after := mem.CrashClone(vfs.CrashOptions{})
			if !state(t, c, after, "c", s.When+", written again") || len(noLease(names(after, "."))) != 1 {
				t.Fatalf("%s: written again: %v", s.When, names(after, "."))
			}
		}
	}
	if there == 0 || there == len(l) {
		t.Fatalf("%d of %d are there: the test sees one side only", there, len(l))
	}
	t.Logf("%d with the checkpoint", there)
}

// errDisk wraps an error class that can be transmitted between ranks without a common heap.
var errDisk = fmt.Errorf("the disk is on fire: %w", fs.ErrPermission)

// TestFaults: every I/O operation fails once. Every rank returns the error, and the checkpoint is whole or absent.
func TestFaults(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	for _, apart := range []bool{false, true} {
		var errs [3]error
		sc := crashtest.Scenario{Every: crashtest.Times(3, 1), Run: crashtest.One(func(fsys vfs.FS) error {
			local := c.split(3, 5)
			return comm.Run(ctx, 3, nil, func(ctx context.Context, co comm.Comm) error {
				r := co.Rank()
				if apart {
					co = commtest.Isolate(co)
				}
				errs[r] = Write(ctx, co, "c", c.meta, local[r], &Options{Files: 2, FS: fsys, Memory: minMemory})
				return errs[r]
			})
		})}
		if apart {
			sc.Every = crashtest.Times(5, 1)
		}
		for f := range sc.Faults(t, crashtest.Fails(errDisk), crashtest.ShortWrite(errDisk)) {
			if f.Way.Only != nil && !f.Way.Only(*f.Op) {
				continue // the operation succeeded in spite of the fault
			}
			mem, err, when := f.Mem[0], f.Err, f.When
			there := state(t, c, mem, "c", when)
			if err == nil && !there {
				t.Fatalf("%s: no error, and no checkpoint", when)
			}
			if err == nil && f.Op.Kind != vfs.OpClose && f.Op.Name != durable.LockName("c") {
				t.Fatalf("%s: no error", when)
			}
			if err == nil {
				continue
			}
			for r, e := range errs {
				if !errors.Is(e, fs.ErrPermission) {
					t.Fatalf("%s: rank %d: %v", when, r, e)
				}
			}
			if !there {
				if err := c.write(ctx, 2, false, "c", &Options{Files: 2, FS: mem}); err != nil {
					t.Fatalf("%s: written again: %v", when, err)
				}
			}
		}
	}
}

// TestReadFaults: every operation of Restart, Open and Verify fails once.
func TestReadFaults(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	mem := vfs.NewMem()
	if err := c.write(ctx, 2, false, "c", &Options{Files: 2, FS: mem}); err != nil {
		t.Fatal(err)
	}
	restart := func(fsys vfs.FS) error {
		_, err := restartAll(ctx, 3, false, "c", &RestartOptions{OpenOptions: OpenOptions{FS: fsys}}, nil)
		return err
	}
	verify := func(fsys vfs.FS) error {
		if l := errorsOf(findings(fsys, "c", nil)); len(l) > 0 {
			return l[0].Err
		}
		return nil
	}
	for name, f := range map[string]func(vfs.FS) error{"restart": restart, "verify": verify} {
		count := vfs.Count(mem)
		if err := f(count); err != nil {
			t.Fatal(err)
		}
		for n := int64(1); n <= count.Ops(); n += int64(crashtest.Times(3, 1)) {
			var hit atomic.Pointer[vfs.Op]
			err := f(vfs.NewFault(mem, func(op vfs.Op) error {
				if op.Seq != n {
					return nil
				}
				hit.Store(&op)
				return errDisk
			}))
			if op := hit.Load(); op != nil && err == nil && op.Kind != vfs.OpClose && op.Kind != vfs.OpStat && op.Kind != vfs.OpReadDir {
				t.Errorf("%s: fault at %v: no error", name, op)
			}
		}
	}
}

// TestFullDisk: the disk is full after any number of bytes.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	for size := int64(4096); ; size += 3 * 4096 {
		mem := vfs.NewMem()
		mem.SetCapacity(size)
		err := c.write(ctx, 2, false, "c", &Options{Files: 2, FS: mem})
		if there := state(t, c, mem, "c", fmt.Sprint(size)); there != (err == nil) {
			t.Fatalf("%d bytes: %v, but there: %v", size, err, there)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, vfs.ErrNoSpace) {
			t.Fatal(err)
		}
		if l := names(mem, "."); len(l) != 0 {
			t.Fatalf("left over: %v", l)
		}
	}
}

// TestTwoWriters: Write does not touch a directory that is no checkpoint, and does not commit a directory that another writer has
// taken over.
func TestTwoWriters(t *testing.T) {
	ctx := context.Background()
	c := tiny().build(t)
	mem := vfs.NewMem()
	must(mem.Mkdir("c" + cellodir.PartialSuffix))
	must(vfs.WriteFile(mem, "c"+cellodir.PartialSuffix+"/thesis.tex", []byte("x")))
	if err := c.write(ctx, 2, false, "c", &Options{FS: mem}); !errors.Is(err, ErrExist) {
		t.Fatal(err)
	}
	if l := names(mem, "c"+cellodir.PartialSuffix); len(l) != 1 {
		t.Fatal(l)
	}
	mem = vfs.NewMem()
	done := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && op.Name == "c"+cellodir.PartialSuffix+"/"+cellodir.Manifest && !done {
			done = true // another writer takes over
			must(mem.Remove("c" + cellodir.PartialSuffix + "/" + cellodir.Lock))
			must(vfs.WriteFile(mem, "c"+cellodir.PartialSuffix+"/"+cellodir.Lock, []byte("other\n")))
		}
		return nil
	})
	if err := c.write(ctx, 2, false, "c", &Options{FS: fsys}); !errors.Is(err, ErrInUse) {
		t.Fatal(err)
	}
	if len(names(mem, "c"+cellodir.PartialSuffix)) == 0 {
		t.Fatal("the other writer's files are gone")
	}
}

// TestMarkGoesLast: Write removes the mark of an unfinished directory only when all other files are durable. A directory without
// the mark is therefore whole.
func TestMarkGoesLast(t *testing.T) {
	c := tiny().build(t)
	mem := vfs.NewMem()
	const tmp = "c" + cellodir.PartialSuffix
	var left *vfs.Mem
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && op.Name == tmp+"/"+cellodir.Lock {
			must(mem.SyncDir(".")) // the name of the directory itself need not be durable
			left = mem.CrashClone(vfs.CrashOptions{})
		}
		return nil
	})
	must(c.write(context.Background(), 2, false, "c", &Options{Files: 2, FS: fsys}))
	if left == nil {
		t.Fatal("nothing removes the mark")
	}
	if err := left.Remove(tmp + "/" + cellodir.Lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if !state(t, c, left, tmp, "without the mark") {
		t.Fatal(names(left, "."))
	}
}

// TestSecondWriter: while a checkpoint is written, another writer gets an error that names the first one, and nothing changes.
func TestSecondWriter(t *testing.T) {
	c := tiny().build(t)
	mem := vfs.NewMem()
	asked := false
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind != vfs.OpCreate || op.Name != "c"+cellodir.PartialSuffix+"/"+cellodir.Manifest {
			return nil
		}
		asked = true
		was := fmt.Sprint(names(mem, "."), names(mem, "c"+cellodir.PartialSuffix))
		err := c.write(context.Background(), 2, false, "c", &Options{FS: mem})
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d, since", os.Getpid())) {
			t.Error(err)
		}
		if now := fmt.Sprint(names(mem, "."), names(mem, "c"+cellodir.PartialSuffix)); now != was {
			t.Errorf("%s became %s", was, now)
		}
		return nil
	})
	must(c.write(context.Background(), 2, false, "c", &Options{FS: fsys}))
	if !state(t, c, mem, "c", "after it") || !asked || len(names(mem, ".")) != 1 {
		t.Fatal(asked, names(mem, "."))
	}
}

// TestTakenOver: a writer that has lost the lease of the checkpoint does not commit, and does not touch the other writer's files.
func TestTakenOver(t *testing.T) {
	c := tiny().build(t)
	mem := vfs.NewMem()
	fsys := vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && op.Name == "c"+cellodir.PartialSuffix+"/"+cellodir.Manifest {
			must(mem.Remove(durable.LockName("c")))
		}
		return nil
	})
	if err := c.write(context.Background(), 2, false, "c", &Options{FS: fsys}); !errors.Is(err, ErrInUse) {
		t.Fatal(err)
	}
	if l := names(mem, "."); fmt.Sprint(l) != "[c"+cellodir.PartialSuffix+"]" {
		t.Fatal(l)
	}
}

// FuzzFiles: no content of an HDF5 file in a checkpoint causes a panic or a hang.
func FuzzFiles(f *testing.F) {
	ctx := context.Background()
	c := tiny().build(f)
	mem := vfs.NewMem()
	must(c.write(ctx, 1, false, "c", &Options{Files: 1, FS: mem}))
	must(mem.Remove("c/" + cellodir.Manifest))
	const name = "c/block_data-0.h5"
	good, err := vfs.ReadFile(mem, name, 1<<30)
	must(err)
	f.Add(uint32(200), byte(1), uint32(4000), byte(255), uint32(0))
	f.Add(uint32(3000), byte(7), uint32(9000), byte(1), uint32(0))
	f.Add(uint32(8000), byte(7), uint32(9000), byte(1), uint32(10000))
	f.Fuzz(func(t *testing.T, a uint32, x byte, b uint32, y byte, cut uint32) {
		bad := append([]byte(nil), good...)
		bad[int(a%uint32(len(bad)))] ^= x
		bad[int(b%uint32(len(bad)))] ^= y
		bad = bad[cut%uint32(len(bad)):]
		fsys := mem.CrashClone(vfs.CrashOptions{})
		must(fsys.Remove(name))
		must(vfs.WriteFile(fsys, name, bad))
		findings(fsys, "c", nil)
		k, err := Open(ctx, "c", &OpenOptions{FS: fsys})
		if err != nil {
			return
		}
		defer k.Close()
		for i := range k.Blocks() {
			if _, err := k.Block(ctx, i); err != nil {
				return
			}
		}
	})
}
