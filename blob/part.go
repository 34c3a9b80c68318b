package blob

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/layout"
	"blobio/blob/internal/netcdf4"
	"blobio/blob/internal/unpack"
	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// filePart is one subfile (or the one file of a canonical dataset) that is read.
type filePart struct {
	r     *Reader
	index int
	name  string           // empty: not there
	info  *subfile.Subfile // of the manifest, or nil

	mu      sync.Mutex
	loaded  bool
	decoded atomic.Bool // the header was read; for lent, which is called with mu held too
	err     error
	place   *place
	size    int64 // of the file
	records int64 // that the header tells

	bad   error               // why it cannot be read, though it must be there; place is nil then; set with table
	first int                 // blobs of all parts before this one; set with table
	order *layout.ExtentOrder // set with table
	since int64               // first record of its set
	fine  *layout.PieceIndex  // of the manifest's checksums of pieces, nil if there are none; set with table
	table *layout.Ranks       // of all blobs
	un    *unpack.Unpacker    // of a compressed file; set with table
	view  *netcdf4.View       // of a netCDF-4 file; set with place
	tape  *tape               // not nil: takes what is read
}

func (p *filePart) wanted() string {
	if p.name != "" {
		return p.name
	}
	return subfile.Name(p.r.base, p.index)
}

func (p *filePart) gone() bool {
	if p.name == "" {
		return true
	}
	if p.header() != nil {
		return false
	}
	_, err := p.r.fs.Stat(p.name)
	if final, _, partial := subfile.Final(p.name); partial && isGone(err) {
		_, err = p.r.fs.Stat(final) // a writer has finished the pending commit meanwhile
	}
	return isGone(err)
}

// header returns the decoded header, nil if it is not read yet or missing. It
// is for who may come while another goroutine loads the set.
func (p *filePart) header() *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.place
}

// file returns the open file, as what it stands for; done gives it back.
func (p *filePart) file() (f vfs.File, done func(), err error) {
	if f, done, err = p.raw(); err != nil {
		return nil, nil, err
	}
	switch {
	case p.un != nil:
		f = p.un.File(f)
	case p.view != nil:
		f = viewed{f, p.view}
	}
	return f, done, nil
}

// raw returns the open file; done gives it back.
func (p *filePart) raw() (f vfs.File, done func(), err error) {
	name := p.name
	f, err = p.r.pool.Get(name, false)
	if final, _, partial := subfile.Final(name); partial && isGone(err) {
		name = final // a writer has finished the pending commit meanwhile
		f, err = p.r.pool.Get(name, false)
	}
	if err != nil {
		return nil, nil, err
	}
	return lent{f, p}, func() { p.r.pool.Put(name) }, nil
}

// load reads the header, once.
func (p *filePart) load() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded {
		p.err = p.decode()
		p.loaded = !fault.Exhausted(p.err)
	}
	return p.err
}

func (p *filePart) decode() error {
	f, done, err := p.file()
	if err != nil {
		return p.whatIsIt(err)
	}
	defer done()
	if err := p.measure(f); err != nil {
		return err
	}
	pl, records, err := p.decodeFile(f)
	if err != nil {
		return p.whatItWas(p.whatIsIt(err))
	}
	p.records = records
	if p.info != nil {
		if pl.Plain {
			return fault.At(p.name, 0, "header", ErrCorrupt, "an ordinary netCDF file, not a blob subfile")
		}
		if p.size < p.info.Size {
			return fault.At(p.name, p.size, "file", ErrTruncated, "%d bytes, the manifest says %d", p.size, p.info.Size)
		}
		if pl.HeaderLen != p.info.HeaderLen {
			return fault.At(p.name, pl.HeaderOff, "header", ErrCorrupt, "%d bytes long, the manifest says %d", pl.HeaderLen, p.info.HeaderLen)
		}
		crc, err := headerCRC(f, pl, p.name) // lengths of dimensions and types are believed only if they are those that were written
		if err != nil {
			return err
		}
		if crc != p.info.HeaderCRC {
			return fault.At(p.name, pl.HeaderOff, "header", ErrChecksum, "sums to %08x, the manifest says %08x", uint32(crc), uint32(p.info.HeaderCRC))
		}
	}
	p.place = pl
	p.decoded.Store(true)
	return nil
}

// whatIsIt says so if a file cannot be opened or read because it is a directory.
func (p *filePart) whatIsIt(err error) error {
	if info, serr := p.r.fs.Stat(p.name); serr == nil && info.IsDir() {
		return fault.At(p.name, -1, "file", ErrNotFormat, "a directory, want a CDF or HDF5 file")
	}
	return err
}

