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

// Long reports whether to test all cases instead of a sample: BLOBIO_LONG=1.
func Long() bool { return os.Getenv("BLOBIO_LONG") != "" }

// Times returns quick, or all if Long.
func Times[T any](quick, all T) T {
	if Long() {
		return all
	}
	return quick
}

// Disks are the disks of a scenario.
type Disks struct {
	FS  []vfs.FS   // the disks with failures
	Mem []*vfs.Mem // the disks without failures; nil if the program runs in places

	dirs []string // directories in places
}

// Scenario is a program that runs on failing disks.
type Scenario struct {
	Start []*vfs.Mem // initial disks, which are not changed; nil: one empty disk
	// On are the disks to use in Cuts, instead of a copy of Start. Their unsynced state is kept.
	On []*vfs.Mem
	// In are Places, for Faults. Start is copied to a new directory, and the program runs there under the name of the first
	// place. The test reads the result under the name of the last place. nil: in memory.
	In []string
	// Run is the program. It may have many ranks. Cuts runs it once; Faults runs it once for each fault and once without a fault.
	Run func(d *Disks) error

	// Every reduces the operations to a sample: Seed draws one of each group of Every consecutive operations. 0 and 1 mean all
	// operations.
	Every int
	Seed  int64
	// Only selects the operations to test. nil: for Cuts the operations that change something, for Faults all.
	Only func(op vfs.Op) bool
	// Every sample includes the operations that Always selects. In Faults, every sample also includes the last operations, Last
	// in number.
	Always func(op vfs.Op) bool
	Last   int64

	Torn int          // Cuts: number of random states per cut, besides the state without any unsynced data
	Mark func() int64 // for Cuts: returns Cut.Mark, called at each cut. No state is recorded where it returns a negative number
}

// One makes a program for one disk.
func One(run func(fsys vfs.FS) error) func(*Disks) error {
	return func(d *Disks) error { return run(d.FS[0]) }
}

// Cut is the state after a power cut.
type Cut struct {
	Mem    []*vfs.Mem
	Op     vfs.Op // the first operation that was not done
	When   string
	Strict bool  // no unsynced data survived
	Last   bool  // Run had returned
	Mark   int64 // the result of Scenario.Mark
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

// well returns the disks without failures.
func (d *Disks) well() (all []vfs.FS) {
	if d.dirs != nil {
		return []vfs.FS{at(d.dirs[len(d.dirs)-1])}
	}
	for _, m := range d.Mem {
		all = append(all, m)
	}
	return all
}

// drop removes the directories in places.
func (d *Disks) drop(t testing.TB) {
	t.Helper()
	if d.dirs != nil {
		if err := os.RemoveAll(d.dirs[0]); err != nil {
			t.Error(err)
		}
	}
}

// hook makes the disks call f before each operation.
func (s *Scenario) hook(d *Disks, f func(disk int, op vfs.Op) error) {
	if d.dirs != nil {
		d.FS = []vfs.FS{vfs.NewFault(at(d.dirs[0]), func(op vfs.Op) error { return f(0, op) })}
	}
	for i, m := range d.Mem {
		d.FS = append(d.FS, vfs.NewFault(m, func(op vfs.Op) error { return f(i, op) }))
	}
}

// draw returns a function that reports whether the next operation is in the sample: one of each Every consecutive operations.
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

// Cuts runs the program once and returns the states after power cuts: before each operation that changes something, and after
// Run. It fails the test if Run fails.
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

// Way is a way in which an operation fails.
type Way struct {
	Name string
	Hook func(op vfs.Op) error
	Err  error // the error of Hook
	Dies bool  // all later operations fail, too
	// Only selects the operations that can fail this way. nil selects all operations.
	Only func(op vfs.Op) bool
}

// Fails makes an operation fail with err.
func Fails(err error) Way {
	return Way{Name: "error", Err: err, Hook: func(op vfs.Op) error { return &fs.PathError{Op: op.Kind.String(), Path: op.Name, Err: err} }}
}

// Short makes a read or write do half of its bytes and then fail with err. Other operations fail at once.
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

// ShortWrite makes a write do half of its bytes and then fail with err.
func ShortWrite(err error) Way {
	w := Short(err)
	w.Name, w.Only = "short write", func(op vfs.Op) bool { return op.Kind == vfs.OpWrite }
	return w
}

// Dies makes an operation and all later operations fail with err, as if the program had been killed.
func Dies(err error) Way {
	w := Fails(err)
	w.Name, w.Dies = "end", true
	return w
}

// Fault is the state after operation N has failed. If Way.Dies, all later operations have failed, too.
type Fault struct {
	Mem  []*vfs.Mem // nil if the program runs in places
	FS   []vfs.FS   // the disks without failures, as other clients see them
	N    int64      // number of the operation, from 1
	Of   int64      // number of operations in the run without a fault
	Op   *vfs.Op
	Way  Way
	Err  error // the error of Run
	When string
}

// Faults runs the program once for each way and each selected operation. A first run without a fault counts the operations. With
// several ranks, the order of operations varies. Faults skips a run that ends before its operation. It fails the test if the
// first run fails.
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
