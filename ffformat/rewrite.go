package ffformat

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"math"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
)

// rewriting makes a file from the chunks of another file. Compact, Convert and Repair choose the containers and the sources of
// their bytes.
type rewriting struct {
	r        *Reader
	dst      vfs.File
	to       *File      // the new file; the caller sets ids, sizes and content flags, and layOut sets the rest
	from     [][]source // sources of each container with content, in file order
	workers  int
	progress func(done, total int64)
	total    int64
	done     atomic.Int64
}

// source is a chunk of the old file, or zeros in its place.
type source struct {
	place
	zero  bool // write zeros instead of the chunk's bytes
	trust bool // copy the bytes without a comparison of the hash; bytes after the end of the file are zeros
}

// rewritePiece is the number of bytes copied at once.
const rewritePiece = 512 << 10

// layOut computes the offsets and the sizes of the blocks and of the file, from the layout and the ids, sizes and content flags
// of the containers.
func (f *File) layOut() error {
	l := f.Layout
	var at, meta int64
	if !l.atEnd() {
		at = l.fbSize()
	}
	grow := func(n int64) error {
		if n < 0 || at > maxOffset-n {
			return fault.At(f.Name, -1, "containers", fault.ErrTooLarge, "%d bytes at %d", n, at)
		}
		at += n
		return nil
	}
	for i := range f.Blocks {
		b := &f.Blocks[i]
		n := l.blockMeta(len(b.Containers))
		b.Size = 0
		if !l.atEnd() {
			b.Offset, b.Size = at, n
			if err := grow(n); err != nil {
				return err
			}
		}
		meta += n
		for j := range b.Containers {
			c := &b.Containers[j]
			c.Fptr = at
			b.Size += c.ContainerSize
			if err := grow(c.ContainerSize); err != nil {
				return err
			}
		}
	}
	fb := &f.FB
	fb.MetaSize, fb.DataSize = 0, 0
	if l.atEnd() {
		fb.DataSize, fb.MetaSize = at, meta+l.fbSize()
		for i := range f.Blocks {
			f.Blocks[i].Offset = at
			at += l.blockMeta(len(f.Blocks[i].Containers))
		}
		at += l.fbSize()
	}
	fb.CkptSize, fb.FileSize = at, at
	f.Size = at
	if !l.wide() && at > math.MaxInt32 {
		return fault.At(f.Name, -1, "FB.fs", fault.ErrRange, "%d bytes, layout %v holds at most %d", at, l, math.MaxInt32)
	}
	return nil
}

// run writes the data and then the metadata. dst must be empty. The error has a varError for each chunk that does not match its
// hash. After an error the file is incomplete.
func (w *rewriting) run(ctx context.Context) error {
	if n, err := w.dst.Size(); err != nil {
		return err
	} else if n != 0 {
		return fault.Usage("%s has %d bytes, want an empty file", w.dst.Name(), n)
	}
	if w.workers < 0 {
		return fault.Usage("%d workers", w.workers)
	}
	f := w.to
	if err := f.layOut(); err != nil {
		return err
	}
	if _, err := f.encode(); err != nil { // fails before any data are copied
		return err
	}
	if err := w.dst.Truncate(f.Size); err != nil { // bytes that are never written read as zeros
		return err
	}
	if err := w.copy(ctx); err != nil {
		return err
	}
	return f.writeMeta(ctx, w.dst, func(b []byte, off int64) error {
		_, err := w.dst.WriteAt(b, off)
		return err
	})
}

