package codec

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Levels of zstd, from the fastest to the smallest.
const (
	MinLevel = 1
	MaxLevel = 4
)

// Level returns the level closest to a level of the zstd program, from 1 to 22.
func Level(zstdLevel int) int { return int(zstd.EncoderLevelFromZstd(zstdLevel)) }

// MaxExpansion is the maximum ratio of content to zstd bytes. A block has at most 128 KiB of content and takes at least 4
// bytes: 3 bytes of header and one byte of content.
const MaxExpansion = 128 << 10 / 4

// Zstd compresses and decompresses whole pieces. It is safe for concurrent use. Output depends only on input, level and window.
type Zstd struct {
	o   Options
	mu  sync.Mutex
	enc [MaxLevel + 1]*zstd.Encoder
	dec *zstd.Decoder
}

// Options of NewZstd.
type Options struct {
	Window      int  // window of the encoder in bytes, a power of 2 of at least 1 KiB; 0: the default of the level
	Concurrency int  // maximum number of pieces at once; further pieces wait; 0: GOMAXPROCS
	MaxContent  int  // maximum length of a decompressed piece
	Sized       bool // every frame has the length of its content, which many decoders need, even if the content is short
}

// NewZstd returns a Zstd, which creates encoders and a decoder when it needs them.
func NewZstd(o Options) *Zstd { return &Zstd{o: o} }

func (z *Zstd) encoder(level int) (*zstd.Encoder, error) {
	if level < MinLevel || level > MaxLevel {
		return nil, fmt.Errorf("zstd level %d, want %d to %d", level, MinLevel, MaxLevel)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.enc[level] != nil {
		return z.enc[level], nil
	}
	o := []zstd.EOption{zstd.WithEncoderLevel(zstd.EncoderLevel(level)), zstd.WithEncoderCRC(false)}
	if z.o.Window > 0 {
		o = append(o, zstd.WithWindowSize(z.o.Window))
	}
	if z.o.Sized {
		o = append(o, zstd.WithSingleSegment(true))
	}
	if z.o.Concurrency > 0 {
		o = append(o, zstd.WithEncoderConcurrency(z.o.Concurrency))
	}
	e, err := zstd.NewWriter(nil, o...)
	if err != nil {
		return nil, err
	}
	z.enc[level] = e
	return e, nil
}

func (z *Zstd) decoder() (*zstd.Decoder, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.dec != nil {
		return z.dec, nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(z.o.Concurrency), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(uint64(max(z.o.MaxContent, 1<<20))*2))
	if err != nil {
		return nil, err
	}
	z.dec = d
	return d, nil
}

// Encode appends a zstd frame of src to dst.
func (z *Zstd) Encode(dst, src []byte, level int) ([]byte, error) {
	e, err := z.encoder(level)
	if err != nil {
		return dst, err
	}
	return e.EncodeAll(src, dst), nil
}

// Decode fills dst from a zstd frame, which must decompress to exactly len(dst) bytes. A length in the frame causes no
// allocation.
func (z *Zstd) Decode(dst, src []byte) error {
	d, err := z.decoder()
	if err != nil {
		return err
	}
	b, err := d.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return err
	}
	if len(b) != len(dst) {
		return fmt.Errorf("decompression gave %d bytes, want %d", len(b), len(dst))
	}
	if len(b) > 0 && &b[0] != &dst[0] {
		copy(dst, b)
	}
	return nil
}

// Close ends the encoders and the decoder.
func (z *Zstd) Close() {
	z.mu.Lock()
	defer z.mu.Unlock()
	for k, e := range z.enc {
		if e != nil {
			e.Close()
			z.enc[k] = nil
		}
	}
	if z.dec != nil {
		z.dec.Close()
		z.dec = nil
	}
}
