package versioned

import (
	"context"
	"slices"
	"sync"

	"blobio/internal/elem"
)

// catalog is what the ranks of one process share of an array: the record, where chunks are, open files. It needs
// no ranks: tools read stores through it.
type catalog struct {
	stores []*nodeStore // by node; nil: out of reach
	copies int
	code   *coder
	chunk  int64 // bytes
	size   int64 // bytes of an element

	readers *readers

	mu      sync.RWMutex
	rec     *record
	files   []*fileInfo  // by id; nil after removal
	wmu     sync.RWMutex // of windows: index reads files while it holds mu
	windows []*exposure
	gone    []fileInfo // by the newest record
	ids     map[string]int32
	idx     map[[2]int]*segIndex // by generation and segment, as far as needed
}

func newCatalog(rec *record, t Type, stores []*nodeStore, copies int, o *Options) (*catalog, error) {
	code, err := newCoder(o, rec.Spec.Chunk)
	if err != nil {
		return nil, err
	}
	c := &catalog{stores: stores, copies: copies, code: code, chunk: int64(rec.Spec.Chunk), size: int64(t.Size()), readers: newReaders(o.MaxOpen),
		ids: map[string]int32{}, idx: map[[2]int]*segIndex{}}
	c.setRecord(rec)
	return c, nil
}

// setRecord takes a new record over: c.mu is held, or nobody else has c yet. It returns the files that are gone.
func (c *catalog) setRecord(rec *record) (gone []fileInfo) {
	c.rec = rec
	here := map[string]bool{}
	for i := range rec.Files {
		f := &rec.Files[i]
		here[f.Name] = true
		if _, ok := c.ids[f.Name]; !ok {
			c.ids[f.Name] = int32(len(c.files))
			c.files = append(c.files, f)
			for _, s := range f.Segs { // what is known of them is no longer all
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

// install makes a record that is committed the one of the process, if no other rank of it has done that yet, and returns the files that are gone by it.
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
		c.readers.forget(f.Name)
	}
	return c.gone
}

// forget takes note back.
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

// prune forgets entries of loaded indexes that no version sees. c.mu is held.
func (c *catalog) prune() {
	numbers := map[int][]int64{}
	for _, v := range c.rec.Versions {
		numbers[v.Gen] = append(numbers[v.Gen], v.Number)
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
	c.readers.close()
	c.code.close()
}

// index returns that of a segment, loading the tables of its files if need be. If some of them cannot be read it
// is the error of the index, which is then not kept: see segIndex.holds.
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
		es, err := c.table(ctx, f, seg, int64(len(x.at)))
		if err != nil {
			if x.err == nil {
				x.err = err
			}
			x.lost = append(x.lost, lost{f.From, f.Born, err})
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

// table reads the table of a segment in a file, verified.
func (c *catalog) table(ctx context.Context, f *fileInfo, seg int, chunks int64) (es []entry, err error) {
	if f.block != nil {
		return f.block.table, nil
	}
	err = c.withFile(f, func(x *reader) error {
		n, err := x.VarSize(int32(2 * seg)) // not more than the file has; a chunk may be there for many versions
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

// read fills dst with n elements from off on of a version, in the byte order of the host. verify reads whole chunks and
// compares them with their digests; without it that is done only for chunks that are wanted whole,
// and for those that are compressed or encrypted.
func (c *catalog) read(ctx context.Context, rec *record, v *verInfo, off, n int64, dst []byte, verify bool) error {
	g, _ := rec.generation(v.Gen)
	err := g.pieces(off, n, func(seg int, at, k, pos int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, err := c.index(ctx, g, seg)
		if err == nil {
			err = x.holds(v.Number, at*c.size/c.chunk, ((at+k)*c.size-1)/c.chunk)
		}
		if err != nil {
			return err
		}
		return c.readSeg(x, v.Number, seg, at*c.size, dst[pos*c.size:(pos+k)*c.size], verify)
	})
	if err == nil && rec.order(g) != hostOrder() {
		elem.Swap(dst, dst, int(c.size))
	}
	return err
}

// span is a run of chunks, or parts of the first and last one, that lie one after the other in a file.
type span struct {
	file  int32
	off   int64 // in the variable of stored chunks
	dst   []byte
	whole []digest // of whole chunks, from skip on
	skip  int64    // bytes of dst before the first whole chunk
}

// readSeg reads bytes [at, at+len(dst)) of a segment.
func (c *catalog) readSeg(x *segIndex, version int64, seg int, at int64, dst []byte, verify bool) error {
	var run span
	flush := func() error {
		if len(run.dst) == 0 {
			return nil
		}
		err := c.readSpan(seg, &run)
		run = span{}
		return err
	}
	var tmp []byte
	for len(dst) > 0 {
		k, in := at/c.chunk, at%c.chunk
		n := min(c.chunk-in, int64(len(dst)))
		part := dst[:n]
		c.mu.RLock()
		p, ok := x.find(k, version)
		c.mu.RUnlock()
		switch {
		case !ok:
			if err := flush(); err != nil {
				return err
			}
			clear(part)
		case c.code.seal == nil && p.stored == c.chunk && (n == c.chunk || !verify):
			if len(run.dst) > 0 && (run.file != p.file || run.off+int64(len(run.dst)) != p.off+in) {
				if err := flush(); err != nil {
					return err
				}
			}
			if len(run.dst) == 0 {
				run = span{file: p.file, off: p.off + in, dst: dst[:0]}
			}
			if n == c.chunk {
				if len(run.whole) == 0 {
					run.skip = int64(len(run.dst))
				}
				run.whole = append(run.whole, p.sum)
			}
			run.dst = run.dst[:int64(len(run.dst))+n]
		default:
			if err := flush(); err != nil {
				return err
			}
			if tmp == nil {
				tmp = make([]byte, c.chunk)
			}
			if err := c.readChunk(seg, p, tmp); err != nil {
				return err
			}
			copy(part, tmp[in:])
		}
		dst, at = dst[n:], at+n
	}
	return flush()
}

// readSpan reads a span and verifies its whole chunks.
func (c *catalog) readSpan(seg int, s *span) error {
	info := c.file(s.file)
	return c.withFile(info, func(x *reader) error { // info is not nil in it
		if _, err := x.ReadAt(int32(2*seg+1), s.dst, s.off); err != nil {
			return err
		}
		for i, sum := range s.whole {
			lo := s.skip + int64(i)*c.chunk
			if hashChunk(s.dst[lo:lo+c.chunk]) != sum {
				return formatErr(info.Name, -1, "chunk", ErrChecksum, "segment %d, stored byte %d", seg, s.off+lo)
			}
		}
		return nil
	})
}

// readChunk reads one chunk into dst and verifies it.
func (c *catalog) readChunk(seg int, p place, dst []byte) error {
	info := c.file(p.file)
	return c.withFile(info, func(x *reader) error {
		b := make([]byte, p.stored) // bounded by the file, see decodeTable
		if _, err := x.ReadAt(int32(2*seg+1), b, p.off); err != nil {
			return err
		}
		if err := c.code.decode(dst, b, info.Name); err != nil {
			return err
		}
		if hashChunk(dst) != p.sum {
			return formatErr(info.Name, -1, "chunk", ErrChecksum, "segment %d, chunk %d", seg, p.chunk)
		}
		return nil
	})
}

// file is never nil for an entry that a version sees, as long as there is that version.
func (c *catalog) file(id int32) *fileInfo {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.files[id]
}
