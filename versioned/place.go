package versioned

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// connect finds nodes and stores.
func (a *Array) connect(ctx context.Context, st *Store) error {
	node, err := a.c.SplitNode(ctx)
	if err != nil {
		return err
	}
	// Ranks of one process: those that share a value.
	vals, err := a.c.Share(ctx, a.c.Rank())
	if err != nil {
		return err
	}
	heap := slices.IndexFunc(vals, func(v any) bool { return v != nil })
	if a.node, err = node.Split(ctx, heap, 0); err != nil {
		return err
	}
	memory := st == nil || st.Dir == "" && st.FS == nil
	if a.memory = memory; memory {
		a.opt.Durability = DurableNone
	}
	if memory {
		node = a.node // other processes cannot see it
	}
	lead, err := node.Bcast(ctx, 0, fmt.Append(nil, a.c.Rank()))
	if err != nil {
		return err
	}
	all, err := a.c.Allgather(ctx, lead)
	if err != nil {
		return err
	}
	var leaders []string
	for _, b := range all {
		if !slices.Contains(leaders, string(b)) {
			leaders = append(leaders, string(b))
		}
	}
	a.nodes, a.nodeID = len(leaders), slices.Index(leaders, string(lead))
	a.keeper = node.Rank() == 0

	var bad error
	a.store, a.shared, bad = a.place(st)
	if bad == nil && st != nil && (st.Copies < 0 || st.Copies > maxCopies) {
		bad = usageErr("Store.Copies %d, want 0 to %d", st.Copies, maxCopies)
	}
	if bad == nil && st != nil && st.Redundancy != nil {
		if bad = st.Redundancy.Validate(); bad == nil && (!st.Private || memory || st.Copies > 0) {
			bad = usageErr("Store.Redundancy without Private and Dir, or with Copies")
		}
	}
	if memory { // one for the ranks of a node, made by the first of them
		mine := a.store
		got, err := node.Share(ctx, mine)
		if err != nil {
			return err
		}
		for _, v := range got {
			if v != nil {
				a.store = v.(*nodeStore)
				break
			}
		}
	}
	return comm.Agree(ctx, a.c, bad)
}

func (a *Array) place(st *Store) (*nodeStore, bool, error) {
	if st == nil || st.Dir == "" && st.FS == nil {
		return &nodeStore{fs: vfs.NewMem(), dir: a.spec.Name}, false, nil
	}
	if st.Dir == "" {
		return nil, false, usageErr("Store.FS without Dir")
	}
	fsys := st.FS
	if fsys == nil {
		fsys = vfs.OS
	}
	return &nodeStore{fs: fsys, dir: filepath.Join(st.Dir, a.spec.Name)}, !st.Private, nil
}

// shareStores tells this process of the stores that it can reach, by node.
func (a *Array) shareStores(ctx context.Context) ([]*nodeStore, error) {
	type own struct {
		node int
		st   *nodeStore
	}
	vals, err := a.c.Share(ctx, own{a.nodeID, a.store})
	if err != nil {
		return nil, err
	}
	out := make([]*nodeStore, a.nodes)
	for _, v := range vals {
		if v != nil {
			o := v.(own)
			out[o.node] = o.st
		}
	}
	if a.shared {
		for i := range out {
			out[i] = a.store
		}
	}
	n, err := comm.AllreduceOne(ctx, a.c, btoi(slices.Contains(out, nil)), comm.Max)
	a.remote = n != 0
	return out, err
}

// loadRecord reads the newest record of all nodes, or makes the first one.
func (a *Array) loadRecord(ctx context.Context, create bool) (*record, error) {
	var mine []byte
	var err, lost error
	before := int64(0) // commit of an empty array whose place it takes
	if a.keeper && (!a.shared || a.c.Rank() == 0) {
		var rec *record
		rec, err = readRecord(a.store.fs, a.store.dir)
		switch {
		case err == nil && create && a.again && rec.empty():
			before = rec.Seq
		case err == nil && create:
			err = pkg.Errorf("%s: an array of this name is there: %w", a.store.dir, ErrExist)
		case err == nil:
			mine, err = rec.encode()
		case errors.Is(err, ErrMissing) && (create || !a.shared):
			err = nil // another node may have it
		case !errors.Is(err, fs.ErrNotExist) && !create && !a.shared && damaged(err):
			err, lost = nil, err // likewise
		}
	}
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return nil, err
	}
	if create {
		if before, err = comm.AllreduceOne(ctx, a.c, before, comm.Max); err != nil {
			return nil, err
		}
		return a.firstRecord(ctx, before+1)
	}
	all, err := a.c.Allgather(ctx, mine)
	if err != nil {
		return nil, err
	}
	var best *record
	for _, b := range all {
		if len(b) == 0 {
			continue
		}
		r, err := decodeRecord(b, filepath.Join(a.store.dir, recordName))
		if err != nil {
			return nil, err // the same on all ranks
		}
		if best == nil || r.Seq > best.Seq {
			best = r
		}
	}
	if best != nil {
		return best, nil
	}
	if err := comm.Agree(ctx, a.c, lost); err != nil {
		return nil, err
	}
	return nil, pkg.Errorf("%s: no array of this name: %w", a.store.dir, ErrMissing)
}

func damaged(err error) bool {
	var fe *FormatError
	return errors.As(err, &fe)
}

