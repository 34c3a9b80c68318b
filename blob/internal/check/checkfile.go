package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/blob/internal/unpack"
	"blobio/cdf5"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// structure checks one file on its own: header, size, table of blobs.
func (c *checker) structure(p *checkPart) {
	if p.Name == "" || p.Gone() {
		if c.state.missing.Add(1) <= maxListed {
			c.say(dataset.Error, place{p.Wanted(), -1, "subfile"}, dataset.ErrMissing, "missing%s", p.Files.LeftBehind(p.Wanted()))
		}
		p.Name = ""
		return
	}
	f, done, err := p.File()
	if err != nil {
		c.add(fault.Of(dataset.Error, p.Name, p.WhatIsIt(err)))
		return
	}
	defer done()
	if err := p.Measure(f); err != nil {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return
	}
	pl, records, err := p.DecodeFile(f)
	if err != nil {
		err = p.WhatItWas(p.WhatIsIt(err))
		x := fault.Of(dataset.Error, p.Name, err)
		if errors.Is(err, dataset.ErrNotFormat) { // the file may be a sound file of another format
			x.Severity = dataset.Unchecked
		}
		c.add(x)
		return
	}
	p.Place, p.Records = pl, records
	if p.View != nil {
		for _, err := range p.View.LeftOut() {
			c.add(fault.Of(dataset.Error, p.Name, err))
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
				c.say(dataset.Note, place{p.Name, -1, fmt.Sprintf("variable %q begin", pl.Header.Vars[v].Name)}, nil, "found %d, but E3SM-IO writes 0", b)
				break
			}
		}
	}
	t, err := layout.ReadTable(f, &pl.Place, p.Name, layout.Listed{}, func(err error) { c.add(fault.Of(dataset.Error, p.Name, err)) })
	if err != nil {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return
	}
	c.container(p, f)
	p.Table = t
	p.Unpack()
	c.index(p, f)
	if p.Info != nil && pl.ByRank {
		if n := len(p.Info.Blobs); n != len(t.Blob)+1 {
			c.say(dataset.Error, place{p.Name, -1, "blobs"}, dataset.ErrCorrupt, "the manifest has %d blob offsets, want %d: one for each of %d blobs and one for the end", n, len(t.Blob)+1, len(t.Blob))
		} else if end := pl.DataOff + pl.DataLen; p.Info.Blobs[n-1] != end {
			c.say(dataset.Error, place{p.Name, end, "blobs"}, dataset.ErrCorrupt, "the last blob ends at %#x, but the manifest says %#x", end, p.Info.Blobs[n-1])
		}
		for j, off := range t.Blob {
			if j < len(p.Info.Blobs) && p.Info.Blobs[j] != off {
				c.say(dataset.Error, place{p.Name, off, fmt.Sprintf("blob %d", j)}, dataset.ErrCorrupt, "the blob begins at %#x, but the manifest says %#x", off, p.Info.Blobs[j])
			}
		}
	}
}

// sizes compares the length of the file with its header.
func (c *checker) sizes(p *checkPart) {
	pl := p.Place
	records := p.Records
	if p.Info != nil {
		if err := pl.Holds(p.Name, p.Records, p.set.Places()); err != nil {
			c.add(fault.Of(dataset.Error, p.Name, err))
			p.noData = true // the amount of data is unknown
			return
		}
		if n := pl.FileSize(p.set.Records); n != p.Info.Size {
			c.say(dataset.Error, place{p.Name, -1, "file"}, dataset.ErrCorrupt, "%d bytes according to its header and %d records, but the manifest says %d", n, p.set.Records, p.Info.Size)
		}
	}
	if p.Info != nil && pl.Grows {
		records = p.set.Records
		if err := p.LostCommits(records); err != nil && !c.alive {
			c.add(fault.Of(dataset.Error, p.Name, err))
		} else if p.Records != records {
			c.say(c.growing(), place{p.Name, layout.NumrecsAt, "numrecs"}, nil, "%d, but the manifest says %d: a commit was interrupted, and the number in the manifest is valid", p.Records, records)
		}
	}
	if pl.ByRank {
		return // the extents of the HDF5 datasets have already been checked
	}
	want := pl.FileSize(records)
	last, least := pl.Header.LastPiece(records) // the padding after the last variable may be missing, because other programs do not write it
	if p.Size >= last && p.Size < least && pl.MayLack(least-p.Size) {
		c.say(dataset.Warning, place{p.Name, p.Size, "file"}, nil, "the last %d bytes of the last variable are missing and read as zeros: they were lost, or the writer used no fill mode and never wrote them", least-p.Size)
		return
	}
	switch {
	case p.Size < min(least, want):
		c.say(dataset.Error, place{p.Name, p.Size, "file"}, dataset.ErrTruncated, "the file has %d bytes, but its header requires %d", p.Size, want)
	case p.Size > want && p.Info != nil:
		c.say(c.growing(), place{p.Name, want, "file"}, nil, "%d bytes of an unfinished append follow the committed end", p.Size-want)
	case p.Size > want:
		c.say(dataset.Warning, place{p.Name, want, "file"}, nil, "%d bytes follow the end that the header gives", p.Size-want)
	}
}

