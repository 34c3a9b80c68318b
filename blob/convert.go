package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// ConvertOptions of Convert. The zero value, or nil, makes an ordinary CDF-5 file of everything.
type ConvertOptions struct {
	Layout  Layout       // of the output, if Blobs is set; its zero value is VariableCentric
	Blobs   bool         // write blobs in Layout; otherwise one canonical file
	Version cdf5.Version // of a canonical file: CDF5 (default), CDF2 or CDF1

	Vars    []string // variables to convert, in the order of the source; nil: all
	Records *Range   // records to convert; nil: all

	// Output in blobs. Ranks is their number. The maps are, in this order: Maps, each for the
	// variables of its shape; the source's own, if its ranks are as many (or Ranks is
	// 0); equal parts of canonical order.
	Ranks    int
	Maps     []*decomp.Map
	MapOf    func(v *Variable) int // overrides the choice by shape: 1-based index in Maps, 0 for none
	Grouping subfile.Grouping      // Blocks (also for ByNode) or RoundRobin
	Subfiles int                   // default 1
	WideMaps bool                  // as Options.WideMaps; set by itself if the source has such maps
	Compress Compress              // as Options.Compress; of ConvertComm one rank then does all the work

	DropUncovered bool                    // output in blobs: elements that no rank of the maps owns are dropped; without it a map that would lose some is an error
	ZeroFill      bool                    // elements that no blob covers become zeros instead of fill values
	Force         bool                    // replace what is there
	Memory        int64                   // cap of buffers in bytes, at least 8 MiB; default 256 MiB
	Workers       int                     // default GOMAXPROCS
	Durability    Durability              // default DurableCommit
	Progress      func(done, total int64) // bytes of the output; called often, by several goroutines

	fs    vfs.FS
	chunk int64 // as Options.chunk
}

// Range is the records First, First+1, ... below End.
type Range struct{ First, End int64 }

// Validate says what is wrong with the options.
func (o *ConvertOptions) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Blobs && o.Layout > ProcessCentric:
		return usageErr("ConvertOptions.Layout %v, want variable-centric or process-centric", o.Layout)
	case o.Version > cdf5.CDF5 || o.Version != 0 && o.Version != cdf5.CDF1 && o.Version != cdf5.CDF2 && o.Version != cdf5.CDF5:
		return usageErr("ConvertOptions.Version %d, want 1, 2 or 5", o.Version)
	case o.Compress.validate() != nil:
		return o.Compress.validate()
	case o.Compress.on() && !o.Blobs:
		return o.Compress.fits(Canonical)
	case o.Compress.fits(o.Layout) != nil:
		return o.Compress.fits(o.Layout)
	case o.Ranks < 0 || o.Subfiles < 0 || o.Workers < 0:
		return usageErr("ConvertOptions.Ranks %d, Subfiles %d and Workers %d, want >= 0", o.Ranks, o.Subfiles, o.Workers)
	case o.Memory != 0 && o.Memory < 8<<20:
		return usageErr("ConvertOptions.Memory %d, want at least 8 MiB", o.Memory)
	case o.Records != nil && (o.Records.First < 0 || o.Records.End < o.Records.First):
		return usageErr("ConvertOptions.Records %d to %d", o.Records.First, o.Records.End)
	case o.Durability > DurableNone:
		return usageErr("ConvertOptions.Durability %d is unknown", o.Durability)
	}
	return nil
}

func (o *ConvertOptions) withDefaults(r *Reader) ConvertOptions {
	var v ConvertOptions
	if o != nil {
		v = *o
	}
	if v.Version == 0 {
		v.Version = cdf5.CDF5
	}
	if v.Memory == 0 {
		v.Memory = 256 << 20
	}
	if v.Workers == 0 {
		v.Workers = runtime.GOMAXPROCS(0)
	}
	if v.Subfiles == 0 {
		v.Subfiles = 1
	}
	if v.Grouping == subfile.ByNode {
		v.Grouping = subfile.Blocks
	}
	if v.fs == nil {
		v.fs = r.opt.fs
	}
	return v
}

