package versioned

import (
	"context"
	"fmt"

	"blobio/internal/elem"
	"blobio/internal/fault"
)

// get reads a box of a version. A commit meanwhile may take files away and have what the version needs of them elsewhere: then it is
// read again, by the record that there is now.
func (c *catalog) get(ctx context.Context, rec *record, version int64, lo, hi []int64, dst []byte, verify bool) error {
	v, ok := rec.version(version)
	if !ok {
		return fmt.Errorf("array %s: version %d: %w", rec.Spec.Name, version, ErrNoVersion)
	}
	if err := checkBox(rec.Spec.Name, v.Shape, lo, hi, int64(len(dst))/c.size); err != nil {
		return err
	}
	for {
		err := runs(v.Shape, lo, hi, func(off, n, at int64) error {
			return c.read(ctx, rec, v, off, n, dst[at*c.size:(at+n)*c.size], verify)
		})
		now := c.record()
		if _, ok = now.version(version); !ok { // then what was read may be of its remains
			return fmt.Errorf("array %s: version %d was dropped while it was read: %w", rec.Spec.Name, version, ErrNoVersion)
		}
		if err == nil || now.Seq == rec.Seq || ctx.Err() != nil {
			return err
		}
		rec = now
		v, _ = rec.version(version)
	}
}

// read fills dst with n elements from off on of a version, in the byte order of the host. verify reads whole chunks and
// compares them with their digests; without it that is done only for chunks that are wanted whole,
// and for those that are compressed or encrypted.
func (c *catalog) read(ctx context.Context, rec *record, v *verInfo, off, n int64, dst []byte, verify bool) error {
	g, _ := rec.generation(v.Gen)
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
		return c.readSeg(x, v.Number, seg, at*c.size, dst[pos*c.size:(pos+k)*c.size], verify)
	})
	if err == nil && rec.order(g) != hostOrder() {
		elem.Swap(dst, dst, int(c.size))
	}
	return err
}

// span is a run of chunks, or parts of the first and last one, that lie one after the other in a file.
type span struct {
	file  int32
	off   int64 // in the variable of stored chunks
	dst   []byte
	whole []digest // of whole chunks, from skip on
	skip  int64    // bytes of dst before the first whole chunk
}

// readSeg reads bytes [at, at+len(dst)) of a segment.
func (c *catalog) readSeg(x *segIndex, version int64, seg int, at int64, dst []byte, verify bool) error {
	var run span
	flush := func() error {
		if len(run.dst) == 0 {
			return nil
		}
		err := c.readSpan(seg, &run)
		run = span{}
		return err
	}
	var tmp []byte
	for len(dst) > 0 {
		k, in := at/c.chunk, at%c.chunk
		n := min(c.chunk-in, int64(len(dst)))
		part := dst[:n]
		c.mu.RLock()
		p, ok := x.find(k, version)
		c.mu.RUnlock()
		switch {
		case !ok:
			if err := flush(); err != nil {
				return err
			}
			clear(part)
		case c.code.seal == nil && p.stored == c.chunk && (n == c.chunk || !verify):
			if len(run.dst) > 0 && (run.file != p.file || run.off+int64(len(run.dst)) != p.off+in) {
				if err := flush(); err != nil {
					return err
				}
			}
			if len(run.dst) == 0 {
				run = span{file: p.file, off: p.off + in, dst: dst[:0]}
			}
			if n == c.chunk {
				if len(run.whole) == 0 {
					run.skip = int64(len(run.dst))
				}
				run.whole = append(run.whole, p.sum)
			}
			run.dst = run.dst[:int64(len(run.dst))+n]
		default:
			if err := flush(); err != nil {
				return err
			}
			if tmp == nil {
				tmp = make([]byte, c.chunk)
			}
			if err := c.readChunk(seg, p, tmp); err != nil {
				return err
			}
			copy(part, tmp[in:])
		}
		dst, at = dst[n:], at+n
	}
	return flush()
}

// readSpan reads a span and verifies its whole chunks.
func (c *catalog) readSpan(seg int, s *span) error {
	info := c.file(s.file)
	return c.withFile(info, func(x *reader) error { // info is not nil in it
		if _, err := x.ReadAt(int32(2*seg+1), s.dst, s.off); err != nil {
			return err
		}
		for i, sum := range s.whole {
			lo := s.skip + int64(i)*c.chunk
			if hashChunk(s.dst[lo:lo+c.chunk]) != sum {
				return fault.At(info.Name, -1, "chunk", ErrChecksum, "segment %d, stored byte %d", seg, s.off+lo)
			}
		}
		return nil
	})
}

// readChunk reads one chunk into dst and verifies it.
func (c *catalog) readChunk(seg int, p fileEntry, dst []byte) error {
	info := c.file(p.file)
	return c.withFile(info, func(x *reader) error {
		b := make([]byte, p.stored) // bounded by the file, see decodeTable
		if _, err := x.ReadAt(int32(2*seg+1), b, p.off); err != nil {
			return err
		}
		if err := c.code.decode(dst, b, info.Name); err != nil {
			return err
		}
		if hashChunk(dst) != p.sum {
			return fault.At(info.Name, -1, "chunk", ErrChecksum, "segment %d, chunk %d", seg, p.chunk)
		}
		return nil
	})
}
