package blob

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"blobio/subfile"
)

// extentSum is what an extent sums to.
type extentSum struct {
	ext    int64 // index in the manifest (subfile.ExtentIndex)
	v      int   // variable of the header
	rec    int64 // of the file
	crc    uint32
	pieces []uint32 // of an extent that is longer than a piece
}

// sumExtents reads all data of a subfile in file order and calls report with
// the checksums of each extent and of its pieces. records bounds what is read of a variable-centric
// file. progress gets the bytes as they are read.
func sumExtents(ctx context.Context, f io.ReaderAt, pl *place, t *ranks, name string, records, piece int64, report func(extentSum), progress func(n int64)) error {
	if pl.layout == ProcessCentric {
		return sumBlobs(ctx, f, pl, t, name, piece, report, progress)
	}
	fixed, recs := kinds(pl)
	most := int64(1)
	for v := range pl.hdr.Vars {
		most = max(most, pl.hdr.Bytes(v))
	}
	buf := make([]byte, min(readBatch, most))
	one := func(ext int64, v int, rec int64) error {
		off, n := pl.at.Extent(v, rec)
		s := newSums(piece)
		for at, size := int64(0), n; n > 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := buf[:min(n, int64(len(buf)))]
			if err := readFull(f, b, off, name, fmt.Sprintf("variable %q record %d", pl.hdr.Vars[v].Name, rec)); err != nil {
				return err
			}
			s.sum(ext, at, b)
			off, at, n = off+int64(len(b)), at+int64(len(b)), size-at-int64(len(b))
			progress(int64(len(b)))
		}
		crc, pieces, _ := s.joined(ext)
		report(extentSum{ext, v, rec, crc, pieces})
		return nil
	}
	for k, v := range fixed {
		if err := one(int64(k), v, 0); err != nil {
			return err
		}
	}
	if len(recs) == 0 {
		records = 0 // whatever the header says
	}
	for rec := range records {
		for k, v := range recs {
			if err := one(subfile.ExtentIndex(len(fixed), len(recs), k, true, rec), v, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxExtents is the most checksums of a subfile.
const maxExtents = 1 << 24

// canSum says whether a dataset may have so many records: of each record of a variable there is a checksum in
// the manifest, and a reader takes no more of them.
func (s *Schema) canSum(records int64) error {
	n := int64(0)
	for v := range s.vars {
		if s.vars[v].Record {
			n++
		}
	}
	if records > maxExtents/max(n, 1) {
		return pkg.Errorf("%d records of %d variables, want at most %d checksums: %w", records, n, maxExtents, ErrTooLarge)
	}
	return nil
}

// extentOrder says of each header variable how many of its kind come before it.
type extentOrder struct {
	fixed, recs int // variables
	pos         []int
}

func (p *place) extentOrder() *extentOrder {
	o := &extentOrder{pos: make([]int, len(p.hdr.Vars))}
	for v := range p.hdr.Vars {
		n := &o.fixed
		if p.hdr.IsRecord(v) {
			n = &o.recs
		}
		o.pos[v] = *n
		*n++
	}
	return o
}

// kinds lists the header's fixed and record variables, in definition order.
func kinds(pl *place) (fixed, recs []int) {
	for v := range pl.hdr.Vars {
		if pl.hdr.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	return fixed, recs
}

// sumBlobs sums a process-centric subfile blob by blob: an extent is what all
// blobs hold of a variable's record, in the order of the blobs.
func sumBlobs(ctx context.Context, f io.ReaderAt, pl *place, t *ranks, name string, piece int64, report func(extentSum), progress func(n int64)) error {
	fixed, recs := kinds(pl)
	nmap := pl.nd() * mapVars
	records := pl.records
	if len(recs) == 0 {
		records = 0 // whatever the header says
	}
	if records > maxExtents/int64(max(len(recs), 1)) {
		return formatErr(name, pl.hdrOff+numrecsAt, "numrecs", ErrTooLarge, "%d records of %d variables, want at most %d checksums", records, len(recs), maxExtents)
	}
	short := make([]uint32, int64(len(fixed))+records*int64(len(recs)))
	long := newSums(piece) // of extents of several pieces
	pos := make([]int, len(pl.hdr.Vars))
	for k, v := range fixed {
		pos[v] = k
	}
	for k, v := range recs {
		pos[v] = k
	}
	in := &blobStream{f: f, name: name, buf: make([]byte, min(readBatch, max(pl.dataLen, 1)))}
	take := func(ext, n int64, v int) error {
		field := pl.hdr.Vars[v].Name
		pieces := numPieces(pl.extentBytes(v, t), piece) > 0
		for n > 0 {
			b, err := in.next(n, field)
			if err != nil {
				return err
			}
			if pieces {
				long.sum(ext, long.end(ext), b)
			} else {
				short[ext] = crc32.Update(short[ext], crc32.IEEETable, b)
			}
			n -= int64(len(b))
		}
		return nil
	}
	for j := range pl.shape.nblobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		size := pl.blobSize(t, j)
		in.seek(t.blob[j], pl.dataOff+pl.dataLen)
		for v := range nmap {
			_, n := pl.mapPiece(v/mapVars, v%mapVars, t, j)
			if err := take(int64(pos[v]), n, v); err != nil {
				return err
			}
		}
		for i := range pl.schema.vars {
			v := nmap + i
			nrec := int64(1)
			if pl.schema.vars[i].Record {
				nrec = records
			}
			if _, n := pl.piece(VarID(i), 0, t, j); n == 0 {
				continue
			}
			for rec := range nrec {
				_, n := pl.piece(VarID(i), rec, t, j)
				ext := subfile.ExtentIndex(len(fixed), len(recs), pos[v], pl.schema.vars[i].Record, rec)
				if err := take(ext, n, v); err != nil {
					return err
				}
			}
		}
		progress(size)
	}
	tell := func(ext int64, v int, rec int64) {
		x := extentSum{ext: ext, v: v, rec: rec, crc: short[ext]}
		if long.end(ext) > 0 {
			x.crc, x.pieces, _ = long.joined(ext)
		}
		report(x)
	}
	for _, v := range fixed {
		tell(int64(pos[v]), v, 0)
	}
	for rec := range records {
		for _, v := range recs {
			ext := subfile.ExtentIndex(len(fixed), len(recs), pos[v], true, rec)
			tell(ext, v, rec)
		}
	}
	return nil
}

// blobStream reads a file forward in large pieces.
type blobStream struct {
	f        io.ReaderAt
	name     string
	buf      []byte
	off, end int64 // file range of the buffered bytes that are not taken
	stop     int64 // nothing is read beyond
}

func (s *blobStream) seek(off, stop int64) {
	if off < s.off || off > s.end {
		s.end = off
	}
	s.off, s.stop = off, stop
}

// next returns up to n bytes from the current offset, at least one.
func (s *blobStream) next(n int64, field string) ([]byte, error) {
	if s.off == s.end {
		k := min(int64(len(s.buf)), s.stop-s.off)
		if k <= 0 {
			return nil, formatErr(s.name, s.off, field, ErrTruncated, "beyond the end of %s", dataBlob)
		}
		// The tail of the buffer holds the bytes, so that end-off is what is left.
		if err := readFull(s.f, s.buf[int64(len(s.buf))-k:], s.off, s.name, field); err != nil {
			return nil, err
		}
		s.end = s.off + k
	}
	n = min(n, s.end-s.off)
	at := int64(len(s.buf)) - (s.end - s.off)
	s.off += n
	return s.buf[at : at+n], nil
}

// adopt gives a dataset of another program a manifest, so that it can be
// appended to and checked. Nothing of its subfiles is changed, but for the pad behind the
// last variable, which other programs leave out. It returns the ID of the manifest.
func adopt(ctx context.Context, base string, o *Options, ten *tenure) (id string, err error) {
	r, err := Open(ctx, base, &OpenOptions{fs: o.fs, Workers: o.Workers, MaxOpen: o.MaxOpen})
	if err != nil {
		return "", err
	}
	defer r.Close()
	s := r.sets[0]
	if err := r.loadSet(ctx, s); err != nil {
		return "", err
	}
	w := &Writer{schema: r.schema, base: base, ten: ten, opt: Options{Layout: r.layout, piece: o.piece}, info: datasetInfo{subfiles: len(s.parts)}}
	if s.parts[0].place.packed != nil {
		w.opt.Compress.Method = AutoCompression // for the manifest to say so
		w.opt.piece = 0                         // chunks have their own checksums
	}
	prints := make([]int64, len(r.schema.decomps))
	subs := make([]subfile.Subfile, len(s.parts))
	for k, p := range s.parts {
		w.info.ranks = p.place.shape.ranks
		sf := &subs[k]
		*sf = subfile.Subfile{Size: p.place.fileSize(r.records), HeaderOff: p.place.hdrOff, HeaderLen: p.place.hdrLen}
		if p.size < sf.Size {
			if p.place.layout != VariableCentric {
				return "", formatErr(p.name, p.size, "file", ErrTruncated, "%d bytes, the header promises %d", p.size, sf.Size)
			}
			if _, end := p.place.lastPiece(r.records); p.size < end {
				return "", formatErr(p.name, p.size, "file", ErrTruncated, "%d bytes, the header promises %d", p.size, sf.Size)
			}
			if err := addPad(o, p.name, sf.Size); err != nil {
				return "", err
			}
		}
		if sf.HeaderCRC, err = p.headerCRC(); err != nil {
			return "", err
		}
		if r.layout == ProcessCentric {
			sf.Blobs = append(append(sf.Blobs, p.table.blob...), p.place.dataOff+p.place.dataLen)
		}
		f, done, err := p.file()
		if err != nil {
			return "", err
		}
		err = sumExtents(ctx, f, p.place, p.table, p.name, r.records, w.opt.piece, func(x extentSum) { // in the order of the extents
			sf.Extents = append(sf.Extents, x.crc)
			sf.Pieces = append(sf.Pieces, x.pieces...)
		}, func(int64) {})
		done()
		if err != nil {
			return "", err
		}
		for d := range prints {
			m, err := r.Map(ctx, DecompID(d+1))
			if err != nil {
				return "", err
			}
			prints[d] += mapPrint(m.Sub(p.first, p.place.shape.nblobs), p.table, p.index)
		}
	}
	for _, v := range prints {
		w.info.prints = append(w.info.prints, fmt.Sprintf("%016x", uint64(v)))
	}
	m := w.newManifest(r.records, subs)
	sync := o.Durability == DurableCommit
	if err := subfile.WriteNext(o.fs, base, m, sync, ten.by()); err != nil {
		return "", err
	}
	return m.ID, subfile.Finish(o.fs, base, m, sync, ten.by())
}

// addPad lengthens a subfile to its whole size.
func addPad(o *Options, name string, size int64) error {
	f, err := o.fs.OpenRW(name)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if err == nil && o.Durability == DurableCommit {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// headerCRC is that of the open file.
func (p *filePart) headerCRC() (subfile.CRC, error) {
	f, done, err := p.file()
	if err != nil {
		return 0, err
	}
	defer done()
	return headerCRC(f, p.place, p.name)
}

// headerCRC sums the header's bytes in the file, with numrecs as zeros.
func headerCRC(f io.ReaderAt, pl *place, name string) (subfile.CRC, error) {
	b := make([]byte, pl.hdrLen) // decoded once, so it is in the file
	if err := readFull(f, b, pl.hdrOff, name, "header"); err != nil {
		return 0, err
	}
	clear(b[numrecsAt : numrecsAt+numrecsLen])
	return subfile.CRC(crc32.ChecksumIEEE(b)), nil
}