// header reports whether other libraries can read the header of a CDF file that is readable here.
func (c *checker) header(p *checkPart, f vfs.File) {
	if p.Place.Header.Off > 0 {
		return
	}
	n, from := 0, io.ReaderAt(f)
	if p.View != nil {
		from = bytes.NewReader(p.View.Head())
	}
	say := func(sev dataset.Severity, e *fault.FormatError, more string) {
		e.Msg += more
		if p.View != nil {
			e.Offset = -1 // the header is re-encoded, so its offsets do not apply to the file
		}
		if n++; n <= maxListed {
			c.add(fault.Of(sev, p.Name, e))
		}
	}
	_, _, _ = cdf5.DecodeHeader(from, p.Size, &cdf5.DecodeOptions{File: p.Name, MaxHeader: p.Files.Opt.MaxHeader,
		Note: func(e *fault.FormatError) {
			if strings.HasSuffix(e.Field, " name") {
				say(dataset.Warning, e, ": netCDF libraries never create this name")
			} else {
				say(dataset.Note, e, "")
			}
		},
		Twice: func(e *fault.FormatError) {
			say(dataset.Warning, e, ": netCDF libraries never create such a file and find only the first by name; blobio appends a number to the other names")
		}})
	if why := p.Place.Header.Unopenable(); why != nil {
		c.say(dataset.Warning, place{p.Name, 0, "header"}, nil, "%v: netCDF-C and PnetCDF cannot open this file, but they can open a copy made by blobio convert", why)
	}
}

// growing returns the severity for a file with more records than the manifest. While a writer is active, such a file is
// normal.
func (c *checker) growing() fault.Severity {
	if c.unfinished && c.alive {
		return dataset.Note
	}
	return dataset.Warning
}

// manifest compares the file with its description in the manifest.
func (c *checker) manifest(p *checkPart) {
	if p.Info == nil {
		return
	}
	if m := p.Files.Manifest; p.Place.Layout.String() != m.Layout {
		c.say(dataset.Error, place{p.Name, p.Place.Header.Off, "header"}, dataset.ErrCorrupt, "the layout is %v, but the manifest says %s", p.Place.Layout, m.Layout)
	} else if ranks, _ := m.MapsOf(p.set); p.Place.Shape.Ranks != ranks {
		c.say(dataset.Error, place{p.Name, p.Place.Header.Locate().GlobalAtt(dataset.AttNprocs), "attribute " + dataset.AttNprocs}, dataset.ErrCorrupt, "found %d, but the manifest says %d", p.Place.Shape.Ranks, ranks)
	}
	if p.Size < p.Info.Size {
		c.say(dataset.Error, place{p.Name, p.Size, "file"}, dataset.ErrTruncated, "the file has %d bytes, but the manifest says %d", p.Size, p.Info.Size)
	}
	if p.Place.Header.Len != p.Info.HeaderLen || p.Place.Header.Off != p.Info.HeaderOff {
		c.say(dataset.Error, place{p.Name, p.Place.Header.Off, "header"}, dataset.ErrCorrupt, "%d bytes at %#x, but the manifest says %d at %#x", p.Place.Header.Len, p.Place.Header.Off, p.Info.HeaderLen, p.Info.HeaderOff)
		return
	}
	if !p.Place.Plain {
		crc, err := p.HeaderCRC()
		if err != nil {
			c.add(fault.Of(dataset.Error, p.Name, err))
		} else if crc != p.Info.HeaderCRC {
			c.say(dataset.Error, place{p.Name, p.Place.Header.Off, "header"}, dataset.ErrChecksum, "checksum is %08x, but the manifest says %08x", uint32(crc), uint32(p.Info.HeaderCRC))
		} else {
			p.own = true
		}
	}
}

