// Package unpack reads compressed subfiles as if they were uncompressed.
package unpack

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sort"
	"sync"

	"blobio/blob/internal/layout"
	"blobio/internal/base/cache"
	"blobio/internal/base/codec"
	"blobio/internal/base/crccat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Unpacker presents a compressed subfile as the equivalent uncompressed file. The header keeps its offset, and data_blob is at
// Place.DataOff. Unpacker compares all data with their checksums.
type Unpacker struct {
	pl    *layout.Place
	t     *layout.Ranks
	Index *layout.Index
	name  string
	zstd  *codec.Zstd
	bufs  sync.Pool                      // *[]byte with room for a chunk
	pages *cache.Cache[int64, []byte]    // pages of entries, if Index does not hold all entries
	parts *cache.Cache[chunkKey, []byte] // contents of chunks that were read in part
}

// chunkKey is the number of an entry and the expected length of its chunk.
type chunkKey struct{ entry, n int64 }

const (
	entryPage  = 2048 // number of entries per read
	maxPages   = 64
	cacheBytes = 4 << 20 // memory for contents of chunks that were read in part
)

func New(pl *layout.Place, t *layout.Ranks, x *layout.Index, name string, z *codec.Zstd) *Unpacker {
	return &Unpacker{pl: pl, t: t, Index: x, name: name, zstd: z,
		pages: cache.New[int64](maxPages, func([]byte) int64 { return 1 }),
		parts: cache.New[chunkKey](max(cacheBytes, 2*x.Chunk), func(b []byte) int64 { return int64(len(b)) })}
}

// File is a compressed subfile that reads like an uncompressed one.
type File struct {
	vfs.File
	u *Unpacker
}

func (f File) ReadAt(b []byte, off int64) (int, error) { return f.u.readAt(f.File, b, off) }

