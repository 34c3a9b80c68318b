package main

import (
	"errors"
	"math"
	"math/rand"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"blobio/internal/base/vfs"
	"blobio/versioned"
	"blobio/versioned/recovery"
)

// fault is an event that happens once.
type fault struct {
	kind      string
	at, found recovery.Moment // found: moment from which a late error is noticed
	pick      int             // selects ranks, boxes and cells
	rot       bool            // data files are damaged before the error is found
	done      atomic.Bool
	told      atomic.Bool
}

// faults are the faults of a run and of its later jobs.
type faults struct {
	list []*fault
	disk *disk
}

// disk is the file system of a store. Its operations can fail.
type disk struct {
	mem   *vfs.Mem
	rng   *rand.Rand
	full  atomic.Int64 // how many of the next operations fail
	armed atomic.Bool  // operations are counted until the kill
	kill  atomic.Int64 // number of operations until the job is killed
	dead  atomic.Bool
}

var errFull, errKilled = errors.New("no space left"), errors.New("killed")

func (d *disk) hook(op vfs.Op) error {
	if d.armed.Load() && d.kill.Add(-1) < 0 {
		d.dead.Store(true)
	}
	if d.dead.Load() {
		return errKilled
	}
	if (op.Kind == vfs.OpCreate || op.Kind == vfs.OpWrite) && d.full.Load() > 0 {
		d.full.Add(-1)
		return errFull
	}
	return nil
}

func (d *disk) rot() {
	var walk func(dir string)
	walk = func(dir string) {
		list, _ := d.mem.ReadDir(dir)
		for _, e := range list {
			name := path.Join(dir, e.Name())
			if e.IsDir() {
				walk(name)
			}
			if !strings.HasSuffix(name, ".fti") || d.rng.Intn(3) > 0 {
				continue
			}
			if f, err := d.mem.OpenRW(name); err == nil {
				if size, _ := f.Size(); size > 0 {
					off, b := d.rng.Int63n(size), []byte{0}
					_, _ = f.ReadAt(b, off)
					b[0] ^= 1 << d.rng.Intn(8)
					_, _ = f.WriteAt(b, off)
				}
				_ = f.Close()
			}
		}
	}
	walk("d")
}

func before(a, b recovery.Moment, sub versioned.Subcycling) bool {
	place := func(m recovery.Moment) (n int) {
		for s := range sub.Order() {
			if s == m.Step {
				return n
			}
			n++
		}
		return -1
	}
	return a.Coarse < b.Coarse || a.Coarse == b.Coarse && place(a) < place(b)
}

// blind reports whether the solver does not look for impossible values.
func (fs *faults) blind() bool {
	return slices.ContainsFunc(fs.list, func(f *fault) bool { return f.kind == "latent" })
}

// now reports whether the fault happens on this rank in a step.
func (f *fault) now(x *lattice, at recovery.Moment) bool {
	return f.at == at && f.pick%x.c.Size() == x.c.Rank() && f.done.CompareAndSwap(false, true)
}

// spoil makes wrong values that Inspect finds.
func (fs *faults) spoil(x *lattice, at recovery.Moment, box int) {
	d := x.levels[at.Step.Level].next[box]
	for _, f := range fs.list {
		if n := map[string]int{"point": 1, "data": 4}[f.kind]; n > 0 && !fs.blind() && f.at == at && f.pick%len(x.levels[at.Step.Level].boxes) == box && f.done.CompareAndSwap(false, true) {
			for i := range min(n, len(d)) {
				d[(i*7+f.pick)%len(d)] = []float64{100, math.NaN(), math.Inf(-1)}[i%3]
			}
		}
	}
}

// flip makes wrong values that are found only later.
func (fs *faults) flip(x *lattice, at recovery.Moment) {
	for _, f := range fs.list {
		r := x.levels[at.Step.Level]
		if f.kind != "late" && f.kind != "latent" || f.at != at || len(r.boxes) == 0 {
			continue
		}
		if d := r.own[f.pick%len(r.boxes)]; len(d) > 0 && f.done.CompareAndSwap(false, true) {
			d[f.pick%len(d)] = map[string]float64{"late": 0.123, "latent": math.NaN()}[f.kind]
		}
	}
}

func (fs *faults) dies(x *lattice, at recovery.Moment) {
	for _, f := range fs.list {
		if f.kind == "dies" && f.now(x, at) {
			panic("this rank is gone")
		}
	}
}

// strike applies to this rank the faults of a step.
func (fs *faults) strike(x *lattice, at recovery.Moment) (event *recovery.Event, err error) {
	for _, f := range fs.list {
		if f.done.Load() && (f.kind == "late" || f.kind == "latent") && !before(at, f.found, x.sub) && f.pick%x.c.Size() == x.c.Rank() && event == nil && f.told.CompareAndSwap(false, true) {
			fs.also(f)
			if event = recovery.LateEvent(f.at); f.kind == "latent" {
				event = &recovery.Event{Kind: "late", Scope: recovery.Global}
			}
			continue
		}
		if !slices.Contains([]string{"failed", "panic", "permanent", "metadata", "full"}, f.kind) || event != nil || !f.now(x, at) {
			continue
		}
		fs.also(f)
		switch f.kind {
		case "full":
			fs.disk.full.Store(int64(1 + f.pick%40))
			continue
		case "metadata":
			r := x.levels[f.pick%len(x.levels)]
			if len(r.boxes) > 0 {
				b := &r.boxes[f.pick%len(r.boxes)]
				switch f.pick % 3 {
				case 0:
					b.Hi[0] ^= 1
				case 1:
					b.Lo[0], b.Hi[0] = b.Lo[0]+1, b.Hi[0]+1
				default:
					b.Owner ^= 1
				}
			}
			event = &recovery.Event{Kind: "metadata"}
			continue
		}
		for _, r := range x.levels { // lose all data of the rank
			for _, data := range []map[int][]float64{r.own, r.was, r.next} {
				for _, d := range data {
					for i := range d {
						d[i] = math.NaN()
					}
				}
			}
			for _, d := range append(r.all, r.before...) {
				for i := range d {
					d[i] = math.NaN()
				}
			}
		}
		switch f.kind {
		case "panic":
			panic("the memory of this rank is gone")
		case "permanent":
			event = &recovery.Event{Kind: "permanent", Ranks: []int{x.c.Rank()}}
		default:
			return nil, errors.New("the memory of this rank cannot be trusted")
		}
	}
	return event, nil
}

// also damages data files if f.rot is set, and starts the count of operations until a kill.
func (fs *faults) also(f *fault) {
	if f.rot {
		fs.disk.rot()
	}
	if fs.disk != nil && fs.disk.kill.Load() > 0 {
		fs.disk.armed.Store(true)
	}
}