// data compares the checksums of all extents with the manifest. Without a manifest it reads all data to find read errors.
func (c *checker) data(p *checkPart) {
	if p.View != nil { // chunks may have their own checksums
		_ = p.View.Verify(c.ctx, func(err error) { c.add(fault.Of(dataset.Error, p.Name, err)) }, c.col.Did)
		return
	}
	if p.Table == nil || c.ctx.Err() != nil || p.Info == nil && p.Un == nil || p.noData {
		return
	}
	f, done, err := p.File()
	if err != nil {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return
	}
	defer done()
	pl := p.Place
	want, all, others := int64(0), 0, 0
	report := func(x read.ExtentSum) {
		want = max(want, x.Ext+1)
		if x.V >= pl.Header.Maps*layout.MapVars && x.Ext < int64(len(p.Info.Extents)) {
			if all++; x.Crc != p.Info.Extents[x.Ext] {
				others++
			}
		}
		field := read.FieldOf(pl, x.V, x.Rec+p.set.First)
		if x.Ext >= int64(len(p.Info.Extents)) {
			c.say(dataset.Error, place{p.Name, -1, field}, dataset.ErrChecksum, "no checksum in the manifest")
			return
		}
		c.extent(p, x, field, p.Info.Extents[x.Ext])
	}
	if p.Un != nil {
		err = c.sumPacked(p, f.(unpack.File).File, func(ext int64, v int, rec int64, crc uint32, good bool) {
			if want = max(want, ext+1); good && p.Info != nil {
				report(read.ExtentSum{Ext: ext, V: v, Rec: rec, Crc: crc})
			}
		})
	} else if err = p.IndexPieces(p.set.Records); err == nil {
		piece := int64(0)
		if p.Fine != nil {
			piece = p.Fine.Size
		}
		sums := read.ExtentSums{Part: p.FilePart, File: f, Records: p.set.Records, Piece: piece, Progress: c.col.Did}
		err = sums.Read(c.ctx, report)
	}
	c.pads(p, f)
	if others > 1 && 2*others > all {
		c.say(dataset.Error, place{p.Name, -1, "file"}, dataset.ErrChecksum, "the file does not match %s: it belongs to another dataset or another commit, because %d of %d checksums differ",
			subfile.ManifestName(p.Files.Base), others, all)
	}
	if p.Info == nil {
		if err != nil {
			c.add(fault.Of(dataset.Error, p.Name, err))
		}
		return
	}
	switch n := int64(len(p.Info.Extents)); {
	case err != nil:
		c.add(fault.Of(dataset.Error, p.Name, err))
	case n > want:
		c.say(dataset.Error, place{p.Name, -1, "extents"}, dataset.ErrCorrupt, "the manifest has %d checksums, but the file has %d extents", n, want)
	}
}

// extent compares the checksums of an extent and its pieces with the manifest.
func (c *checker) extent(p *checkPart, x read.ExtentSum, field string, want uint32) {
	var pieces []uint32
	if p.Fine != nil {
		pieces = p.Fine.Of(p.Info.Pieces, &p.Place.Header, x.V, x.Rec)
	}
	bad := 0
	for k, crc := range pieces {
		if k >= len(x.Pieces) || x.Pieces[k] == crc {
			continue
		}
		bad++
		lo := int64(k) * p.Fine.Size
		e := read.VarExtent{P: p.FilePart, V: x.V, Rec: x.Rec}
		hi := min(lo+p.Fine.Size, e.Bytes())
		c.say(dataset.Error, place{p.Name, e.Offset(lo), field}, dataset.ErrChecksum, "checksum of bytes %d to %d is %08x, but the manifest says %08x", lo, hi-1, x.Pieces[k], crc)
	}
	if x.Crc != want && bad == 0 {
		off, ok := p.Place.Whole(x.V, x.Rec)
		if !ok {
			off = -1
		}
		c.say(dataset.Error, place{p.Name, off, field}, dataset.ErrChecksum, "checksum is %08x, but the manifest says %08x", x.Crc, want)
	}
}
