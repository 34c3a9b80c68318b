package crashtest

import (
	"fmt"
	"io/fs"
	"iter"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"blobio/internal/base/vfs"
)

// Long says that histories are wanted whole, not a sample of them: BLOBIO_LONG=1.
func Long() bool { return os.Getenv("BLOBIO_LONG") != "" }

// Times is quick, or all if long histories are wanted.
func Times[T any](quick, all T) T {
	if Long() {
		return all
	}
	return quick
}

// Disks are what a scenario runs on.
type Disks struct {
	FS  []vfs.FS   // these fail
	Mem []*vfs.Mem // the same, well; none in places

	dirs []string // in places
}

// Scenario is a program that is set against disks that fail.
type Scenario struct {
	Start []*vfs.Mem // what the disks hold before; not changed; nil: one empty disk
	// On are the disks themselves, for Cuts: nothing is copied before Run, what is not synced is there. Start is not looked at.
	On []*vfs.Mem
	// In are Places, for Faults: the program runs in the first of them, in a new directory with what the disk of Start holds, and what it leaves is
	// shown as the last of them sees it. nil: in memory.
	In []string
	// Run is the program. It may have many ranks. Cuts runs it once, Faults once for each fault and once more.
	Run func(d *Disks) error

	// Every makes a sample: Seed draws one of each Every operations. 0 and 1: each operation.
	Every int
	Seed  int64
	// Only selects the operations that count. nil: for Cuts the operations that change something, for Faults all.
	Only func(op vfs.Op) bool
	// Always are operations that no sample leaves out, and so are the Last of a scenario whose operations fail.
	Always func(op vfs.Op) bool
	Last   int64

	Torn int          // Cuts: states by chance for each cut, besides the one in which nothing unsynced survives
	Mark func() int64 // Cuts: asked at each cut, for Cut.Mark; below zero: no cut yet
}

// One makes a program of one disk.
func One(run func(fsys vfs.FS) error) func(*Disks) error {
	return func(d *Disks) error { return run(d.FS[0]) }
}

// Cut is what a power cut leaves.
type Cut struct {
	Mem    []*vfs.Mem
	Op     vfs.Op // the one that was not done any more
	When   string
	Strict bool  // nothing unsynced survived
	Last   bool  // Run had returned
	Mark   int64 // what Scenario.Mark said
}

func (s *Scenario) disks(t testing.TB) *Disks {
	t.Helper()
	start := s.Start
	if start == nil {
		start = []*vfs.Mem{vfs.NewMem()}
	}
	d := &Disks{}
	if s.In != nil {
		var err error
		if d.dirs, err = Fresh(s.In); err == nil {
			err = fill(at(d.dirs[0]), start[0], ".")
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, m := range start {
		d.Mem = append(d.Mem, m.CrashClone(vfs.CrashOptions{}))
	}
	return d
}

// well are the disks as others see them.
func (d *Disks) well() (all []vfs.FS) {
	if d.dirs != nil {
		return []vfs.FS{at(d.dirs[len(d.dirs)-1])}
	}
	for _, m := range d.Mem {
		all = append(all, m)
	}
	return all
}

// drop removes what is in places.
func (d *Disks) drop(t testing.TB) {
	t.Helper()
	if d.dirs != nil {
		if err := os.RemoveAll(d.dirs[0]); err != nil {
			t.Error(err)
		}
	}
}

// hook puts the disks behind f, which knows the number of the operation on all of them.
func (s *Scenario) hook(d *Disks, f func(disk int, op vfs.Op) error) {
	if d.dirs != nil {
		d.FS = []vfs.FS{vfs.NewFault(at(d.dirs[0]), func(op vfs.Op) error { return f(0, op) })}
	}
	for i, m := range d.Mem {
		d.FS = append(d.FS, vfs.NewFault(m, func(op vfs.Op) error { return f(i, op) }))
	}
}

// draw says which of the operations are in the sample: one of each Every that follow each other.
func (s *Scenario) draw() func() bool {
	every := int64(max(s.Every, 1))
	rnd := rand.New(rand.NewSource(s.Seed))
	n, pick := int64(0), int64(0)
	return func() bool {
		if n%every == 0 {
			pick = n + rnd.Int63n(every)
		}
		n++
		return n-1 == pick
	}
}

// Cuts runs the program once and returns what power cuts would leave: before each operation that changes something,
// and after Run has returned. It fails the test if Run does.
func (s *Scenario) Cuts(t testing.TB) (cuts []*Cut) {
	t.Helper()
	only := s.Only
	if only == nil {
		only = func(op vfs.Op) bool { return op.Kind.Changes() }
	}
	d := s.disks(t)
	if s.On != nil {
		d.Mem = s.On
	}
	in, rnd := s.draw(), rand.New(rand.NewSource(s.Seed))
	var mu sync.Mutex
	points := 0
	cut := func(disk int, op vfs.Op, last bool) {
		mu.Lock()
		defer mu.Unlock()
		mark := int64(0)
		if s.Mark != nil {
			mark = s.Mark()
		}
		points++
		if drawn := in(); mark < 0 || !last && !drawn && (s.Always == nil || !s.Always(op)) {
			return
		}
		when := "power cut before " + op.String()
		if last {
			when = "power cut after the end"
		} else if len(d.Mem) > 1 {
			when += fmt.Sprintf(" on disk %d", disk)
		}
		for k := range 1 + s.Torn {
			var o vfs.CrashOptions
			c := &Cut{Op: op, When: when, Strict: k == 0, Last: last, Mark: mark}
			if k > 0 {
				seed := rnd.Int63()
				o.Rand = rand.New(rand.NewSource(seed))
				c.When += fmt.Sprintf(", torn by %d", seed)
			}
			for _, m := range d.Mem {
				c.Mem = append(c.Mem, m.CrashClone(o))
			}
			cuts = append(cuts, c)
		}
	}
	s.hook(d, func(disk int, op vfs.Op) error {
		if only(op) {
			cut(disk, op, false)
		}
		return nil
	})
	if err := s.Run(d); err != nil {
		t.Fatalf("without any fault: %v", err)
	}
	ops := points
	cut(0, vfs.Op{}, true)
	t.Logf("%d operations, %d states after power cuts", ops, len(cuts))
	return cuts
}

// Way is how an operation fails.
type Way struct {
	Name string
	Hook func(op vfs.Op) error
	Err  error // the errors of Hook are this one
	Dies bool  // all operations after it fail, too
	// Only are the operations that can fail so; nil: any. Others are not tried.
	Only func(op vfs.Op) bool
}

// Fails has an operation fail with err.
func Fails(err error) Way {
	return Way{Name: "error", Err: err, Hook: func(op vfs.Op) error { return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err} }}
}

// Short has a read or write do a half and then fail with err, which any other operation does at once.
func Short(err error) Way {
	w := Fails(err)
	fail := w.Hook
	w.Name, w.Hook = "short", func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite || op.Kind == vfs.OpRead {
			return &vfs.ShortWrite{N: op.N / 2, Err: fail(op)}
		}
		return fail(op)
	}
	return w
}

