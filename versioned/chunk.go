package versioned

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"blobio/internal/base/codec"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// coder encodes chunks into their stored form and decodes them. It is safe for concurrent use.
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
	// Readers need no option, because a chunk is compressed if its stored form is shorter than the chunk.
	return c, nil
}

// plain reports whether the stored form of chunks is the chunk itself.
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
			return fault.At(name, -1, "chunk", ErrCorrupt, "%d bytes are too few for an encrypted chunk", len(stored))
		}
		b, err := c.seal.Open(nil, stored[:nonceLen], stored[nonceLen:], nil)
		if err != nil {
			return fault.At(name, -1, "chunk", ErrChecksum, "cannot be decrypted: %v", err)
		}
		stored = b
	}
	if len(stored) == len(dst) {
		copy(dst, stored) // if the two share memory, this copies nothing
		return nil
	}
	if len(stored) > len(dst) {
		return fault.At(name, -1, "chunk", ErrCorrupt, "%d bytes stored, want at most %d", len(stored), len(dst))
	}
	if err := c.zstd.Decode(dst, stored); err != nil {
		return fault.At(name, -1, "chunk", ErrCorrupt, "cannot decompress %d bytes to %d: %v", len(stored), len(dst), err)
	}
	return nil
}

// keyCheck returns a value that identifies the encryption key, or "" if there is no key.
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

// get reads a box of a version. A concurrent commit may remove files and move chunks of the version to other files. If so, get
// reads again with the new record.
func (c *catalog) get(ctx context.Context, rec *record, version int64, lo, hi []int64, dst []byte) error {
	v, err := rec.find(version)
	if err != nil {
		return err
	}
	if err := checkBox(rec.Spec.Name, v.Shape, lo, hi, int64(len(dst))/c.size); err != nil {
		return err
	}
	for {
		err := runs(v.Shape, lo, hi, func(off, n, at int64) error {
			return c.read(ctx, rec, v, off, n, dst[at*c.size:(at+n)*c.size])
		})
		now, ok := c.record(), false
		if v, ok = now.version(version); !ok { // the version was dropped, so some of the bytes may be wrong
			return fmt.Errorf("array %s: version %d was dropped while it was read: %w", rec.Spec.Name, version, ErrNoVersion)
		}
		if err == nil || now.Seq == rec.Seq || ctx.Err() != nil {
			return err
		}
		rec = now
	}
}

// read fills dst with n elements of a version, beginning with element off, in the byte order of the host. It reads and
// verifies whole chunks.
func (c *catalog) read(ctx context.Context, rec *record, v *verInfo, off, n int64, dst []byte) error {
	g, _ := rec.generation(v.Generation)
	err := g.pieces(off, n, func(seg int, at, k, pos int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, err := c.index(ctx, g, seg)
		if err == nil {
			err = x.holds(v.Number, at*c.size/c.chunk, ((at+k)*c.size-1)/c.chunk)
		}
		if err != nil {
			return err
		}
		return c.readSeg(x, v.Number, seg, at*c.size, dst[pos*c.size:(pos+k)*c.size])
	})
	if err == nil && rec.order(g) != hostOrder() {
		elem.Swap(dst, dst, int(c.size))
	}
	return err
}

// readSeg reads bytes [at, at+len(dst)) of a segment.
func (c *catalog) readSeg(x *segIndex, version int64, seg int, at int64, dst []byte) error {
	var whole []byte // buffer for a chunk that is needed only in part
	for len(dst) > 0 {
		k, in := at/c.chunk, at%c.chunk
		n := min(c.chunk-in, int64(len(dst)))
		part := dst[:n]
		c.mu.RLock()
		p, ok := x.find(k, version)
		c.mu.RUnlock()
		switch {
		case !ok:
			clear(part)
		case n == c.chunk:
			if err := c.readChunk(seg, p, part); err != nil {
				return err
			}
		default:
			if whole == nil {
				whole = make([]byte, c.chunk)
			}
			if err := c.readChunk(seg, p, whole); err != nil {
				return err
			}
			copy(part, whole[in:])
		}
		dst, at = dst[n:], at+n
	}
	return nil
}

// readChunk reads one chunk into dst and verifies it.
func (c *catalog) readChunk(seg int, p fileEntry, dst []byte) error {
	if c.code.seal == nil && p.stored == c.chunk {
		return c.readStored(seg, p, dst, dst)
	}
	return c.readStored(seg, p, make([]byte, p.stored), dst) // stored does not exceed the size of the file (decodeTable)
}

// readStored reads the stored form of a chunk into stored and decodes and verifies the chunk in dst. The two may share memory.
func (c *catalog) readStored(seg int, p fileEntry, stored, dst []byte) error {
	info := c.file(p.file)
	return c.withFile(info, func(x *reader) error {
		if _, err := x.ReadUnverified(int32(2*seg+1), stored, p.off); err != nil {
			return err
		}
		if err := c.code.decode(dst, stored, info.Name); err != nil {
			return err
		}
		if hashChunk(dst) != p.sum {
			return fault.At(info.Name, -1, "chunk", ErrChecksum, "segment %d, chunk %d", seg, p.chunk)
		}
		return nil
	})
}
