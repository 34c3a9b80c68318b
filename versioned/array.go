package versioned

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/redset"
)

// Array is one rank's view of a distributed array. The current state lies in the memory of the ranks;
// committed versions in the store. The methods that say so are collective; the others need nobody else.
type Array struct {
	c    comm.Comm
	node comm.Comm // ranks of one process on one node, which write one file
	spec Spec
	opt  Options

	cat     *catalog // shared by the ranks of the process
	first   bool     // the lowest rank of the process: it changes cat
	nodes   int
	nodeID  int
	store   *nodeStore // of this rank's node
	keeper  bool       // lowest rank of its node: it writes the record of a private store, and takes copies
	shared  bool       // all nodes see one directory
	memory  bool       // the store is memory: no record outlives the processes, so none is written
	direct  bool       // likewise, all of one process and without copies: versions are kept as they are, see direct.go
	windows bool       // versions are read through windows
	remote  bool       // some rank cannot read the stores of all nodes

	protected *redset.Options
	lead      comm.Comm   // of a protected store: the ranks that write files; nil on others
	red       *redset.Set // of lead

	win    comm.Window
	local  []byte   // own segment, whole chunks
	sums   []digest // of its chunks in the newest version of this generation
	spare  []digest // room for those of the next one
	zero   digest   // of a chunk of zeros
	free   []byte   // room for those of the next version, if direct
	dirty  []int64  // room for the numbers of changed chunks
	packed []byte   // room for changed chunks that are written together
	has    []bool   // whether that version has the chunk; others are zeros
	geo    geometry
	shape  []int64 // of the current state
	again  bool    // create takes the place of an empty array
	pins   []int64 // versions that stay, whatever the retention says: those of snapshots, ascending
	broken error
}

// Create makes an array of zeros, and its version 0. It is collective; all ranks pass the same Spec. The store
// must have none of its name (ErrExist).
func Create(ctx context.Context, c comm.Comm, st *Store, s Spec, o *Options) (*Array, error) {
	return create(ctx, c, st, s, o, false)
}

