package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"blobio/cdf5"
	"blobio/h5"
	"blobio/internal/vfs"
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
	err     error
	place   *place
	size    int64 // of the file
	records int64 // that the header tells

	first int          // blobs of all parts before this one; set with table
	order *extentOrder // set with table
	since int64        // first record of its set
	fine  *pieceIndex  // of the manifest's checksums of pieces, nil if there are none; set with table
	table *ranks       // of all blobs
	un    *unpacker    // of a compressed file; set with table
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
	_, err := p.r.opt.fs.Stat(p.name)
	if final, _, partial := subfile.Final(p.name); partial && isGone(err) {
		_, err = p.r.opt.fs.Stat(final) // a writer has finished the pending commit meanwhile
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

// file returns the open file; done gives it back.
func (p *filePart) file() (f vfs.File, done func(), err error) {
	name := p.name
	f, err = p.r.pool.Get(name, false)
	if final, _, partial := subfile.Final(name); partial && isGone(err) {
		name = final // a writer has finished the pending commit meanwhile
		f, err = p.r.pool.Get(name, false)
	}
	if err != nil {
		return nil, nil, err
	}
	if p.un != nil {
		f = unpackedFile{f, p.un}
	}
	return f, func() { p.r.pool.Put(name) }, nil
}

// load reads the header, once.
func (p *filePart) load() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded {
		p.loaded = true
		p.err = p.decode()
	}
	return p.err
}

func (p *filePart) decode() error {
	f, done, err := p.file()
	if err != nil {
		return p.whatIsIt(err)
	}
	defer done()
	if p.size, err = f.Size(); err != nil {
		return err
	}
	pl, records, err := decodePlace(f, p.size, p.name)
	if err != nil {
		return p.whatIsIt(err)
	}
	p.records = records
	if p.info != nil {
		if p.size < p.info.Size {
			return formatErr(p.name, p.size, "file", ErrTruncated, "%d bytes, the manifest says %d", p.size, p.info.Size)
		}
		if pl.hdrLen != p.info.HeaderLen {
			return formatErr(p.name, pl.hdrOff, "header", ErrCorrupt, "%d bytes long, the manifest says %d", pl.hdrLen, p.info.HeaderLen)
		}
		if pl.layout != Canonical { // lengths of dimensions and types are believed only if they are those that were written
			crc, err := headerCRC(f, pl, p.name)
			if err != nil {
				return err
			}
			if crc != p.info.HeaderCRC {
				return formatErr(p.name, pl.hdrOff, "header", ErrChecksum, "sums to %08x, the manifest says %08x", uint32(crc), uint32(p.info.HeaderCRC))
			}
		}
	}
	p.place = pl
	return nil
}

// whatIsIt says so if a file cannot be opened or read because it is a directory.
func (p *filePart) whatIsIt(err error) error {
	if info, serr := p.r.opt.fs.Stat(p.name); serr == nil && info.IsDir() {
		return formatErr(p.name, -1, "file", ErrNotFormat, "a directory, want a CDF or HDF5 file")
	}
	return err
}

// decodePlace tells by its content what a file is, and reads its header.
func decodePlace(f io.ReaderAt, size int64, name string) (*place, int64, error) {
	magic := make([]byte, min(size, 8))
	if _, err := f.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	probe := &errReader{r: f}
	switch {
	case bytes.HasPrefix(magic, []byte("CDF")):
		return decodeCDF(f, size, name)
	case h5.IsHDF5(probe, size):
		p, records, err := decodeH5(probe, size, name)
		if err != nil && probe.err != nil && !errors.Is(err, probe.err) {
			err = pkg.Errorf("%s: %w", name, probe.err)
		}
		return p, records, err
	case probe.err != nil:
		return nil, 0, pkg.Errorf("%s: looking for the HDF5 signature: %w", name, probe.err)
	case len(magic) == 0:
		return nil, 0, formatErr(name, 0, "magic", ErrTruncated, "the file is empty")
	}
	return nil, 0, formatErr(name, 0, "magic", ErrNotFormat, "%q, want a CDF or HDF5 file", magic)
}

// errReader keeps the error of a read that another package takes for "not there".
type errReader struct {
	r   io.ReaderAt
	err error
}

func (e *errReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := e.r.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		e.err = err
	}
	return n, err
}

