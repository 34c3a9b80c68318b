package versioned

import (
	"context"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// CreateHierarchy makes the arrays of a hierarchy without boxes: first the array of the snapshots, then the arrays of the levels.
//
// If a program stopped before its first snapshot, its hierarchy cannot be opened. CreateHierarchy completes such a hierarchy: it
// makes empty arrays again, and keeps the arrays of saved levels, with their versions for as long as Keep allows. A program
// should therefore call CreateHierarchy when OpenHierarchy returns ErrMissing or ErrNoVersion; it then reaches its first
// snapshot, however often it stops. CreateHierarchy never changes data that a snapshot uses.
//
// ErrExist means that a snapshot exists, that a level was saved but the array of the snapshots is lost, or that a level was saved
// with other parameters.
func CreateHierarchy(ctx context.Context, c comm.Comm, st *Store, s HierarchySpec, o *Options) (*Hierarchy, error) {
	err := s.Config.Validate(s.Subcycling)
	switch {
	case err != nil:
	case s.Dim < 1 || s.Dim > 3 || len(s.Comps) == 0:
		err = fault.Usage("%d dimensions and %d components, want 1 to 3 dimensions and at least one component", s.Dim, len(s.Comps))
	case !nameRE.MatchString(s.Name):
		err = fault.Usage("name %q", s.Name)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	h := &Hierarchy{c: c, spec: s, now: make([]LevelInfo, s.Subcycling.Levels), sums: make([]uint32, s.Subcycling.Levels), saved: make([]mark, s.Subcycling.Levels)}
	g := s.array(s.Name+".global", 0, 0)
	if s.Snapshots != (Retention{}) {
		g.Keep = s.Snapshots
	}
	dx := s.Dx
	specs := make([]Spec, len(h.now))
	for l := range h.now {
		h.now[l] = LevelInfo{Level: l, Dim: s.Dim, Comps: len(s.Comps), Dx: dx, Ratio: s.Subcycling.Ratio}
		h.lay(l)
		dx /= float64(s.Subcycling.Ratio)
		specs[l] = s.array(fmt.Sprintf("%s.level%d", s.Name, l), h.now[l].used(), s.Config.Extra)
	}
	saved, err := h.begun(ctx, st, g, specs, o)
	if err != nil {
		return nil, err
	}
	a, err := create(ctx, c, st, g, o, true)
	if err != nil {
		return nil, err
	}
	h.global = snapshots{a, map[int64][]int64{}, map[int64]float64{}}
	for l := range h.now {
		var a *Array
		if saved[l] {
			a, err = h.takeOver(ctx, st, l, specs[l].Name, o)
		} else {
			a, err = create(ctx, c, st, specs[l], o, true)
		}
		if err != nil {
			return nil, err
		}
		h.levels = append(h.levels, a)
	}
	h.waitForSnapshots()
	return h, nil
}

// begun examines the arrays of a hierarchy that another program began to make. It returns which levels were saved. It is
// collective.
func (h *Hierarchy) begun(ctx context.Context, st *Store, global Spec, levels []Spec, o *Options) (saved []bool, err error) {
	g, err := recordOf(ctx, h.c, st, global.Name, o)
	if err != nil {
		return nil, err
	}
	exist := func(format string, args ...any) error { // all ranks take this branch
		return comm.Agree(ctx, h.c, fmt.Errorf("hierarchy %s: %s: %w", h.spec.Name, fmt.Sprintf(format, args...), ErrExist))
	}
	if g != nil && !g.empty() {
		return nil, exist("snapshots already exist")
	}
	for _, want := range levels {
		r, err := recordOf(ctx, h.c, st, want.Name, o)
		if err != nil {
			return nil, err
		}
		saved = append(saved, r != nil && !r.empty())
		if r == nil || r.empty() {
			continue
		}
		is, sp := want.withDefaults(), r.Spec
		switch {
		case g == nil:
			return nil, exist("%s was saved, but %s is missing", want.Name, global.Name)
		case sp.Type != is.Type.String() || len(sp.Shape) != 1 || sp.Chunk != is.Chunk || sp.Extra != is.Extra || sp.Every != is.EveryRegrid || sp.Keep != is.Keep:
			return nil, exist("%s was saved with other parameters, without a snapshot", want.Name)
		}
	}
	return saved, nil
}

// takeOver opens a level that was saved before the first snapshot. The level then has no boxes.
func (h *Hierarchy) takeOver(ctx context.Context, st *Store, level int, name string, o *Options) (*Array, error) {
	a, err := Open(ctx, h.c, st, name, o)
	if err != nil {
		return nil, err
	}
	l := &h.now[level]
	if _, err := a.Reserve(ctx, l.used()); err != nil {
		return nil, err
	}
	if h.c.Rank() == 0 {
		b := make([]byte, l.used())
		copy(b[levelHeader:], l.table())
		err = a.putBytes(ctx, []int64{0}, []int64{l.used()}, b)
	}
	h.saved[level] = mark{a.cat.record().top(), -1} // -1: the current state equals no version
	return a, comm.Agree(ctx, h.c, err)
}

// OpenHierarchy opens a hierarchy at its last untainted snapshot, on any number of ranks. It returns ErrNoVersion if there is no
// snapshot, and ErrTainted if all snapshots are tainted. Damaged older snapshots are not an error. They stay in the list, but
// retention may drop the versions that they use.
func OpenHierarchy(ctx context.Context, c comm.Comm, st *Store, name string, o *Options) (*Hierarchy, error) {
	return openHierarchy(ctx, c, name, newest, stored(ctx, c, st, o))
}

// origin is the source of the arrays of a hierarchy.
type origin struct {
	open func(name string, version int64) (*Array, error)
	look func(name string) (*record, error) // nil: there are no records to read in advance
}

func stored(ctx context.Context, c comm.Comm, st *Store, o *Options) origin {
	return origin{func(n string, v int64) (*Array, error) { return open(ctx, c, st, n, v, o) },
		func(n string) (*record, error) { return recordOf(ctx, c, st, n, o) }}
}

// OpenHierarchyAt opens a hierarchy at a given snapshot. Newer snapshots stay, and may be damaged.
func OpenHierarchyAt(ctx context.Context, c comm.Comm, st *Store, name string, snapshot int64, o *Options) (*Hierarchy, error) {
	if snapshot < 1 { // all ranks take this branch
		return nil, comm.Agree(ctx, c, fmt.Errorf("hierarchy %s: snapshot %d: %w", name, snapshot, ErrNoVersion))
	}
	return openHierarchy(ctx, c, name, snapshot, stored(ctx, c, st, o))
}

func openHierarchy(ctx context.Context, c comm.Comm, name string, snapshot int64, from origin) (*Hierarchy, error) {
	g, err := from.open(name+".global", snapshot)
	if err != nil {
		return nil, err
	}
	h := &Hierarchy{c: c, global: snapshots{g, map[int64][]int64{}, map[int64]float64{}}}
	last := snapshot == newest
	if last {
		snapshot = g.Newest()
	}
	if top := g.cat.record().top(); snapshot == 0 && top > 0 { // all ranks take this branch
		return nil, comm.Agree(ctx, c, fmt.Errorf("hierarchy %s: all snapshots up to %d are %w", name, top, ErrTainted))
	}
	rec, err := h.global.readAll(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	if last {
		if snapshot, rec, err = h.lastClean(ctx, name, snapshot, rec, from); err != nil {
			return nil, err
		}
	}
	h.spec = rec.Spec
	h.now, h.sums, h.saved = make([]LevelInfo, h.spec.Subcycling.Levels), make([]uint32, h.spec.Subcycling.Levels), make([]mark, h.spec.Subcycling.Levels)
	for l := range h.now { // open these versions, because newer ones may be damaged
		a, err := from.open(fmt.Sprintf("%s.level%d", name, l), rec.Versions[l])
		if err != nil {
			return nil, err
		}
		h.levels = append(h.levels, a)
	}
	h.pin()
	h.waitForSnapshots()
	return h, h.RestoreSnapshot(ctx, snapshot)
}

// HierarchyOf makes a hierarchy from the arrays that Parts returns, in any order. Its current state is the newest snapshot. It is
// collective.
func HierarchyOf(ctx context.Context, c comm.Comm, name string, list []*Array) (*Hierarchy, error) {
	find := func(n string, _ int64) (*Array, error) {
		i := slices.IndexFunc(list, func(a *Array) bool { return a.spec.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("hierarchy %s: no array %s: %w", name, n, ErrMissing)
		}
		return list[i], nil
	}
	look := func(n string) (*record, error) {
		a, err := find(n, newest)
		if err != nil {
			return nil, err
		}
		return a.cat.record(), nil
	}
	return openHierarchy(ctx, c, name, newest, origin{find, look})
}

// lastClean finds the last snapshot that is not tainted and uses no tainted versions. last is the newest snapshot without a taint
// mark, and rec is its content.
func (h *Hierarchy) lastClean(ctx context.Context, name string, last int64, rec *Snapshot, from origin) (int64, *Snapshot, error) {
	marks := make([]*record, len(rec.Versions))
	for l := range marks {
		var err error
		if marks[l], err = from.look(fmt.Sprintf("%s.level%d", name, l)); err != nil {
			return 0, nil, err
		}
	}
	list := h.global.Versions()
	for i := len(list) - 1; i >= 0; i-- {
		n := list[i].Number
		if h.global.named[n] == nil || !h.global.clean(n, marks) {
			continue
		}
		if n == last {
			return n, rec, nil
		}
		g, err := h.global.read(ctx, n)
		return n, g, comm.Agree(ctx, h.c, err)
	}
	return 0, nil, comm.Agree(ctx, h.c, fmt.Errorf("hierarchy %s: the versions of all snapshots: %w", name, ErrTainted)) // all ranks take this branch
}