// whatItWas makes damage of a file that is no subfile of blobs, or not one of this version, if it was one: a manifest lists it, or others of
// its dataset are there. What Git LFS left of it is elsewhere.
func (p *filePart) whatItWas(err error) error {
	var fe *fault.FormatError
	foreign := errors.Is(err, ErrNotFormat) || errors.Is(err, ErrVersion) || errors.Is(err, ErrUnsupported)
	if !foreign || !errors.As(err, &fe) || p.name == p.r.base || p.r.manifest == nil && !p.hasOthers() || vfs.IsPointer(p.r.fs, p.name) {
		return err
	}
	was := *fe
	was.Err = ErrCorrupt
	return &was
}

// hasOthers says that another subfile of the dataset is one of blobs.
func (p *filePart) hasOthers() bool {
	found, err := subfile.Find(p.r.fs, p.r.base)
	if err != nil {
		return false
	}
	for _, name := range found.Members {
		if name == p.name {
			continue
		}
		if pl, err := blobHeader(p.r.fs, name); err == nil && pl != nil {
			return true
		}
	}
	return false
}

// sameDataset says whether two subfiles can belong together: they differ only
// in the number of blobs and the lengths that follow from it. A manifest tells
// how many records there are; while a commit is under way the headers may differ in that.
func sameDataset(a, b *place, manifest bool) error {
	if a.layout != b.layout {
		return fmt.Errorf("one is %v, the other %v", a.layout, b.layout)
	}
	if a.Shape.Ranks != b.Shape.Ranks || a.Shape.Subfiles != b.Shape.Subfiles {
		return fmt.Errorf("%s and %s are %d and %d, there %d and %d", attNprocs, attSubfiles,
			b.Shape.Ranks, b.Shape.Subfiles, a.Shape.Ranks, a.Shape.Subfiles)
	}
	if !a.Grows && a.Header.NumRecs != b.Header.NumRecs && !manifest { // of those, sameRecords tells more
		return fmt.Errorf("%d records, there %d", b.Header.NumRecs, a.Header.NumRecs)
	}
	if err := sameMaps(a.schema, b.schema); err != nil {
		return err
	}
	for v := range min(len(a.schema.vars), len(b.schema.vars)) {
		x, y := &a.schema.vars[v], &b.schema.vars[v]
		if x.Name != y.Name { // variables are found by their place from here on
			return fmt.Errorf("variable %d is %q, there %q", v, y.Name, x.Name)
		}
		if x.Decomp != y.Decomp {
			return fmt.Errorf("variable %q has the decomposition D%d, there D%d", x.Name, y.Decomp, x.Decomp)
		}
	}
	if d := a.schema.differ(b.schema, true, true); len(d) > 0 { // all ranks define in the same order
		return errors.New(d[0].msg)
	}
	if a.Shape.Chunk != b.Shape.Chunk || !slices.Equal(a.Shape.Wide, b.Shape.Wide) {
		return fmt.Errorf("chunks of %d bytes and offsets of 64 bits %v, there %d and %v", b.Shape.Chunk, b.Shape.Wide, a.Shape.Chunk, a.Shape.Wide)
	}
	return nil
}

// sameRecords says whether two variable-centric subfiles hold as many records. The
// program that wrote them may have ended when only some of its nodes had written the last ones.
func (p *filePart) sameRecords(lead *filePart) error {
	if !p.place.Grows || p.records == lead.records {
		return nil
	}
	return fmt.Errorf("%d records, %s has %d: written by a run that did not end, or not of one dataset", p.records, lead.name, lead.records)
}

// unpack makes what the part's data are read through.
func (p *filePart) unpack() {
	if p.place != nil && p.place.Packed != nil && p.table != nil {
		if p.place.Packed.Memory = p.r.opt.Memory; p.place.Packed.Memory == 0 { // of Check
			p.place.Packed.Memory = defaultReadMemory
		}
		p.un = unpack.New(&p.place.Place, p.table, p.place.Packed.Index, p.name, p.r.codec(p.place.Packed.Chunk))
	}
}

// codec is what all files of the dataset are decompressed with.
func (r *Reader) codec(chunk int64) *codec.Zstd {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.zstd == nil || r.chunk < chunk {
		r.chunk = chunk
		r.zstd = codec.NewZstd(codec.Options{Concurrency: r.opt.Workers, MaxContent: int(chunk)})
	}
	return r.zstd
}
