package ffformat

import (
	"blobio/internal/base/fault"
	"errors"
	"io"
	"math"
	"strings"
)

// maxMeta is the maximum size of a file's metadata in bytes. It is enough for over a million containers.
const maxMeta = 64 << 20

// Decode reads the metadata of a file of size bytes. It finds the layout and the kind of hash by content, because only in the
// right layout the file block has the hash of its own fields. name is the file name for errors.
//
// Decode checks everything that it needs to find all records: the hash of the file block, the sizes in it, and that the records
// fill their space. Containers and chunks together must not be larger than the file. If a check fails, Decode returns
// ErrCorrupt. Check finds all other faults. The errors are *FormatError of the classes ErrNotFormat (no file block), ErrChecksum
// (a file block whose hash is wrong), ErrTruncated, ErrCorrupt, ErrTooLarge and ErrUnsupported (a big-endian file), or errors of
// r. With Lenient, Decode returns a damaged file with File.Damaged set. An error then means that no records were found.
func Decode(r io.ReaderAt, size int64, name string, o *Options) (*File, error) {
	d := decoder{r: r, size: size, name: name, maxMeta: maxMeta}
	if o != nil {
		d.Options = *o
	}
	if size < 0 || d.Layout != 0 && !d.Layout.valid() {
		return nil, fault.Usage("size %d, layout %v", size, d.Layout)
	}
	return d.decode()
}

// decode does the work of Decode.
func (d *decoder) decode() (*File, error) {
	f, err := d.byHash()
	if f != nil && err == nil {
		if !d.Lenient {
			if err := f.bounds(); err != nil {
				return nil, err
			}
		}
		return f, nil
	}
	if isIO(err) || errors.Is(err, fault.ErrTooLarge) || errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	f, serr := d.salvage(f, err)
	switch {
	case isIO(serr):
		return nil, serr
	case d.Lenient && f != nil:
		return f, nil
	case err != nil:
		return nil, err
	case f != nil:
		return nil, f.Damaged
	}
	return nil, serr
}

// isIO reports whether err comes from reading, and is not about the content of the file.
func isIO(err error) bool {
	var fe *FormatError
	return err != nil && !errors.As(err, &fe)
}

type decoder struct {
	Options
	r       io.ReaderAt
	size    int64
	name    string
	maxMeta int64
}

func (d *decoder) err(off int64, field string, class error, format string, args ...any) error {
	return fault.At(d.name, off, field, class, format, args...)
}

// tryOrder lists the layouts, newest first. F comes before C0, because their file blocks have the same length.
var tryOrder = []Layout{LayoutF, LayoutE, LayoutD, LayoutC, LayoutC0, LayoutB, LayoutA}

func (d *decoder) layouts() []Layout {
	if d.Layout != 0 {
		return []Layout{d.Layout}
	}
	return tryOrder
}

// read returns n bytes at off, or ErrTruncated if the file is too short.
func (d *decoder) read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > d.size-n {
		return nil, d.err(d.size, "", ErrTruncated, "file ends before byte %#x", off+n)
	}
	if n > d.maxMeta {
		return nil, d.err(off, "metadata", fault.ErrTooLarge, "%d bytes, the cap is %d", n, d.maxMeta)
	}
	b := make([]byte, n)
	if m, err := d.r.ReadAt(b, off); int64(m) < n {
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, d.err(off+int64(m), "", ErrTruncated, "file ends here, want %d bytes", d.size)
		}
		return nil, err
	}
	return b, nil
}

// byHash finds the layout whose file block has the right hash. It returns nil, nil if there is none. If the hash fits but other
// metadata are wrong, it returns a file and an error. Layouts C and D have the same file block, so byHash distinguishes them by
// their records.
func (d *decoder) byHash() (*File, error) {
	var best *File
	var bestErr error
	for _, l := range d.layouts() {
		f, err := d.byHashOf(l)
		if isIO(err) || f == nil && err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		if best == nil || better(f, err, best, bestErr) {
			best, bestErr = f, err
		}
		if l != LayoutD && l != LayoutC {
			break
		}
	}
	return best, bestErr
}

// better reports whether f is more likely than g to be the right interpretation of the file. ferr and gerr are their errors.
func better(f *File, ferr error, g *File, gerr error) bool {
	if (ferr == nil) != (gerr == nil) {
		return ferr == nil
	}
	return inPlaceShare(f.Layout, f.Blocks) > inPlaceShare(g.Layout, g.Blocks)
}

