package versioned

import (
	"context"
	"errors"
	"fmt"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Create makes an array of zeros, and its version 0. It is collective; all ranks pass the same Spec. The store
// must have none of its name (ErrExist).
func Create(ctx context.Context, c comm.Comm, st *Store, s Spec, o *Options) (*Array, error) {
	return create(ctx, c, st, s, o, false)
}

// create is Create; again lets it replace an array that holds nothing but version 0.
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

// newest is the version that Open opens an array at.
const newest = -1

// Open opens an array whose ranks have ended, by any number of ranks. Its current state is that of the newest
// version that is not tainted, Newest; ErrTainted: all are. The first version after it is written whole. It is collective.
func Open(ctx context.Context, c comm.Comm, st *Store, name string, o *Options) (*Array, error) {
	return open(ctx, c, st, name, newest, o)
}

// OpenAt is Open at an older version: the current state is that. Newer ones, which may be damaged, stay, and the next one has a number above
// theirs. It is collective.
func OpenAt(ctx context.Context, c comm.Comm, st *Store, name string, version int64, o *Options) (*Array, error) {
	if version < 0 { // on all ranks
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

// describe takes over what the record says of the array, and finds the version to open it at.
func (a *Array) describe(rec *record, version int64) (v *verInfo, err error) {
	if a.spec, err = rec.Spec.public(); err != nil {
		return nil, err
	}
	if version == newest {
		v := rec.newest()
		if v == nil {
			return nil, fmt.Errorf("array %s: all %d versions: %w", a.spec.Name, len(rec.Versions), ErrTainted)
		}
		version = v.Number
	}
	return rec.find(version)
}

// attach gives the ranks of each process one catalog, with the stores that it can reach. bad says that this rank has failed already. It is collective.
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
		if v != nil { // the lowest rank of this process
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

// recordOf reads the record of an array, nil if there is none. It is collective.
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
	if errors.Is(err, ErrMissing) { // on all ranks
		return nil, nil
	}
	return rec, err
}