// conversion is one Convert under way.
type conversion struct {
	c       comm.Comm // of the ranks that share the work
	r       *Reader
	o       ConvertOptions
	out     string
	schema  *Schema // of the output
	src     []VarID // by variable of the output
	first   int64   // first record that is converted
	records int64   // how many

	room []byte // of scratch

	done, total atomic.Int64
}

// Convert writes a dataset, or part of it, in another layout: as an ordinary
// netCDF file (the default), or as blobs for any number of ranks and
// subfiles. The output appears under its name when it is whole and durable;
// a conversion that was cut short is simply started again. Memory is bounded
// by Options.Memory, plus the maps.
func Convert(ctx context.Context, r *Reader, out string, o *ConvertOptions) error {
	return ConvertComm(ctx, comm.Self(), r, out, o)
}

// ConvertComm is Convert by the ranks of c, which need not share memory: each reads and
// writes some of the variables and records. All pass the same name and options, and a Reader of the
// same dataset. ConvertOptions.Memory and Workers are those of each rank, Progress tells
// of its own part. The output is the same, byte for byte. Collective.
func ConvertComm(ctx context.Context, c comm.Comm, r *Reader, out string, o *ConvertOptions) error {
	v := &conversion{c: c, r: r, out: out}
	if err := v.agree(ctx, v.prepare(o)); err != nil {
		return err
	}
	if v.o.Blobs {
		return v.toBlobs(ctx)
	}
	return v.toCanonical(ctx)
}

func (c *conversion) prepare(o *ConvertOptions) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if c.out == "" {
		return usageErr("convert: empty name of the output")
	}
	c.o = o.withDefaults(c.r)
	return c.choose()
}

// root says whether this rank does what only one may do.
func (c *conversion) root() bool { return c.c.Rank() == 0 }

// agree is comm.Agree, unless there is nobody to agree with.
func (c *conversion) agree(ctx context.Context, err error) error {
	if c.c.Size() == 1 {
		return err
	}
	return comm.Agree(ctx, c.c, err)
}

// told returns what root gives, or the error that it met.
func (c *conversion) told(ctx context.Context, b []byte, err error) ([]byte, error) {
	if err := c.agree(ctx, err); err != nil || c.c.Size() == 1 {
		return b, err
	}
	return c.c.Bcast(ctx, 0, b)
}

// mine returns this rank's units: a run of all, of about as many bytes as the others'.
func (c *conversion) mine(units []unit) []unit {
	if c.o.Compress.on() { // where a chunk goes follows from those before it
		if c.root() {
			return units
		}
		return nil
	}
	n, rank := int64(c.c.Size()), int64(c.c.Rank())
	total := int64(0)
	for _, u := range units {
		total += c.bytesOf(u)
	}
	share := total/n + 1
	from, to, at := 0, 0, int64(0)
	for _, u := range units {
		switch half := at + c.bytesOf(u)/2; {
		case half < rank*share:
			from++
			to++
		case half < (rank+1)*share:
			to++
		}
		at += c.bytesOf(u)
	}
	return units[from:to]
}

func (c *conversion) bytesOf(u unit) int64 {
	return (u.hi - u.lo) * int64(c.schema.vars[u.v].Type.Size())
}

// choose takes the variables and records that are asked for.
func (c *conversion) choose() error {
	r := c.r
	c.records = r.records
	if q := c.o.Records; q != nil {
		if q.End > r.records {
			return usageErr("convert: records %d to %d, but %s has %d", q.First, q.End, r.base, r.records)
		}
		c.first, c.records = q.First, q.End-q.First
	}
	want := map[string]bool{}
	for _, name := range c.o.Vars {
		if _, ok := r.schema.VarID(name); !ok {
			return usageErr("convert: no variable %q in %s", name, r.base)
		}
		want[name] = true
	}
	s := NewSchema()
	s.dims, s.atts, s.decomps = r.schema.dims, r.schema.atts, r.schema.decomps
	for i := range r.schema.vars {
		if len(want) == 0 || want[r.schema.vars[i].Name] {
			s.vars = append(s.vars, r.schema.vars[i])
			c.src = append(c.src, VarID(i))
		}
	}
	c.schema = s
	return nil
}

