package zarr

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/gzip"

	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
)

// Codecs are the codecs of version 3 chunks. The zero value stores them unchanged.
type Codecs struct {
	Zstd   int  // level of the zstd program, 1 to 22, rounded to one of four levels; 0: none
	Gzip   int  // level, 1 to 9; 0: none. Gzip and Zstd exclude each other
	CRC32C bool // append a checksum to each chunk
}

const maxZstd = 22

func (c Codecs) on() bool { return c != Codecs{} }

// ParseCodecs parses off, zstd or gzip, optionally with a level, such as zstd:9. The defaults are zstd:3 and
// gzip:5. auto means zstd.
func ParseCodecs(s string) (c Codecs, err error) {
	name, level, err := codec.Choose(s, codec.Word{Name: "off"}, codec.Word{Name: "auto"}, codec.Word{Name: "zstd", Level: maxZstd}, codec.Word{Name: "gzip", Level: gzip.BestCompression})
	switch name {
	case "zstd", "auto":
		c.Zstd = cmp.Or(level, 3)
	case "gzip":
		c.Gzip = cmp.Or(level, 5)
	}
	return c, err
}

func (c Codecs) validate() error {
	switch {
	case c.Zstd < 0 || c.Zstd > maxZstd:
		return fault.Usage("Codecs.Zstd %d, want 0 to %d", c.Zstd, maxZstd)
	case c.Gzip < 0 || c.Gzip > gzip.BestCompression:
		return fault.Usage("Codecs.Gzip %d, want 0 to %d", c.Gzip, gzip.BestCompression)
	case c.Zstd > 0 && c.Gzip > 0:
		return fault.Usage("Codecs.Zstd and Codecs.Gzip are both set, want only one")
	}
	return nil
}

// encoder applies codecs. It is safe for concurrent use.
type encoder struct {
	Codecs
	zstd *codec.Zstd
	gzip sync.Pool // *gzip.Writer
}

func newEncoder(c Codecs) *encoder {
	return &encoder{Codecs: c, zstd: codec.NewZstd(codec.Options{Sized: true})}
}

// describe returns the codec list of an array whose elements have size bytes.
func (e *encoder) describe(size int) []object {
	var order object
	if size > 1 {
		order = object{{"endian", "little"}}
	}
	list := []object{named("bytes", order)}
	if e.Zstd > 0 {
		list = append(list, named("zstd", object{{"level", e.Zstd}, {"checksum", false}}))
	}
	if e.Gzip > 0 {
		list = append(list, named("gzip", object{{"level", e.Gzip}}))
	}
	if e.CRC32C {
		list = append(list, named("crc32c", nil))
	}
	return list
}

// size returns the size of an encoded chunk of n bytes, or -1 if it depends on the data.
func (e *encoder) size(n int64) int64 {
	switch {
	case e.Zstd > 0 || e.Gzip > 0:
		return -1
	case e.CRC32C:
		n += crc32.Size
	}
	return n
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the stored form of a chunk, which may be b itself.
func (e *encoder) encode(b []byte) (_ []byte, err error) {
	if e.Zstd > 0 {
		if b, err = e.zstd.Encode(nil, b, codec.Level(e.Zstd)); err != nil {
			return nil, err
		}
	}
	if e.Gzip > 0 {
		if b, err = e.deflate(b); err != nil {
			return nil, err
		}
	}
	if e.CRC32C {
		b = binary.LittleEndian.AppendUint32(b[:len(b):len(b)], crc32.Checksum(b, castagnoli))
	}
	return b, nil
}

func (e *encoder) deflate(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w, ok := e.gzip.Get().(*gzip.Writer)
	if !ok {
		var err error
		if w, err = gzip.NewWriterLevel(nil, e.Gzip); err != nil {
			return nil, err
		}
	}
	defer e.gzip.Put(w)
	w.Reset(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
