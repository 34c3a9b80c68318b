package ffstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/vfs"
)

// Store is one rank's part of a store of checkpoints. All methods that take a context are
// collective, but those that say otherwise. A Store is used by one goroutine at a time.
type Store struct {
	c    comm.Comm
	node comm.Comm // the ranks of this node
	o    Options
	dir  string
	rec  *record // as committed; nil: there is none

	w     *ffformat.Writer
	slots []slot
	log   *nodeLog      // of the leader of a node, else nil
	gate  chan struct{} // of the ranks of the process that do I/O
	local int           // ranks of the process
	lock  io.Closer     // of rank 0, from the first checkpoint on

	order []int32 // of protection
	data  map[int32][]byte

	last    int32  // the checkpoint that the memory goes on from; ids of new ones are higher
	base    *entry // that checkpoint, if Recover found it in a spare
	adopted bool   // the logs are those of these nodes, and say no more than the ranks know
	busy    bool   // an incremental checkpoint is under way
	err     error
}

// slot is this rank's file in one slot.
type slot struct {
	digests *ffformat.Digests // of what the file holds; nil: not known
	named   bool              // the name of the file is durable, as far as Options.Durability wants that
}

// FileName is the file of a rank in a slot. FTI names the file of a differential
// checkpoint so.
func FileName(dir string, slot, rank int) string {
	return filepath.Join(slotDir(dir, slot), fmt.Sprintf("dCPFile-Rank%d.fti", rank))
}

func slotDir(dir string, slot int) string { return filepath.Join(dir, fmt.Sprintf("slot%d", slot)) }

