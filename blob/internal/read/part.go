package read

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/netcdf4"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// FilePart is a subfile, or the single file of a canonical dataset, as it is read.
type FilePart struct {
	Files *Files
	Index int
	Name  string           // empty if the file is missing
	Info  *subfile.Subfile // entry of the manifest, or nil

	mu      sync.Mutex
	loaded  bool
	decoded atomic.Bool // the header was read; for lent, which may be called with mu held
	err     error
	Place   *dataset.Place
	Size    int64
	Records int64 // number of records in the header

	bad   error               // why the file cannot be read although it should exist; Place is then nil; set with Table
	First int                 // number of blobs of all earlier parts; set with Table
	Order *layout.ExtentOrder // set with Table
	since int64               // first record of its set
	Fine  *layout.PieceIndex  // index of the manifest's checksums of pieces, or nil; set with Table
	Table *layout.Ranks       // table of all blobs
	Un    *unpack.Unpacker    // unpacks a compressed file; set with Table
	View  *netcdf4.View       // view of a netCDF-4 file; set with Place
	tape  *tape               // if not nil, records all reads
}

// unread returns the part without what was read of it.
func (p *FilePart) unread() *FilePart {
	return &FilePart{Files: p.Files, Index: p.Index, Name: p.Name, Info: p.Info, since: p.since}
}

// headed returns the part with its header only, or nil if the header is not read yet or missing.
func (p *FilePart) headed() *FilePart {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Place == nil {
		return nil
	}
	q := p.unread()
	q.Size, q.Place, q.Records, q.View, q.loaded = p.Size, p.Place, p.Records, p.View, true
	q.decoded.Store(true)
	return q
}

func (p *FilePart) Wanted() string {
	if p.Name != "" {
		return p.Name
	}
	return subfile.Name(p.Files.Base, p.Index)
}

func (p *FilePart) Gone() bool {
	if p.Name == "" {
		return true
	}
	if p.header() != nil {
		return false
	}
	_, err := p.Files.Fs.Stat(p.Name)
	if final, _, partial := subfile.Final(p.Name); partial && IsGone(err) {
		_, err = p.Files.Fs.Stat(final) // a writer may have finished the pending commit
	}
	return IsGone(err)
}

// header returns the decoded header. If the header is not read yet or missing, it returns nil. It may be called while another
// goroutine loads the set.
func (p *FilePart) header() *dataset.Place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Place
}

// File returns the open file in uncompressed form, or as the CDF-5 file for a netCDF-4 file. done returns it to the pool.
func (p *FilePart) File() (f vfs.File, done func(), err error) {
	if f, done, err = p.Raw(); err != nil {
		return nil, nil, err
	}
	switch {
	case p.Un != nil:
		f = p.Un.File(f)
	case p.View != nil:
		f = viewed{f, p.View}
	}
	return f, done, nil
}

// Raw returns the open file as it is. done returns it to the pool.
func (p *FilePart) Raw() (f vfs.File, done func(), err error) {
	name := p.Name
	f, err = p.Files.Pool.Get(name, false)
	if final, _, partial := subfile.Final(name); partial && IsGone(err) {
		name = final // a writer has finished the pending commit
		f, err = p.Files.Pool.Get(name, false)
	}
	if err != nil {
		return nil, nil, err
	}
	return lent{f, p}, func() { p.Files.Pool.Put(name) }, nil
}

// Load reads the header at the first call. Later calls return the same result.
func (p *FilePart) Load() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded {
		p.err = p.decode()
		p.loaded = !fault.Exhausted(p.err)
	}
	return p.err
}

func (p *FilePart) decode() error {
	f, done, err := p.File()
	if err != nil {
		return p.WhatIsIt(err)
	}
	defer done()
	if err := p.Measure(f); err != nil {
		return err
	}
	pl, records, err := p.DecodeFile(f)
	if err != nil {
		return p.WhatItWas(p.WhatIsIt(err))
	}
	p.Records = records
	if p.Info != nil {
		if pl.Plain {
			return fault.At(p.Name, 0, "header", dataset.ErrCorrupt, "the file is an ordinary netCDF file, not a blob subfile")
		}
		if p.Size < p.Info.Size {
			return fault.At(p.Name, p.Size, "file", dataset.ErrTruncated, "the file has %d bytes, but the manifest says %d", p.Size, p.Info.Size)
		}
		if pl.Header.Len != p.Info.HeaderLen {
			return fault.At(p.Name, pl.Header.Off, "header", dataset.ErrCorrupt, "the header has %d bytes, but the manifest says %d", pl.Header.Len, p.Info.HeaderLen)
		}
		crc, err := dataset.HeaderCRC(f, pl, p.Name) // the lengths of dimensions and the types can be trusted only if the checksum is right
		if err != nil {
			return err
		}
		if crc != p.Info.HeaderCRC {
			return fault.At(p.Name, pl.Header.Off, "header", dataset.ErrChecksum, "checksum is %08x, but the manifest says %08x", uint32(crc), uint32(p.Info.HeaderCRC))
		}
	}
	p.Place = pl
	p.decoded.Store(true)
	return nil
}

// WhatIsIt returns a clearer error if the file is a directory.
func (p *FilePart) WhatIsIt(err error) error {
	if info, serr := p.Files.Fs.Stat(p.Name); serr == nil && info.IsDir() {
		return fault.At(p.Name, -1, "file", dataset.ErrNotFormat, "found a directory, want a CDF or HDF5 file")
	}
	return err
}

