package h5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
)

type filter struct {
	id   uint16
	args []uint32
}

// filterChain has the filters of a dataset to read, in the order of writing.
type filterChain struct {
	f     *File
	steps []filter
	width int64 // bytes per element
}

// Filter identifications.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterZstd     = 32015
)

var filterNames = map[uint16]string{
	filterDeflate: "deflate", filterShuffle: "shuffle", filterFletcher: "fletcher32",
	4: "szip", 5: "nbit", 6: "scaleoffset", 307: "bzip2", 32000: "lzf", 32001: "blosc", 32004: "lz4", 32008: "bitshuffle", filterZstd: "zstd",
}

// decodeFilters decodes a filter pipeline message, version 1 or 2.
func (f *File) decodeFilters(m *message) (p filterChain, err error) {
	c := f.over(m.data, m.off)
	version := c.u8("filter pipeline version")
	n := int(c.u8("number of filters"))
	switch {
	case c.err != nil:
		return p, c.err
	case n > 32:
		return p, f.errAt(m.off+1, "number of filters", fault.ErrCorrupt, "%d, want at most 32", n)
	case version == 1:
		c.skip(6, "filter pipeline")
	case version != 2:
		return p, f.errAt(m.off, "filter pipeline version", fault.ErrUnsupported, "%d, want 1 or 2", version)
	}
	out := make([]filter, n)
	for i := range out {
		id := c.u16("filter identification")
		var nameLen int64
		if version == 1 || id >= 256 {
			nameLen = int64(c.u16("filter name length"))
		}
		c.u16("filter flags")
		args := int(c.u16("number of filter values"))
		if version == 1 {
			nameLen = (nameLen + 7) &^ 7
		}
		c.skip(nameLen, "filter name")
		out[i].id = id
		for range args {
			if c.err != nil {
				break
			}
			out[i].args = append(out[i].args, c.u32("filter value"))
		}
		if version == 1 && args%2 != 0 {
			c.skip(4, "filter value padding")
		}
	}
	return filterChain{f: f, steps: out}, c.err
}

// unknown returns the name of the first filter that cannot be reversed.
func (p *filterChain) unknown() (string, bool) {
	for _, x := range p.steps {
		switch x.id {
		case filterDeflate, filterShuffle, filterFletcher, filterZstd:
			continue
		}
		if name, ok := filterNames[x.id]; ok {
			return name, true
		}
		return "of unknown identification", true
	}
	return "", false
}

// undo reverses the pipeline for the stored bytes of a chunk. Bits in mask are skipped filters. want is the size of the result.
func (p *filterChain) undo(b []byte, mask uint32, want, off int64) ([]byte, error) {
	f := p.f
	for i := len(p.steps) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		switch x := p.steps[i]; x.id {
		case filterDeflate:
			// A checksum filter may precede this filter in the pipeline.
			limit := want + int64(4*i)
			if limit > 64+int64(len(b))*1040 { // the maximum ratio of deflate is 1032
				return nil, f.errAt(off, "chunk", fault.ErrCorrupt, "%d deflated bytes cannot give %d bytes", len(b), want)
			}
			out, err := f.inflaters.inflate(b, limit)
			if err != nil {
				class := fault.ErrCorrupt
				if errors.Is(err, zlib.ErrChecksum) {
					class = fault.ErrChecksum
				}
				return nil, f.errAt(off, "chunk", class, "deflate: %v", err)
			}
			b = out
		case filterZstd:
			n := want + p.sums(i, mask)
			if n/codec.MaxExpansion > int64(len(b)) {
				return nil, f.errAt(off, "chunk", fault.ErrCorrupt, "%d bytes of zstd cannot give %d bytes", len(b), n)
			}
			out := make([]byte, n)
			if err := zstds.Decode(out, b); err != nil {
				return nil, f.errAt(off, "chunk", fault.ErrCorrupt, "zstd: %v", err)
			}
			b = out
		case filterShuffle:
			width := p.width
			if len(x.args) > 0 {
				width = int64(x.args[0])
			}
			out := make([]byte, len(b))
			codec.Unshuffle(out, b, int(min(width, int64(len(b))+1)))
			b = out
		case filterFletcher:
			if len(b) < 4 {
				return nil, f.errAt(off, "chunk", fault.ErrCorrupt, "%d bytes, want at least a fletcher32 checksum", len(b))
			}
			n := len(b) - 4
			stored, got := binary.LittleEndian.Uint32(b[n:]), fletcher32(b[:n])
			// Libraries before 1.6.3 stored both halves byte-swapped.
			old := got<<8&0xff00ff00 | got>>8&0x00ff00ff
			if stored != got && stored != old {
				return nil, f.errAt(off, "chunk", fault.ErrChecksum, "stored fletcher32 is %#08x, but computed %#08x", stored, got)
			}
			b = b[:n]
		}
	}
	if int64(len(b)) != want {
		return nil, f.errAt(off, "chunk", fault.ErrCorrupt, "%d bytes after filters, want %d", len(b), want)
	}
	return b, nil
}

// zstds decompresses chunks of all files.
var zstds = codec.NewZstd(codec.Options{MaxContent: maxChunk + 4*32})

// sums returns the number of bytes that checksum filters before filter i add.
func (p *filterChain) sums(i int, mask uint32) (n int64) {
	for k, x := range p.steps[:i] {
		if x.id == filterFletcher && mask>>k&1 == 0 {
			n += 4
		}
	}
	return n
}

// inflaters are zlib readers shared by chunks of one file.
type inflaters struct{ pool sync.Pool }

// inflate decompresses a zlib stream of at most limit bytes.
func (l *inflaters) inflate(b []byte, limit int64) ([]byte, error) {
	z, ok := l.pool.Get().(io.ReadCloser)
	var err error
	if ok {
		err = z.(zlib.Resetter).Reset(bytes.NewReader(b), nil)
	} else {
		z, err = zlib.NewReader(bytes.NewReader(b))
	}
	if err != nil {
		return nil, err
	}
	defer l.pool.Put(z)
	out := make([]byte, limit+1)
	n, err := io.ReadFull(z, out)
	switch {
	case err == nil:
		return nil, errors.New("the data exceed the size of the chunk")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// ReadFull returns these errors at the end of the stream and also if the stream is truncated. Another Read distinguishes
		// the two cases.
		if _, err := z.Read(out[n:]); err != io.EOF {
			return nil, io.ErrUnexpectedEOF
		}
		return out[:n], nil
	}
	return nil, err
}

// fletcher32 computes the checksum of HDF5's fletcher32 filter: Fletcher's sums modulo 65535 over big-endian 16-bit words. An odd
// last byte is the high half of a word.
func fletcher32(b []byte) uint32 {
	var s1, s2 uint32
	for len(b) > 1 {
		k := min(len(b)/2, 360) // the sums of 360 words fit in 32 bits
		for range k {
			s1 += uint32(b[0])<<8 | uint32(b[1])
			s2 += s1
			b = b[2:]
		}
		s1 = s1&0xffff + s1>>16
		s2 = s2&0xffff + s2>>16
	}
	if len(b) == 1 {
		s1 += uint32(b[0]) << 8
		s2 += s1
		s1 = s1&0xffff + s1>>16
		s2 = s2&0xffff + s2>>16
	}
	s1 = s1&0xffff + s1>>16
	s2 = s2&0xffff + s2>>16
	return s2<<16 | s1
}