// unit is a piece of a variable's record that is converted at once.
type unit struct {
	v      VarID // of the output
	rec    int64 // of the output
	lo, hi int64 // elements
}

// units lists the work in the order of a canonical file, in pieces of at most limit bytes.
func (c *conversion) units(limit int64) []unit {
	var fixed, recs []unit
	add := func(list []unit, v VarID, rec int64) []unit {
		n, size := c.schema.Elems(v), int64(c.schema.vars[v].Type.Size())
		for lo := int64(0); lo < n; lo += max(1, limit/size) {
			list = append(list, unit{v, rec, lo, min(n, lo+max(1, limit/size))})
		}
		return list
	}
	for v := range c.schema.vars {
		if !c.schema.vars[v].Record {
			fixed = add(fixed, VarID(v), 0)
		}
	}
	for rec := range c.records {
		for v := range c.schema.vars {
			if c.schema.vars[v].Record {
				recs = add(recs, VarID(v), rec)
			}
		}
	}
	return append(fixed, recs...)
}

// read reads one unit of the source.
func (c *conversion) read(ctx context.Context, u unit, dst []byte, big bool) error {
	src, rec := c.src[u.v], u.rec
	if c.r.schema.vars[src].Record {
		rec += c.first
	}
	return c.r.raw(ctx, src, rec, u.lo, u.hi, dst, form{big, c.o.ZeroFill})
}

// expect adds units to what progress is measured by.
func (c *conversion) expect(units []unit) {
	for _, u := range units {
		c.total.Add(c.bytesOf(u))
	}
}

func (c *conversion) progress(n int64) {
	d := c.done.Add(n)
	if c.o.Progress != nil {
		c.o.Progress(d, c.total.Load())
	}
}

// toCanonical writes one ordinary netCDF file, variable by variable.
func (c *conversion) toCanonical(ctx context.Context) error {
	hdr := c.schema.canonicalHeader(c.o.Version)
	hdr.NumRecs = c.records
	var f vfs.File
	var tmp string
	var err error
	if c.root() {
		tmp, f, err = c.begin(hdr)
	} else {
		err = hdr.Layout(nil)
	}
	b, err := c.told(ctx, []byte(tmp), err)
	if err == nil && !c.root() {
		f, err = c.o.fs.OpenRW(string(b))
	}
	if err == nil {
		err = c.stream(ctx, f, hdr)
	}
	if err == nil && c.o.Durability != DurableNone {
		err = f.Sync()
	}
	if f != nil {
		if cerr := f.Close(); err == nil {
			err = cerr
		} else {
			err = errors.Join(err, cerr)
		}
	}
	err = c.agree(ctx, err)
	if c.root() {
		if err == nil {
			err = c.publish(tmp)
		}
		if err != nil && tmp != "" {
			_ = c.o.fs.Remove(tmp) // gone if it was published
		}
	}
	return c.agree(ctx, err)
}

// begin makes the canonical file under a name of its own.
func (c *conversion) begin(hdr *cdf5.Header) (tmp string, f vfs.File, err error) {
	if err := hdr.Layout(nil); err != nil {
		return "", nil, fmt.Errorf("blob: convert to %s: %w", c.out, err)
	}
	hb, err := hdr.AppendTo(nil, orderOf(true), false)
	if err != nil {
		return "", nil, fmt.Errorf("blob: convert to %s: %w", c.out, err)
	}
	if err := c.free(); err != nil {
		return "", nil, err
	}
	if err := c.sweep(); err != nil {
		return "", nil, err
	}
	dir, base := filepath.Split(c.out)
	tmp = dir + tempPrefix(base) + newID()[:tempDigits] + tempSuffix
	if f, err = c.o.fs.Create(tmp); err != nil {
		return "", nil, err
	}
	size := hdr.FileSize(c.records)
	if err = f.Allocate(0, size); err == nil {
		if err = f.Truncate(size); err == nil {
			_, err = f.WriteAt(hb, 0)
		}
	}
	return tmp, f, err
}