// WhatItWas turns an error about an unknown format or version into an error about damage, if the file must have been a subfile: a
// manifest lists it, or other subfiles of its dataset exist. A pointer file of Git LFS is not damage.
func (p *FilePart) WhatItWas(err error) error {
	var fe *fault.FormatError
	foreign := errors.Is(err, dataset.ErrNotFormat) || errors.Is(err, dataset.ErrVersion) || errors.Is(err, dataset.ErrUnsupported)
	if !foreign || !errors.As(err, &fe) || p.Name == p.Files.Base || p.Files.Manifest == nil && !p.hasOthers() || vfs.IsPointer(p.Files.Fs, p.Name) {
		return err
	}
	was := *fe
	was.Err = dataset.ErrCorrupt
	return &was
}

// hasOthers reports whether the dataset has another file that is a subfile by its content.
func (p *FilePart) hasOthers() bool {
	found, err := subfile.Find(p.Files.Fs, p.Files.Base)
	if err != nil {
		return false
	}
	for _, name := range found.Members {
		if name == p.Name {
			continue
		}
		if pl, err := dataset.BlobHeader(p.Files.Fs, name); err == nil && pl != nil {
			return true
		}
	}
	return false
}

// SameDataset reports whether two subfiles can belong to the same dataset: they may differ only in the number of blobs and in the
// lengths that follow from it. manifest means that a manifest gives the number of records. The numbers in the headers may then
// differ, because a commit may be in progress.
func SameDataset(a, b *dataset.Place, manifest bool) error {
	if a.Layout != b.Layout {
		return fmt.Errorf("one file is %v, but the other is %v", a.Layout, b.Layout)
	}
	if a.Shape.Ranks != b.Shape.Ranks || a.Shape.Subfiles != b.Shape.Subfiles {
		return fmt.Errorf("%[1]s is %[3]d and %[2]s is %[4]d, but the other file has %[5]d and %[6]d", dataset.AttNprocs, dataset.AttSubfiles,
			b.Shape.Ranks, b.Shape.Subfiles, a.Shape.Ranks, a.Shape.Subfiles)
	}
	if !a.Grows && a.Header.NumRecs != b.Header.NumRecs && !manifest { // otherwise SameRecords gives a better error
		return fmt.Errorf("%d records, but the other file has %d", b.Header.NumRecs, a.Header.NumRecs)
	}
	if err := dataset.SameMaps(a.Schema, b.Schema); err != nil {
		return err
	}
	for v := range min(len(a.Schema.Vars), len(b.Schema.Vars)) {
		x, y := &a.Schema.Vars[v], &b.Schema.Vars[v]
		if x.Name != y.Name { // the code below finds variables by index
			return fmt.Errorf("variable %d is %q, but %q in the other file", v, y.Name, x.Name)
		}
		if x.Decomp != y.Decomp {
			return fmt.Errorf("variable %q has decomposition D%d, but D%d in the other file", x.Name, y.Decomp, x.Decomp)
		}
	}
	if d := a.Schema.Differ(b.Schema, true, true); len(d) > 0 { // the order counts, because all ranks define in the same order
		return errors.New(d[0].Msg)
	}
	if a.Shape.Chunk != b.Shape.Chunk || !slices.Equal(a.Shape.Wide, b.Shape.Wide) {
		return fmt.Errorf("chunks have %d bytes (64-bit offsets: %v), but the other file has chunks of %d bytes (64-bit offsets: %v)", b.Shape.Chunk, b.Shape.Wide, a.Shape.Chunk, a.Shape.Wide)
	}
	return nil
}

// SameRecords returns an error if two variable-centric subfiles have different numbers of records. This happens if a run ended
// when only some nodes had written the last records.
func (p *FilePart) SameRecords(lead *FilePart) error {
	if !p.Place.Grows || p.Records == lead.Records {
		return nil
	}
	return fmt.Errorf("%d records, but %s has %d: the run did not finish, or the files belong to different datasets", p.Records, lead.Name, lead.Records)
}

// Unpack prepares the decompression of the part's data.
func (p *FilePart) Unpack() {
	if p.Place != nil && p.Place.Packed != nil && p.Table != nil {
		if p.Place.Packed.Memory = p.Files.Opt.Memory; p.Place.Packed.Memory == 0 { // Check sets this
			p.Place.Packed.Memory = defaultReadMemory
		}
		p.Un = unpack.New(&p.Place.Place, p.Table, p.Place.Packed.Index, p.Name, p.Files.codec(p.Place.Packed.Chunk))
	}
}

// codec returns the decompressor that all files of the dataset share.
func (r *Files) codec(chunk int64) *codec.Zstd {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.zstd == nil || r.chunk < chunk {
		r.chunk = chunk
		r.zstd = codec.NewZstd(codec.Options{Concurrency: r.Opt.Workers, MaxContent: int(chunk)})
	}
	return r.zstd
}

// StoredHeader is blob.Reader.StoredHeader.
func (r *Data) StoredHeader(f File) (*cdf5.Header, error) {
	p, err := r.storedPart(f)
	if err != nil {
		return nil, err
	}
	if err := p.Load(); err != nil {
		return nil, err
	}
	h := *p.header().Header.Header
	if h.NumRecs == cdf5.Streaming {
		h.NumRecs = p.Records
	}
	return &h, nil
}

// storedPart returns the part for a file of the dataset. The file must exist.
func (r *Data) storedPart(f File) (*FilePart, error) {
	for k, s := range r.Sets {
		for _, p := range s.Parts {
			if k != f.Set || p.Index != f.Index {
				continue
			}
			if p.Gone() {
				return nil, fault.In(p.Wanted(), "subfile", dataset.ErrMissing, "missing")
			}
			return p, nil
		}
	}
	return nil, fault.Usage("%s has no subfile %d in set %d", r.Files.Base, f.Index, f.Set)
}
