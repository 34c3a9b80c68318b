package ffformat

import (
	"bytes"
	"context"

	"blobio/internal/fault"
	"blobio/internal/vfs"
)

// Twin makes dst the same checkpoint as the file that src reads, whose digests want are. have are
// those of what dst holds now, with its containers at the same places (Holds); nil: dst is empty
// (fresh), or what it holds is not known. Blocks that dst holds already are neither read nor
// written; the others are verified by want on the way (ErrChecksum). As after Finish, nothing is
// synced, and after an error dst is no checkpoint. With dst nil nothing is written: that
// verifies what would be copied.
func (w *Writer) Twin(ctx context.Context, dst vfs.File, src *Reader, have, want *Digests, fresh bool) (Stats, error) {
	f := src.File()
	switch {
	case w.open != nil:
		return Stats{}, fault.Usage("Twin during an update")
	case want == nil:
		return Stats{}, fault.Usage("Twin of a file without digests")
	case !w.Holds(f):
		return Stats{}, fault.Usage("%s has other containers than the Writer", f.Name)
	}
	if err := want.Match(f); err != nil {
		return Stats{}, err
	}
	if have != nil && (have.BlockSize != want.BlockSize || have.Dirty != want.Dirty) {
		have = nil
	}
	u := &Update{w: w, dst: dst, o: UpdateOptions{Fresh: fresh}}
	seq := 0
	for p := range f.all() {
		if p.HasContent {
			if err := u.twin(ctx, src, p, have.chunk(seq, p.Container), want.chunk(seq, p.Container), want); err != nil {
				return Stats{}, err
			}
		}
		seq++
	}
	if dst == nil {
		return u.stats(), nil
	}
	if err := u.size(f); err != nil {
		return Stats{}, err
	}
	pieces, err := f.Encode()
	if err != nil {
		return Stats{}, err
	}
	for i := range pieces { // the file block last, as Finish does
		p := pieces[(i+1)%len(pieces)]
		if err := u.put(p.Data, p.Off); err != nil {
			return Stats{}, err
		}
	}
	return u.stats(), nil
}

// twin copies what dst does not hold of one chunk.
func (u *Update) twin(ctx context.Context, src *Reader, p place, have, want chunkDigests, d *Digests) error {
	size, bs, width := p.ChunkSize, int64(d.BlockSize), d.Dirty.width()
	u.data.Add(size)
	buf := make([]byte, min(size, max(writePiece/bs, 1)*bs))
	sum := make([]byte, width)
	for off := int64(0); off < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		// a run of blocks that are to be written, as long as buf
		end := off
		for end < size && end-off < int64(len(buf)) {
			k := end / bs * width
			if sameBlock(&have, want.blocks[k:k+width], end, min(end+bs, size), bs, k) {
				break
			}
			end = min(end+bs, size)
			u.dirty.Add(1)
			u.blocks.Add(1)
		}
		if end == off { // dst has this one
			u.blocks.Add(1)
			off = min(off+bs, size)
			continue
		}
		b := buf[:end-off]
		if _, err := src.read(p, b, off); err != nil {
			return err
		}
		for at := off; at < end; at += bs {
			k := at / bs * width
			block := b[at-off : min(at+bs, end)-off]
			if d.Dirty.put(sum, block); !bytes.Equal(sum, want.blocks[k:k+width]) {
				return fault.At(src.f.Name, p.Fptr+at, p.field(), ErrChecksum, "%v of the block of %d bytes is %x, the digests have %x", d.Dirty, len(block), sum, want.blocks[k:k+width])
			}
		}
		if u.dst != nil {
			if err := u.put(b, p.Fptr+off); err != nil {
				return err
			}
		}
		off = end
	}
	return nil
}

// stats are the counters.
func (u *Update) stats() Stats {
	return Stats{
		Data: u.data.Load(), Written: u.written.Load(), Changed: u.changed.Load(), MD5: u.md5.Load(),
		Blocks: u.blocks.Load(), Dirty: u.dirty.Load(), Writes: u.writes.Load(),
	}
}