func decodeCDF(f io.ReaderAt, size int64, name string) (*place, int64, error) {
	h, n, err := cdf5.DecodeHeader(f, size, &cdf5.DecodeOptions{File: name})
	if err != nil {
		return nil, 0, err
	}
	p := &place{layout: Canonical, hdr: h, hdrLen: n, big: true, fileLen: size}
	if isBlobHeader(h) {
		p.layout = VariableCentric
		if h.Version != cdf5.CDF5 {
			return nil, 0, formatErr(name, 3, "version", ErrVersion, "%v, want CDF-5 for a blob subfile", h.Version)
		}
		p.schema, p.shape, err = parseBlobHeader(h, name, 0)
	} else {
		p.schema, err = parseCanonical(h, name)
		p.shape = &subShape{ranks: 1, subfiles: 1, nblobs: 1}
	}
	if err != nil {
		return nil, 0, err
	}
	p.at = h.Places()
	return p, h.Records(size), nil
}

func decodeH5(f io.ReaderAt, size int64, name string) (*place, int64, error) {
	hf, err := h5.NewFile(f, size, name)
	if err != nil {
		return nil, 0, err
	}
	hd, dd, xd, herr, derr := findH5(hf)
	if herr != nil || derr != nil {
		for _, err := range []error{herr, derr} {
			switch {
			case err == nil || errors.Is(err, h5.ErrMissing):
			case errors.Is(err, ErrUsage): // it is there, but something else
				return nil, 0, formatErr(name, -1, "root group", ErrCorrupt, "%s", strings.TrimPrefix(bareText(err), name+": "))
			default:
				return nil, 0, err
			}
		}
		lacks := headerBlob
		if herr == nil {
			lacks = dataBlob
		} else if derr != nil {
			lacks += " and no " + dataBlob
		}
		return nil, 0, formatErr(name, -1, "root group", ErrNotFormat, "no %s: an HDF5 file, but not a process-centric blob file", lacks)
	}
	extent := func(d *h5.Dataset, what string) (off, n int64, err error) {
		dims := d.Dims()
		if len(dims) != 1 || d.Type().Size() != 1 {
			return 0, 0, formatErr(name, -1, "dataset "+what, ErrCorrupt, "%v of type %v, want one dimension of bytes", dims, d.Type())
		}
		off, ok := d.Offset()
		if !ok && dims[0] > 0 {
			return 0, 0, formatErr(name, -1, "dataset "+what, ErrUnsupported, "its storage is not one contiguous piece")
		}
		if !ok {
			off = size // HDF5 gives no address to what is empty
		}
		if off < 0 || dims[0] > size-off {
			return 0, 0, formatErr(name, off, "dataset "+what, ErrTruncated, "%d bytes, but the file ends at %d", dims[0], size)
		}
		return off, dims[0], nil
	}
	p := &place{layout: ProcessCentric, fileLen: size}
	if xd != nil {
		p.packed = new(packed)
		if p.packed.idxOff, p.packed.idxLen, err = extent(xd, indexPacked); err != nil {
			return nil, 0, err
		}
	}
	hlen := int64(0)
	if p.hdrOff, hlen, err = extent(hd, headerBlob); err != nil {
		return nil, 0, err
	}
	if p.dataOff, p.dataLen, err = extent(dd, dataBlob); err != nil {
		return nil, 0, err
	}
	h, n, err := cdf5.DecodeHeader(io.NewSectionReader(f, p.hdrOff, hlen), hlen,
		&cdf5.DecodeOptions{File: name, Base: p.hdrOff, Order: cdf5.AutoOrder, NoBegins: true, ZeroDims: true})
	if err != nil {
		return nil, 0, err
	}
	if n != hlen {
		return nil, 0, formatErr(name, p.hdrOff+n, headerBlob, ErrCorrupt, "the header ends after %d bytes, the dataset after %d", n, hlen)
	}
	p.hdr, p.hdrLen = h, hlen
	if p.big, err = headerIsBig(f, p.hdrOff, name); err != nil {
		return nil, 0, err
	}
	empty := emptyMapDims(h)
	if p.schema, p.shape, err = parseBlobHeader(h, name, p.hdrOff); err != nil {
		return nil, 0, err
	}
	if p.packed != nil {
		p.packed.stored, p.dataLen = p.dataLen, 0
		if err := parsePacked(f, p, name); err != nil {
			return nil, 0, err
		}
		p.schema.atts = slices.DeleteFunc(slices.Clone(p.schema.atts), func(a cdf5.Att) bool { return a.Name == attPacked })
	}
	for _, d := range empty {
		if d -= len(p.schema.dims) + 1; d < p.nd() {
			p.shape.nelems[d] = 0
		} else {
			p.shape.maxReqs[d-p.nd()] = 0
		}
	}
	if h.NumRecs < 0 {
		return nil, 0, formatErr(name, p.hdrOff+numrecsAt, "numrecs", ErrCorrupt, "%d, want >= 0", h.NumRecs)
	}
	// The size of a blob is at most the sum of the header's variables. If that
	// stays within a half of the numbers, no offset in a blob can wrap.
	left := int64(math.MaxInt64 / 2)
	for v := range h.Vars {
		n := h.Bytes(v)
		if h.IsRecord(v) && h.NumRecs > 0 {
			if n > left/h.NumRecs {
				return nil, 0, formatErr(name, p.hdrOff+numrecsAt, "numrecs", ErrCorrupt, "%d records of %q are over the limit of 2^62 bytes", h.NumRecs, h.Vars[v].Name)
			}
			n *= h.NumRecs
		}
		if left -= n; left < 0 {
			return nil, 0, formatErr(name, locator{h, p.hdrOff}.dimIDs(v), fmt.Sprintf("variable %q", h.Vars[v].Name), ErrCorrupt, "the variables up to it are over the limit of 2^62 bytes")
		}
	}
	p.setRecords(h.NumRecs)
	return p, h.NumRecs, nil
}

