package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"blobio/blob/internal/layout"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/subfile"
)

// structure checks one file on its own: header, size, table of blobs.
func (c *checker) structure(p *checkPart) {
	if p.name == "" || p.gone() {
		if c.state.missing.Add(1) <= maxListed {
			c.say(Error, p.wanted(), -1, "subfile", ErrMissing, "not there%s", p.r.leftBehind(p.wanted()))
		}
		p.name = ""
		return
	}
	f, done, err := p.file()
	if err != nil {
		c.add(fault.Of(Error, p.name, p.whatIsIt(err)))
		return
	}
	defer done()
	if err := p.measure(f); err != nil {
		c.add(fault.Of(Error, p.name, err))
		return
	}
	pl, records, err := p.decodeFile(f)
	if err != nil {
		err = p.whatItWas(p.whatIsIt(err))
		x := fault.Of(Error, p.name, err)
		if errors.Is(err, ErrNotFormat) { // it may be sound as what it is
			x.Severity = Unchecked
		}
		c.add(x)
		return
	}
	p.place, p.records = pl, records
	if p.view != nil {
		for _, err := range p.view.LeftOut() {
			c.add(fault.Of(Error, p.name, err))
		}
	}
	c.sizes(p)
	c.manifest(p)
	c.header(p, f)
	if pl.Plain {
		return
	}
	if pl.ByRank {
		for v := range pl.Header.Vars {
			if b := pl.Header.Vars[v].Begin; b != 0 {
				c.say(Note, p.name, -1, fmt.Sprintf("variable %q begin", pl.Header.Vars[v].Name), nil, "%d, the reference writes 0", b)
				break
			}
		}
	}
	t, err := layout.ReadTable(f, &pl.Place, p.name, layout.Listed{}, func(err error) { c.add(fault.Of(Error, p.name, err)) })
	if err != nil {
		c.add(fault.Of(Error, p.name, err))
		return
	}
	c.container(p, f)
	p.table = t
	p.unpack()
	c.index(p, f)
	if p.info != nil && pl.ByRank {
		if n := len(p.info.Blobs); n != len(t.Blob)+1 {
			c.say(Error, p.name, -1, "blobs", ErrCorrupt, "the manifest has %d offsets, want %d for %d blobs and the end of the last", n, len(t.Blob)+1, len(t.Blob))
		} else if end := pl.DataOff + pl.DataLen; p.info.Blobs[n-1] != end {
			c.say(Error, p.name, end, "blobs", ErrCorrupt, "the last ends at %#x, the manifest says %#x", end, p.info.Blobs[n-1])
		}
		for j, off := range t.Blob {
			if j < len(p.info.Blobs) && p.info.Blobs[j] != off {
				c.say(Error, p.name, off, fmt.Sprintf("blob %d", j), ErrCorrupt, "begins at %#x, the manifest says %#x", off, p.info.Blobs[j])
			}
		}
	}
}

// sizes holds the length of the file against what its header promises.
func (c *checker) sizes(p *checkPart) {
	pl := p.place
	records := p.records
	if p.info != nil {
		if err := pl.Holds(p.name, p.records, p.set.Places()); err != nil {
			c.add(fault.Of(Error, p.name, err))
			p.noData = true // how much of it to read is not known
			return
		}
		if n := pl.FileSize(p.set.Records); n != p.info.Size {
			c.say(Error, p.name, -1, "file", ErrCorrupt, "%d bytes by its header and %d records, the manifest says %d", n, p.set.Records, p.info.Size)
		}
	}
	if p.info != nil && pl.Grows {
		records = p.set.Records
		if err := p.lostCommits(records); err != nil && !c.alive {
			c.add(fault.Of(Error, p.name, err))
		} else if p.records != records {
			c.say(c.growing(), p.name, layout.NumrecsAt, "numrecs", nil, "%d, the manifest says %d: a commit was cut short, the manifest is right", p.records, records)
		}
	}
	if pl.ByRank {
		return // the datasets' extents were checked when they were found
	}
	want := pl.FileSize(records)
	last, least := pl.LastPiece(records) // the last pad may be missing: other programs do not write it
	if p.size >= last && p.size < least && pl.MayLack(least-p.size) {
		c.say(Warning, p.name, p.size, "file", nil, "%d bytes of the last variable are not there: never written (programs without fill mode leave them out) or lost; they read as zeros", least-p.size)
		return
	}
	switch {
	case p.size < min(least, want):
		c.say(Error, p.name, p.size, "file", ErrTruncated, "%d bytes, but the header promises %d", p.size, want)
	case p.size > want && p.info != nil:
		c.say(c.growing(), p.name, want, "file", nil, "%d bytes behind the committed end: an append that was not finished", p.size-want)
	case p.size > want:
		c.say(Warning, p.name, want, "file", nil, "%d bytes behind the end that the header promises", p.size-want)
	}
}

