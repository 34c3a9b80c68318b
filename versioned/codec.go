package versioned

import (
	"crypto/cipher"
	"crypto/rand"

	"github.com/klauspost/compress/zstd"
)

// coder turns chunks into what is stored, and back. It is safe for concurrent use.
type coder struct {
	codec Codec
	enc   *zstd.Encoder
	dec   *zstd.Decoder
	seal  cipher.AEAD
}

const (
	nonceLen = 12
	tagLen   = 16
)

func newCoder(o *Options, chunk int) (*coder, error) {
	c := &coder{codec: o.Codec}
	var err error
	if c.seal, err = aead(o.Key); err != nil {
		return nil, err
	}
	if o.Codec == Zstd {
		if c.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevel(o.Level)), zstd.WithEncoderConcurrency(2), zstd.WithEncoderCRC(false)); err != nil {
			return nil, err
		}
	}
	// Reading needs no option: what is shorter than the chunk is compressed.
	c.dec, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(uint64(max(chunk, 1<<20))*2), zstd.WithDecoderConcurrency(2))
	return c, err
}

// plain says whether chunks are stored as they are.
func (c *coder) plain() bool { return c.codec == Raw && c.seal == nil }

func (c *coder) close() {
	if c.enc != nil {
		c.enc.Close()
	}
	c.dec.Close()
}

// encode appends the stored form of a chunk.
func (c *coder) encode(dst, chunk []byte) []byte {
	body := chunk
	if c.enc != nil {
		if z := c.enc.EncodeAll(chunk, nil); len(z) < len(chunk) {
			body = z
		}
	}
	if c.seal == nil {
		return append(dst, body...)
	}
	var n [nonceLen]byte
	rand.Read(n[:]) // never fails
	dst = append(dst, n[:]...)
	return c.seal.Seal(dst, n[:], body, nil)
}

// decode fills dst, a whole chunk, from its stored form.
func (c *coder) decode(dst, stored []byte, name string) error {
	if c.seal != nil {
		if len(stored) < nonceLen+tagLen {
			return formatErr(name, -1, "chunk", ErrCorrupt, "%d bytes, too few for an encrypted one", len(stored))
		}
		b, err := c.seal.Open(nil, stored[:nonceLen], stored[nonceLen:], nil)
		if err != nil {
			return formatErr(name, -1, "chunk", ErrChecksum, "cannot be decrypted: %v", err)
		}
		stored = b
	}
	if len(stored) == len(dst) {
		copy(dst, stored)
		return nil
	}
	if len(stored) > len(dst) {
		return formatErr(name, -1, "chunk", ErrCorrupt, "%d bytes stored of a chunk of %d", len(stored), len(dst))
	}
	b, err := c.dec.DecodeAll(stored, make([]byte, 0, len(dst)))
	if err != nil || len(b) != len(dst) {
		return formatErr(name, -1, "chunk", ErrCorrupt, "%d bytes after decompression, want %d: %v", len(b), len(dst), err)
	}
	copy(dst, b)
	return nil
}
