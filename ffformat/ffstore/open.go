package ffstore

import (
	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"context"
	"runtime"
)

// Open opens the store in a directory that all ranks see, or makes a new one. The parent directory must exist. Options must be
// the same on all ranks. If another number of ranks wrote the store, Open fails on all ranks with ErrUsage; use View to read such
// a store. If there are checkpoint files but no commit record, Open returns ErrMissing; Rebuild makes a new record.
//
// Only one Store at a time may write to a directory. A Store holds a lease from its first checkpoint to Close. Meanwhile, the
// first checkpoint of another Store fails with ErrInUse. If a Store died, the next Store takes over its lease. If several
// machines share the file system, the first checkpoint then waits 30 s.
func Open(ctx context.Context, c comm.Comm, dir string, o *Options) (*Store, error) {
	err := o.validate()
	s := &Store{c: c, o: o.withDefaults(), dir: dir, data: map[int32][]byte{}}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	s.ledger = ledger{c: c, fsys: s.o.FS, dir: dir, d: s.o.Durability}
	s.files = rankFiles{fsys: s.o.FS, dir: dir, rank: c.Rank(), d: s.o.Durability}
	s.logs = sideLogs{c: c, fsys: s.o.FS, dir: dir, d: s.o.Durability}
	if s.logs.node, err = c.SplitNode(ctx); err != nil {
		return nil, err
	}
	slots, err := s.ledger.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.agreeOptions(ctx, s.fitRecord()); err != nil {
		return nil, err
	}
	s.files.grow(max(slots, s.o.Keep+1))
	if err := s.share(ctx); err != nil {
		return nil, err
	}
	digests, err := s.logs.fetch(ctx)
	if err != nil {
		return nil, err
	}
	newest := -1 // slot of the newest checkpoint
	if l := s.ledger.committed(); len(l) > 0 {
		newest = l[len(l)-1].Slot
	}
	err = s.files.within(ctx, func() error { return s.files.inspect(digests, s.ledger.rec.newestFirst(), newest) })
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	return s, nil
}

// fitRecord compares the options with the store's record.
func (s *Store) fitRecord() error {
	if s.ledger.rec == nil {
		if s.o.Layout == 0 {
			s.o.Layout = ffformat.LayoutF
		}
		return nil
	}
	l := layoutByName[s.ledger.rec.Layout]
	if s.o.Layout == 0 {
		s.o.Layout = l
	}
	switch {
	case s.ledger.rec.Ranks != s.c.Size():
		return fault.Usage("%s was written by %d ranks, but is opened by %d (View can read it)", s.dir, s.ledger.rec.Ranks, s.c.Size())
	case s.o.Layout != l:
		return fault.Usage("%s has layout %v, but Options.Layout is %v", s.dir, l, s.o.Layout)
	case hashName(s.o.Hash) != s.ledger.rec.Hash:
		return fault.Usage("%s has hash %s, but Options.Hash is %s", s.dir, s.ledger.rec.Hash, hashName(s.o.Hash))
	}
	return nil
}

// agreeOptions checks that all ranks have the same options.
func (s *Store) agreeOptions(ctx context.Context, err error) error {
	v := []int64{int64(s.o.Layout), int64(s.o.Hash), int64(s.o.BlockSize), int64(s.o.Keep), int64(s.o.Durability)}
	n := len(v)
	for i := range n {
		v = append(v, -v[i])
	}
	m, rerr := comm.Allreduce(ctx, s.c, v, comm.Max)
	if rerr != nil {
		return rerr
	}
	for i, name := range []string{"Layout", "Hash", "BlockSize", "Keep", "Durability"} {
		if m[i] != -m[n+i] && err == nil {
			err = fault.Usage("Options.%s differs between ranks (%d to %d), want the same on all", name, -m[n+i], m[i])
		}
	}
	return comm.Agree(ctx, s.c, err)
}

// share divides the processors among the ranks of a process, and gives these ranks a common gate. The gate lets at most two ranks
// per processor write at the same time.
func (s *Store) share(ctx context.Context) error {
	gate := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	all, err := s.c.Share(ctx, gate)
	if err != nil {
		return err
	}
	for _, v := range all {
		if g, ok := v.(chan struct{}); ok {
			if s.files.local == 0 {
				s.files.gate = g
			}
			s.files.local++
		}
	}
	if s.o.Workers == 0 {
		s.o.Workers = max(1, runtime.GOMAXPROCS(0)/max(1, min(s.files.local, cap(s.files.gate))))
	}
	wo := s.o.writer(s.o.Workers)
	s.files.w, err = ffformat.NewWriter(&wo)
	return comm.Agree(ctx, s.c, err)
}

// Store is one rank's part of a store of checkpoints. All methods with a context are collective unless their comments state
// otherwise. Only one goroutine at a time may use a Store.
type Store struct {
	c      comm.Comm
	o      Options
	dir    string
	ledger ledger
	files  rankFiles
	logs   sideLogs

	order []int32 // ids of the variables in order of protection
	data  map[int32][]byte
	busy  bool // an incremental checkpoint is under way
}

// Protect registers the memory of a variable, like FTI_Protect. Each checkpoint reads that memory, and Recover fills it. A second
// call with the same id replaces the registered memory. The caller keeps ownership of the slice. Protect is not collective; ranks
// may have different variables.
func (s *Store) Protect(id int32, data []byte) error {
	if s.busy {
		return fault.Usage("Protect of variable %d during an incremental checkpoint", id)
	}
	if _, ok := s.data[id]; !ok {
		s.order = append(s.order, id)
	}
	s.data[id] = data
	return nil
}

// List returns the kept committed checkpoints, oldest first. It is not collective.
func (s *Store) List() []Info { return s.ledger.rec.list() }

// vars returns the protected variables in order.
func (s *Store) vars() []ffformat.VarBuf {
	v := make([]ffformat.VarBuf, len(s.order))
	for i, id := range s.order {
		v[i] = ffformat.VarBuf{ID: id, Data: s.data[id]}
	}
	return v
}

// Close closes the files and lets other Stores write to the directory. Committed checkpoints stay. Call Close also after errors;
// the other ranks then need not take part.
func (s *Store) Close(ctx context.Context) error {
	return comm.Agree(ctx, s.c, s.ledger.close())
}

// Bytes returns the memory of a slice of numbers as bytes, for Protect.
func Bytes[T comm.Number](v []T) []byte { return elem.Bytes(v) }