// header notes what other libraries make of the header of a CDF file that can be read here.
func (c *checker) header(p *checkPart, f vfs.File) {
	if p.place.HeaderOff > 0 {
		return
	}
	n, from := 0, io.ReaderAt(f)
	if p.view != nil {
		from = bytes.NewReader(p.view.Head())
	}
	say := func(sev Severity, e *fault.FormatError, more string) {
		e.Msg += more
		if p.view != nil {
			e.Offset = -1 // there is no such header in the file
		}
		if n++; n <= maxListed {
			c.add(fault.Of(sev, p.name, e))
		}
	}
	_, _, _ = cdf5.DecodeHeader(from, p.size, &cdf5.DecodeOptions{File: p.name, MaxHeader: p.r.opt.MaxHeader,
		Note: func(e *fault.FormatError) {
			if strings.HasSuffix(e.Field, " name") {
				say(Warning, e, ": netCDF libraries create no such name")
			} else {
				say(Note, e, "")
			}
		},
		Twice: func(e *fault.FormatError) {
			say(Warning, e, ": netCDF libraries create no such file, and find the first by name; blobio shows the others with a number behind the name")
		}})
	if why := p.place.Header.Unopenable(); why != nil {
		c.say(Warning, p.name, 0, "header", nil, "%v: netCDF-C and PnetCDF do not open this file, blobio convert makes one that they open", why)
	}
}

// growing is how much it is worth to say that a file is further than the manifest: of one that somebody goes on to write that is no wonder.
func (c *checker) growing() fault.Severity {
	if c.unfinished && c.alive {
		return Note
	}
	return Warning
}

