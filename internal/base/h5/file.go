package h5

import (
	"errors"
	"io"
	"math/bits"

	"blobio/internal/base/fault"
)

// File is an open HDF5 file. A File, and all objects that are opened with it, are safe for concurrent use as long as the file
// does not change.
type File struct {
	src   source
	seals sealSet

	inflaters inflaters

	name    string
	noSums  bool
	version uint8 // of the superblock
	base    int64 // file offset of address 0
	eof     int64 // end-of-file, absolute
	offSize int
	lenSize int
	root    int64 // address of the root object header
}

// IsHDF5 reports whether the signature is at offset 0 or at 512, 1024, 2048, ... (after a user block).
func IsHDF5(r io.ReaderAt, size int64) bool {
	_, ok, _ := findSignature(r, size)
	return ok
}

// findSignature finds the signature. If it is not found and a read failed, it returns the read error.
func findSignature(r io.ReaderAt, size int64) (int64, bool, error) {
	var b [8]byte
	var fail error
	for off := int64(0); off >= 0 && off <= size-8; {
		n, err := r.ReadAt(b[:], off)
		if n == 8 && string(b[:]) == signature {
			return off, true, nil
		}
		if n < 8 && fail == nil && !errors.Is(err, io.EOF) {
			fail = err
		}
		off = max(512, off*2)
	}
	return 0, false, fail
}

// NewFile opens the HDF5 file of size bytes in r. It reads only the superblock and does not close r. name is for error messages.
func NewFile(r io.ReaderAt, size int64, name string) (*File, error) {
	return newFile(r, size, name, false)
}

// newFile opens a file. lax is for tests: the file may be truncated, and metadata checksums are not verified.
func newFile(r io.ReaderAt, size int64, name string, lax bool) (*File, error) {
	f := &File{src: source{r: r, size: size}, name: name, noSums: lax}
	at, ok, err := findSignature(r, size)
	if err != nil {
		return nil, f.errAt(0, "signature", err, "cannot read the file")
	}
	if !ok {
		return nil, f.errAt(0, "signature", fault.ErrNotFormat, "no HDF5 signature at 0, 512, 1024, ...")
	}
	// Like libhdf5, use the offset of the superblock as the base address, because a user block may have been added or removed.
	f.base = at
	f.offSize, f.lenSize = 8, 8
	if err := f.superblock(); err != nil {
		return nil, err
	}
	if f.eof > size && !lax {
		return nil, f.errAt(size, "end of file", fault.ErrTruncated, "the file has %d bytes, but its superblock says %d", size, f.eof)
	}
	return f, nil
}

func (f *File) superblock() error {
	c := f.at(8, 1, "superblock version")
	f.version = c.u8("superblock version")
	if c.err != nil {
		return c.err
	}
	var stored, eof int64
	switch f.version {
	case 0, 1:
		c = f.at(0, 24, "superblock")
		c.skip(13, "superblock")
		f.sizes(c)
		if c.err != nil {
			return c.err
		}
		at := int64(24)
		if f.version == 1 {
			at = 28
		}
		c = f.at(at, int64(6*f.offSize+24), "superblock addresses")
		stored = c.addr("base address")
		c.addr("free-space address")
		eof = c.addr("end-of-file address")
		p := c.pos()
		if driver := c.addr("driver information address"); c.err == nil && driver != undef {
			return f.errAt(p, "driver information", fault.ErrUnsupported, "the file needs a driver other than the single-file driver")
		}
		c.addr("root link name offset")
		f.root = c.addr("root object header address")
	case 2, 3:
		c = f.at(9, 2, "superblock")
		f.sizes(c)
		if c.err != nil {
			return c.err
		}
		c = f.at(0, int64(16+4*f.offSize), "superblock")
		c.skip(12, "superblock")
		stored = c.addr("base address")
		ext := c.addr("superblock extension address")
		eof = c.addr("end-of-file address")
		f.root = c.addr("root object header address")
		c.checksum("superblock")
		if c.err == nil && ext != undef {
			if err := f.extension(ext); err != nil {
				return err
			}
		}
	default:
		return f.errAt(f.base+8, "superblock version", fault.ErrUnsupported, "%d, want 0 to 3", f.version)
	}
	switch {
	case c.err != nil:
		return c.err
	case stored == undef || eof == undef || eof < stored:
		return f.errAt(f.base, "end-of-file address", fault.ErrCorrupt, "end %#x and base %#x are invalid", eof, stored)
	case f.root == undef:
		return f.errAt(f.base, "root object header address", fault.ErrCorrupt, "the address is undefined")
	}
	f.eof = eof - stored + f.base
	return nil
}