// copy copies and hashes all chunks, several at once.
func (w *rewriting) copy(ctx context.Context) error {
	var list []*Container
	for p := range w.to.all() {
		if p.HasContent {
			list = append(list, p.Container)
			w.total += p.ChunkSize
		}
	}
	if len(list) != len(w.from) {
		return fmt.Errorf("%d chunks for %d containers: %w", len(w.from), len(list), fault.ErrBroken)
	}
	errs := make([]error, len(list))
	_ = par.Crew(ctx, par.Workers(w.workers), len(list), func(ctx context.Context, chunks iter.Seq[int]) error {
		buf := make([]byte, rewritePiece)
		for i := range chunks {
			if errs[i] = w.chunk(ctx, list[i], w.from[i], buf); isIO(errs[i]) {
				return errs[i] // stop at the first error that is not about a chunk
			}
		}
		return nil
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}

// chunk writes one chunk from its sources and sets its hash.
func (w *rewriting) chunk(ctx context.Context, c *Container, from []source, buf []byte) error {
	old := w.r.f
	// If the chunk has a single source with the same kind of hash, the hash is copied.
	same := len(from) == 1 && !from[0].zero && !from[0].trust && old.Hash == w.to.Hash && old.BlockSize == w.to.BlockSize
	var sum chunkSum
	if !same {
		sum = newSum(w.to)
	}
	var bad []error
	off := c.Fptr
	for _, s := range from {
		var check chunkSum
		if !s.zero && !s.trust {
			check = newSum(old)
		}
		for at := int64(0); at < s.ChunkSize; at += rewritePiece {
			if ctx.Err() != nil {
				return nil // copy returns this error
			}
			p := buf[:min(rewritePiece, s.ChunkSize-at)]
			if err := w.piece(s, p, at); err != nil {
				return &varError{s.ID, err}
			}
			if check != nil {
				check.Write(p)
			}
			if sum != nil {
				sum.Write(p)
			}
			if _, err := w.dst.WriteAt(p, off); err != nil {
				return err
			}
			off += int64(len(p))
			if w.progress != nil {
				w.progress(w.done.Add(int64(len(p))), w.total)
			}
		}
		if check == nil {
			continue
		}
		c.Hash = check.Sum()
		if err := w.r.verdict(s.place, chunkResult{hash: c.Hash}); err != nil {
			bad = append(bad, &varError{s.ID, err})
		}
	}
	if sum != nil {
		c.Hash = sum.Sum()
	}
	return errors.Join(bad...)
}

// piece reads a part of a source.
func (w *rewriting) piece(s source, p []byte, at int64) error {
	if s.zero {
		clear(p)
		return nil
	}
	n, err := w.r.read(s.place, p, at)
	if s.trust && errors.Is(err, ErrTruncated) {
		clear(p[n:])
		return nil
	}
	return err
}

// writeMeta sets the checksums and writes the metadata by put. r must read from the same file.
func (f *File) writeMeta(ctx context.Context, r io.ReaderAt, put func(b []byte, off int64) error) error {
	putAll := func(pieces []piece) error {
		for _, p := range pieces {
			if err := put(p.Data, p.Off); err != nil {
				return err
			}
		}
		return nil
	}
	sum := fastChecksum(f.BlockSize)
	if f.Hash == MD5 {
		sum = readerChecksum(f.Blocks)
	}
	if !f.Layout.atEnd() { // write the records first, because the checksum of layout A covers them
		pieces, err := f.encode()
		if err != nil {
			return err
		}
		if err := putAll(pieces[1:]); err != nil {
			return err
		}
		if sum, err = inlineChecksum(ctx, r, f); err != nil {
			return err
		}
	}
	if err := f.seal(sum); err != nil {
		return err
	}
	pieces, err := f.encode()
	if err != nil {
		return err
	}
	return putAll(pieces[:1]) // the file block; from layout C0 on together with the records
}

// inlineChecksum computes the checksum of a file of layout A or B, whose data it reads from r.
func inlineChecksum(ctx context.Context, r io.ReaderAt, f *File) (string, error) {
	c := &checker{name: f.Name, f: f, rd: newReader(r, f)}
	var jobs []chunkJob
	for p := range f.all() {
		if p.HasContent {
			jobs = append(jobs, chunkJob{c: p})
		}
	}
	return c.sumInline(ctx, jobs)
}

// chunkSum computes the hash of a chunk. The bytes are written in order.
type chunkSum interface {
	Write(p []byte)
	Sum() digest
}

func newSum(f *File) chunkSum {
	if f.Hash == Fast {
		return &fastSum{make([]byte, 0, f.BlockSize), xxh3.New128()}
	}
	return md5Sum{md5.New()}
}

type md5Sum struct{ h hash.Hash }

func (s md5Sum) Write(p []byte) { s.h.Write(p) }
func (s md5Sum) Sum() digest    { return digest(s.h.Sum(nil)) }

// fastSum hashes the digests of blocks.
type fastSum struct {
	block []byte // begin of an incomplete block; its capacity is the block size
	h     *xxh3.Hasher128
}

func (s *fastSum) Write(p []byte) {
	for len(p) > 0 {
		if len(s.block) == 0 && len(p) >= cap(s.block) {
			s.add(p[:cap(s.block)])
			p = p[cap(s.block):]
			continue
		}
		n := min(cap(s.block)-len(s.block), len(p))
		s.block = append(s.block, p[:n]...)
		if p = p[n:]; len(s.block) == cap(s.block) {
			s.add(s.block)
			s.block = s.block[:0]
		}
	}
}

func (s *fastSum) add(b []byte) {
	d := fastBlock(b)
	s.h.Write(d[:])
}

func (s *fastSum) Sum() digest {
	if len(s.block) > 0 {
		s.add(s.block)
		s.block = s.block[:0]
	}
	return s.h.Sum128().Bytes()
}
