package h5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"sync"

	"blobio/internal/base/fault"
)

const (
	pageSize = 1 << 15
	maxPages = 256 // at most 8 MiB of metadata
)

// source reads metadata through a small page cache. Loaded pages never change, so views of them may be returned. It is safe for
// concurrent use.
type source struct {
	r    io.ReaderAt
	size int64

	mu    sync.Mutex
	pages map[int64][]byte
	ring  []int64 // pages in loading order; the oldest is dropped first
	next  int
}

// view returns n bytes at off, which must be in the file. The result is read-only.
func (s *source) view(off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if n > pageSize {
		b := make([]byte, n)
		return b, s.readFull(b, off)
	}
	first, last := off/pageSize, (off+n-1)/pageSize
	p, err := s.page(first)
	if err != nil {
		return nil, err
	}
	at := off - first*pageSize
	if first == last {
		return p[at : at+n : at+n], nil
	}
	b := make([]byte, 0, n)
	b = append(b, p[at:]...)
	p, err = s.page(last)
	if err != nil {
		return nil, err
	}
	return append(b, p[:n-int64(len(b))]...), nil
}

func (s *source) page(i int64) ([]byte, error) {
	s.mu.Lock()
	p, ok := s.pages[i]
	s.mu.Unlock()
	if ok {
		return p, nil
	}
	off := i * pageSize
	p = make([]byte, min(pageSize, s.size-off))
	if err := s.readFull(p, off); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.pages[i]; ok {
		return p, nil
	}
	if s.pages == nil {
		s.pages = make(map[int64][]byte)
	}
	if len(s.ring) < maxPages {
		s.ring = append(s.ring, i)
	} else {
		delete(s.pages, s.ring[s.next])
		s.ring[s.next] = i
		s.next = (s.next + 1) % maxPages
	}
	s.pages[i] = p
	return p, nil
}

// readFull fills b from off. A short read is ErrTruncated.
func (s *source) readFull(b []byte, off int64) error {
	n, err := s.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %d of %d bytes: %w", n, len(b), fault.ErrTruncated)
	}
	return err
}

func (s *source) inFile(off, n int64) bool {
	return off >= 0 && n >= 0 && off <= s.size && n <= s.size-off
}

// cursor decodes a block of metadata. It keeps the first error, with the offset and field that could not be read. Later reads
// return zeros.
type cursor struct {
	f   *File
	b   []byte
	off int64 // absolute file offset of b[0]
	p   int
	err error
}

// at returns a cursor over n bytes at address addr, relative to the base address. It checks the range before it allocates.
func (f *File) at(addr, n int64, field string) *cursor {
	c := &cursor{f: f}
	if addr == undef {
		c.err = f.errAt(-1, field, fault.ErrCorrupt, "the address is undefined")
		return c
	}
	c.off = f.base + addr
	switch {
	case n < 0 || n > maxMeta:
		c.err = f.errAt(c.off, field, fault.ErrTooLarge, "%d bytes, want at most %d", n, int64(maxMeta))
	case addr > f.src.size-f.base || n > f.src.size-f.base-addr:
		c.err = f.errAt(c.off, field, fault.ErrTruncated, "%d bytes are needed, but the whole file has only %d", n, f.src.size)
	default:
		var err error
		if c.b, err = f.src.view(c.off, n); err != nil {
			c.err = &fault.FormatError{File: f.name, Offset: c.off, Field: field, Msg: "read", Err: err}
		}
	}
	return c
}

// over returns a cursor over bytes already read.
func (f *File) over(b []byte, off int64) *cursor { return &cursor{f: f, b: b, off: off} }

// pos returns the absolute file offset of the next byte.
func (c *cursor) pos() int64 { return c.off + int64(c.p) }

func (c *cursor) left() int { return len(c.b) - c.p }

func (c *cursor) fail(off int64, field string, class error, format string, args ...any) {
	if c.err == nil {
		c.err = c.f.errAt(off, field, class, format, args...)
	}
}

// take returns the next n bytes, or nil.
func (c *cursor) take(n int64, field string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > int64(c.left()) {
		c.fail(c.pos(), field, fault.ErrCorrupt, "block has %d bytes left, want %d", c.left(), n)
		return nil
	}
	b := c.b[c.p : c.p+int(n)]
	c.p += int(n)
	return b
}

func (c *cursor) skip(n int64, field string) { c.take(n, field) }

func (c *cursor) u8(field string) uint8 {
	if b := c.take(1, field); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16(field string) uint16 {
	if b := c.take(2, field); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32(field string) uint32 {
	if b := c.take(4, field); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// uvar reads a little-endian number of n bytes, n <= 8.
func (c *cursor) uvar(n int, field string) uint64 {
	var v uint64
	for i, x := range c.take(int64(n), field) {
		v |= uint64(x) << (8 * i)
	}
	return v
}

// num reads a number of n bytes that must fit int64.
func (c *cursor) num(n int, field string) int64 {
	at := c.pos()
	v := c.uvar(n, field)
	if v > 1<<63-1 {
		c.fail(at, field, fault.ErrCorrupt, "%d, want less than 2^63", v)
		return 0
	}
	return int64(v)
}

// addr reads an address; all bits set means undef.
func (c *cursor) addr(field string) int64 {
	at := c.pos()
	n := c.f.offSize
	v := c.uvar(n, field)
	switch {
	case v == 1<<(8*n)-1: // for n == 8 the shift gives 0, and 0-1 has all bits set
		return undef
	case v > 1<<62:
		c.fail(at, field, fault.ErrCorrupt, "address %#x, want below 2^62", v)
		return undef
	}
	return int64(v)
}

// length reads a length field (its width is the file's size of lengths).
func (c *cursor) length(field string) int64 { return c.num(c.f.lenSize, field) }

// magic checks a four-byte block signature.
func (c *cursor) magic(want string) {
	at := c.pos()
	if b := c.take(4, "signature"); b != nil && string(b) != want {
		c.fail(at, want+" signature", fault.ErrCorrupt, "%q, want %q", b, want)
	}
}

// version reads a version byte that must be want.
func (c *cursor) version(want uint8, field string) {
	at := c.pos()
	if v := c.u8(field); c.err == nil && v != want {
		c.fail(at, field, fault.ErrUnsupported, "%d, want %d", v, want)
	}
}

// checksum reads the last four bytes of a block and compares them with the lookup3 hash of the cursor's earlier bytes.
func (c *cursor) checksum(block string) {
	if c.err != nil {
		return
	}
	end, at := c.p, c.pos()
	if want := c.u32(block + " checksum"); c.err == nil && !c.f.noSums {
		if got := lookup3(c.b[:end]); got != want {
			c.fail(at, block+" checksum", fault.ErrChecksum, "stored checksum is %#08x, but computed %#08x", want, got)
		}
	}
}

// encLen returns the number of bytes in which the format stores numbers up to limit.
func encLen(limit uint64) int {
	if limit == 0 {
		return 1
	}
	return (bits.Len64(limit)-1)/8 + 1
}
