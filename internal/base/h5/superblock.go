package h5

import (
	"blobio/internal/base/fault"
	"errors"
	"io"
	"math/bits"
	"sync"
)

// File is an open HDF5 file. It and everything reached from it are safe for
// concurrent use as long as the file does not change.
type File struct {
	src   source
	seals sealSet

	inflaters sync.Pool // of zlib readers

	name    string
	noSums  bool
	version uint8 // of the superblock
	base    int64 // file offset of address 0
	eof     int64 // end-of-file, absolute
	offSize int
	lenSize int
	root    int64 // address of the root object header
}

// IsHDF5 reports whether the signature lies at offset 0 or at 512, 1024,
// 2048, ... (after a user block).
func IsHDF5(r io.ReaderAt, size int64) bool {
	_, ok, _ := findSignature(r, size)
	return ok
}

// findSignature returns the error of reading if there was one and the
// signature was not found.
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

// NewFile opens the HDF5 file of size bytes in r; name is for messages. Only
// the superblock is read. r is not closed.
func NewFile(r io.ReaderAt, size int64, name string) (*File, error) {
	return newFile(r, size, name, false)
}

// newFile opens a file. lax is for tests: the file may end early, and checksums of metadata are not compared.
func newFile(r io.ReaderAt, size int64, name string, lax bool) (*File, error) {
	f := &File{src: source{r: r, size: size}, name: name, noSums: lax}
	at, ok, err := findSignature(r, size)
	if err != nil {
		return nil, f.errAt(0, "signature", err, "read")
	}
	if !ok {
		return nil, f.errAt(0, "signature", fault.ErrNotFormat, "no HDF5 signature at 0, 512, 1024, ...")
	}
	// Libraries take the place of the superblock as the base address, too:
	// a user block may have been put before the file or cut off.
	f.base = at
	f.offSize, f.lenSize = 8, 8
	if err := f.superblock(); err != nil {
		return nil, err
	}
	if f.eof > size && !lax {
		return nil, f.errAt(size, "end of file", fault.ErrTruncated, "file has %d bytes, its superblock says %d", size, f.eof)
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
			return f.errAt(p, "driver information", fault.ErrUnsupported, "file of another driver than a single file")
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
		return f.errAt(f.base, "end-of-file address", fault.ErrCorrupt, "end %#x, base %#x", eof, stored)
	case f.root == undef:
		return f.errAt(f.base, "root object header address", fault.ErrCorrupt, "undefined")
	}
	f.eof = eof - stored + f.base
	return nil
}

// sizes reads the size of offsets and the size of lengths.
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

// extension looks into the superblock extension for what a reader must obey:
// only driver information. B-tree sizes and free space do not matter here,
// since nodes tell how many entries they use.
func (f *File) extension(addr int64) error {
	h, err := f.header(addr)
	if err != nil {
		return err
	}
	if m := h.find(msgDriver); m != nil {
		return f.errAt(m.off, "driver information", fault.ErrUnsupported, "file of another driver than a single file")
	}
	return nil
}

// Size returns the length of the file in bytes by its superblock.
func (f *File) Size() int64 { return f.eof }
