package kvtree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"blobio/internal/base/fault"
)

// Sizes of the file record; see docs/format-kvtree.md.
const (
	magic       = 0x951fc3f5
	typeTree    = 1
	version1    = 1
	headerLen   = 20 // magic, type, version, size, flags
	flagCRC     = 1
	crcLen      = 4
	countLen    = 4
	minElem     = 1 + countLen // an empty key with its NUL, and an empty node
	maxFileSize = math.MaxUint32
)

// Offsets of the fields.
const (
	offMagic   = 0
	offType    = 4
	offVersion = 6
	offSize    = 8
	offFlags   = 16
	offRoot    = headerLen
)

// Record is a tree and the other fields of its record in a file.
type Record struct {
	Tree       *Tree
	Size       int64  // length in bytes, without bytes after the record; 0 for an empty file
	Flags      uint32 // from the header
	HasCRC     bool
	CRC        uint32 // CRC in the file; it matched the content
	Duplicates int    // number of duplicate keys, whose trees were merged
	Extra      int64  // number of unused bytes between the root and the end of the record
}

// Encode returns the file record of a tree, with a CRC-32. The error wraps ErrTooLarge for a record of 4 GiB or more, because SCR
// would compute a wrong CRC. Other errors come from Pack.
func Encode(t *Tree) ([]byte, error) {
	size, err := PackedSize(t)
	if err != nil {
		return nil, err
	}
	size += headerLen + crcLen
	if size > maxFileSize || size > math.MaxInt {
		return nil, fmt.Errorf("a record of %d bytes: %w", size, ErrTooLarge)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, size), magic)
	b = binary.BigEndian.AppendUint16(b, typeTree)
	b = binary.BigEndian.AppendUint16(b, version1)
	b = binary.BigEndian.AppendUint64(b, uint64(size))
	b = binary.BigEndian.AppendUint32(b, flagCRC)
	b = appendTree(b, t)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)), nil
}

// Decode reads the record at the beginning of b. Other bytes may follow; Record.Size is the length of the record. Format errors
// are *FormatError, with offsets in b. If b is empty, the error is ErrTruncated.
func Decode(b []byte, o *Options) (*Record, error) {
	opts, err := o.fill()
	if err != nil {
		return nil, err
	}
	h, err := opts.header(b, int64(len(b)))
	if err != nil {
		return nil, err
	}
	return opts.decode(b[:h.Size], h)
}

// ReadRecord reads the record at offset off of a file of size bytes. It reads no bytes after the record. Offsets in errors are
// relative to off.
func ReadRecord(r io.ReaderAt, off, size int64, o *Options) (*Record, error) {
	opts, err := o.fill()
	if err != nil {
		return nil, err
	}
	if off < 0 || size < off {
		return nil, fault.Usage("offset is %d, want an offset in a file of %d bytes", off, size)
	}
	size -= off
	head := make([]byte, min(size, headerLen))
	if err := opts.readFull(io.NewSectionReader(r, off, size), head); err != nil {
		return nil, err
	}
	h, err := opts.header(head, size)
	if err != nil {
		return nil, err
	}
	b := make([]byte, h.Size)
	if err := opts.readFull(io.NewSectionReader(r, off, h.Size), b); err != nil {
		return nil, err
	}
	if !bytes.Equal(b[:headerLen], head) {
		return nil, opts.fault(0, "header", ErrCorrupt, "changed while it was read")
	}
	return opts.decode(b, h)
}

// readFull reads all of b. If the file has become shorter, the error is ErrTruncated.
func (o *Options) readFull(r io.Reader, b []byte) error {
	n, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return o.fault(int64(n), "record", ErrTruncated, "the file became shorter while it was read")
	}
	return err
}

// header parses the header of a record. avail is the number of bytes from the beginning of the record to the end of the input.
// header checks that Size is at least the minimum length of a record, and at most avail and MaxBytes.
func (o *Options) header(b []byte, avail int64) (*Record, error) {
	if len(b) >= offType {
		if m := binary.BigEndian.Uint32(b[offMagic:]); m != magic {
			return nil, o.fault(offMagic, "magic", ErrNotFormat, "%#08x, want %#08x", m, uint32(magic))
		}
	}
	if len(b) < headerLen {
		return nil, o.fault(int64(len(b)), "header", ErrTruncated, "%d bytes, want %d", len(b), headerLen)
	}
	if v := binary.BigEndian.Uint16(b[offType:]); v != typeTree {
		return nil, o.fault(offType, "file type", fault.ErrUnsupported, "%d, want %d", v, typeTree)
	}
	if v := binary.BigEndian.Uint16(b[offVersion:]); v != version1 {
		return nil, o.fault(offVersion, "version", fault.ErrVersion, "%d, want %d", v, version1)
	}
	size := binary.BigEndian.Uint64(b[offSize:])
	r := &Record{Flags: binary.BigEndian.Uint32(b[offFlags:])}
	r.HasCRC = r.Flags&flagCRC != 0
	least := uint64(headerLen + countLen)
	if r.HasCRC {
		least += crcLen
	}
	switch {
	case size < least:
		return nil, o.fault(offSize, "file size", ErrCorrupt, "%d, want at least %d", size, least)
	case size > uint64(avail):
		return nil, o.fault(offSize, "file size", ErrTruncated, "%d bytes, the file has %d", size, avail)
	case size > uint64(o.MaxBytes) || size > math.MaxInt:
		return nil, o.fault(offSize, "file size", ErrTooLarge, "%d bytes, limit %d", size, o.MaxBytes)
	case o.Strict && r.Flags&^flagCRC != 0:
		return nil, o.fault(offFlags, "flags", fault.ErrUnsupported, "%#x, want 0 or 1", r.Flags)
	}
	r.Size = int64(size)
	return r, nil
}

// decode reads the tree that follows the header h. b is the whole record.
func (o *Options) decode(b []byte, h *Record) (*Record, error) {
	end := len(b)
	if h.HasCRC {
		end -= crcLen
		h.CRC = binary.BigEndian.Uint32(b[end:])
		if crc := crc32.ChecksumIEEE(b[:end]); crc != h.CRC {
			return nil, o.fault(int64(end), "crc32", ErrChecksum, "stored checksum is %#08x, but computed %#08x", h.CRC, crc)
		}
	}
	t, n, dups, err := unpack(b[offRoot:end], offRoot, o)
	if err != nil {
		return nil, err
	}
	h.Tree, h.Duplicates, h.Extra = t, dups, int64(end-offRoot-n)
	if o.Strict && h.Extra > 0 {
		return nil, o.fault(int64(offRoot+n), "root", ErrCorrupt, "%d bytes follow the root", h.Extra)
	}
	return h, nil
}
