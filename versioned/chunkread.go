package versioned

import (
	"context"
	"fmt"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// get reads a box of a version. A commit meanwhile may take files away and have what the version needs of them elsewhere: then it is
// read again, by the record that there is now.
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
		if v, ok = now.version(version); !ok { // then what was read may be of its remains
			return fmt.Errorf("array %s: version %d was dropped while it was read: %w", rec.Spec.Name, version, ErrNoVersion)
		}
		if err == nil || now.Seq == rec.Seq || ctx.Err() != nil {
			return err
		}
		rec = now
	}
}

// read fills dst with n elements from off on of a version, in the byte order of the host. Chunks are read whole and verified.
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
	var whole []byte // a chunk that is wanted in part
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
	return c.readStored(seg, p, make([]byte, p.stored), dst) // bounded by the file, see decodeTable
}

// readStored reads the stored form of a chunk, and the chunk, which is verified. Both may be the same memory.
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
