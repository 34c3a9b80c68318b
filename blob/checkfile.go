package blob

import (
	"fmt"
)

// structure checks one file on its own: header, size, table of blobs.
func (c *checker) structure(p *checkPart) {
	if p.name == "" || p.gone() {
		if c.state.missing.Add(1) <= maxListed {
			c.say(Error, p.wanted(), -1, "subfile", ErrMissing, "not there")
		}
		p.name = ""
		return
	}
	f, done, err := p.file()
	if err != nil {
		c.add(findingOf(Error, p.name, p.whatIsIt(err)))
		return
	}
	defer done()
	if p.size, err = f.Size(); err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	pl, records, err := decodePlace(f, p.size, p.name)
	if err != nil {
		c.add(findingOf(Error, p.name, p.whatIsIt(err)))
		return
	}
	p.place, p.records = pl, records
	c.sizes(p)
	c.manifest(p)
	if why := pl.hdr.OddName(); why != "" {
		c.say(Warning, p.name, pl.hdrOff, "header", nil, "%s: netCDF libraries accept no such name in a new file, and convert makes none with it", why)
	}
	if pl.layout == Canonical {
		return
	}
	if pl.layout == ProcessCentric {
		for v := range pl.hdr.Vars {
			if b := pl.hdr.Vars[v].Begin; b != 0 {
				c.say(Note, p.name, -1, fmt.Sprintf("variable %q begin", pl.hdr.Vars[v].Name), nil, "%d, the reference writes 0", b)
				break
			}
		}
	}
	t, err := readTable(f, pl, p.name, func(err error) { c.add(findingOf(Error, p.name, err)) })
	if err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	c.container(p, f)
	p.table = t
	p.unpack()
	c.index(p, f)
	if p.info != nil && pl.layout == ProcessCentric {
		if n := len(p.info.Blobs); n != len(t.blob)+1 {
			c.say(Error, p.name, -1, "blobs", ErrCorrupt, "the manifest has %d offsets, want %d for %d blobs and the end of the last", n, len(t.blob)+1, len(t.blob))
		} else if end := pl.dataOff + pl.dataLen; p.info.Blobs[n-1] != end {
			c.say(Error, p.name, end, "blobs", ErrCorrupt, "the last ends at %#x, the manifest says %#x", end, p.info.Blobs[n-1])
		}
		for j, off := range t.blob {
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
		if err := pl.holds(p.name, p.records, p.set.Records); err != nil {
			c.add(findingOf(Error, p.name, err))
			p.noData = true // how much of it to read is not known
			return
		}
		if n := pl.fileSize(p.set.Records); n != p.info.Size {
			c.say(Error, p.name, -1, "file", ErrCorrupt, "%d bytes by its header and %d records, the manifest says %d", n, p.set.Records, p.info.Size)
		}
	}
	if p.info != nil && pl.layout == VariableCentric {
		records = p.set.Records
		if p.records != records {
			c.say(Warning, p.name, numrecsAt, "numrecs", nil, "%d, the manifest says %d: a commit was cut short, the manifest is right", p.records, records)
		}
	}
	if pl.layout == ProcessCentric {
		return // the datasets' extents were checked when they were found
	}
	want := pl.fileSize(records)
	last, least := pl.lastPiece(records) // the last pad may be missing: other programs do not write it
	if pl.layout == Canonical && p.size >= last && p.size < least && pl.mayLack(least-p.size) {
		c.say(Warning, p.name, p.size, "file", nil, "%d bytes of the last variable are not there: never written (programs without fill mode leave them out) or lost; they read as zeros", least-p.size)
		return
	}
	switch {
	case p.size < min(least, want):
		c.say(Error, p.name, p.size, "file", ErrTruncated, "%d bytes, but the header promises %d", p.size, want)
	case p.size > want && p.info != nil:
		c.say(Warning, p.name, want, "file", nil, "%d bytes behind the committed end: an append that was not finished", p.size-want)
	case p.size > want:
		c.say(Warning, p.name, want, "file", nil, "%d bytes behind the end that the header promises", p.size-want)
	}
}

// manifest holds the file against the manifest's description of it.
func (c *checker) manifest(p *checkPart) {
	if p.info == nil {
		return
	}
	if m := p.r.manifest; p.place.layout.String() != m.Layout {
		c.say(Error, p.name, p.place.hdrOff, "header", ErrCorrupt, "%v, the manifest says %s", p.place.layout, m.Layout)
	} else if p.place.shape.ranks != m.Ranks {
		c.say(Error, p.name, p.place.locate().globalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, the manifest says %d", p.place.shape.ranks, m.Ranks)
	}
	if p.size < p.info.Size {
		c.say(Error, p.name, p.size, "file", ErrTruncated, "%d bytes, the manifest says %d", p.size, p.info.Size)
	}
	if p.place.hdrLen != p.info.HeaderLen || p.place.hdrOff != p.info.HeaderOff {
		c.say(Error, p.name, p.place.hdrOff, "header", ErrCorrupt, "%d bytes at %#x, the manifest says %d at %#x", p.place.hdrLen, p.place.hdrOff, p.info.HeaderLen, p.info.HeaderOff)
		return
	}
	if p.place.layout != Canonical {
		crc, err := p.headerCRC()
		if err != nil {
			c.add(findingOf(Error, p.name, err))
		} else if crc != p.info.HeaderCRC {
			c.say(Error, p.name, p.place.hdrOff, "header", ErrChecksum, "sums to %08x, the manifest says %08x", uint32(crc), uint32(p.info.HeaderCRC))
		}
	}
}

// data compares the checksums of all extents with the manifest's, or reads the
// data for the sake of reading where there is none.
func (c *checker) data(p *checkPart) {
	if p.table == nil || c.ctx.Err() != nil || p.info == nil && p.un == nil || p.noData {
		return
	}
	f, done, err := p.file()
	if err != nil {
		c.add(findingOf(Error, p.name, err))
		return
	}
	defer done()
	pl := p.place
	want := int64(0)
	report := func(x extentSum) {
		want = max(want, x.ext+1)
		field := fieldOf(pl, x.v, x.rec+p.set.First)
		if x.ext >= int64(len(p.info.Extents)) {
			c.say(Error, p.name, -1, field, ErrChecksum, "the manifest has no checksum of it")
			return
		}
		c.extent(p, x, field, p.info.Extents[x.ext])
	}
	if p.un != nil {
		err = c.sumPacked(p, f.(unpackedFile).File, func(ext int64, v int, rec int64, crc uint32, good bool) {
			if want = max(want, ext+1); good && p.info != nil {
				report(extentSum{ext: ext, v: v, rec: rec, crc: crc})
			}
		})
	} else if err = p.indexPieces(p.set.Records); err == nil {
		piece := int64(0)
		if p.fine != nil {
			piece = p.fine.size
		}
		err = sumExtents(c.ctx, f, pl, p.table, p.name, p.set.Records, piece, report, c.col.Did)
	}
	c.pads(p, f)
	if p.info == nil {
		if err != nil {
			c.add(findingOf(Error, p.name, err))
		}
		return
	}
	switch n := int64(len(p.info.Extents)); {
	case err != nil:
		c.add(findingOf(Error, p.name, err))
	case n > want:
		c.say(Error, p.name, -1, "extents", ErrCorrupt, "the manifest has %d checksums, the file %d extents", n, want)
	}
}

// extent compares an extent with what the manifest says of it and of its pieces.
func (c *checker) extent(p *checkPart, x extentSum, field string, want uint32) {
	var pieces []uint32
	if p.fine != nil {
		pieces = p.fine.of(p.info.Pieces, p.place.hdr, x.v, x.rec)
	}
	bad := 0
	for k, crc := range pieces {
		if k >= len(x.pieces) || x.pieces[k] == crc {
			continue
		}
		bad++
		lo := int64(k) * p.fine.size
		e := extent{p.filePart, x.v, x.rec}
		hi := min(lo+p.fine.size, e.bytes())
		c.say(Error, p.name, e.offset(lo), field, ErrChecksum, "bytes %d to %d of it sum to %08x, the manifest says %08x", lo, hi-1, x.pieces[k], crc)
	}
	if x.crc != want && bad == 0 {
		off := int64(-1)
		if p.place.layout == VariableCentric {
			off, _ = p.place.at.Extent(x.v, x.rec)
		}
		c.say(Error, p.name, off, field, ErrChecksum, "sums to %08x, the manifest says %08x", x.crc, want)
	}
}

// fieldOf names a header variable, and its record of the dataset.
func fieldOf(pl *place, v int, rec int64) string {
	s := fmt.Sprintf("variable %q", pl.hdr.Vars[v].Name)
	if pl.hdr.IsRecord(v) {
		s += fmt.Sprintf(" record %d", rec)
	}
	return s
}
