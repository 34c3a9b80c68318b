package ffstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

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
	rec  *record // as committed; nil: nothing was

	w     *ffformat.Writer
	slots []slot
	log   *nodeLog // of the leader of a node, else nil
	gate  chan struct{}

	order []int32 // of protection
	data  map[int32][]byte

	adopted bool // the logs are those of these nodes, and ours to append to
	busy    bool // an incremental checkpoint is under way
	err     error
}

// slot is this rank's file in one slot.
type slot struct {
	digests *ffformat.Digests // of what the file holds; nil: not known
	exists  bool
}

// FileName is the file of a rank in a slot. FTI names the file of a differential
// checkpoint so.
func FileName(dir string, slot, rank int) string {
	return filepath.Join(slotDir(dir, slot), fmt.Sprintf("dCPFile-Rank%d.fti", rank))
}

func slotDir(dir string, slot int) string { return filepath.Join(dir, fmt.Sprintf("slot%d", slot)) }

// Open opens the store in a directory that all ranks see, or begins a new one; the parent
// must be there. A store that was written by another number of ranks is an error
// (ErrUsage) on all of them; View reads it. One Store at a time may write to a directory: a
// second one is found out at its next commit, which fails.
func Open(ctx context.Context, c comm.Comm, dir string, o *Options) (*Store, error) {
	err := o.Validate()
	s := &Store{c: c, o: o.withDefaults(), dir: dir, data: map[int32][]byte{}}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	if s.node, err = c.SplitNode(ctx); err != nil {
		return nil, err
	}
	if err := s.readRecord(ctx); err != nil {
		return nil, err
	}
	if err := comm.Agree(ctx, c, s.fitRecord()); err != nil {
		return nil, err
	}
	if err := s.share(ctx); err != nil {
		return nil, err
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// readRecord reads the record on rank 0, which also makes the directory.
func (s *Store) readRecord(ctx context.Context) error {
	var b []byte
	var err error
	if s.c.Rank() == 0 {
		if err = s.o.FS.Mkdir(s.dir); err == nil && s.o.Durability == DurableCommit {
			err = vfs.SyncParent(s.o.FS, s.dir)
		} else if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err == nil {
			if s.rec, err = readRecord(s.o.FS, s.dir); err == nil && s.rec != nil {
				b, err = json.Marshal(s.rec)
			}
		}
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if b, err = s.c.Bcast(ctx, 0, b); err != nil || len(b) == 0 || s.c.Rank() == 0 {
		return err
	}
	s.rec = &record{}
	return json.Unmarshal(b, s.rec)
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

// share gives the ranks of one process one gate, and divides the processors among them.
func (s *Store) share(ctx context.Context) error {
	gate := make(chan struct{}, s.o.MaxWriters)
	all, err := s.c.Share(ctx, gate)
	if err != nil {
		return err
	}
	ranks := 0
	for _, v := range all {
		if g, ok := v.(chan struct{}); ok {
			if ranks == 0 {
				s.gate = g
			}
			ranks++
		}
	}
	if s.o.Workers == 0 {
		s.o.Workers = max(1, runtime.GOMAXPROCS(0)/max(1, min(ranks, cap(s.gate))))
	}
	wo := s.o.writer(s.o.Workers)
	s.w, err = ffformat.NewWriter(&wo)
	return err
}

// enter waits for a place among the ranks of the process that do I/O.
func (s *Store) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.gate <- struct{}{}:
		return func() { <-s.gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// count is the number of slots: one more than are kept, and all that are in use.
func (s *Store) count() int {
	n := s.o.Keep + 1
	if s.rec != nil {
		for _, e := range s.rec.Checkpoints {
			n = max(n, e.Slot+1)
		}
		n = max(n, min(len(s.rec.Checkpoints), s.o.Keep)+1)
	}
	return n
}

// free is the slot that the next checkpoint goes to: the lowest that holds none that
// is to be kept. All ranks find the same.
func (s *Store) free() int {
	used := map[int]bool{}
	if s.rec != nil {
		for _, e := range s.rec.Checkpoints[max(0, len(s.rec.Checkpoints)-s.o.Keep):] {
			used[e.Slot] = true
		}
	}
	for k := 0; ; k++ {
		if !used[k] {
			return k
		}
	}
}

// load finds out what this rank's files hold.
func (s *Store) load(ctx context.Context) error {
	digests, err := s.fetchDigests(ctx)
	if err != nil {
		return err
	}
	leave, err := s.enter(ctx)
	if err == nil {
		err = s.inspect(digests)
		leave()
	}
	return comm.Agree(ctx, s.c, err)
}

// inspect reads the metadata of the files in all slots. The newest sound committed one
// gives the containers; digests count that belong to a file whose containers are
// among them.
func (s *Store) inspect(digests map[int][]*ffformat.Digests) error {
	s.slots = make([]slot, s.count())
	files := make([]*ffformat.File, len(s.slots))
	for k := range s.slots {
		f, err := s.o.FS.Open(FileName(s.dir, k, s.c.Rank()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.slots[k].exists = true
		if size, err := f.Size(); err == nil {
			if file, err := ffformat.Decode(f, size, f.Name(), nil); err == nil && !file.Parity {
				files[k] = file
			}
		}
		f.Close()
	}
	if s.rec != nil {
		for _, e := range slices.Backward(s.rec.Checkpoints) {
			f := files[e.Slot]
			if f != nil && e.match(f) == nil && s.w.Resume(f) == nil {
				break
			}
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
	return nil
}

// match says whether a file is the one of this checkpoint.
func (e *entry) match(f *ffformat.File) error {
	if f.FB.CkptID != 0 && f.FB.CkptID != e.ID {
		return formatErr(f.Name, -1, "FB.ckptId", ErrCorrupt, "%d, the record has checkpoint %d in this slot", f.FB.CkptID, e.ID)
	}
	if f.FB.Timestamp != storedTime(f.Layout, e.Time) {
		return formatErr(f.Name, -1, "FB.timestamp", ErrCorrupt, "%d, the record has %d for checkpoint %d", f.FB.Timestamp, storedTime(f.Layout, e.Time), e.ID)
	}
	return nil
}

// storedTime is what a layout stores of a time: E and F its low 32 bits.
func storedTime(l ffformat.Layout, ns int64) int64 {
	if l == ffformat.LayoutE || l == ffformat.LayoutF {
		return int64(uint32(ns))
	}
	return ns
}

// fetchDigests has the leader of each node read what the logs know, and tell its ranks.
func (s *Store) fetchDigests(ctx context.Context) (map[int][]*ffformat.Digests, error) {
	all, err := s.node.Allgather(ctx, fmt.Appendf(nil, "%d", s.c.Rank()))
	if err != nil {
		return nil, err
	}
	ranks := make([]int, len(all))
	for i, b := range all {
		if _, err := fmt.Sscan(string(b), &ranks[i]); err != nil {
			return nil, err
		}
	}
	var send [][]byte
	var failed error
	if s.node.Rank() == 0 {
		s.log = &nodeLog{fsys: s.o.FS, name: nodeLogName(s.dir, ranks[0]), d: s.o.Durability}
		sorted := slices.Sorted(slices.Values(ranks))
		found, _, err := loadDigests(s.o.FS, s.dir, ranks[0], sorted)
		failed = err
		send = make([][]byte, len(ranks))
		for i, r := range ranks {
			for _, k := range slices.SortedFunc(maps.Keys(found), func(a, b rankSlot) int { return a.slot - b.slot }) {
				if k.rank != r {
					continue
				}
				for _, d := range found[k] {
					b, err := d.MarshalBinary()
					if err != nil {
						return nil, err
					}
					send[i] = appendRecord(send[i], logDigests, k.slot, r, d.CkptID, b)
				}
			}
		}
	}
	if err := comm.Agree(ctx, s.c, failed); err != nil {
		return nil, err
	}
	got, err := s.node.Alltoallv(ctx, send)
	if err != nil {
		return nil, err
	}
	return parseRecords(got[0])
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

// List are the committed checkpoints, oldest first. It is not collective.
func (s *Store) List() []Info {
	if s.rec == nil {
		return nil
	}
	var l []Info
	for i := range s.rec.Checkpoints {
		l = append(l, s.rec.Checkpoints[i].info(s.rec.Ranks))
	}
	return l
}

// entry returns a committed checkpoint.
func (s *Store) entry(id int32) (*entry, error) {
	if s.rec != nil {
		for i := range s.rec.Checkpoints {
			if e := &s.rec.Checkpoints[i]; e.ID == id {
				return e, nil
			}
		}
	}
	return nil, fmt.Errorf("ffstore: %s: checkpoint %d: %w", s.dir, id, ErrMissing)
}

// Close releases the files. Nothing that is committed depends on it.
func (s *Store) Close(ctx context.Context) error {
	if s.err == nil {
		s.err = fmt.Errorf("ffstore: closed: %w", ErrBroken)
	}
	var err error
	if s.log != nil {
		err = s.log.close()
	}
	return comm.Agree(ctx, s.c, err)
}

// Bytes views a slice of numbers as its memory, for Protect.
func Bytes[T comm.Number](v []T) []byte { return bytesOf(v) }
