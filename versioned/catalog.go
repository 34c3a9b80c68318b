package versioned

import (
	"context"
	"slices"
	"sync"
)

// catalog holds the data about an array that the ranks of one process share: the record, the locations of chunks, and the open
// files. It does not need ranks, so tools also use it to read stores.
type catalog struct {
	sources
	code  *coder
	chunk int64 // size of a chunk in bytes
	size  int64 // size of an element in bytes

	mu    sync.RWMutex
	rec   *record
	files []*fileInfo // by id; nil after removal
	gone  []fileInfo  // files that the newest record has dropped
	ids   map[string]int32
	idx   map[[2]int]*segIndex // indexes by generation and segment, loaded on demand
}

func newCatalog(rec *record, t Type, stores []*nodeStore, copies int, o *Options) (*catalog, error) {
	code, err := newCoder(o, rec.Spec.Chunk)
	if err != nil {
		return nil, err
	}
	c := &catalog{sources: sources{stores: stores, copies: copies, open: newReaders(o.maxOpen)}, code: code, chunk: int64(rec.Spec.Chunk), size: int64(t.Size()),
		ids: map[string]int32{}, idx: map[[2]int]*segIndex{}}
	c.setRecord(rec)
	return c, nil
}

// setRecord installs a new record and returns the files that it drops. The caller holds c.mu or has the only reference to c.
func (c *catalog) setRecord(rec *record) (gone []fileInfo) {
	c.rec = rec
	here := map[string]bool{}
	for i := range rec.Files {
		f := &rec.Files[i]
		here[f.Name] = true
		if _, ok := c.ids[f.Name]; !ok {
			c.ids[f.Name] = int32(len(c.files))
			c.files = append(c.files, f)
			for _, s := range f.Segs { // the indexes of these segments lack the file
				delete(c.idx, [2]int{f.Gen, s})
			}
		}
	}
	for name, id := range c.ids {
		if !here[name] {
			gone = append(gone, *c.files[id])
			c.files[id] = nil
			delete(c.ids, name)
		}
	}
	for k := range c.idx {
		if _, ok := rec.generation(k[0]); !ok {
			delete(c.idx, k)
		}
	}
	return gone
}

// install makes a committed record the record of the process, unless the process already has this record or a newer one. It
// returns the files that the record drops.
func (c *catalog) install(rec *record) []fileInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec.Seq >= rec.Seq {
		return c.gone
	}
	versions := len(c.rec.Versions)
	c.gone = c.setRecord(rec)
	if len(rec.Versions) <= versions {
		c.prune()
	}
	for _, f := range c.gone {
		c.open.forget(f.Name)
	}
	return c.gone
}

// addFile adds a file with known tables to the loaded indexes. The caller holds c.mu.
func (c *catalog) addFile(info *fileInfo, tables [][]entry) {
	id, ok := c.ids[info.Name]
	if !ok {
		id = int32(len(c.files))
		c.files = append(c.files, info)
		c.ids[info.Name] = id
	}
	for i, s := range info.Segs {
		if x := c.idx[[2]int{info.Gen, s}]; x != nil {
			x.add(id, tables[i])
		}
	}
}

// forget reverts addFile.
func (c *catalog) forget(info *fileInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id, ok := c.ids[info.Name]; ok {
		c.files[id] = nil
		delete(c.ids, info.Name)
		for _, s := range info.Segs {
			delete(c.idx, [2]int{info.Gen, s})
		}
	}
}

// prune drops the entries of loaded indexes that no version uses. The caller holds c.mu.
func (c *catalog) prune() {
	numbers := map[int][]int64{}
	for _, v := range c.rec.Versions {
		numbers[v.Generation] = append(numbers[v.Generation], v.Number)
	}
	for k, x := range c.idx {
		x.prune(numbers[k[0]])
	}
}

func (c *catalog) record() *record {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.rec
}

func (c *catalog) close() {
	c.open.close()
	c.code.close()
}

// index returns the index of a segment. If necessary, it loads the tables of the segment's files. If a table is unreadable, the
// index has an error, and the catalog does not keep the index (see segIndex.holds).
func (c *catalog) index(ctx context.Context, g *geometry, seg int) (*segIndex, error) {
	key := [2]int{g.ID, seg}
	c.mu.RLock()
	x := c.idx[key]
	c.mu.RUnlock()
	if x != nil {
		return x, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.idx[key]; x != nil {
		return x, nil
	}
	x = newSegIndex(g.Seg * c.size / c.chunk)
	for id, f := range c.files {
		if f == nil || f.Gen != g.ID || !slices.Contains(f.Segs, seg) {
			continue
		}
		es, err := c.table(ctx, f, seg, int64(len(x.chunks)))
		if err != nil {
			if x.err == nil {
				x.err = err
			}
			x.lost = append(x.lost, lostFile{f.From, f.Born, err})
			if ctx.Err() != nil {
				return nil, err
			}
			continue
		}
		x.add(int32(id), es)
	}
	if x.err == nil {
		c.idx[key] = x
	}
	return x, nil
}

// table reads and verifies the table of a segment in a file.
func (c *catalog) table(ctx context.Context, f *fileInfo, seg int, chunks int64) (es []entry, err error) {
	err = c.withFile(f, func(x *reader) error {
		n, err := x.VarSize(int32(2 * seg)) // not more than the size of the file, but a chunk may have many versions
		if err != nil {
			return err
		}
		data, err := x.VarSize(int32(2*seg + 1))
		if err != nil {
			return err
		}
		b := make([]byte, n)
		if err := x.ReadVar(ctx, int32(2*seg), b); err != nil {
			return err
		}
		es, err = decodeTable(b, f.Name, seg, chunks, data, f.Born)
		return err
	})
	return es, err
}

// file returns the file with an id, or nil if it was removed. The files that existing versions use are not removed.
func (c *catalog) file(id int32) *fileInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.files[id]
}