// sizes reads the widths of offsets and lengths.
func (f *File) sizes(c *cursor) {
	for _, p := range []*int{&f.offSize, &f.lenSize} {
		at := c.pos()
		n := int(c.u8("size of offsets or lengths"))
		if c.err == nil && (n < 2 || n > 8 || bits.OnesCount(uint(n)) != 1) {
			c.fail(at, "size of offsets or lengths", fault.ErrUnsupported, "%d, want 2, 4 or 8", n)
		}
		*p = n
	}
}

// extension checks the superblock extension for driver information, which is unsupported. B-tree sizes and free space do not
// matter: nodes have their own entry counts.
func (f *File) extension(addr int64) error {
	h, err := f.header(addr)
	if err != nil {
		return err
	}
	if m := h.find(msgDriver); m != nil {
		return f.errAt(m.off, "driver information", fault.ErrUnsupported, "the file needs a driver other than the single-file driver")
	}
	return nil
}

// Size returns the file length in bytes according to the superblock.
func (f *File) Size() int64 { return f.eof }

// errAt returns a FormatError for a field at absolute file offset off.
func (f *File) errAt(off int64, field string, class error, format string, args ...any) error {
	return fault.At(f.name, off, field, class, format, args...)
}

// Numbers of the HDF5 File Format Specification, version 3.0. docs/format-h5.md has the tables with the same names.

const signature = "\x89HDF\r\n\x1a\n"

// undef is the undefined address (all bits set in the file).
const undef int64 = -1

// Message types of object headers.
const (
	msgNil          = 0x00
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgFillOld      = 0x04
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgGroupInfo    = 0x0a
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
	msgDriver       = 0x14
	msgAttrInfo     = 0x15
	msgMax          = 0x17 // the last known type; messages with higher types are unknown
)

// Message flags.
const (
	msgShared      = 1 << 1 // the body is a reference to the message
	msgFailUnknown = 1 << 7 // a reader that does not know the type must fail
)

// Sizes of the writer's output (superblock 0, 8-byte offsets and lengths).
const (
	superblock0Len  = 96
	symbolEntryLen  = 40
	groupLeafK      = 4  // a symbol node holds up to 2*4 entries
	groupInternalK  = 16 // a B-tree node holds up to 2*16 children
	symbolNodeLen   = 8 + 2*groupLeafK*symbolEntryLen
	groupNodeLen    = 24 + (2*groupInternalK+1)*8 + 2*groupInternalK*8
	localHeapLen    = 32
	headerPrefixLen = 16
	messagePrefix   = 8
)

// Limits. Each protects an allocation or a loop against a hostile file.
const (
	maxRank      = 32
	maxMeta      = 64 << 20  // maximum of one metadata block
	maxAttr      = 256 << 20 // maximum of one attribute value
	maxChunk     = 1 << 30   // maximum of one decoded chunk
	maxHeaderLen = 256 << 20 // maximum of all blocks of one object header
	maxMessages  = 1 << 18   // maximum per object header; counts and creation orders have 16 bits
	maxDepth     = 64        // maximum of levels of a version 2 B-tree or of nested indirect blocks
	maxName      = 1 << 16   // maximum length of a link name in a local heap
)
