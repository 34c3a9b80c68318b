package read

import (
	"context"
	"fmt"
	"io"
	"slices"
	"weak"

	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/cdf5/virtual"
)

// CanonicalOptions is blob.CanonicalOptions.
type CanonicalOptions struct {
	Version cdf5.Version // CDF5 (default), CDF2 or CDF1
	Vars    []string     // variables in the order of the source; nil: all
	Records *Range       // nil: all
	Subset  Subset       // selected indices along dimensions; nil: all

	ZeroFill bool  // elements that no blob covers read as zeros instead of fill values
	Memory   int64 // limit in bytes for cached blocks and read-ahead, at least 1 MiB; default 64 MiB

	Pool *CanonicalPool // cache shared with other files; its limit replaces Memory, which then limits one read. nil: the file has its own cache
}

// Validate checks the options.
func (o *CanonicalOptions) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Version != 0 && !o.Version.Valid():
		return fault.Usage("CanonicalOptions.Version %d, want 1, 2 or 5", o.Version)
	case o.Memory != 0 && o.Memory < 1<<20:
		return fault.Usage("CanonicalOptions.Memory %d, want at least 1 MiB", o.Memory)
	case o.Records != nil && (o.Records.First < 0 || o.Records.End < o.Records.First):
		return fault.Usage("CanonicalOptions.Records %d to %d is not a valid range", o.Records.First, o.Records.End)
	}
	return nil
}

const defaultCanonicalMemory = 64 << 20

// CanonicalFile is blob.CanonicalFile.
type CanonicalFile struct {
	Selection
	O      CanonicalOptions
	hdr    *cdf5.Header
	At     *cdf5.Places
	lies   *virtual.Map
	Head   []byte          // the header as bytes
	Length int64           // length of the file
	fixed  []dataset.VarID // by offset
	recs   []dataset.VarID // record variables, by offset in a record
	begin  int64           // offset of the first record; -1 if there are no record variables
	period int64           // distance between records in bytes
	Cache  *blockCache
}

// Canonical is blob.Reader.Canonical.
func (r *Reader) Canonical(o *CanonicalOptions) (*CanonicalFile, error) {
	r = r.Now()
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
	sel, err := r.Choose("canonical file of "+r.Files.Base, opt.Vars, opt.Records)
	if err == nil {
		err = sel.Restrict("canonical file of "+r.Files.Base, opt.Subset)
	}
	if err != nil {
		return nil, err
	}
	f, err := sel.Canonical(opt)
	if err != nil {
		return nil, fmt.Errorf("canonical file of %s: %w", r.Files.Base, err)
	}
	f.Cache = NewBlockCache(f, opt.Memory, opt.Pool)
	if opt.Pool != nil {
		l := r.Life
		l.mu.Lock()
		l.Caches = append(slices.DeleteFunc(l.Caches, func(k weak.Pointer[blockCache]) bool { return k.Value() == nil }), weak.Make(f.Cache))
		l.mu.Unlock()
	}
	return f, nil
}

// Canonical makes the canonical file of the selection.
func (sel Selection) Canonical(opt CanonicalOptions) (*CanonicalFile, error) {
	if opt.Version == 0 {
		opt.Version = cdf5.CDF5
	}
	c := &CanonicalFile{Selection: sel, O: opt, hdr: sel.Schema.CanonicalHeader(opt.Version)}
	c.hdr.NumRecs = c.Records
	err := c.hdr.Layout(&cdf5.LayoutOptions{OddNames: true})
	if err == nil {
		c.Head, err = c.hdr.AppendTo(nil, dataset.OrderOf(true), false)
	}
	if err != nil {
		return nil, err
	}
	c.lies = virtual.NewMap(c.hdr, int64(len(c.Head)))
	c.At, c.Length = c.hdr.Places(), c.lies.Size()
	for v := range c.hdr.Vars { // in the order of the file
		if c.hdr.IsRecord(v) {
			c.recs = append(c.recs, dataset.VarID(v))
		} else {
			c.fixed = append(c.fixed, dataset.VarID(v))
		}
	}
	c.begin, c.period = c.hdr.FirstRecord(), c.At.RecSize()
	return c, nil
}