// manifest holds the file against the manifest's description of it.
func (c *checker) manifest(p *checkPart) {
	if p.info == nil {
		return
	}
	if m := p.r.manifest; p.place.layout.String() != m.Layout {
		c.say(Error, p.name, p.place.HeaderOff, "header", ErrCorrupt, "%v, the manifest says %s", p.place.layout, m.Layout)
	} else if ranks, _ := m.MapsOf(p.set); p.place.Shape.Ranks != ranks {
		c.say(Error, p.name, p.place.Locate().GlobalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, the manifest says %d", p.place.Shape.Ranks, ranks)
	}
	if p.size < p.info.Size {
		c.say(Error, p.name, p.size, "file", ErrTruncated, "%d bytes, the manifest says %d", p.size, p.info.Size)
	}
	if p.place.HeaderLen != p.info.HeaderLen || p.place.HeaderOff != p.info.HeaderOff {
		c.say(Error, p.name, p.place.HeaderOff, "header", ErrCorrupt, "%d bytes at %#x, the manifest says %d at %#x", p.place.HeaderLen, p.place.HeaderOff, p.info.HeaderLen, p.info.HeaderOff)
		return
	}
	if !p.place.Plain {
		crc, err := p.headerCRC()
		if err != nil {
			c.add(fault.Of(Error, p.name, err))
		} else if crc != p.info.HeaderCRC {
			c.say(Error, p.name, p.place.HeaderOff, "header", ErrChecksum, "sums to %08x, the manifest says %08x", uint32(crc), uint32(p.info.HeaderCRC))
		} else {
			p.own = true
		}
	}
}

// data compares the checksums of all extents with the manifest's, or reads the
// data for the sake of reading where there is none.
func (c *checker) data(p *checkPart) {
	if p.view != nil { // chunks may have checksums of their own
		_ = p.view.Verify(c.ctx, func(err error) { c.add(fault.Of(Error, p.name, err)) }, c.col.Did)
		return
	}
	if p.table == nil || c.ctx.Err() != nil || p.info == nil && p.un == nil || p.noData {
		return
	}
	f, done, err := p.file()
	if err != nil {
		c.add(fault.Of(Error, p.name, err))
		return
	}
	defer done()
	pl := p.place
	want, all, others := int64(0), 0, 0
	report := func(x extentSum) {
		want = max(want, x.ext+1)
		if x.v >= pl.NumMaps()*layout.MapVars && x.ext < int64(len(p.info.Extents)) {
			if all++; x.crc != p.info.Extents[x.ext] {
				others++
			}
		}
		field := fieldOf(pl, x.v, x.rec+p.set.First)
		if x.ext >= int64(len(p.info.Extents)) {
			c.say(Error, p.name, -1, field, ErrChecksum, "the manifest has no checksum of it")
			return
		}
		c.extent(p, x, field, p.info.Extents[x.ext])
	}
	if p.un != nil {
		err = c.sumPacked(p, f.(unpack.File).File, func(ext int64, v int, rec int64, crc uint32, good bool) {
			if want = max(want, ext+1); good && p.info != nil {
				report(extentSum{ext: ext, v: v, rec: rec, crc: crc})
			}
		})
	} else if err = p.indexPieces(p.set.Records); err == nil {
		piece := int64(0)
		if p.fine != nil {
			piece = p.fine.Size
		}
		err = sumExtents(c.ctx, f, pl, p.table, p.name, p.set.Records, piece, report, c.col.Did)
	}
	c.pads(p, f)
	if others > 1 && 2*others > all {
		c.say(Error, p.name, -1, "file", ErrChecksum, "not what %s describes, but of another dataset or another state of this one: %d of %d variables and records sum to something else",
			subfile.ManifestName(p.r.base), others, all)
	}
	if p.info == nil {
		if err != nil {
			c.add(fault.Of(Error, p.name, err))
		}
		return
	}
	switch n := int64(len(p.info.Extents)); {
	case err != nil:
		c.add(fault.Of(Error, p.name, err))
	case n > want:
		c.say(Error, p.name, -1, "extents", ErrCorrupt, "the manifest has %d checksums, the file %d extents", n, want)
	}
}

// extent compares an extent with what the manifest says of it and of its pieces.
func (c *checker) extent(p *checkPart, x extentSum, field string, want uint32) {
	var pieces []uint32
	if p.fine != nil {
		pieces = p.fine.Of(p.info.Pieces, p.place.Header, x.v, x.rec)
	}
	bad := 0
	for k, crc := range pieces {
		if k >= len(x.pieces) || x.pieces[k] == crc {
			continue
		}
		bad++
		lo := int64(k) * p.fine.Size
		e := extent{p.filePart, x.v, x.rec}
		hi := min(lo+p.fine.Size, e.bytes())
		c.say(Error, p.name, e.offset(lo), field, ErrChecksum, "bytes %d to %d of it sum to %08x, the manifest says %08x", lo, hi-1, x.pieces[k], crc)
	}
	if x.crc != want && bad == 0 {
		off, ok := p.place.Whole(x.v, x.rec)
		if !ok {
			off = -1
		}
		c.say(Error, p.name, off, field, ErrChecksum, "sums to %08x, the manifest says %08x", x.crc, want)
	}
}