// ShortWrite has a write do a half and then fail with err.
func ShortWrite(err error) Way {
	w := Short(err)
	w.Name, w.Only = "short write", func(op vfs.Op) bool { return op.Kind == vfs.OpWrite }
	return w
}

// Dies has an operation and all that follow fail with err: what a program leaves that was killed.
func Dies(err error) Way {
	w := Fails(err)
	w.Name, w.Dies = "end", true
	return w
}

// Fault is what a program leaves when operation N has failed; if Way.Dies, all operations after N have failed too.
type Fault struct {
	Mem  []*vfs.Mem // none in places
	FS   []vfs.FS   // the disks, as others see them
	N    int64      // number of the operation, from 1
	Of   int64      // operations of the run without a fault
	Op   *vfs.Op
	Way  Way
	Err  error // what Run returned
	When string
}

// Faults runs the program once for each way and each operation that is to fail; a first run without a fault counts the operations. Where
// several ranks have operations, their order varies. A run that ended before its operation came is not shown. Faults fails the test
// if the first run fails.
func (s *Scenario) Faults(t testing.TB, ways ...Way) iter.Seq[*Fault] {
	t.Helper()
	only := s.Only
	if only == nil {
		only = func(vfs.Op) bool { return true }
	}
	var mu sync.Mutex
	var ops []vfs.Op
	d := s.disks(t)
	s.hook(d, func(_ int, op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if only(op) {
			ops = append(ops, op)
		}
		return nil
	})
	if err := s.Run(d); err != nil {
		t.Fatalf("without any fault: %v", err)
	}
	d.drop(t)
	total := int64(len(ops))
	always := func(op vfs.Op) bool { return s.Always != nil && s.Always(op) }
	return func(yield func(*Fault) bool) {
		t.Helper()
		shown := 0
		defer func() { t.Logf("%d operations, %d faults", total, shown) }()
		for k, way := range ways {
			o := *s
			o.Seed += int64(k)
			for n, in := int64(1), o.draw(); n <= total; n++ {
				op := ops[n-1]
				if drawn := in(); !drawn && !always(op) && n <= total-s.Last || way.Only != nil && !way.Only(op) {
					continue
				}
				d := s.disks(t)
				if f := s.fault(d, way, n, only); f.Op != nil {
					f.Of = total
					shown++
					if !yield(f) {
						return
					}
				}
				d.drop(t)
			}
		}
	}
}

func (s *Scenario) fault(d *Disks, way Way, n int64, only func(vfs.Op) bool) *Fault {
	var count atomic.Int64
	var hit atomic.Pointer[vfs.Op]
	s.hook(d, func(_ int, op vfs.Op) error {
		if !only(op) {
			if way.Dies && hit.Load() != nil {
				return way.Hook(op)
			}
			return nil
		}
		k := count.Add(1)
		if k == n {
			hit.Store(&op)
		}
		if k == n || way.Dies && k > n {
			return way.Hook(op)
		}
		return nil
	})
	f := &Fault{Mem: d.Mem, FS: d.well(), N: n, Way: way, Err: s.Run(d)}
	if f.Op = hit.Load(); f.Op != nil {
		f.When = fmt.Sprintf("operation %d: %s of %v", n, way.Name, f.Op)
	}
	return f
}
