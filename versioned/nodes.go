package versioned

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// nodes describes which ranks are on which nodes and in which processes, and where each node keeps versions.
type nodes struct {
	c       comm.Comm
	process comm.Comm // ranks of this rank's process on its node, which together write one file
	array   string

	count  int          // number of nodes
	own    int          // number of this rank's node
	keeper bool         // this is the lowest rank of its node, which receives copies
	store  *nodeStore   // store of this rank's node
	stores []*nodeStore // stores by node; nil: the store is in the memory of another process
	copies int          // number of following nodes that receive a copy of a file
	memory bool         // the store is in memory; then no record is written, because it would not outlive the processes
	remote bool         // some rank cannot read the stores of all nodes
	sync   bool         // committed versions survive a power loss
}

// connect makes the nodes of an array: it finds the nodes of the ranks and their stores. It is collective.
func connect(ctx context.Context, c comm.Comm, st *Store, array string, d Durability) (*nodes, error) {
	if st == nil {
		st = &Store{}
	}
	n := &nodes{c: c, array: array, copies: st.Copies, memory: st.Dir == "" && st.FS == nil}
	n.sync = d != DurableNone && !n.memory
	node, err := c.SplitNode(ctx)
	if err != nil {
		return nil, err
	}
	// Ranks of one process are those that can share a value.
	vals, err := c.Share(ctx, c.Rank())
	if err != nil {
		return nil, err
	}
	heap := slices.IndexFunc(vals, func(v any) bool { return v != nil })
	if n.process, err = node.Split(ctx, heap, 0); err != nil {
		return nil, err
	}
	if n.memory {
		node = n.process // other processes cannot read the memory of this one
	}
	lead, err := node.Bcast(ctx, 0, fmt.Append(nil, c.Rank()))
	if err != nil {
		return nil, err
	}
	all, err := c.Allgather(ctx, lead)
	if err != nil {
		return nil, err
	}
	var leaders []string
	for _, b := range all {
		if !slices.Contains(leaders, string(b)) {
			leaders = append(leaders, string(b))
		}
	}
	n.count, n.own = len(leaders), slices.Index(leaders, string(lead))
	n.keeper = node.Rank() == 0
	bad := n.openStore(st)
	if n.memory { // the first rank of a node makes one store for all ranks of the node
		got, err := node.Share(ctx, n.store)
		if err != nil {
			return nil, err
		}
		for _, v := range got {
			if v != nil {
				n.store = v.(*nodeStore)
				break
			}
		}
	}
	return n, comm.Agree(ctx, c, bad)
}

// openStore sets the directory of the array on this node.
func (n *nodes) openStore(st *Store) error {
	n.store = &nodeStore{fs: vfs.OrOS(st.FS), dir: filepath.Join(st.Dir, n.array)}
	switch {
	case st.Copies < 0 || st.Copies > maxCopies:
		return fault.Usage("Store.Copies %d, want 0 to %d", st.Copies, maxCopies)
	case n.memory:
		n.store.fs = vfs.NewMem()
		return n.store.fs.MkdirAll(n.store.dir)
	case st.Dir == "":
		return fault.Usage("Store.FS is set without Store.Dir")
	case st.Copies > 0:
		return fault.Usage("Store.Copies is set with Store.Dir, but copies are only for stores in memory")
	}
	return nil
}

// shareStores sets the stores of all nodes that this process can read. It is collective.
func (n *nodes) shareStores(ctx context.Context) error {
	if !n.memory {
		n.stores = slices.Repeat([]*nodeStore{n.store}, n.count)
		return nil
	}
	type own struct {
		node int
		st   *nodeStore
	}
	vals, err := n.c.Share(ctx, own{n.own, n.store})
	if err != nil {
		return err
	}
	n.stores = make([]*nodeStore, n.count)
	for _, v := range vals {
		if v != nil {
			o := v.(own)
			n.stores[o.node] = o.st
		}
	}
	far, err := comm.AllreduceOne(ctx, n.c, btoi(slices.Contains(n.stores, nil)), comm.Max)
	n.remote = far != 0
	return err
}

// file returns the path of a file of the array in this node's store.
func (n *nodes) file(name string) string { return n.store.path(name) }

