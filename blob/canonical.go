package blob

import (
	"context"
	"fmt"
	"io"
	"slices"
	"weak"

	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/virtual"
)

// CanonicalOptions of Reader.Canonical. The zero value, or nil, is a CDF-5 file of everything.
type CanonicalOptions struct {
	Version cdf5.Version // CDF5 (default), CDF2 or CDF1
	Vars    []string     // variables, in the order of the source; nil: all
	Records *Range       // nil: all
	Subset  Subset       // along dimensions; nil: everything

	ZeroFill bool  // elements that no blob covers are zeros instead of fill values
	Memory   int64 // cap of what is kept and read ahead, in bytes, at least 1 MiB; default 64 MiB

	Pool *CanonicalPool // shared with other files, whose cap holds then instead; Memory bounds what is read at once. nil: none
}

// Validate says what is wrong with the options.
func (o *CanonicalOptions) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Version != 0 && !o.Version.Valid():
		return fault.Usage("CanonicalOptions.Version %d, want 1, 2 or 5", o.Version)
	case o.Memory != 0 && o.Memory < 1<<20:
		return fault.Usage("CanonicalOptions.Memory %d, want at least 1 MiB", o.Memory)
	case o.Records != nil && (o.Records.First < 0 || o.Records.End < o.Records.First):
		return fault.Usage("CanonicalOptions.Records %d to %d", o.Records.First, o.Records.End)
	}
	return nil
}

const defaultCanonicalMemory = 64 << 20

// CanonicalFile is the ordinary netCDF file of a dataset, or of a part of it: the bytes that Convert would write, computed on demand.
// It is an io.ReaderAt, safe for concurrent use while its Reader is open.
type CanonicalFile struct {
	selection
	o      CanonicalOptions
	hdr    *cdf5.Header
	at     *cdf5.Places
	lies   *virtual.Map
	head   []byte  // of the file
	size   int64   // of the file
	fixed  []VarID // by place
	recs   []VarID // by place within a record
	begin  int64   // of the first record; -1: no record variables
	period int64   // bytes from record to record
	cache  *blockCache
}

// Canonical returns the ordinary netCDF file that Convert would write with the same options. It makes the header only; data are computed
// when they are read.
func (r *Reader) Canonical(o *CanonicalOptions) (*CanonicalFile, error) {
	r = r.now()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var opt CanonicalOptions
	if o != nil {
		opt = *o
	}
	if opt.Memory == 0 {
		opt.Memory = defaultCanonicalMemory
	}
	sel, err := r.choose("canonical file of "+r.base, opt.Vars, opt.Records)
	if err == nil {
		err = sel.restrict("canonical file of "+r.base, opt.Subset)
	}
	if err != nil {
		return nil, err
	}
	f, err := sel.canonical(opt)
	if err != nil {
		return nil, fmt.Errorf("canonical file of %s: %w", r.base, err)
	}
	f.cache = newBlockCache(f, opt.Memory, opt.Pool)
	if opt.Pool != nil {
		top := r.opened()
		top.mu.Lock()
		top.caches = append(slices.DeleteFunc(top.caches, func(k weak.Pointer[blockCache]) bool { return k.Value() == nil }), weak.Make(f.cache))
		top.mu.Unlock()
	}
	return f, nil
}

// canonical is Canonical of what was chosen.
func (sel selection) canonical(opt CanonicalOptions) (*CanonicalFile, error) {
	if opt.Version == 0 {
		opt.Version = cdf5.CDF5
	}
	c := &CanonicalFile{selection: sel, o: opt, hdr: sel.schema.canonicalHeader(opt.Version)}
	c.hdr.NumRecs = c.records
	err := c.hdr.Layout(&cdf5.LayoutOptions{OddNames: true})
	if err == nil {
		c.head, err = c.hdr.AppendTo(nil, orderOf(true), false)
	}
	if err != nil {
		return nil, err
	}
	c.lies = virtual.NewMap(c.hdr, int64(len(c.head)))
	c.at, c.size = c.hdr.Places(), c.lies.Size()
	for v := range c.hdr.Vars { // in the order of the file
		if c.hdr.IsRecord(v) {
			c.recs = append(c.recs, VarID(v))
		} else {
			c.fixed = append(c.fixed, VarID(v))
		}
	}
	c.begin, c.period = c.hdr.FirstRecord(), c.at.RecSize()
	return c, nil
}

