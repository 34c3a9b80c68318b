package ffformat

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"io"
)

// maxScan is the maximum distance in bytes from the end of a damaged file at which scan looks for records.
const maxScan = 32 << 20

// maxHashed is the maximum number of bytes hashed per layout to distinguish records from other bytes.
const maxHashed = 256 << 20

// salvage finds the records of a file that byHash does not accept. If byHash found a file block with the right hash, f and cause
// are the results of byHash; otherwise f is nil. The returned File has Damaged set.
func (d *decoder) salvage(f *File, cause error) (*File, error) {
	if f != nil && !f.Parity {
		if g, err := d.resized(f); g != nil || err != nil {
			return damaged(g, cause), err
		}
	}
	if f == nil {
		g, err := d.inPlace()
		if g != nil || err != nil {
			return g, err
		}
	}
	g, err := d.scan()
	if err != nil {
		return nil, err
	}
	if g == nil {
		if cause == nil && d.size == 0 {
			cause = d.err(-1, "", ErrTruncated, "the file is empty")
		}
		if cause == nil && d.marked() {
			cause = d.err(d.size-LayoutF.fbSize(), "FB.myHash", ErrChecksum, "the hash of the metadata differs, and no record can be found")
		}
		if cause == nil {
			cause = d.err(-1, "file block", ErrNotFormat, "no file block of any layout has a matching hash (A and B: at 0, C0 to F: at the end), "+
				"and no container headers are in the last %d bytes: another format, torn before the metadata were written, or of FTI's POSIX mode (ckpt_io = 1), "+
				"whose metadata are in META/<id>/l<level>/sector*-group*.fti", min(d.size, maxScan))
		}
		return nil, cause
	}
	if cause != nil && g.Damaged != nil {
		g.Damaged = cause
	}
	return g, nil
}

// marked reports whether the file ends with a file block that has the mark of a Fast file.
func (d *decoder) marked() bool {
	at := d.size - LayoutF.fbSize()
	if at < 0 {
		return false
	}
	b, err := d.read(at, int64(len(fastMark)))
	return err == nil && string(b) == fastMark
}

func damaged(f *File, cause error) *File {
	if f != nil {
		f.Damaged = cause
	}
	return f
}

// onlyIO returns err if it is an I/O error, and otherwise nil.
func onlyIO(err error) error {
	if isIO(err) {
		return err
	}
	return nil
}

// resized recovers a file whose file block has a right hash, but whose sizes do not match the file or whose records are damaged
// from some block on.
func (d *decoder) resized(f *File) (*File, error) {
	l := f.Layout
	if f.containers() > 0 {
		f.RecordsLost = true
		return f, nil
	}
	if !l.atEnd() {
		var err error
		f.Blocks, err = d.inline(l, f.FB.FileSize)
		if f.RecordsLost = err != nil; f.containers() == 0 {
			return nil, onlyIO(err)
		}
		return f, nil
	}
	end := d.size - l.fbSize()
	for _, start := range []int64{d.size - f.FB.MetaSize, f.FB.DataSize} {
		if start < 0 || start > end {
			continue
		}
		b, err := d.read(start, end-start)
		if isIO(err) {
			return nil, err
		}
		if err != nil {
			continue
		}
		if blocks, err := d.blocks(l, b, start); err == nil && inPlaceShare(l, blocks) > 0.5 {
			f.Blocks = blocks
			return f, nil
		}
	}
	return nil, nil
}

// inPlace handles a file block at its regular offset whose hash is wrong. It chooses the layout whose records fit best.
func (d *decoder) inPlace() (*File, error) {
	var best *File
	bestScore := 0.0
	for _, l := range d.layouts() {
		at, fb := d.size-l.fbSize(), l.table().fb
		if at < 0 {
			continue
		}
		if !l.atEnd() {
			at = 0
		}
		b, err := d.read(at, l.fbSize())
		if err != nil {
			return nil, onlyIO(err)
		}
		f := d.file(l, b)
		marked := f.markFast() // treat a damaged mark as a mark
		if !l.atEnd() {
			end := f.FB.FileSize
			if end != f.FB.CkptSize || end < l.fbSize() {
				end = d.size
			}
			if f.Blocks, err = d.inline(l, end); isIO(err) {
				return nil, err
			}
			f.RecordsLost = err != nil
		} else {
			start := f.FB.DataSize
			if start < 0 || start > at || f.FB.MetaSize != d.size-start && f.FB.FileSize != d.size {
				continue
			}
			b, err := d.read(start, at-start)
			if isIO(err) {
				return nil, err
			}
			if err != nil {
				continue
			}
			f.Blocks, err = d.blocks(l, b, start)
			f.RecordsLost = err != nil
		}
		share := inPlaceShare(l, f.Blocks)
		score := share
		if isHex([]byte(f.FB.Checksum)) || f.Hash == Fast || marked != nil {
			score++
		}
		if !f.RecordsLost {
			score++
		}
		if share > 0.5 && score > bestScore {
			want := f.FB.computeHash(l)
			f.Damaged = d.err(at+myHashOff, "FB.myHash", ErrChecksum, "layout %v, %x, but the hash of the fields is %x", l, f.FB.MyHash, want)
			if f.Hash == Fast {
				f.Damaged = d.err(at+myHashOff, "FB.myHash", ErrChecksum, "Fast, %x, but the hash of the metadata differs", f.FB.MyHash)
			}
			if l.atEnd() && fb.atEnd && f.FB.MetaSize != d.size-f.FB.DataSize || f.FB.FileSize != d.size && l != LayoutB {
				f.Damaged = errors.Join(f.Damaged, d.err(at+int64(fb.fs.off), "FB.fs", ErrCorrupt, "%d, the file has %d bytes", f.FB.FileSize, d.size))
			}
			best, bestScore = f, score
		}
	}
	return best, nil
}

