package cdf5

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
)

const defaultMaxHeader = 256 << 20

// DecodeOptions are the options of DecodeHeader. A nil pointer means the defaults.
type DecodeOptions struct {
	File string // file name for errors; default none
	// Base is the offset of the header in its file. It is added only to offsets in errors; the ReaderAt starts at the header.
	Base int64
	// Order is the byte order. nil means big-endian, as in a CDF file. AutoOrder derives the order from the tags.
	Order binary.ByteOrder
	// NoBegins skips the check of begins, for header_blob, whose begins are 0.
	NoBegins bool
	// ZeroDims accepts several dimensions of length 0. E3SM-IO writes such dimensions into header_blob for a subfile without
	// elements. Each such dimension is unlimited if it is a variable's first dimension, and empty elsewhere. Without ZeroDims, a
	// second dimension of length 0 is an ErrCorrupt.
	ZeroDims bool
	// MaxHeader limits the length of the header in bytes. Decoding needs a small multiple of this length in memory. Default 256
	// MiB.
	MaxHeader int64
	// Note, if set, is called for tolerated flaws: pads that are not zero, a wrong vsize, and names that no netCDF library would
	// create. Except for vsize, encoding the returned header fixes them.
	Note func(*FormatError)
	// Twice, if set, is called for repeated names in a list. The netCDF libraries read such lists and find only the first entry
	// by the name. Without Twice, a repeated name is an ErrCorrupt.
	Twice func(*FormatError)
}

func (o *DecodeOptions) fault(at int64, field string, class error, msg string) error {
	return &FormatError{File: o.File, Offset: o.Base + at, Field: field, Msg: msg, Err: class}
}

func (o *DecodeOptions) note(at int64, field, msg string) {
	if o.Note != nil {
		o.Note(&FormatError{File: o.File, Offset: o.Base + at, Field: field, Msg: msg})
	}
}

type autoOrder struct{ binary.ByteOrder }

// AutoOrder is a value of DecodeOptions.Order. The byte order then comes from the first tag that is not ABSENT. If all three tags
// are ABSENT, it is big-endian.
var AutoOrder binary.ByteOrder = autoOrder{binary.BigEndian}

var hdf5Magic = []byte("\x89HDF\r\n\x1a\n")

// DecodeHeader decodes the header at offset 0 of r and returns it with its length in bytes. size is the length of r. It reads in
// pieces of 64 KiB, so at most one piece beyond the header. It allocates memory only in proportion to the bytes that it has read.
//
// Errors are *FormatError of the class ErrNotFormat, ErrUnsupported (HDF5), ErrVersion, ErrTruncated, ErrCorrupt or ErrTooLarge,
// or the error of r.
func DecodeHeader(r io.ReaderAt, size int64, o *DecodeOptions) (*Header, int64, error) {
	if o == nil {
		o = &DecodeOptions{}
	}
	d := &decoder{source: source{r: r, size: size, limit: o.MaxHeader, big: true, o: o}}
	if d.limit <= 0 {
		d.limit = defaultMaxHeader
	}
	d.limit = min(d.limit, math.MaxInt/4) // lengths below are ints
	if err := d.header(); err != nil {
		return nil, 0, err
	}
	return d.h, d.pos, nil
}

// headerOrder returns the byte order of the header that begins with prefix, from its first tag that is not ABSENT. A prefix of 48
// bytes suffices. ok is false if all tags are ABSENT or if prefix is not the beginning of a header.
func headerOrder(prefix []byte) (order binary.ByteOrder, ok bool) {
	if len(prefix) < magicLen || string(prefix[:3]) != "CDF" || !Version(prefix[3]).Valid() {
		return nil, false
	}
	c := int(Version(prefix[3]).countSize())
	for at := magicLen + c; at+tagLen <= len(prefix) && at < 48; at += tagLen + c {
		switch tag := prefix[at : at+tagLen]; {
		case bytes.Equal(tag, make([]byte, tagLen)):
		case tag[0] == 0 && tag[3] != 0:
			return binary.BigEndian, true
		case tag[0] != 0 && tag[3] == 0:
			return binary.LittleEndian, true
		default:
			return nil, false
		}
	}
	return nil, false
}

type decoder struct {
	source
	h       *Header
	beginAt []int64 // offset of each variable's begin field
}

func (d *decoder) header() error {
	b, err := d.bytes(magicLen, field{owner: "magic"})
	if err != nil {
		return err
	}
	v := Version(b[3])
	switch {
	case bytes.Equal(b, hdf5Magic[:magicLen]):
		return d.fault(0, field{owner: "magic"}, ErrUnsupported, "found HDF5, possibly netCDF-4, want \"CDF\"")
	case string(b[:3]) != "CDF":
		return d.fault(0, field{owner: "magic"}, ErrNotFormat, "% x, want \"CDF\"", b)
	case !v.Valid():
		return d.fault(3, field{owner: "magic"}, ErrVersion, "version byte %d, want 1, 2 or 5", b[3])
	}
	d.h = &Header{Version: v}
	if err := d.order(); err != nil {
		return err
	}
	if err := d.numRecs(); err != nil {
		return err
	}
	if err := d.dims(); err != nil {
		return err
	}
	if d.h.Atts, err = d.atts(field{owner: "global"}); err != nil {
		return err
	}
	if err := d.vars(); err != nil {
		return err
	}
	return d.checkPlaces()
}

func (d *decoder) order() error {
	switch o := d.o.Order.(type) {
	case nil:
	case autoOrder:
		prefix := make([]byte, min(48, d.size))
		n, err := d.r.ReadAt(prefix, 0)
		if err != nil && err != io.EOF {
			return d.fault(0, field{owner: "magic"}, err, "cannot read the file")
		}
		if found, ok := headerOrder(prefix[:n]); ok {
			d.big = isBig(found)
		}
	default:
		d.big = isBig(o)
	}
	return nil
}

var numRecsField = field{owner: "numrecs"}

func (d *decoder) numRecs() error {
	at := d.pos
	if d.h.Version != CDF5 {
		n, err := d.u32(numRecsField)
		d.h.NumRecs = int64(n)
		if n == math.MaxUint32 {
			d.h.NumRecs = Streaming
		}
		return err
	}
	n, err := d.u64(numRecsField)
	if err != nil {
		return err
	}
	if n > math.MaxInt64 && n != math.MaxUint64 {
		return d.fault(at, numRecsField, ErrCorrupt, "%#x, want a non-negative number or the streaming value with all bits set", n)
	}
	d.h.NumRecs = int64(n)
	return nil
}