// Size returns the length of the file in bytes.
func (c *CanonicalFile) Size() int64 { return c.size }

// Header returns the header of the file, with the place of each variable. It must not be changed.
func (c *CanonicalFile) Header() *cdf5.Header { return c.hdr }

// stretch is a run of bytes of the file: of the header or of padding (v is -1), or of a variable's record, from byte from of it on.
type stretch struct {
	v    VarID
	rec  int64
	off  int64 // in the file
	n    int64
	head bool
}

// stretch returns what holds byte off, which is within the file.
func (c *CanonicalFile) stretch(off int64) stretch {
	s := c.lies.At(off)
	return stretch{v: VarID(s.Var), rec: s.Record, off: s.Off, n: s.N, head: s.Head}
}

// ReadAt is that of io.ReaderAt.
func (c *CanonicalFile) ReadAt(p []byte, off int64) (int, error) {
	return c.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt until ctx ends. If data are damaged, missing or replaced by another dataset, exactly the reads that touch them
// fail; n is then the number of correct bytes before them.
func (c *CanonicalFile) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fault.Usage("canonical file of %s: read at %d", c.r.base, off)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= c.size {
		return 0, io.EOF
	}
	b := p[:min(int64(len(p)), c.size-off)]
	for n < len(b) && err == nil {
		var k int
		k, err = c.some(ctx, b[n:], off+int64(n), off < int64(len(c.head)))
		n += k
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Borrow returns the n bytes from off on without a copy, if they are in one block that is decoded, or being decoded, as with reads in sequence;
// they must not be changed, and back must be called when they are no longer used. Otherwise both are nil: ReadAtContext reads them.
func (c *CanonicalFile) Borrow(ctx context.Context, off int64, n int) (p []byte, back func()) {
	if n <= 0 || off < int64(len(c.head)) || off > c.size-int64(n) {
		return nil, nil
	}
	from, to := c.cache.blocks.at(off)
	if off+int64(n) > to {
		return nil, nil
	}
	b, err := c.cache.hold(ctx, from, to, false)
	if b == nil || err != nil {
		return nil, nil
	}
	c.cache.took(b, n)
	return b.data[off-from:][:n:n], func() { c.cache.release(b) }
}

// Prove finds out whether bytes [off, end) can be read, for who cannot go back when a later one cannot. It returns how many from off on can, which may be more.
// They are decoded for that, and kept for reads that follow, as long as there is room.
func (c *CanonicalFile) Prove(ctx context.Context, off, end int64) (n int64, err error) {
	var b []byte
	for at := off; at < min(end, c.size); at = off + n {
		from, to := c.cache.blocks.at(at)
		if !c.cache.isBad(from) {
			if err := c.cache.prove(ctx, from, to); err == nil {
				n = to - off
				continue
			} else if ctx.Err() != nil {
				return n, err
			}
		}
		if b == nil {
			b = make([]byte, exactStep)
		}
		k, err := c.exact(ctx, b[:min(exactStep, to-at, end-at)], at)
		c.cache.around(from, to, int64(k))
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, nil
}

// some reads the first bytes of p, at least one, in the way that costs least. byHeader: who reads began in the header, so a kernel or a library
// may have read on into data that nobody wants. Those are looked up, whatever that costs, unless it is not the first read of their block.
func (c *CanonicalFile) some(ctx context.Context, p []byte, off int64, byHeader bool) (int, error) {
	if off < int64(len(c.head)) {
		return copy(p, c.head[off:]), nil
	}
	from, to := c.cache.blocks.at(off)
	whole := int64(0) // bytes of blocks that are wanted as a whole, and not held
	for a, b := from, to; a == off+whole && b <= off+int64(len(p)) && !c.cache.has(a) && !c.cache.isBad(a); {
		if whole += b - a; b == c.size {
			break
		}
		a, b = c.cache.blocks.at(b)
	}
	if whole > 0 {
		if err := c.decode(ctx, c.form, piece{p[:whole], off}); err == nil {
			return int(whole), nil
		} else if ctx.Err() != nil {
			return 0, err
		}
		p = p[:to-off]
	} else if p = p[:min(int64(len(p)), to-off)]; !c.cache.isBad(from) {
		cost, all := c.cost(off, off+int64(len(p))), c.blockCost(from, to)
		much := (to - from) / 16
		if byHeader {
			cost, much = min(cost, all), (to-from)/4
		}
		if int64(len(p)) >= much || c.cache.wanted(from, cost, all) {
			n, err := c.cache.copy(ctx, p, off, from, to)
			if err == nil || ctx.Err() != nil {
				return n, err
			}
		} else if err := c.direct(ctx, p, off, c.form(0, 0, false)); err == nil {
			return len(p), nil
		} else if ctx.Err() != nil {
			return 0, err
		}
	}
	n, err := c.exact(ctx, p, off)
	c.cache.around(from, to, int64(n))
	return n, err
}

// exact reads what could not be read together with what is around it: nothing but p, all of which is compared with its checksums, so that
// damage shows where it is and nowhere else. It returns how many bytes are right.
func (c *CanonicalFile) exact(ctx context.Context, p []byte, off int64) (n int, err error) {
	fm := c.r.exact(c.form(0, 0, false))
	for n < len(p) {
		b := p[n:min(n+exactStep, len(p))]
		if err := c.direct(ctx, b, off+int64(n), fm); err != nil {
			return n, err
		}
		n += len(b)
	}
	return n, nil
}

// direct reads p around the cache, by looking up its elements.
func (c *CanonicalFile) direct(ctx context.Context, p []byte, off int64, fm form) error {
	return c.walk(p, off, func(s stretch, w want, skip int64, b []byte) error {
		err := c.r.rawRuns(ctx, w.v, w.rec, w.all(), w.dst, fm)
		copy(b, w.dst[skip:])
		return err
	})
}

// form is how a part of a variable's record is read, which is not all of it.
func (c *CanonicalFile) form(VarID, int64, bool) form { return form{big: true, zero: c.o.ZeroFill} }

// maxWants is how many parts of variables are read at once: a record may be a few bytes, and there may be many.
const maxWants = 1 << 12

// piece is what is made of the file: the bytes from off on.
type piece struct {
	b   []byte
	off int64
}

// decode makes pieces of the file, which must be within it. how says how elements of a record are read, all of them or some.
func (c *CanonicalFile) decode(ctx context.Context, how func(v VarID, rec int64, whole bool) form, pieces ...piece) error {
	var wants []want
	var edges []edge
	flush := func() error {
		if err := c.r.readAll(ctx, wants); err != nil {
			return err
		}
		for _, e := range edges {
			copy(e.to, e.from)
		}
		wants, edges = wants[:0], edges[:0]
		return nil
	}
	for _, x := range pieces {
		if err := c.walk(x.b, x.off, func(s stretch, w want, skip int64, p []byte) error {
			w.fm = how(s.v, s.rec, int64(len(p)) == s.n)
			if &w.dst[0] != &p[0] {
				edges = append(edges, edge{p, w.dst[skip:]})
			}
			if wants = append(wants, w); len(wants) == maxWants {
				return flush()
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return flush()
}

// walk fills b with what the file has from off on, which must be within it: header and padding; each part of a variable's record by calling
// read, which reads the want w of whole elements, and copies it behind skip bytes to p if w.dst is not p.
func (c *CanonicalFile) walk(b []byte, off int64, read func(s stretch, w want, skip int64, p []byte) error) error {
	for len(b) > 0 {
		s := c.stretch(off)
		p := b[:min(int64(len(b)), s.off+s.n-off)]
		switch {
		case s.head:
			copy(p, c.head[off:])
		case s.v < 0:
			clear(p)
		default:
			size := int64(c.schema.vars[s.v].Type.Size())
			from := off - s.off
			lo, hi := from/size, (from+int64(len(p))+size-1)/size
			skip, dst := from-lo*size, p
			if skip > 0 || (hi-lo)*size != int64(len(p)) { // elements that are cut
				dst = make([]byte, (hi-lo)*size)
			}
			w := c.want(s.v, s.rec, lo, hi, dst, form{})
			if err := read(s, w, skip, p); err != nil {
				return err
			}
		}
		b, off = b[len(p):], off+int64(len(p))
	}
	return nil
}

// edge is where elements go that are read whole and wanted in part.
type edge struct{ to, from []byte }