// Size returns the length of the file in bytes.
func (c *CanonicalFile) Size() int64 { return c.Length }

// Header returns the header of the file, with the offset of each variable. The caller must not change it.
func (c *CanonicalFile) Header() *cdf5.Header { return c.hdr }

// stretch is a contiguous part of the file: the header, padding (v is -1), or a part of a variable's record.
type stretch struct {
	v    dataset.VarID
	rec  int64
	off  int64 // offset in the file
	n    int64
	head bool
}

// stretch returns the stretch that contains byte off of the file.
func (c *CanonicalFile) stretch(off int64) stretch {
	s := c.lies.At(off)
	return stretch{v: dataset.VarID(s.Var), rec: s.Record, off: s.Off, n: s.N, head: s.Head}
}

// ReadAt implements io.ReaderAt.
func (c *CanonicalFile) ReadAt(p []byte, off int64) (int, error) {
	return c.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is blob.CanonicalFile.ReadAtContext.
func (c *CanonicalFile) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fault.Usage("canonical file of %s: read at offset %d, want >= 0", c.R.Files.Base, off)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= c.Length {
		return 0, io.EOF
	}
	b := p[:min(int64(len(p)), c.Length-off)]
	for n < len(b) && err == nil {
		var k int
		k, err = c.some(ctx, b[n:], off+int64(n), off < int64(len(c.Head)))
		n += k
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Borrow is blob.CanonicalFile.Borrow.
func (c *CanonicalFile) Borrow(ctx context.Context, off int64, n int) (p []byte, back func()) {
	if n <= 0 || off < int64(len(c.Head)) || off > c.Length-int64(n) {
		return nil, nil
	}
	from, to := c.Cache.Blocks.At(off)
	if off+int64(n) > to {
		return nil, nil
	}
	b, err := c.Cache.hold(ctx, from, to, false)
	if b == nil || err != nil {
		return nil, nil
	}
	c.Cache.took(b, n)
	return b.data[off-from:][:n:n], func() { c.Cache.release(b) }
}

// Prove is blob.CanonicalFile.Prove.
func (c *CanonicalFile) Prove(ctx context.Context, off, end int64) (n int64, err error) {
	var b []byte
	for at := off; at < min(end, c.Length); at = off + n {
		from, to := c.Cache.Blocks.At(at)
		if !c.Cache.isBad(from) {
			if err := c.Cache.prove(ctx, from, to); err == nil {
				n = to - off
				continue
			} else if ctx.Err() != nil {
				return n, err
			}
		}
		if b == nil {
			b = make([]byte, exactStep)
		}
		k, err := c.Exact(ctx, b[:min(exactStep, to-at, end-at)], at)
		c.Cache.around(from, to, int64(k))
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, nil
}

// some reads the first bytes of p, at least one, in the cheapest way. byHeader means that the read began in the header. A kernel
// or a library may then have read ahead into data that the user does not want. For such reads some prefers looking up elements to
// decoding a block, unless the block was read before.
func (c *CanonicalFile) some(ctx context.Context, p []byte, off int64, byHeader bool) (int, error) {
	if off < int64(len(c.Head)) {
		return copy(p, c.Head[off:]), nil
	}
	from, to := c.Cache.Blocks.At(off)
	whole := int64(0) // bytes of blocks that p covers completely and that are not in the cache
	for a, b := from, to; a == off+whole && b <= off+int64(len(p)) && !c.Cache.has(a) && !c.Cache.isBad(a); {
		if whole += b - a; b == c.Length {
			break
		}
		a, b = c.Cache.Blocks.At(b)
	}
	if whole > 0 {
		if err := c.Decode(ctx, c.form, Piece{p[:whole], off}); err == nil {
			return int(whole), nil
		} else if ctx.Err() != nil {
			return 0, err
		}
		p = p[:to-off]
	} else if p = p[:min(int64(len(p)), to-off)]; !c.Cache.isBad(from) {
		cost, all := c.cost(off, off+int64(len(p))), c.blockCost(from, to)
		much := (to - from) / 16
		if byHeader {
			cost, much = min(cost, all), (to-from)/4
		}
		if int64(len(p)) >= much || c.Cache.wanted(from, cost, all) {
			n, err := c.Cache.copy(ctx, p, off, from, to)
			if err == nil || ctx.Err() != nil {
				return n, err
			}
		} else if err := c.direct(ctx, p, off, c.form(0, 0, false)); err == nil {
			return len(p), nil
		} else if ctx.Err() != nil {
			return 0, err
		}
	}
	n, err := c.Exact(ctx, p, off)
	c.Cache.around(from, to, int64(n))
	return n, err
}

// Exact reads p alone after a read with surrounding bytes has failed. It compares all of p with its checksums, so the error names
// exactly the damaged place. It returns the number of correct bytes before the damage.
func (c *CanonicalFile) Exact(ctx context.Context, p []byte, off int64) (n int, err error) {
	fm := c.R.Prover.exact(c.form(0, 0, false))
	for n < len(p) {
		b := p[n:min(n+exactStep, len(p))]
		if err := c.direct(ctx, b, off+int64(n), fm); err != nil {
			return n, err
		}
		n += len(b)
	}
	return n, nil
}

// direct reads p without the cache, by looking up its elements.
func (c *CanonicalFile) direct(ctx context.Context, p []byte, off int64, fm Form) error {
	return c.walk(p, off, func(s stretch, w Want, skip int64, b []byte) error {
		err := c.R.Elems.RawRuns(ctx, w.V, w.Rec, w.All(), w.Dst, fm)
		copy(b, w.Dst[skip:])
		return err
	})
}

// form returns the form for reading a part of a variable's record.
func (c *CanonicalFile) form(dataset.VarID, int64, bool) Form {
	return Form{Big: true, Zero: c.O.ZeroFill}
}

// MaxWants limits how many parts of variables are read at once, because a record may have only a few bytes.
const MaxWants = 1 << 12

// Piece is a part of the file. B holds its bytes, and Off is the file offset of the first byte.
type Piece struct {
	B   []byte
	Off int64
}

// Decode computes pieces of the file, which must lie inside it. how returns the form for reading a record; whole is false if only
// some elements of the record are read.
func (c *CanonicalFile) Decode(ctx context.Context, how func(v dataset.VarID, rec int64, whole bool) Form, pieces ...Piece) error {
	var wants []Want
	var edges []edge
	flush := func() error {
		if err := c.R.Elems.ReadAll(ctx, wants); err != nil {
			return err
		}
		for _, e := range edges {
			copy(e.to, e.from)
		}
		wants, edges = wants[:0], edges[:0]
		return nil
	}
	for _, x := range pieces {
		if err := c.walk(x.B, x.Off, func(s stretch, w Want, skip int64, p []byte) error {
			w.Fm = how(s.v, s.rec, int64(len(p)) == s.n)
			if &w.Dst[0] != &p[0] {
				edges = append(edges, edge{p, w.Dst[skip:]})
			}
			if wants = append(wants, w); len(wants) == MaxWants {
				return flush()
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return flush()
}

// walk fills b with the bytes of the file from off on, which must lie inside it. Header and padding are filled directly. For each
// part of a variable's record, walk calls read with the want w of whole elements. If w.Dst is not p, read must copy the bytes
// after the first skip bytes of w.Dst to p.
func (c *CanonicalFile) walk(b []byte, off int64, read func(s stretch, w Want, skip int64, p []byte) error) error {
	for len(b) > 0 {
		s := c.stretch(off)
		p := b[:min(int64(len(b)), s.off+s.n-off)]
		switch {
		case s.head:
			copy(p, c.Head[off:])
		case s.v < 0:
			clear(p)
		default:
			size := int64(c.Schema.Vars[s.v].Type.Size())
			from := off - s.off
			lo, hi := from/size, (from+int64(len(p))+size-1)/size
			skip, dst := from-lo*size, p
			if skip > 0 || (hi-lo)*size != int64(len(p)) { // the part begins or ends inside an element
				dst = make([]byte, (hi-lo)*size)
			}
			w := c.Want(s.v, s.rec, lo, hi, dst, Form{})
			if err := read(s, w, skip, p); err != nil {
				return err
			}
		}
		b, off = b[len(p):], off+int64(len(p))
	}
	return nil
}

// edge is a buffer for whole elements, and the wanted part of the buffer.
type edge struct{ to, from []byte }