// copied reports whether other nodes keep copies.
func (n *nodes) copied() bool { return n.copies > 0 && n.count > 1 }

// keepsRecord reports whether this rank reads and writes the record.
func (n *nodes) keepsRecord() bool { return !n.memory && n.c.Rank() == 0 }

// makeDir makes the directory of the array.
func (n *nodes) makeDir() error {
	err := durable.MkdirAll(n.store.fs, n.store.dir, n.sync)
	if err == nil && n.sync {
		err = vfs.SyncParent(n.store.fs, n.store.dir) // sync also an existing directory, which a killed process may have made
	}
	return err
}

// create makes a file of an uncommitted version. If a file of this name exists, it is left from a failed attempt, or it belongs
// to a version that another program has committed.
func (n *nodes) create(base string) (vfs.File, error) {
	fsys, name := n.store.fs, n.file(base)
	f, err := fsys.Create(name)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	rec, rerr := readRecord(fsys, n.store.dir)
	if rerr == nil && slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == base }) {
		return nil, fmt.Errorf("array %s: another program has committed %s: %w", n.array, name, ErrConflict)
	}
	if rerr != nil && !errors.Is(rerr, ErrMissing) && !n.memory {
		return nil, errors.Join(err, rerr)
	}
	if err = fsys.Remove(name); err == nil {
		f, err = fsys.Create(name)
	}
	return f, err
}

// copyFile copies each new file to the memory of the next nodes. f is nil if this rank has no file. copyFile is collective. All
// ranks send the same piece at the same time, so that only few pieces are in memory.
func (n *nodes) copyFile(ctx context.Context, f *fileInfo) error {
	const piece = 1 << 20
	var mine [3]int64 // size of the file, node, and whether this rank keeps its node's store
	name := ""
	if f != nil {
		mine[0], name = f.Size, f.Name
	}
	mine[1], mine[2] = int64(n.own), btoi(n.keeper)
	all, err := n.c.Allgather(ctx, append(bytesOf(mine[:]), name...))
	if err != nil {
		return err
	}
	type peer struct {
		size int64
		node int
		name string
	}
	peers := make([]peer, len(all))
	keeper := make([]int, n.count)
	most := int64(0)
	for r, b := range all {
		v := elem.View[int64](b[:24])
		peers[r] = peer{v[0], int(v[1]), string(b[24:])}
		if v[2] != 0 {
			keeper[v[1]] = r
		}
		most = max(most, v[0])
	}
	copies := min(n.copies, n.count-1)
	var failed error            // after a failure the remaining pieces are received but not written
	sinks := map[int]vfs.File{} // files by rank of the sender
	if n.keeper {
		for r, p := range peers {
			if d := (n.own - p.node + n.count) % n.count; p.size > 0 && d >= 1 && d <= copies {
				sink, err := n.create(p.name)
				sinks[r], failed = sink, cmp.Or(failed, err)
			}
		}
	}
	var src vfs.File
	if f != nil {
		if src, err = n.store.fs.Open(n.file(f.Name)); err != nil {
			failed = cmp.Or(failed, err)
		} else {
			defer src.Close()
		}
	}
	buf := make([]byte, min(piece, max(mine[0], 1)))
	for off := int64(0); off < most; off += piece {
		if mine[0] > off {
			b := buf[:min(piece, mine[0]-off)]
			if failed == nil {
				_, failed = src.ReadAt(b, off)
			}
			for k := range copies {
				if err := n.c.Send(ctx, keeper[(n.own+k+1)%n.count], 0, b); err != nil {
					return err
				}
			}
		}
		for r, p := range peers { // in rank order
			sink, ok := sinks[r]
			if !ok || p.size <= off {
				continue
			}
			b, err := n.c.Recv(ctx, r, 0)
			if err != nil {
				return err
			}
			if failed == nil {
				_, failed = sink.WriteAt(b, off)
			}
		}
	}
	for _, sink := range sinks {
		if sink != nil {
			failed = cmp.Or(failed, sink.Close())
		}
	}
	for r := range sinks {
		if failed != nil {
			n.store.fs.Remove(n.file(peers[r].name)) // if a file remains, Open removes it
		}
	}
	return comm.Agree(ctx, n.c, failed)
}