// emptyMapDims finds the dimensions Dk.nelems and Dk.max_nreqs of length 0 that
// the reference writes for a subfile without any element of a map, where 0 also
// means unlimited. It gives them length 1, as blobio writes them, and
// returns their ids. Any other second dimension of length 0 is left for the
// checks that follow, which refuse it.
func emptyMapDims(h *cdf5.Header) (ids []int) {
	blobs := h.DimIndex(dimBlobs)
	for d := range h.Dims {
		if blobs >= 0 && d > blobs && h.Dims[d].Len == 0 {
			h.Dims[d].Len = 1
			ids = append(ids, d)
		}
	}
	return ids
}

// headerIsBig tells the byte order by the first tag: NC_DIMENSION is 10.
func headerIsBig(f io.ReaderAt, off int64, name string) (bool, error) {
	var b [4]byte
	if _, err := f.ReadAt(b[:], off+numrecsAt+numrecsLen); err != nil {
		return false, formatErr(name, off+numrecsAt+numrecsLen, "first tag", ErrTruncated, "%v", err)
	}
	return b[3] != 0, nil
}

// sameDataset says whether two subfiles can belong together: they differ only
// in the number of blobs and the lengths that follow from it. A manifest tells
// how many records there are; while a commit is under way the headers may differ in that.
func sameDataset(a, b *place, manifest bool) error {
	if a.layout != b.layout {
		return fmt.Errorf("one is %v, the other %v", a.layout, b.layout)
	}
	if a.shape.ranks != b.shape.ranks || a.shape.subfiles != b.shape.subfiles {
		return fmt.Errorf("%s and %s are %d and %d, there %d and %d", attNprocs, attSubfiles,
			b.shape.ranks, b.shape.subfiles, a.shape.ranks, a.shape.subfiles)
	}
	if a.layout != VariableCentric && a.hdr.NumRecs != b.hdr.NumRecs && !manifest { // of those, sameRecords tells more
		return fmt.Errorf("%d records, there %d", b.hdr.NumRecs, a.hdr.NumRecs)
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
	if d := a.schema.differ(b.schema); len(d) > 0 {
		return errors.New(d[0])
	}
	return nil
}

// sameRecords says whether two variable-centric subfiles hold as many records. The
// program that wrote them may have ended when only some of its nodes had written the last ones.
func (p *filePart) sameRecords(lead *filePart) error {
	if p.place.layout != VariableCentric || p.records == lead.records {
		return nil
	}
	return fmt.Errorf("%d records, %s has %d: written by a run that did not end, or not of one dataset", p.records, lead.name, lead.records)
}

// sameMaps says whether two schemas have the same decompositions.
func sameMaps(a, b *Schema) error {
	if len(a.decomps) != len(b.decomps) {
		return fmt.Errorf("%d decompositions, there %d", len(b.decomps), len(a.decomps))
	}
	for d := range a.decomps {
		if x, y := a.DecompDims(DecompID(d+1)), b.DecompDims(DecompID(d+1)); !slices.Equal(x, y) {
			return fmt.Errorf("decomposition D%d is over %v, there %v", d+1, y, x)
		}
	}
	return nil
}

// canFollow says whether a set of subfiles can hold further records of a
// dataset: what it has of it is the same.
func (s *Schema) canFollow(set *Schema) error {
	if err := sameMaps(s, set); err != nil {
		return err
	}
	for v := range set.vars {
		y := &set.vars[v]
		k, ok := s.VarID(y.Name)
		if !ok {
			continue
		}
		x := &s.vars[k]
		if x.Type != y.Type || x.Decomp != y.Decomp || x.Record != y.Record || !slices.Equal(s.Shape(k), set.Shape(VarID(v))) {
			return fmt.Errorf("variable %q is %v%v of D%d there, %v%v of D%d here", y.Name, x.Type, s.dimNames(x), x.Decomp, y.Type, set.dimNames(y), y.Decomp)
		}
	}
	return nil
}