// publish gives the output its name.
func (c *conversion) publish(tmp string) error {
	if err := c.free(); err != nil { // somebody may have made it meanwhile
		return err
	}
	if err := c.o.fs.Rename(tmp, c.out); err != nil {
		return err
	}
	if c.o.Durability == DurableCommit {
		return c.o.fs.SyncDir(subfile.Dir(c.out))
	}
	return nil
}

// A canonical output is written under a hidden name: ".F.nc.1a2b3c4d.partial".
const (
	tempDigits = 8
	tempSuffix = ".partial"
)

func tempPrefix(base string) string { return "." + base + "." }

// sweep removes what conversions to the same output left that were cut short.
// (One that is still at work then fails at its rename.)
func (c *conversion) sweep() error {
	dir, base := subfile.Dir(c.out), filepath.Base(c.out)
	entries, err := c.o.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), tempPrefix(base))
		id, isTemp := strings.CutSuffix(rest, tempSuffix)
		if _, herr := hex.DecodeString(id); !ok || !isTemp || len(id) != tempDigits || herr != nil {
			continue
		}
		if err := c.o.fs.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// free checks that the output may take its name.
func (c *conversion) free() error {
	info, err := c.o.fs.Stat(c.out)
	if err == nil && info.IsDir() {
		return fmt.Errorf("blob: convert to %s: it is a directory: %w", c.out, ErrExist)
	}
	switch set, err := subfile.Find(c.o.fs, c.out); {
	case errors.Is(err, fs.ErrNotExist):
		_, err := c.o.fs.Stat(subfile.Dir(c.out))
		return err
	case err != nil:
		return err
	case !set.Single: // one file cannot take the place of several: whoever opens the name would get those
		return fmt.Errorf("blob: convert to %s: a dataset of subfiles of this name is there: %w", c.out, ErrExist)
	case !c.o.Force:
		return fmt.Errorf("blob: convert to %s: the file is there (ConvertOptions.Force replaces it): %w", c.out, ErrExist)
	}
	return nil
}

// stream copies this rank's units to the canonical file.
func (c *conversion) stream(ctx context.Context, f vfs.File, hdr *cdf5.Header) error {
	// Each worker holds one unit, and the reads below it their own buffers.
	workers := int(max(1, min(int64(c.o.Workers), c.o.Memory/(2*readBatch))))
	units := c.mine(c.units(max(1<<20, min(c.o.Memory/int64(2*workers), 64<<20))))
	c.expect(units)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bufs := make(chan []byte, workers)
	for range workers {
		bufs <- nil
	}
	var turn sync.Mutex // writers of one file wait for each other in the kernel, at the cost of a core
	inParallel(workers, len(units), func(k int) {
		if ctx.Err() != nil {
			return
		}
		u := units[k]
		size := int64(c.schema.vars[u.v].Type.Size())
		n := (u.hi - u.lo) * size
		buf := <-bufs
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		defer func() { bufs <- buf }()
		b := buf[:n]
		if err := c.read(ctx, u, b, true); err != nil {
			cancel(err)
			return
		}
		off, _ := hdr.Extent(int(u.v), u.rec)
		turn.Lock()
		_, err := f.WriteAt(b, off+u.lo*size)
		turn.Unlock()
		if err != nil {
			cancel(err)
			return
		}
		c.progress(n)
	})
	return context.Cause(ctx)
}
