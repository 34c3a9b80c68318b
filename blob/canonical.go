package blob

import (
	"context"
	"io"
	"slices"
	"sort"

	"blobio/cdf5"
)

// CanonicalOptions of Reader.Canonical. The zero value, or nil, is a CDF-5 file of everything.
type CanonicalOptions struct {
	Version cdf5.Version // CDF5 (default), CDF2 or CDF1
	Vars    []string     // variables, in the order of the source; nil: all
	Records *Range       // nil: all

	ZeroFill bool  // elements that no blob covers are zeros instead of fill values
	Memory   int64 // cap of what is kept and read ahead, in bytes, at least 1 MiB; default 64 MiB
}

// Validate says what is wrong with the options.
func (o *CanonicalOptions) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Version != 0 && !o.Version.Valid():
		return pkg.Usage("CanonicalOptions.Version %d, want 1, 2 or 5", o.Version)
	case o.Memory != 0 && o.Memory < 1<<20:
		return pkg.Usage("CanonicalOptions.Memory %d, want at least 1 MiB", o.Memory)
	case o.Records != nil && (o.Records.First < 0 || o.Records.End < o.Records.First):
		return pkg.Usage("CanonicalOptions.Records %d to %d", o.Records.First, o.Records.End)
	}
	return nil
}

const defaultCanonicalMemory = 64 << 20

// CanonicalFile is the ordinary netCDF file of a dataset, or of a part of it: the bytes that Convert would write, computed when they are
// read. It is an io.ReaderAt, safe for concurrent use, as long as its Reader is open.
type CanonicalFile struct {
	selection
	o      CanonicalOptions
	hdr    *cdf5.Header
	at     *cdf5.Places
	head   []byte  // of the file
	size   int64   // of the file
	fixed  []VarID // by place
	recs   []VarID // by place within a record
	begin  int64   // of the first record; -1: no record variables
	period int64   // bytes from record to record
}

// Canonical returns the bytes of the ordinary netCDF file that Convert would write with the same options. Nothing but the header is
// made before it is read.
func (r *Reader) Canonical(o *CanonicalOptions) (*CanonicalFile, error) {
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
	if err != nil {
		return nil, err
	}
	return sel.canonical(opt)
}

func (sel selection) canonical(opt CanonicalOptions) (*CanonicalFile, error) {
	if opt.Version == 0 {
		opt.Version = cdf5.CDF5
	}
	c := &CanonicalFile{selection: sel, o: opt, hdr: sel.schema.canonicalHeader(opt.Version)}
	c.hdr.NumRecs = c.records
	err := c.hdr.Layout(nil)
	if err == nil {
		c.head, err = c.hdr.AppendTo(nil, orderOf(true), false)
	}
	if err != nil {
		return nil, pkg.Errorf("canonical file of %s: %w", c.r.base, err)
	}
	c.at, c.size = c.hdr.Places(), c.hdr.FileSize(c.records)
	for v := range c.hdr.Vars {
		if c.hdr.IsRecord(v) {
			c.recs = append(c.recs, VarID(v))
		} else {
			c.fixed = append(c.fixed, VarID(v))
		}
	}
	byPlace := func(a, b VarID) int { return int(min(1, max(-1, c.hdr.Vars[a].Begin-c.hdr.Vars[b].Begin))) }
	slices.SortFunc(c.fixed, byPlace)
	slices.SortFunc(c.recs, byPlace)
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
	if off < int64(len(c.head)) {
		return stretch{v: -1, n: int64(len(c.head)), head: true}
	}
	list, rec, base, next := c.fixed, int64(0), int64(0), c.size // base and next: of this record and of what follows on it
	switch {
	case c.begin >= 0 && c.records > 0 && off >= c.begin:
		list, rec = c.recs, min((off-c.begin)/c.period, c.records-1)
		if base = rec * c.period; rec+1 < c.records {
			next = c.begin + base + c.period
		}
	case c.begin >= 0 && c.records > 0:
		next = c.begin
	}
	i := sort.Search(len(list), func(i int) bool { return c.hdr.Vars[list[i]].Begin+base > off })
	if i < len(list) {
		next = c.hdr.Vars[list[i]].Begin + base
	}
	if i > 0 {
		if begin, n := c.at.Extent(int(list[i-1]), rec); off < begin+n {
			return stretch{v: list[i-1], rec: rec, off: begin, n: n}
		}
	}
	return stretch{v: -1, off: off, n: next - off}
}

// ReadAt is that of io.ReaderAt.
func (c *CanonicalFile) ReadAt(p []byte, off int64) (int, error) {
	return c.ReadAtContext(context.Background(), p, off)
}

// ReadAtContext is ReadAt until ctx ends. Of what is damaged, missing or of another dataset by now, exactly the ranges that it touches
// are an error; n is then how many bytes before them are right.
func (c *CanonicalFile) ReadAtContext(ctx context.Context, p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, pkg.Usage("canonical file of %s: read at %d", c.r.base, off)
	}
	for n < len(p) {
		if off >= c.size {
			return n, io.EOF
		}
		s := c.stretch(off)
		b := p[n:min(int64(len(p)), int64(n)+s.off+s.n-off)]
		switch {
		case s.head:
			copy(b, c.head[off:])
		case s.v < 0:
			clear(b)
		default:
			if err := c.data(ctx, s, off-s.off, b); err != nil {
				return n, err
			}
		}
		n += len(b)
		off += int64(len(b))
	}
	return n, nil
}

// data reads bytes of a variable's record, from byte from on.
func (c *CanonicalFile) data(ctx context.Context, s stretch, from int64, b []byte) error {
	size := int64(c.schema.vars[s.v].Type.Size())
	lo, hi := from/size, (from+int64(len(b))+size-1)/size
	src, rec := c.source(s.v, s.rec)
	fm := form{big: true, zero: c.o.ZeroFill}
	if lo*size == from && hi*size == from+int64(len(b)) {
		return c.r.raw(ctx, src, rec, lo, hi, b, fm)
	}
	win := make([]byte, (hi-lo)*size)
	if err := c.r.raw(ctx, src, rec, lo, hi, win, fm); err != nil {
		return err
	}
	copy(b, win[from-lo*size:])
	return nil
}