// markFast sets the kind of hash of f, according to the checksum field.
func (f *File) markFast() error {
	if f.Layout != LayoutF {
		return nil
	}
	bs, ok, err := parseFast(f.FB.Checksum)
	if ok && err == nil {
		f.Hash, f.BlockSize = Fast, bs
	}
	return err
}

// inPlaceShare returns the fraction, 0 to 1, of the containers that lie where the growth rule puts them. The fraction is high if
// blocks are real records, and low if they were parsed from other bytes.
func inPlaceShare(l Layout, blocks []Block) float64 {
	n, good := 0, 0
	var at int64
	for i := range blocks {
		bl := &blocks[i]
		if !l.atEnd() {
			at = bl.Offset + l.blockMeta(len(bl.Containers))
		}
		for j := range bl.Containers {
			c := &bl.Containers[j]
			if n++; c.Fptr == at && c.ContainerSize >= 0 && c.ChunkSize >= 0 && c.ChunkSize <= c.ContainerSize {
				good++
			}
			if at = c.Fptr + c.ContainerSize; at < 0 {
				return 0
			}
		}
	}
	if n == 0 {
		return 0
	}
	return float64(good) / float64(n)
}

// scan searches the end of the file for records of layouts C0 to F. Their file block may be lost, or not at the end of the file.
// scan recognises the records because the first container is at 0 and the records follow the last container.
func (d *decoder) scan() (*File, error) {
	from := max(0, d.size-min(maxScan, d.maxMeta))
	b, err := d.read(from, d.size-from)
	if err != nil {
		return nil, onlyIO(err)
	}
	for _, l := range d.layouts() {
		// C0 has the same records as C, and D has the same records as F, so do not try C0 and D. tail finds the kind of file
		// block.
		if d.Layout == 0 && (l == LayoutC0 || l == LayoutD) || !l.atEnd() {
			continue
		}
		budget := 4*len(b) + 1<<16 // number of bytes that may be parsed; the limit bounds the time for hostile files
		hashed := int64(maxHashed)
		for p := 0; p+int(l.blockMeta(1)) <= len(b) && budget > 0; p++ {
			if !startsRecords(l, b[p:], from+int64(p)) {
				continue
			}
			blocks, n := d.consistent(l, b[p:], from+int64(p))
			budget -= n + int(l.blockMeta(1))
			if len(blocks) == 0 {
				continue
			}
			if ok, err := d.evident(blocks, from+int64(p), b[p+n:], &hashed); err != nil {
				return nil, err
			} else if ok {
				return d.tail(l, blocks, b[p+n:], from+int64(p+n)), nil
			}
		}
	}
	return nil, nil
}

// evident reports whether blocks, whose records begin at base, are real records and not similar bytes of another format. They
// are real if the data end at base, or if a chunk matches its hash. rest holds the bytes after the records, where the file block
// of a Fast file may be. budget is the number of bytes that evident may still read.
func (d *decoder) evident(blocks []Block, base int64, rest []byte, budget *int64) (bool, error) {
	end := int64(0)
	for i := range blocks {
		end += blocks[i].Size
	}
	if end == base || bytes.Contains(rest, []byte(fastMark)) {
		return end > 0, nil
	}
	for i := range blocks {
		for j := range blocks[i].Containers {
			c := &blocks[i].Containers[j]
			if !c.HasContent || c.ChunkSize == 0 || c.ChunkSize > *budget {
				continue
			}
			*budget -= c.ChunkSize
			h := md5.New()
			if _, err := io.Copy(h, io.NewSectionReader(d.r, c.Fptr, c.ChunkSize)); err != nil {
				return false, err
			}
			if digest(h.Sum(nil)) == c.Hash {
				return true, nil
			}
		}
	}
	return false, nil
}

