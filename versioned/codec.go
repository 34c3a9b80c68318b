package versioned

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"blobio/internal/base/codec"
	"blobio/internal/base/fault"
)

// coder turns chunks into what is stored, and back. It is safe for concurrent use.
type coder struct {
	compress bool
	zstd     *codec.Zstd
	seal     cipher.AEAD
}

const (
	nonceLen = 12
	tagLen   = 16
)

func newCoder(o *Options, chunk int) (*coder, error) {
	c := &coder{compress: o.Compress, zstd: codec.NewZstd(codec.Options{Concurrency: 2, MaxContent: chunk})}
	var err error
	if c.seal, err = aead(o.Key); err != nil {
		return nil, err
	}
	// Reading needs no option: what is shorter than the chunk is compressed.
	return c, nil
}

// plain reports whether chunks are stored as they are.
func (c *coder) plain() bool { return !c.compress && c.seal == nil }

func (c *coder) close() { c.zstd.Close() }

// encode appends the stored form of a chunk.
func (c *coder) encode(dst, chunk []byte) []byte {
	body := chunk
	if c.compress {
		if z, err := c.zstd.Encode(nil, chunk, 1); err == nil && len(z) < len(chunk) {
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
			return fault.At(name, -1, "chunk", ErrCorrupt, "%d bytes, too few for an encrypted one", len(stored))
		}
		b, err := c.seal.Open(nil, stored[:nonceLen], stored[nonceLen:], nil)
		if err != nil {
			return fault.At(name, -1, "chunk", ErrChecksum, "cannot be decrypted: %v", err)
		}
		stored = b
	}
	if len(stored) == len(dst) {
		copy(dst, stored) // of a plain chunk, which may be the same memory, nothing
		return nil
	}
	if len(stored) > len(dst) {
		return fault.At(name, -1, "chunk", ErrCorrupt, "%d bytes stored of a chunk of %d", len(stored), len(dst))
	}
	if err := c.zstd.Decode(dst, stored); err != nil {
		return fault.At(name, -1, "chunk", ErrCorrupt, "%d bytes cannot be decompressed to %d: %v", len(stored), len(dst), err)
	}
	return nil
}

// keyCheck is a value by which the right key is known; "" without one.
func keyCheck(o *Options) string {
	c, err := aead(o.Key)
	if err != nil || c == nil {
		return ""
	}
	return hex.EncodeToString((&coder{seal: c}).encode(nil, make([]byte, 16)))
}

func keyFits(rec *record, o *Options) error {
	if rec.Key == "" && len(o.Key) == 0 {
		return nil
	}
	c, err := aead(o.Key)
	if err != nil {
		return err
	}
	b, err := hex.DecodeString(rec.Key)
	if c == nil || err != nil || len(b) < nonceLen {
		return fmt.Errorf("array %s: %w", rec.Spec.Name, ErrKey)
	}
	if _, err := c.Open(nil, b[:nonceLen], b[nonceLen:], nil); err != nil {
		return fmt.Errorf("array %s: %w", rec.Spec.Name, ErrKey)
	}
	return nil
}
