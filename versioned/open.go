package versioned

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Create makes an array of zeros as version 0. It is collective, and all ranks must pass the same Spec. If the store already has
// an array of the same name, Create returns ErrExist.
func Create(ctx context.Context, c comm.Comm, st *Store, s Spec, o *Options) (*Array, error) {
	return create(ctx, c, st, s, o, false)
}

// create does the work of Create. If again is true, it may replace an array that has only version 0.
func create(ctx context.Context, c comm.Comm, st *Store, s Spec, o *Options, again bool) (*Array, error) {
	err := s.Validate()
	if err == nil {
		err = o.Validate()
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	a := &Array{c: c, spec: s.withDefaults(), opt: o.withDefaults()}
	if a.nodes, err = connect(ctx, c, st, a.spec.Name, a.opt.Durability); err != nil {
		return nil, err
	}
	rec, err := a.nodes.newRecord(ctx, &a.spec, &a.opt, again)
	if err != nil {
		return nil, err
	}
	if err := a.attach(ctx, rec, nil); err != nil {
		return nil, err
	}
	next, err := newState(ctx, c, &a.spec, rec.Generations[0], a.spec.Shape)
	if err != nil {
		return nil, err
	}
	a.use(next)
	return a, nil
}

// newest, as a version number, selects the newest untainted version.
const newest = -1

// Open opens an array on any number of ranks after its previous ranks have ended. The current state is the newest untainted
// version (see Newest). If all versions are tainted, Open returns ErrTainted. The next version writes all chunks. Open is
// collective.
func Open(ctx context.Context, c comm.Comm, st *Store, name string, o *Options) (*Array, error) {
	return open(ctx, c, st, name, newest, o)
}

// OpenAt opens an array like Open, but a given version becomes the current state. Newer versions stay, and may be damaged. The
// next version gets a number above all versions. OpenAt is collective.
func OpenAt(ctx context.Context, c comm.Comm, st *Store, name string, version int64, o *Options) (*Array, error) {
	if version < 0 { // all ranks take this branch
		return nil, comm.Agree(ctx, c, fmt.Errorf("array %s: version %d: %w", name, version, ErrNoVersion))
	}
	return open(ctx, c, st, name, version, o)
}

func open(ctx context.Context, c comm.Comm, st *Store, name string, version int64, o *Options) (*Array, error) {
	err := o.Validate()
	if err == nil && !nameRE.MatchString(name) {
		err = fault.Usage("name %q", name)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	a := &Array{c: c, spec: Spec{Name: name}, opt: o.withDefaults()}
	if a.nodes, err = connect(ctx, c, st, name, a.opt.Durability); err != nil {
		return nil, err
	}
	rec, err := a.nodes.findRecord(ctx)
	if err != nil {
		return nil, err
	}
	v, err := a.describe(rec, version)
	if err := a.attach(ctx, rec, err); err != nil {
		return nil, err
	}
	if err := a.nodes.removeStray(ctx, rec); err != nil {
		return nil, err
	}
	last := rec.Generations[len(rec.Generations)-1]
	g := newGeometry(last.ID+1, a.spec.capacity(elems(v.Shape)), c.Size(), a.spec.chunkElems())
	next, err := newState(ctx, c, &a.spec, g, v.Shape)
	if err != nil {
		return nil, err
	}
	a.use(next)
	return a, a.Restore(ctx, v.Number)
}

// describe sets the spec and options of the array from the record, and finds the version to open.
func (a *Array) describe(rec *record, version int64) (v *verInfo, err error) {
	if a.spec, err = rec.Spec.public(); err != nil {
		return nil, err
	}
	if version == newest {
		v := rec.newest()
		if v == nil {
			return nil, fmt.Errorf("array %s: all %d versions are %w", a.spec.Name, len(rec.Versions), ErrTainted)
		}
		version = v.Number
	}
	return rec.find(version)
}

// attach makes one catalog for all ranks of a process, with the stores that the process can read. bad is an earlier error of
// this rank. It is collective.
func (a *Array) attach(ctx context.Context, rec *record, bad error) error {
	if err := a.nodes.shareStores(ctx); err != nil {
		return err
	}
	var cat *catalog
	if bad == nil {
		cat, bad = newCatalog(rec, a.spec.Type, a.nodes.stores, a.nodes.copies, &a.opt)
	}
	vals, err := a.c.Share(ctx, cat)
	if err != nil {
		return err
	}
	for r, v := range vals {
		if v != nil { // this is the lowest rank of the process
			a.first = r == a.c.Rank()
			if shared := v.(*catalog); shared != nil {
				if shared != cat && cat != nil {
					cat.close()
				}
				a.cat = shared
			}
			break
		}
	}
	if bad == nil {
		bad = keyFits(rec, &a.opt)
	}
	if err := comm.Agree(ctx, a.c, bad); err != nil {
		return err
	}
	if a.nodes.remote {
		a.windows = &windows{a.nodes, &a.cat.exposed}
	}
	a.changes = changes{chunk: a.spec.Chunk, ranks: a.nodes.process.Size()}
	return nil
}

// recordOf reads the record of an array, or nil if there is none. It is collective.
func recordOf(ctx context.Context, c comm.Comm, st *Store, name string, o *Options) (*record, error) {
	if err := comm.Agree(ctx, c, o.Validate()); err != nil {
		return nil, err
	}
	opt := o.withDefaults()
	n, err := connect(ctx, c, st, name, opt.Durability)
	if err != nil {
		return nil, err
	}
	rec, err := n.findRecord(ctx)
	if errors.Is(err, ErrMissing) { // all ranks take this branch
		return nil, nil
	}
	return rec, err
}

// NewestClean finds the newest untainted version without an error that the program has noticed. clean reports whether a version
// is free of the error. All ranks call clean for the same versions, so clean may be collective. A version is clean if clean
// returns true on all ranks. If a version is damaged, clean should return the error of its read, and NewestClean skips the
// version. Any other error ends the search on all ranks. If no version is clean, NewestClean returns ErrNoVersion. NewestClean
// is collective and marks no version.
//
// It tests one version after the other, newest first. If bisect is true, it tests only about log2 of the versions. Use bisect
// for an error that persists, so that all versions from the first bad one on are bad. For other errors bisect may find a clean
// version that is not the newest.
func (a *Array) NewestClean(ctx context.Context, bisect bool, clean func(ctx context.Context, version int64) (bool, error)) (int64, error) {
	var list []int64
	for _, v := range a.cat.record().Versions {
		if !v.Tainted {
			list = append(list, v.Number)
		}
	}
	i, err := newestClean(ctx, a.c, bisect, len(list), func(i int) (bool, error) { return clean(ctx, list[i]) })
	if err != nil {
		return 0, err
	}
	if i < 0 {
		return 0, fmt.Errorf("array %s: none of %d untainted versions is clean: %w", a.spec.Name, len(list), ErrNoVersion)
	}
	return list[i], nil
}

// NewestClean does the same as Array.NewestClean, for snapshots. clean reads the levels of a snapshot with Table and Box.
func (h *Hierarchy) NewestClean(ctx context.Context, bisect bool, clean func(ctx context.Context, s *Snapshot) (bool, error)) (int64, error) {
	marks := h.marks()
	var list []int64
	for _, v := range h.global.cat.record().Versions {
		if h.global.named[v.Number] != nil && h.global.clean(v.Number, marks) {
			list = append(list, v.Number)
		}
	}
	i, err := newestClean(ctx, h.c, bisect, len(list), func(i int) (bool, error) {
		g, err := h.global.read(ctx, list[i])
		gone := unreadable(err)
		if gone {
			err = nil
		}
		all, err := comm.AgreeMin(ctx, h.c, err, -btoi(gone))
		if err != nil || all[0] < 0 {
			return false, cmp.Or(err, errUnreadable)
		}
		return clean(ctx, g)
	})
	if err != nil {
		return 0, err
	}
	if i < 0 {
		return 0, fmt.Errorf("hierarchy %s: none of %d untainted snapshots is clean: %w", h.spec.Name, len(list), ErrNoVersion)
	}
	return list[i], nil
}

// errUnreadable means that a snapshot is damaged.
var errUnreadable = errors.New("cannot be read")

// newestClean returns the index of the last item, of n items in ascending order, that is clean on all ranks. It returns -1 if
// there is none. It is collective.
func newestClean(ctx context.Context, c comm.Comm, bisect bool, n int, clean func(i int) (bool, error)) (int, error) {
	const bad, lost, good = 0, 1, 2 // if a version is bad on one rank and unreadable on another, it is bad
	judge := func(i int) (int64, error) {
		ok, err := clean(i)
		v := bad + good*btoi(ok)
		if err == errUnreadable || unreadable(err) {
			v, err = lost, nil
		}
		all, err := comm.AgreeMin(ctx, c, err, v)
		if err != nil {
			return 0, err
		}
		return all[0], nil
	}
	// Items up to lo are clean or unreadable; items from hi on are bad or unreadable.
	best := -1
	for lo, hi := -1, n; hi-lo > 1; {
		mid := hi - 1
		if bisect {
			mid = lo + (hi-lo)/2
		}
		at, v := mid+1, int64(lost)
		for v == lost && at-1 > lo { // an unreadable item shows nothing, so test the item before it
			at--
			var err error
			if v, err = judge(at); err != nil {
				return 0, err
			}
		}
		switch v {
		case bad:
			hi = at
		case good:
			best, lo = at, mid
		default:
			lo = mid
		}
	}
	return best, nil
}