// firstRecord makes the directories and the record with version 0: zeros.
func (a *Array) firstRecord(ctx context.Context, seq int64) (*record, error) {
	if elems(a.spec.Shape) > 0 && a.c.Size() < 1 {
		return nil, usageErr("no ranks")
	}
	g := newGeometry(1, a.capacity(0, elems(a.spec.Shape)), a.c.Size(), a.chunkElems())
	if err := a.checkGeometry(&g); err != nil {
		return nil, err
	}
	rec := &record{SealHead: records.Head(seq), Order: hostOrder(), Generations: []geometry{g},
		Spec: spec{a.spec.Name, a.spec.Type.String(), a.spec.Shape, a.spec.Chunk, a.spec.Extra, a.spec.EveryRegrid, a.spec.Keep}}
	mine, err := json.Marshal(rec) // what all ranks have to agree on
	if err != nil {
		return nil, err
	}
	var now []byte
	if a.c.Rank() == 0 {
		now = fmt.Appendf(nil, "%d %s\n%s", a.opt.Clock().UnixNano(), keyCheck(&a.opt), mine)
	}
	now, err = a.c.Bcast(ctx, 0, now)
	if err != nil {
		return nil, err
	}
	v := verInfo{Gen: 1, Shape: a.spec.Shape}
	line, first, _ := bytes.Cut(now, []byte("\n"))
	fmt.Sscan(string(line), &v.Time, &rec.Key)
	if err = keyFits(rec, &a.opt); err == nil && !bytes.Equal(first, mine) {
		err = usageErr("array %s: rank %d wants %s, rank 0 %s", a.spec.Name, a.c.Rank(), mine, first)
	}
	if err := comm.Agree(ctx, a.c, err); err != nil { // before anything is there
		return nil, err
	}
	rec.Versions = []verInfo{v}
	if a.keeper && (!a.shared || a.c.Rank() == 0) {
		err = a.makeStore()
	}
	if err := comm.Agree(ctx, a.c, err); err != nil {
		return nil, err
	}
	return rec, a.writeRecords(ctx, rec, false)
}

// makeStore makes the directory of this node.
func (a *Array) makeStore() error {
	sync := a.opt.Durability == DurableCommit
	err := durable.MkdirAll(a.store.fs, a.store.dir, sync)
	if err == nil && sync {
		err = vfs.SyncParent(a.store.fs, a.store.dir) // one that is there may be what a killed process left
	}
	return err
}

// writeRecords replaces the record on every node that keeps one. It is collective. Where the record is the next one after that which was read, one that
// another program has written in between is noticed: then nothing more can be done with the array.
func (a *Array) writeRecords(ctx context.Context, rec *record, next bool) error {
	if a.memory {
		return nil
	}
	b, err := rec.encode()
	var commit func() error
	if a.keeper && (!a.shared || a.c.Rank() == 0) {
		commit = func() error {
			if err != nil {
				return err
			}
			if next {
				if seq, err := lastSeq(a.store.fs, a.store.dir); err != nil {
					return err
				} else if seq >= rec.Seq {
					return pkg.Errorf("array %s: commit %d of another program is there: %w", a.spec.Name, seq, ErrConflict)
				}
			}
			return writeRecord(a.store.fs, a.store.dir, b, a.opt.Durability == DurableCommit)
		}
	}
	outcome, err := comm.Commit(ctx, a.c, commit)
	switch {
	case outcome == comm.InDoubt: // which one counts is known when it is read again
		a.broken = pkg.Errorf("array %s: it is not known which version a power loss would leave; open it again: %w: %w", a.spec.Name, err, ErrBroken)
	case errors.Is(err, ErrConflict): // what this one has written is left alone: it may have the name of a file of the other
		a.broken = pkg.Errorf("array %s: open it again: %w: %w", a.spec.Name, err, ErrBroken)
	default:
		return err
	}
	return a.broken
}

// removeStray removes files of this array that no record knows: what a writer left that died. Unless both records are those that the array is
// opened with: an older one may need the files, and is all there is if the other is lost before the next commit.
func (a *Array) removeStray(ctx context.Context, rec *record) error {
	var err error
	if a.keeper && (!a.shared || a.c.Rank() == 0) {
		var list []fs.DirEntry
		here, bad := readRecords(a.store.fs, a.store.dir)
		sure := here == nil || here.Seq == rec.Seq && errors.Join(bad...) == nil
		list, err = a.store.fs.ReadDir(a.store.dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = a.makeStore() // a node that is new, or has lost its store
		}
		for _, e := range list {
			if n := e.Name(); n == rebuildDir && e.IsDir() {
				if rerr := clearDir(a.store.fs, filepath.Join(a.store.dir, n)); rerr != nil && err == nil {
					err = rerr
				}
			} else if sure && rec.stray(n) {
				if rerr := a.store.fs.Remove(filepath.Join(a.store.dir, n)); rerr != nil && err == nil {
					err = rerr
				}
			}
		}
	}
	return comm.Agree(ctx, a.c, err)
}

// keyCheck is a value by which the right key is known; "" without one.
func keyCheck(o *Options) string {
	c, err := aead(o.Key)
	if err != nil || c == nil {
		return ""
	}
	return hex.EncodeToString((&coder{seal: c}).encode(nil, make([]byte, 16)))
}

func keyFits(rec *record, o *Options) error {
	if rec.Key == "" && len(o.Key) == 0 {
		return nil
	}
	c, err := aead(o.Key)
	if err != nil {
		return err
	}
	b, err := hex.DecodeString(rec.Key)
	if c == nil || err != nil || len(b) < nonceLen {
		return pkg.Errorf("array %s: %w", rec.Spec.Name, ErrKey)
	}
	if _, err := c.Open(nil, b[:nonceLen], b[nonceLen:], nil); err != nil {
		return pkg.Errorf("array %s: %w", rec.Spec.Name, ErrKey)
	}
	return nil
}