func (u *Unpacker) readAt(f io.ReaderAt, b []byte, off int64) (n int, err error) {
	if off < u.pl.DataOff {
		k := min(int64(len(b)), u.pl.DataOff-off)
		if n, err = f.ReadAt(b[:k], off); int64(n) < k {
			return n, err
		}
		if n == len(b) {
			return n, nil
		}
	}
	for n < len(b) {
		at := off + int64(n)
		if at >= u.pl.DataOff+u.pl.DataLen {
			return n, io.EOF
		}
		k, err := u.some(f, b[n:], at)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// some reads bytes of one piece, from at on.
func (u *Unpacker) some(f io.ReaderAt, b []byte, at int64) (int, error) {
	j := sort.Search(len(u.t.Blob), func(i int) bool { return u.t.Blob[i] > at }) - 1
	if j < 0 {
		return 0, io.EOF
	}
	rel := at - u.t.Blob[j]
	nd := u.pl.Header.Maps
	for d := range nd {
		k := j*nd + d
		if rel < 20 {
			var head [20]byte
			order := u.pl.Order()
			order.PutUint32(head[:], uint32(u.t.Nreqs[k]))
			order.PutUint64(head[4:], uint64(u.t.Start[k]))
			order.PutUint64(head[12:], uint64(u.t.Count[k]))
			return copy(b, head[rel:]), nil
		}
		rel -= 20
		for w := range 2 {
			first, n, size := u.Index.List(d, w, j)
			if rel < n {
				return u.piece(f, b, first, n, size, rel)
			}
			rel -= n
		}
	}
	rel = at - u.t.Blob[j]
	nv := len(u.pl.Vars)
	v := sort.Search(nv, func(v int) bool { return u.pl.Blob.VarOff(v+1, u.t, j) > rel })
	if v == nv {
		return 0, io.EOF
	}
	rel -= u.pl.Blob.VarOff(v, u.t, j)
	_, n, size := u.Index.Piece(v, 0, j)
	if n == 0 {
		return 0, io.EOF // not reached, because the variable would have no bytes
	}
	first, _, _ := u.Index.Piece(v, rel/n, j)
	return u.piece(f, b, first, n, size, rel%n)
}

// piece reads bytes, from byte from on, of a piece of n bytes.
func (u *Unpacker) piece(f io.ReaderAt, b []byte, first, n, size, from int64) (int, error) {
	b = b[:min(int64(len(b)), n-from)]
	done := 0
	for done < len(b) {
		at := from + int64(done)
		k := at / u.Index.Chunk
		begin := k * u.Index.Chunk
		m := min(u.Index.Chunk, n-begin)
		if at == begin && int64(len(b)-done) >= m {
			if err := u.chunk(f, first+k, size, b[done:done+int(m)]); err != nil {
				return done, err
			}
			done += int(m)
			continue
		}
		c, err := u.cached(f, first+k, size, m)
		if err != nil {
			return done, err
		}
		done += copy(b[done:], c[at-begin:])
	}
	return done, nil
}

// cached returns the content of a chunk if the reader wants only a part. It keeps the content, because the next read may want the
// rest.
func (u *Unpacker) cached(f io.ReaderAt, k, size, n int64) ([]byte, error) {
	return u.parts.Make(context.Background(), chunkKey{k, n}, func() ([]byte, error) {
		if err := u.plausible(f, k, n); err != nil {
			return nil, err
		}
		c := make([]byte, n)
		return c, u.chunk(f, k, size, c)
	})
}

// plausible checks an entry before memory for its content is allocated.
func (u *Unpacker) plausible(f io.ReaderAt, k, n int64) error {
	e, err := u.Entry(f, k)
	if err == nil {
		if msg := e.Fault(n, u.pl.Packed.Stored); msg != "" {
			err = fault.At(u.name, u.EntryAt(k), fmt.Sprintf("entry %d of %s", k, layout.IndexPacked), fault.ErrCorrupt, "%s", msg)
		}
	}
	return err
}

func (u *Unpacker) EntryAt(k int64) int64 {
	return u.pl.Packed.IndexOff + layout.IndexHead + u.pl.TableLen() + k*layout.IndexEntryLen
}

// Entry returns entry k.
func (u *Unpacker) Entry(f io.ReaderAt, k int64) (layout.Entry, error) {
	if k < 0 || k >= u.Index.Total {
		return layout.Entry{}, fault.At(u.name, -1, layout.IndexPacked, fault.ErrCorrupt, "entry number %d, want less than %d", k, u.Index.Total)
	}
	if u.Index.Entries != nil {
		return u.Index.Entries[k], nil
	}
	page := k / entryPage
	b, err := u.pages.Make(context.Background(), page, func() ([]byte, error) {
		b := make([]byte, layout.IndexEntryLen*min(entryPage, u.Index.Total-page*entryPage))
		return b, layout.ReadFull(f, b, u.EntryAt(page*entryPage), u.name, layout.IndexPacked)
	})
	if err != nil {
		return layout.Entry{}, err
	}
	e, zeros := layout.ParseEntry(b[k%entryPage*layout.IndexEntryLen:])
	if !zeros {
		return e, fault.At(u.name, u.EntryAt(k)+13, fmt.Sprintf("entry %d of %s", k, layout.IndexPacked), fault.ErrCorrupt, "the three bytes after the form are not zero")
	}
	return e, nil
}

// chunk fills dst with the content of chunk k, which has elements of size bytes.
func (u *Unpacker) chunk(f io.ReaderAt, k, size int64, dst []byte) error {
	if err := u.plausible(f, k, int64(len(dst))); err != nil {
		return err
	}
	e, err := u.Entry(f, k)
	if err != nil {
		return err
	}
	at := u.pl.DataOff + e.Off
	field := fmt.Sprintf("chunk %d of %s", k, layout.DataPacked)
	if e.Form == layout.FormRaw {
		if err := layout.ReadFull(f, dst, at, u.name, field); err != nil {
			return err
		}
		if sum := crc32.ChecksumIEEE(dst); sum != e.Sum {
			return fault.At(u.name, at, field, fault.ErrChecksum, "checksum of %d stored bytes is %08x, but the index says %08x", e.Stored, sum, e.Sum)
		}
	} else {
		in, flat := u.buffer(), dst
		defer u.bufs.Put(in)
		src := (*in)[:e.Stored]
		if err := layout.ReadFull(f, src, at, u.name, field); err != nil {
			return err
		}
		if sum := crc32.ChecksumIEEE(src); sum != e.Sum {
			return fault.At(u.name, at, field, fault.ErrChecksum, "checksum of %d stored bytes is %08x, but the index says %08x", e.Stored, sum, e.Sum)
		}
		if e.Form == layout.FormPlane {
			out := u.buffer()
			defer u.bufs.Put(out)
			flat = (*out)[:len(dst)]
		}
		if err := u.zstd.Decode(flat, src); err != nil {
			return fault.At(u.name, at, field, fault.ErrCorrupt, "%d bytes cannot be decompressed: %v", e.Stored, err)
		}
		if e.Form == layout.FormPlane {
			codec.Unshuffle(dst, flat, int(size))
		}
	}
	if sum := crc32.ChecksumIEEE(dst); sum != e.Content {
		return fault.At(u.name, at, field, fault.ErrChecksum, "checksum of the content is %08x, but the index says %08x", sum, e.Content)
	}
	return nil
}

func (u *Unpacker) buffer() *[]byte {
	if b, ok := u.bufs.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, u.Index.Chunk)
	return &b
}

// Verify decompresses a header variable's record in all blobs and returns its checksum. It passes each fault to report, and
// returns the last one.
func (u *Unpacker) Verify(f io.ReaderAt, v int, rec int64, report func(error)) (crc uint32, stored int64, last error) {
	x := u.Index
	nmap := x.Place.Header.Maps * layout.MapVars
	if v < nmap && v%layout.MapVars < layout.MapOffsets {
		crc, last = x.Sum(v, rec)
		return crc, 0, last
	}
	var join crccat.Joiner
	var buf []byte
	for i := range x.Table.ID {
		first, n, size := x.Of(v, rec, i)
		for k := first; n > 0; k++ {
			m := min(n, x.Chunk)
			n -= m
			err := u.plausible(f, k, m)
			if err == nil {
				if int64(len(buf)) < m {
					buf = make([]byte, m)
				}
				err = u.chunk(f, k, size, buf[:m])
			}
			if err != nil {
				var bad *fault.FormatError
				if errors.As(err, &bad) {
					named := *bad
					named.Field += ": " + x.Name(v, rec, i)
					err = &named
				}
				report(err)
				last = err
				continue
			}
			e, _ := u.Entry(f, k)
			stored += int64(e.Stored)
			crc = join.Cat(crc, e.Content, m)
		}
	}
	return crc, stored, last
}

// Stored returns where blob j's compressed piece of a header variable's record lies: file offset, number of bytes, and form.
func (u *Unpacker) Stored(f io.ReaderAt, v int, rec int64, j int) (off, n, content int64, form string, err error) {
	nmap := u.pl.Header.Maps * layout.MapVars
	if v < nmap && v%layout.MapVars < layout.MapOffsets {
		n = int64(layout.MapVarDefs[v%layout.MapVars].Type.Size())
		return u.pl.TableAt(v/layout.MapVars, v%layout.MapVars, j), n, n, layout.FormNames[layout.FormRaw], nil
	}
	first, content, _ := u.Index.Of(v, rec, j)
	off = int64(math.MaxInt64)
	best := uint8(layout.FormNone)
	for k, left := first, content; left > 0; k++ {
		left -= min(left, u.Index.Chunk)
		e, err := u.Entry(f, k)
		if err != nil {
			return 0, 0, 0, "", err
		}
		off, n, best = min(off, u.pl.DataOff+e.Off), n+int64(e.Stored), max(best, e.Form)
	}
	if content == 0 {
		off = u.pl.DataOff
	}
	return off, n, content, layout.FormNames[min(best, layout.FormCount-1)], nil
}

// File returns the open file f in uncompressed form.
func (u *Unpacker) File(f vfs.File) File { return File{f, u} }

// Chunk returns the stored chunk that contains byte at of the piece of header variable v, record rec and blob j. It returns the
// chunk's file offset and length, its form, the length of its content, and the offset of the byte in the content.
func (u *Unpacker) Chunk(f io.ReaderAt, v int, rec int64, j int, at int64) (off, n, content, within int64, form string, err error) {
	first, all, _ := u.Index.Piece(v-u.pl.Header.Maps*layout.MapVars, rec, j)
	if at < 0 || at >= all {
		return 0, 0, 0, 0, "", fault.Usage("byte %d is outside the piece of %d bytes", at, all)
	}
	e, err := u.Entry(f, first+at/u.Index.Chunk)
	if err != nil {
		return 0, 0, 0, 0, "", err
	}
	within = at % u.Index.Chunk
	return u.pl.DataOff + e.Off, int64(e.Stored), min(u.Index.Chunk, all-at+within), within, layout.FormNames[min(e.Form, layout.FormCount-1)], nil
}
