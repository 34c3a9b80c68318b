package codec

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// Levels of deflate, from the fastest to the smallest.
const (
	MinDeflate = 1
	MaxDeflate = 9
)

// Deflate compresses whole pieces to zlib streams of one level. It is safe for concurrent use. Output depends only on input and
// level.
type Deflate struct {
	level   int
	writers sync.Pool // of *zlib.Writer
}

// NewDeflate returns a Deflate of a level.
func NewDeflate(level int) (*Deflate, error) {
	if level < MinDeflate || level > MaxDeflate {
		return nil, fmt.Errorf("deflate level %d, want %d to %d", level, MinDeflate, MaxDeflate)
	}
	return &Deflate{level: level}, nil
}

// Encode appends a zlib stream of src to dst.
func (d *Deflate) Encode(dst, src []byte) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	z, ok := d.writers.Get().(*zlib.Writer)
	if ok {
		z.Reset(buf)
	} else {
		var err error
		if z, err = zlib.NewWriterLevel(buf, d.level); err != nil {
			return dst, err
		}
	}
	defer d.writers.Put(z)
	if _, err := z.Write(src); err != nil {
		return dst, err
	}
	if err := z.Close(); err != nil {
		return dst, err
	}
	return buf.Bytes(), nil
}