// byHashOf tries one layout for byHash.
func (d *decoder) byHashOf(l Layout) (*File, error) {
	places := []int64{d.size - l.fbSize()} // a parity file of layout A or B has its file block here
	if !l.atEnd() {
		places = []int64{0, d.size - l.fbSize()}
	}
	for _, at := range places {
		if at < 0 || at > d.size-l.fbSize() {
			continue
		}
		b, err := d.read(at, l.fbSize())
		if err != nil {
			return nil, err
		}
		f := d.file(l, b)
		if l == LayoutF && strings.HasPrefix(f.FB.Checksum, fastMark) {
			if f, err := d.fast(f); f != nil || err != nil {
				return f, err
			}
			continue
		}
		if hashFB(l, b) != f.FB.MyHash {
			continue
		}
		return f, d.fill(f, at)
	}
	return nil, nil
}

// file returns a File with only the file block b.
func (d *decoder) file(l Layout, b []byte) *File {
	f := &File{Name: d.name, Layout: l, Size: d.size}
	f.FB.decode(l, b)
	return f
}

// fast checks the hash of a Fast file, which covers all metadata. It returns nil, nil if the file is not Fast or the hash does
// not fit.
func (d *decoder) fast(f *File) (*File, error) {
	at := d.size - LayoutF.fbSize()
	bs, ok, err := parseFast(f.FB.Checksum)
	if !ok {
		return nil, nil
	}
	if err != nil {
		class := ErrCorrupt
		if v := f.FB.Checksum[max(0, len(f.FB.Checksum)-len(fastVersion)):]; v != fastVersion && laterFast.MatchString(v) {
			class = ErrUnsupported
		}
		return nil, d.err(at, "FB.checksum", class, "%v", err)
	}
	f.Hash, f.BlockSize = Fast, bs
	if f.FB.DataSize < 0 || f.FB.DataSize > at {
		return nil, nil
	}
	meta, err := d.read(f.FB.DataSize, d.size-f.FB.DataSize)
	if err != nil {
		return nil, err
	}
	if hashMeta(meta) != f.FB.MyHash {
		return nil, nil
	}
	return f, d.fill(f, at)
}

// fill reads the blocks of f, whose valid file block begins at byte at.
func (d *decoder) fill(f *File, at int64) error {
	l, fb, t := f.Layout, &f.FB, &f.Layout.table().fb
	if n := d.size - l.fbSize(); at == n && fb.FileSize == n && fb.MaxFs == n && n != 0 {
		f.Parity = true
		return nil
	}
	if fb.FileSize != d.size && swapped(fb.FileSize, t.fs.len) == d.size {
		return d.err(at+int64(t.fs.off), "FB.fs", ErrUnsupported, "the file is big-endian")
	}
	class, off := ErrCorrupt, at+int64(t.fs.off)
	if d.size < fb.FileSize {
		class = ErrTruncated
	}
	switch {
	case fb.CkptSize != fb.FileSize:
		return d.err(at+int64(t.ckptSize.off), "FB.ckptSize", ErrCorrupt, "%d, but fs is %d", fb.CkptSize, fb.FileSize)
	case fb.FileSize == d.size:
	case l == LayoutB && d.size < fb.FileSize: // FTI may not have written the last containers, because they are empty
	case !l.wide() && d.size > math.MaxInt32:
		return d.err(off, "FB.fs", fault.ErrRange, "%d, but the file has %d bytes, which is too large for layout E", fb.FileSize, d.size)
	default:
		return d.err(off, "FB.fs", class, "%d, the file has %d bytes", fb.FileSize, d.size)
	}
	if !l.atEnd() {
		var err error
		f.Blocks, err = d.inline(l, fb.FileSize)
		return err
	}
	if fb.DataSize < 0 || fb.DataSize > at {
		return d.err(at+int64(t.dataSize.off), "FB.dataSize", ErrCorrupt, "%d, want 0 to %d", fb.DataSize, at)
	}
	if fb.MetaSize != d.size-fb.DataSize {
		return d.err(at+int64(t.metaSize.off), "FB.metaSize", ErrCorrupt, "%d, want %d: dataSize is %d and the file has %d bytes",
			fb.MetaSize, d.size-fb.DataSize, fb.DataSize, d.size)
	}
	b, err := d.read(fb.DataSize, at-fb.DataSize)
	if err != nil {
		return err
	}
	f.Blocks, err = d.blocks(l, b, fb.DataSize)
	return err
}

// swapped returns v in the other byte order.
func swapped(v int64, n int) int64 {
	var r uint64
	for i := range n {
		r = r<<8 | uint64(v)>>(8*i)&0xff
	}
	return int64(r)
}