// create is Create, with again also in the place of an array that holds nothing but version 0.
func create(ctx context.Context, c comm.Comm, st *Store, s Spec, o *Options, again bool) (*Array, error) {
	err := s.Validate()
	if err == nil {
		err = o.Validate()
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	a := &Array{c: c, spec: s.withDefaults(), opt: o.withDefaults(), again: again}
	a.shape = slices.Clone(a.spec.Shape)
	return a, a.start(ctx, st, true, newest)
}

// recordOf reads the record of an array, nil if there is none. It is collective.
func recordOf(ctx context.Context, c comm.Comm, st *Store, name string, o *Options) (*record, error) {
	if err := comm.Agree(ctx, c, o.Validate()); err != nil {
		return nil, err
	}
	a := &Array{c: c, spec: Spec{Name: name}, opt: o.withDefaults()}
	if err := a.connect(ctx, st); err != nil {
		return nil, err
	}
	rec, err := a.loadRecord(ctx, false)
	if errors.Is(err, ErrMissing) { // on all ranks
		return nil, nil
	}
	return rec, err
}

// newest is the version that Open opens an array at.
const newest = -1

// Open opens an array whose ranks have ended, by any number of ranks. Its current state is that of the newest
// version. The first version after it is written whole. It is collective.
func Open(ctx context.Context, c comm.Comm, st *Store, name string, o *Options) (*Array, error) {
	return open(ctx, c, st, name, newest, o)
}

// OpenAt is Open at an older version: the current state is that. Newer ones, which may be damaged, stay, and the next one has a number above
// theirs. It is collective.
func OpenAt(ctx context.Context, c comm.Comm, st *Store, name string, version int64, o *Options) (*Array, error) {
	if version < 0 { // on all ranks
		return nil, comm.Agree(ctx, c, pkg.Errorf("array %s: version %d: %w", name, version, ErrNoVersion))
	}
	return open(ctx, c, st, name, version, o)
}

func open(ctx context.Context, c comm.Comm, st *Store, name string, version int64, o *Options) (*Array, error) {
	err := o.Validate()
	if err == nil && !nameRE.MatchString(name) {
		err = usageErr("name %q", name)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	a := &Array{c: c, spec: Spec{Name: name}, opt: o.withDefaults()}
	return a, a.start(ctx, st, false, version)
}

// start connects the ranks and brings the array up.
func (a *Array) start(ctx context.Context, st *Store, create bool, at int64) error {
	if err := a.connect(ctx, st); err != nil {
		return err
	}
	if err := a.leaders(ctx, st); err != nil {
		return err
	}
	rec, err := a.loadRecord(ctx, create)
	if err != nil {
		return err
	}
	if !create {
		if err := a.rebuild(ctx, rec); err != nil {
			return err
		}
		if err := a.locate(ctx, rec); err != nil {
			return err
		}
	}
	ready := func() error {
		t, err := ParseType(rec.Spec.Type)
		if err != nil {
			return err
		}
		sp := rec.Spec
		a.spec = Spec{Name: sp.Name, Type: t, Shape: sp.Shape, Chunk: sp.Chunk, Extra: sp.Extra, EveryRegrid: sp.Every, Keep: sp.Keep}
		a.shape = slices.Clone(sp.Shape)
		if create {
			return nil
		}
		if at == newest {
			at = rec.Versions[len(rec.Versions)-1].Number
		}
		v, ok := rec.version(at)
		if !ok {
			return pkg.Errorf("array %s: version %d: %w", sp.Name, at, ErrNoVersion)
		}
		a.shape = slices.Clone(v.Shape)
		return nil
	}()
	stores, err := a.shareStores(ctx)
	if err != nil {
		return err
	}
	copies := 0
	if st != nil {
		copies = st.Copies
	}
	var cat *catalog
	if ready == nil {
		cat, ready = newCatalog(rec, a.spec.Type, stores, copies, &a.opt)
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
	if ready == nil {
		ready = keyFits(rec, &a.opt)
	}
	if err := comm.Agree(ctx, a.c, ready); err != nil {
		return err
	}
	a.windows = a.exposed(st)
	a.direct = a.memory && !a.remote && !a.copied()
	g := rec.Generations[len(rec.Generations)-1]
	if !create {
		if err := a.exposeAll(ctx, rec); err != nil {
			return err
		}
		if err := a.removeStray(ctx, rec); err != nil {
			return err
		}
		g = newGeometry(g.ID+1, a.capacity(0, elems(a.shape)), a.c.Size(), a.chunkElems())
	}
	if err := a.allocate(ctx, g); err != nil {
		return err
	}
	if !create {
		return a.Restore(ctx, at)
	}
	return nil
}

func (a *Array) chunkElems() int64 { return int64(a.spec.Chunk / a.spec.Type.Size()) }

// capacity is what an array with that capacity (0: none) has after a need.
func (a *Array) capacity(have, need int64) int64 {
	if have >= need && have > 0 && !a.spec.EveryRegrid {
		return have
	}
	n := min(float64(need)*(1+a.spec.Extra), maxElems)
	return max(need, int64(n)+btoi(n > float64(int64(n))))
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func dataName(gen int, version int64, rank int) string {
	return fmt.Sprintf("g%d-v%d-r%d%s", gen, version, rank, dataExt)
}

const dataExt = ".fti"

// dataRE matches what dataName makes; isData is all that may be.
var dataRE = regexp.MustCompile(`^g\d+-v\d+-r\d+\.fti$`)

func isData(name string) bool { return strings.HasSuffix(name, dataExt) && name[0] == 'g' }

// checkGeometry refuses what no reader takes; the same on all ranks.
func (a *Array) checkGeometry(g *geometry) error {
	if g.Seg/a.chunkElems() > maxSegChunks {
		return usageErr("array %s: %d elements on %d ranks are more than %d chunks of %d bytes on each: take larger chunks", a.spec.Name, g.Capacity, g.Segs, maxSegChunks, a.spec.Chunk)
	}
	return nil
}

// allocate gives the array the memory of a generation, zeros.
func (a *Array) allocate(ctx context.Context, g geometry) error {
	if err := a.checkGeometry(&g); err != nil {
		return err
	}
	n := (g.segLen(a.c.Rank()) + a.chunkElems() - 1) / a.chunkElems() // chunks
	local := make([]byte, n*int64(a.spec.Chunk))
	win, err := a.c.NewWindow(ctx, local)
	if err != nil {
		return err
	}
	a.geo, a.local, a.win = g, local, win
	a.sums, a.has = make([]digest, n), make([]bool, n)
	a.spare, a.packed, a.free = nil, nil, nil
	return nil
}

// Spec is what the array is; Shape that of the current state.
func (a *Array) Spec() Spec {
	s := a.spec
	s.Shape = slices.Clone(a.shape)
	return s
}

// Shape of the current state, slowest dimension first.
func (a *Array) Shape() []int64 { return slices.Clone(a.shape) }

// Len is the number of elements of the current state.
func (a *Array) Len() int64 { return elems(a.shape) }

// Capacity is the number of elements that the array has room for.
func (a *Array) Capacity() int64 { return a.geo.Capacity }

// Close ends the use of the array by all ranks. What was not committed is gone; versions
// in memory too. It is collective.
func (a *Array) Close(ctx context.Context) error {
	err := errors.Join(a.conceal(ctx, nil), a.win.Free(ctx))
	if err == nil {
		err = a.c.Barrier(ctx) // nobody reads through the catalog any more
	}
	if a.first {
		a.cat.close()
	}
	a.broken = pkg.Errorf("array %s is closed: %w", a.spec.Name, ErrUsage)
	return err
}