// startsRecords reports whether b can be the first block of a file with at bytes of data. b has at least a block header and a
// record.
func startsRecords(l Layout, b []byte, at int64) bool {
	t := l.table()
	if b[t.bmd.numvars.off+3] >= 0x80 || binary.LittleEndian.Uint32(b) == 0 {
		return false
	}
	v := b[t.bmd.size:]
	if t.vmd.fptr.get(v) != 0 || t.vmd.dptr.get(v) != 0 || t.vmd.containerID.get(v) != 0 || t.vmd.hasContent.get(v) > 1 {
		return false
	}
	size, chunk, room := t.bmd.dbsize.get(b), t.vmd.chunk.get(v), t.vmd.room.get(v)
	return size >= 0 && size <= at && 0 <= chunk && chunk <= room && room <= size
}

// consistent parses blocks from b until one is incomplete or its containers are not adjacent. It returns the blocks and their
// length in bytes.
func (d *decoder) consistent(l Layout, b []byte, base int64) (blocks []Block, used int) {
	var at int64
	for {
		rest := b[used:]
		if int64(len(rest)) < l.blockMeta(1) {
			return blocks, used
		}
		n, bl := decodeBMD(l, rest, base+int64(used))
		if n <= 0 || n > (int64(len(rest))-l.bmdSize())/l.vmdSize() || bl.Size < 0 || bl.Size > base-at {
			return blocks, used
		}
		// Check the first record before memory for n records is allocated.
		if l.table().vmd.fptr.get(rest[l.bmdSize():]) != at {
			return blocks, used
		}
		bl.decodeVMDs(l, rest[l.bmdSize():], int(n))
		end := at
		for i := range bl.Containers {
			c := &bl.Containers[i]
			if c.Fptr != end || c.ChunkSize < 0 || c.ChunkSize > c.ContainerSize || c.ContainerSize > base-end {
				return blocks, used + int(l.vmdSize())*i
			}
			end += c.ContainerSize
		}
		if end-at != bl.Size {
			return blocks, used
		}
		blocks, at, used = append(blocks, bl), end, used+int(l.blockMeta(int(n)))
	}
}

// tail makes a File from blocks that end at byte at of the file. b holds the bytes from there on: the file block, perhaps
// truncated or overwritten, and any other bytes.
func (d *decoder) tail(l Layout, blocks []Block, b []byte, at int64) *File {
	group := []Layout{l}
	if d.Layout == 0 {
		switch l {
		case LayoutF:
			group = []Layout{LayoutF, LayoutD}
		case LayoutC:
			group = []Layout{LayoutC, LayoutC0}
		}
	}
	last := &blocks[len(blocks)-1]
	data := int64(0)
	if n := len(last.Containers); n > 0 {
		data = last.Containers[n-1].Fptr + last.Containers[n-1].ContainerSize
	}
	var g *File
	for _, l := range group {
		fb := make([]byte, l.fbSize())
		n := copy(fb, b)
		f := d.file(l, fb)
		meta := at - blocks[0].Offset + l.fbSize()
		f.Blocks, f.RecordsLost = blocks, data < blocks[0].Offset
		known := n >= l.table().fb.fs.off && f.FB.DataSize == data && f.FB.MetaSize == meta
		if n == len(fb) && (hashFB(l, fb) == f.FB.MyHash || f.markFast() == nil && f.Hash == Fast) && known {
			f.Damaged = d.err(at+int64(n), "", ErrCorrupt, "%d bytes follow the file block (layout %v)", d.size-at-int64(n), l)
			return f
		}
		if g != nil && !known {
			continue
		}
		if !known && !bytes.HasPrefix(fb, []byte(fastMark)) && !isHex(fb[:32]) {
			f.FB = FileBlock{}
		}
		f.markFast() //nolint:errcheck // if the mark is unreadable, the hash stays MD5
		f.FB.DataSize, f.FB.MetaSize = data, meta
		f.FB.CkptSize, f.FB.FileSize = data+meta, data+meta
		if n < l.table().fb.ptFs.off+l.table().fb.ptFs.len || !known {
			f.FB.MaxFs, f.FB.PtFs = -1, -1
		}
		class, what := ErrTruncated, "the file block is truncated or lost"
		if int64(len(b)) >= l.fbSize() {
			class, what = ErrChecksum, "the file block is damaged"
		}
		if data < blocks[0].Offset {
			class, what = ErrCorrupt, "the headers of later blocks are damaged or lost"
		}
		f.Damaged = d.err(at, "FB", class, "%s; %d blocks of layout %v were found at %#x", what, len(blocks), l, blocks[0].Offset)
		g = f
		if known {
			return g
		}
	}
	return g
}

// isHex reports whether b holds only lower-case hex digits.
func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
