package versioned

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"blobio/comm"
	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// nodes says how the ranks lie on nodes and in processes, and where each node keeps versions.
type nodes struct {
	c       comm.Comm
	process comm.Comm // ranks of one process on one node, which write one file
	array   string

	count  int          // of nodes
	own    int          // number of this rank's node
	keeper bool         // lowest rank of its node: it writes the record of a private store, and takes copies
	store  *nodeStore   // of this rank's node
	stores []*nodeStore // by node; nil: out of reach of this process
	copies int          // on so many next nodes
	shared bool         // all nodes see one directory
	memory bool         // the store is memory: no record outlives the processes, so none is written
	remote bool         // some rank cannot read the stores of all nodes
	sync   bool         // what is committed survives a power loss
}

// connect finds nodes and stores. It is collective.
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
	// Ranks of one process: those that share a value.
	vals, err := c.Share(ctx, c.Rank())
	if err != nil {
		return nil, err
	}
	heap := slices.IndexFunc(vals, func(v any) bool { return v != nil })
	if n.process, err = node.Split(ctx, heap, 0); err != nil {
		return nil, err
	}
	if n.memory {
		node = n.process // other processes cannot see it
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
	if n.memory { // one for the ranks of a node, made by the first of them
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

// openStore names the directory of the array on this node.
func (n *nodes) openStore(st *Store) error {
	switch {
	case n.memory:
		n.store = &nodeStore{fs: vfs.NewMem(), dir: n.array}
	case st.Dir == "":
		return pkg.Usage("Store.FS without Dir")
	default:
		fsys := st.FS
		if fsys == nil {
			fsys = vfs.OS
		}
		n.store, n.shared = &nodeStore{fs: fsys, dir: filepath.Join(st.Dir, n.array)}, !st.Private
	}
	if st.Copies < 0 || st.Copies > maxCopies {
		return pkg.Usage("Store.Copies %d, want 0 to %d", st.Copies, maxCopies)
	}
	if st.Redundancy == nil {
		return nil
	}
	err := st.Redundancy.Validate()
	if err == nil && (!st.Private || n.memory || st.Copies > 0) {
		err = pkg.Usage("Store.Redundancy without Private and Dir, or with Copies")
	}
	return err
}

// shareStores tells this process of the stores that it can reach. It is collective.
func (n *nodes) shareStores(ctx context.Context) error {
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
	if n.shared {
		for i := range n.stores {
			n.stores[i] = n.store
		}
	}
	far, err := comm.AllreduceOne(ctx, n.c, btoi(slices.Contains(n.stores, nil)), comm.Max)
	n.remote = far != 0
	return err
}

// file is the path of a file of the array in this node's store.
func (n *nodes) file(name string) string { return n.store.path(name) }

// copied says whether other nodes keep copies.
func (n *nodes) copied() bool { return n.copies > 0 && !n.shared && n.count > 1 }

// keepsRecord says whether this rank writes a record.
func (n *nodes) keepsRecord() bool { return n.keeper && (!n.shared || n.c.Rank() == 0) }

// decides says whether this process decides of a file of an older generation: that of the node that has it, or of the nodes in turn.
func (n *nodes) decides(f *fileInfo) bool {
	node := f.Node
	if n.shared && len(f.Segs) > 0 {
		node = f.Segs[0] % n.count
	}
	return n.keeper && node == n.own
}

// makeDir makes the directory of this node.
func (n *nodes) makeDir() error {
	err := durable.MkdirAll(n.store.fs, n.store.dir, n.sync)
	if err == nil && n.sync {
		err = vfs.SyncParent(n.store.fs, n.store.dir) // one that is there may be what a killed process left
	}
	return err
}

// create makes a file of a version that is not committed. One of that name is left from an attempt that failed, and
// could not be removed then; or it is of a version that another program has committed.
func (n *nodes) create(base string) (vfs.File, error) {
	fsys, name := n.store.fs, n.file(base)
	f, err := fsys.Create(name)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	rec, rerr := readRecord(fsys, n.store.dir)
	if rerr == nil && slices.ContainsFunc(rec.Files, func(f fileInfo) bool { return f.Name == base }) {
		return nil, pkg.Errorf("array %s: another program has committed %s: %w", n.array, name, ErrConflict)
	}
	if rerr != nil && !errors.Is(rerr, ErrMissing) && !n.memory {
		return nil, errors.Join(err, rerr)
	}
	if err = fsys.Remove(name); err == nil {
		f, err = fsys.Create(name)
	}
	return f, err
}

// listing is what each rank of c has in its directory: sizes by name. Where several share a directory all of them
// have its files.
func (n *nodes) listing(ctx context.Context, c comm.Comm, sizes bool) ([]map[string]int64, error) {
	var b []byte
	list, err := n.store.fs.ReadDir(n.store.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range list {
		if e.IsDir() || !isData(e.Name()) && !isRedundancy(e.Name()) {
			continue
		}
		size := int64(0)
		if sizes {
			info, ierr := e.Info()
			if ierr != nil {
				continue // it is gone
			}
			size = info.Size()
		}
		b = fmt.Appendf(b, "%d %s\n", size, e.Name())
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	all, err := c.Allgather(ctx, b)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]int64, len(all))
	for r, b := range all {
		out[r] = map[string]int64{}
		for line := range strings.Lines(string(b)) {
			var size int64
			var name string
			if _, err := fmt.Sscanf(line, "%d %s", &size, &name); err == nil {
				out[r][name] = size
			}
		}
	}
	return out, nil
}

// locate notes in the record on which node each file of a private store is now: the nodes may have other numbers than when it was written. It
// is collective.
func (n *nodes) locate(ctx context.Context, rec *record) error {
	if n.shared {
		return nil
	}
	have, err := n.listing(ctx, n.c, false)
	if err != nil {
		return err
	}
	ids, err := n.c.Allgather(ctx, fmt.Append(nil, n.own))
	if err != nil {
		return err
	}
	on := make([]map[string]int64, n.count)
	for r := range have {
		var node int
		if _, err := fmt.Sscan(string(ids[r]), &node); err == nil && node >= 0 && node < len(on) {
			on[node] = have[r]
		}
	}
	for i := range rec.Files {
		f := &rec.Files[i]
		if f.Node < len(on) {
			if _, ok := on[f.Node][f.Name]; ok {
				continue
			}
		}
		if node := slices.IndexFunc(on, func(l map[string]int64) bool { _, ok := l[f.Name]; return ok }); node >= 0 {
			f.Node = node
		}
	}
	return nil
}

// clearDir removes a directory of files.
func clearDir(fsys vfs.FS, dir string) error {
	list, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return fsys.Remove(dir)
}