// blocks parses the records of layouts C0 to F in b, which they must fill. b begins at byte base of the file. On error blocks
// returns the blocks before the fault.
func (d *decoder) blocks(l Layout, b []byte, base int64) ([]Block, error) {
	var blocks []Block
	for off := base; len(b) > 0; {
		if int64(len(b)) < l.bmdSize() {
			return blocks, d.err(off, "BMD", ErrCorrupt, "%d bytes before the file block are too few for a block header, want %d", len(b), l.bmdSize())
		}
		n, bl := decodeBMD(l, b, off)
		if left := int64(len(b)) - l.bmdSize(); n < 0 || n > left/l.vmdSize() {
			return blocks, d.err(off, "BMD.numvars", ErrCorrupt, "%d, want 0 to %d: no more headers fit before the file block", n, left/l.vmdSize())
		}
		bl.decodeVMDs(l, b[l.bmdSize():], int(n))
		size := l.blockMeta(int(n))
		b, off = b[size:], off+size
		blocks = append(blocks, bl)
	}
	return blocks, nil
}

// inline reads the blocks of layouts A and B up to byte end. In these layouts each block's metadata come before its data. On
// error inline returns the blocks before the fault.
func (d *decoder) inline(l Layout, end int64) ([]Block, error) {
	var blocks []Block
	meta := l.fbSize()
	for off := l.fbSize(); off < end; {
		b, err := d.read(off, l.bmdSize())
		if err != nil {
			return blocks, fieldOf(err, "BMD")
		}
		n, bl := decodeBMD(l, b, off)
		left := end - off - l.bmdSize()
		if n < 0 || n > left/l.vmdSize() {
			return blocks, d.err(off, "BMD.numvars", ErrCorrupt, "%d, want 0 to %d: no more headers fit before the end of the file", n, left/l.vmdSize())
		}
		if meta += l.bmdSize() + n*l.vmdSize(); meta > d.maxMeta {
			return blocks, d.err(off, "BMD.numvars", fault.ErrTooLarge, "%d, headers are over the cap of %d bytes", n, d.maxMeta)
		}
		if b, err = d.read(off+l.bmdSize(), n*l.vmdSize()); err != nil {
			return blocks, fieldOf(err, "VMD")
		}
		bl.decodeVMDs(l, b, int(n))
		if least := l.blockMeta(int(n)); bl.Size < least || bl.Size > end-off {
			return append(blocks, bl), d.err(off+int64(l.table().bmd.dbsize.off), "BMD.dbsize", ErrCorrupt, "%d, want %d to %d: from the headers to the end of the file",
				bl.Size, least, end-off)
		}
		blocks = append(blocks, bl)
		off += bl.Size
	}
	return blocks, nil
}

// fieldOf sets the field of a FormatError, if the error names no field.
func fieldOf(err error, field string) error {
	var fe *FormatError
	if errors.As(err, &fe) && fe.Field == "" {
		fe.Field = field
	}
	return err
}

func (fb *FileBlock) decode(l Layout, b []byte) {
	t := &l.table().fb
	fb.Checksum = string(b[:checksumLen])
	if b[checksumLen-1] == 0 {
		fb.Checksum = string(b[:checksumLen-1])
	}
	fb.MyHash = digest(b[myHashOff:])
	fb.CkptID = int32(t.ckptID.get(b))
	fb.CkptSize, fb.FileSize = t.ckptSize.get(b), t.fs.get(b)
	fb.MetaSize, fb.DataSize = t.metaSize.get(b), t.dataSize.get(b)
	fb.MaxFs, fb.PtFs = t.maxFs.get(b), t.ptFs.get(b)
	fb.Timestamp = t.timestamp.get(b)
	if t.unsigned {
		fb.Timestamp = int64(uint32(fb.Timestamp))
	}
	copy(fb.Pad[:], t.pad.bytes(b))
}

func decodeBMD(l Layout, b []byte, off int64) (numvars int64, bl Block) {
	t := &l.table().bmd
	return t.numvars.get(b), Block{Offset: off, Size: t.dbsize.get(b)}
}

// decodeVMDs decodes n chunk records from b. b must be long enough.
func (bl *Block) decodeVMDs(l Layout, b []byte, n int) {
	t := &l.table().vmd
	bl.Containers = make([]Container, n)
	for i := range bl.Containers {
		c := &bl.Containers[i]
		c.ID, c.Idx, c.ContainerID = int32(t.id.get(b)), int32(t.idx.get(b)), int32(t.containerID.get(b))
		c.HasContent, c.odd[0] = getBool(t.hasContent, b)
		c.HasCkpt, c.odd[1] = getBool(t.hasCkpt, b)
		copy(c.Pad[:], t.pad.bytes(b))
		c.Dptr, c.Fptr = t.dptr.get(b), t.fptr.get(b)
		c.ChunkSize, c.ContainerSize = t.chunk.get(b), t.room.get(b)
		c.Hash = digest(t.hash.bytes(b))
		b = b[t.size:]
	}
}

func getBool(s span, b []byte) (v bool, odd byte) {
	if v := byte(s.get(b)); v > 1 {
		return true, v
	} else {
		return v == 1, 0
	}
}