// Open opens the store in a directory that all ranks see, or begins a new one; the parent
// must be there. Options must be the same on all ranks. A store that was written by another
// number of ranks is an error (ErrUsage) on all of them; View reads it. If there are files
// of checkpoints and no commit record, that is ErrMissing: Rebuild makes one.
//
// One Store at a time may write to a directory. A second one fails with ErrInUse at its first
// checkpoint.
func Open(ctx context.Context, c comm.Comm, dir string, o *Options) (*Store, error) {
	err := o.Validate()
	s := &Store{c: c, o: o.withDefaults(), dir: dir, data: map[int32][]byte{}}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if s.node, err = c.SplitNode(ctx); err != nil {
		return nil, err
	}
	slots, err := s.readRecord(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.agreeOptions(ctx, s.fitRecord()); err != nil {
		return nil, err
	}
	if s.rec != nil && len(s.rec.Checkpoints) > 0 {
		s.last = s.rec.Checkpoints[len(s.rec.Checkpoints)-1].ID
	}
	s.slots = make([]slot, max(slots, s.o.Keep+1))
	if err := s.share(ctx); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// readRecord reads the record on rank 0, which also makes the directory, and tells how many slots
// there are.
func (s *Store) readRecord(ctx context.Context) (slots int, err error) {
	type told struct {
		Rec   *record
		Slots int
	}
	var b []byte
	var sums [][]byte
	if s.c.Rank() == 0 {
		var t told
		if t.Rec, t.Slots, err = s.find(); err == nil {
			if s.rec = t.Rec; s.rec != nil {
				t.Rec = s.rec.clone()
				for e := range t.Rec.all() {
					e.Sums = nil
				}
			}
			b, err = json.Marshal(t)
		}
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return 0, err
	}
	if b, err = s.c.Bcast(ctx, 0, b); err != nil {
		return 0, err
	}
	var t told
	if err := json.Unmarshal(b, &t); err != nil || t.Rec == nil {
		return t.Slots, err
	}
	// Of the sums each rank gets its own.
	if s.c.Rank() == 0 {
		sums = make([][]byte, s.c.Size())
		for r := range min(len(sums), s.rec.Ranks) {
			for e := range s.rec.all() {
				sums[r] = append(sums[r], e.of(r).own...)
			}
		}
	} else {
		s.rec = t.Rec
	}
	got, err := s.c.Alltoallv(ctx, sums)
	if err != nil {
		return 0, err
	}
	own := got[0]
	for e := range s.rec.all() {
		if len(own) >= sumLen { // else the number of ranks is another
			e.own, own = slices.Clone(own[:sumLen]), own[sumLen:]
		}
	}
	return t.Slots, nil
}

// find reads the record and looks which slots there are.
func (s *Store) find() (rec *record, slots int, err error) {
	if err = s.o.FS.Mkdir(s.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, 0, err
	}
	if rec, err = readRecord(s.o.FS, s.dir); err != nil {
		return nil, 0, err
	}
	// Who made these names may have died before they were durable. What is seen now must not
	// be gone after a power loss.
	if s.o.Durability == DurableCommit {
		err = s.o.FS.SyncDir(s.dir)
		if err == nil && rec == nil {
			err = vfs.SyncParent(s.o.FS, s.dir)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	dirs, err := slotDirs(s.o.FS, s.dir)
	if err != nil {
		return nil, 0, err
	}
	for _, k := range dirs {
		slots = max(slots, k+1)
		if rec != nil {
			continue
		}
		// The record is made before the first slot: it was there.
		l, err := s.o.FS.ReadDir(slotDir(s.dir, k))
		if err != nil {
			return nil, 0, err
		}
		if len(l) > 0 {
			return nil, 0, formatErr(filepath.Join(s.dir, recordName), -1, "", ErrMissing, "the commit record is gone, but slot %d has files: Rebuild makes one from them", k)
		}
	}
	if rec != nil {
		slots = max(slots, rec.Slots)
	}
	return rec, slots, nil
}

// slotDirs are the numbers of the slots that have a directory, ascending.
func slotDirs(fsys vfs.FS, dir string) ([]int, error) {
	l, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var slots []int
	for _, e := range l {
		if n, ok := strings.CutPrefix(e.Name(), "slot"); ok && e.IsDir() {
			if k, err := strconv.Atoi(n); err == nil && k >= 0 && k <= maxKeep && slotDir(dir, k) == filepath.Join(dir, e.Name()) {
				slots = append(slots, k)
			}
		}
	}
	slices.Sort(slots)
	return slots, nil
}

// fitRecord holds the options against what the store is.
func (s *Store) fitRecord() error {
	if s.rec == nil {
		if s.o.Layout == 0 {
			s.o.Layout = ffformat.LayoutF
		}
		return nil
	}
	l := layoutByName[s.rec.Layout]
	if s.o.Layout == 0 {
		s.o.Layout = l
	}
	switch {
	case s.rec.Ranks != s.c.Size():
		return usageErr("%s was written by %d ranks and is opened by %d (View reads it)", s.dir, s.rec.Ranks, s.c.Size())
	case s.o.Layout != l:
		return usageErr("%s has layout %v, Options.Layout is %v", s.dir, l, s.o.Layout)
	case hashName(s.o.Hash) != s.rec.Hash:
		return usageErr("%s has hash %s, Options.Hash is %s", s.dir, s.rec.Hash, hashName(s.o.Hash))
	}
	return nil
}

// agreeOptions makes sure that all ranks would do the same.
func (s *Store) agreeOptions(ctx context.Context, err error) error {
	v := []int64{int64(s.o.Layout), int64(s.o.Hash), int64(s.o.Dirty), int64(s.o.BlockSize), int64(s.o.Keep), int64(s.o.Durability)}
	n := len(v)
	for i := range n {
		v = append(v, -v[i])
	}
	m, rerr := comm.Allreduce(ctx, s.c, v, comm.Max)
	if rerr != nil {
		return rerr
	}
	for i, name := range []string{"Layout", "Hash", "Dirty", "BlockSize", "Keep", "Durability"} {
		if m[i] != -m[n+i] && err == nil {
			err = usageErr("Options.%s is %d to %d, want the same on all ranks", name, -m[n+i], m[i])
		}
	}
	return comm.Agree(ctx, s.c, err)
}

// share gives the ranks of one process one gate, and divides the processors among them.
func (s *Store) share(ctx context.Context) error {
	gate := make(chan struct{}, s.o.MaxWriters)
	all, err := s.c.Share(ctx, gate)
	if err != nil {
		return err
	}
	for _, v := range all {
		if g, ok := v.(chan struct{}); ok {
			if s.local == 0 {
				s.gate = g
			}
			s.local++
		}
	}
	if s.o.Workers == 0 {
		s.o.Workers = max(1, runtime.GOMAXPROCS(0)/max(1, min(s.local, cap(s.gate))))
	}
	wo := s.o.writer(s.o.Workers)
	s.w, err = ffformat.NewWriter(&wo)
	return comm.Agree(ctx, s.c, err)
}

// within calls f when there is a place among the ranks of the process that do I/O. Inside,
// nothing collective is done.
func (s *Store) within(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
		return f()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// load finds out what this rank's files hold.
func (s *Store) load(ctx context.Context) error {
	digests, err := s.fetchDigests(ctx)
	if err != nil {
		return err
	}
	return comm.Agree(ctx, s.c, s.within(ctx, func() error { return s.inspect(digests) }))
}

// fetchDigests has the leader of each node read what the logs know, and tell its ranks.
func (s *Store) fetchDigests(ctx context.Context) (map[int][]*ffformat.Digests, error) {
	all, err := s.node.Allgather(ctx, strconv.AppendInt(nil, int64(s.c.Rank()), 10))
	if err != nil {
		return nil, err
	}
	ranks := make([]int, len(all))
	for i, b := range all {
		if ranks[i], err = strconv.Atoi(string(b)); err != nil {
			return nil, err
		}
	}
	var send [][]byte
	var failed error
	if s.node.Rank() == 0 {
		s.log = &nodeLog{fsys: s.o.FS, name: nodeLogName(s.dir, ranks[0]), d: s.o.Durability}
		var found map[int][]byte
		found, failed = loadDigests(s.o.FS, s.dir, ranks[0], slices.Sorted(slices.Values(ranks)))
		send = make([][]byte, len(ranks))
		for i, r := range ranks {
			send[i] = found[r]
		}
	}
	if err := comm.Agree(ctx, s.c, failed); err != nil {
		return nil, err
	}
	got, err := s.node.Alltoallv(ctx, send)
	if err != nil {
		return nil, err
	}
	return digestsOf(got[0], "side file"), nil
}

// inspect reads the metadata of the files in all slots. The newest sound committed one
// gives the containers; digests count that belong to a file whose containers are
// among them. A side file that does not know the newest checkpoint is an old one: then
// none count.
func (s *Store) inspect(digests map[int][]*ffformat.Digests) error {
	files := make([]*ffformat.File, len(s.slots))
	for k := range s.slots {
		f, err := s.o.FS.Open(FileName(s.dir, k, s.c.Rank()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if size, err := f.Size(); err == nil {
			if file, err := ffformat.Decode(f, size, f.Name(), nil); err == nil && !file.Parity {
				files[k] = file
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	for _, e := range s.newestFirst() {
		if f := files[e.Slot]; f != nil && e.match(f) == nil && s.w.Resume(f) == nil {
			break
		}
	}
	for k, f := range files {
		if f == nil || !s.w.Holds(f) {
			continue
		}
		for _, d := range digests[k] {
			if d.Match(f) == nil {
				s.slots[k].digests = d
			}
		}
	}
	if l := s.committed(); len(l) > 0 && s.slots[l[len(l)-1].Slot].digests == nil {
		clear(s.slots)
	}
	return nil
}

// committed are the entries of the record, oldest first.
func (s *Store) committed() []entry {
	if s.rec == nil {
		return nil
	}
	return s.rec.Checkpoints
}

// newestFirst are the kept checkpoints and the spares.
func (s *Store) newestFirst() []entry {
	if s.rec == nil {
		return nil
	}
	return s.rec.newestFirst()
}

// line are the checkpoints that the memory comes from and that are whole as far as is known, oldest
// first: the kept ones up to the last, or up to the spare that was recovered in the place of one.
func (s *Store) line() []entry {
	l := slices.DeleteFunc(slices.Clone(s.committed()), func(e entry) bool { return e.ID > s.last || s.base != nil && e.ID == s.base.ID })
	if s.base != nil {
		l = append(l, *s.base)
	}
	return l
}

// Protect names the memory of a variable, as FTI_Protect does: it is read by each checkpoint and
// filled by Recover. Protecting it again changes size and place. The slice stays the
// caller's. It is not collective; ranks may have different variables.
func (s *Store) Protect(id int32, data []byte) error {
	if s.busy {
		return usageErr("Protect of %d during an incremental checkpoint", id)
	}
	if _, ok := s.data[id]; !ok {
		s.order = append(s.order, id)
	}
	s.data[id] = data
	return nil
}

// List are the committed checkpoints that are kept, oldest first. It is not collective.
func (s *Store) List() []Info { return s.rec.list() }

// Close releases the files and lets others write to the directory. Nothing that is committed
// depends on it. It is to be called after errors, too; what can be released without the other
// ranks then is.
func (s *Store) Close(ctx context.Context) error {
	if s.err == nil {
		s.err = pkg.Errorf("closed: %w", ErrBroken)
	}
	var err error
	if s.lock != nil {
		err = s.lock.Close()
		s.lock = nil
	}
	return comm.Agree(ctx, s.c, err)
}

// Bytes views a slice of numbers as its memory, for Protect.
func Bytes[T comm.Number](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}
