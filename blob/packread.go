package blob

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sort"
	"sync"

	"blobio/h5"
	"blobio/internal/codec"
	"blobio/internal/vfs"
)

// unpacker gives a compressed subfile as the plain one that it stands for: header at the same place,
// data_blob at place.dataOff. What it gives of the data was checked against its checksum.
type unpacker struct {
	pl    *where
	t     *ranks
	x     *packIndex
	name  string
	zstd  *codec.Zstd
	bufs  sync.Pool // *[]byte of a chunk
	mu    sync.Mutex
	pages map[int64][]byte // of the entries, if they are not in x
	cache map[int64][]byte // contents of chunks, by entry
}

const (
	entryPage  = 2048 // entries read at once
	maxPages   = 64
	cacheBytes = 4 << 20 // of contents that were read in part
)

func newUnpacker(pl *where, t *ranks, x *packIndex, name string, z *codec.Zstd) *unpacker {
	return &unpacker{pl: pl, t: t, x: x, name: name, zstd: z, pages: map[int64][]byte{}, cache: map[int64][]byte{}}
}

// unpackedFile is a compressed subfile that is read as a plain one.
type unpackedFile struct {
	vfs.File
	u *unpacker
}

func (f unpackedFile) ReadAt(b []byte, off int64) (int, error) { return f.u.readAt(f.File, b, off) }

func (u *unpacker) readAt(f io.ReaderAt, b []byte, off int64) (n int, err error) {
	if off < u.pl.dataOff {
		k := min(int64(len(b)), u.pl.dataOff-off)
		if n, err = f.ReadAt(b[:k], off); int64(n) < k {
			return n, err
		}
		if n == len(b) {
			return n, nil
		}
	}
	for n < len(b) {
		at := off + int64(n)
		if at >= u.pl.dataOff+u.pl.dataLen {
			return n, io.EOF
		}
		k, err := u.some(f, b[n:], at)
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// some reads what one piece has of the bytes from at on.
func (u *unpacker) some(f io.ReaderAt, b []byte, at int64) (int, error) {
	j := sort.Search(len(u.t.blob), func(i int) bool { return u.t.blob[i] > at }) - 1
	if j < 0 {
		return 0, io.EOF
	}
	rel := at - u.t.blob[j]
	nd := u.pl.nd()
	for d := range nd {
		k := j*nd + d
		if rel < 20 {
			var head [20]byte
			order := orderOf(u.pl.big)
			order.PutUint32(head[:], uint32(u.t.nreqs[k]))
			order.PutUint64(head[4:], uint64(u.t.start[k]))
			order.PutUint64(head[12:], uint64(u.t.count[k]))
			return copy(b, head[rel:]), nil
		}
		rel -= 20
		for w := range 2 {
			first, n, size := u.x.list(d, w, j)
			if rel < n {
				return u.piece(f, b, first, n, size, rel)
			}
			rel -= n
		}
	}
	rel = at - u.t.blob[j]
	nv := len(u.pl.vars)
	v := sort.Search(nv, func(v int) bool { return u.pl.varOff(v+1, u.t, j) > rel })
	if v == nv {
		return 0, io.EOF
	}
	rel -= u.pl.varOff(v, u.t, j)
	_, n, size := u.x.piece(v, 0, j)
	if n == 0 {
		return 0, io.EOF // not reached: the variable would hold no byte
	}
	first, _, _ := u.x.piece(v, rel/n, j)
	return u.piece(f, b, first, n, size, rel%n)
}

// piece reads bytes from on of a piece of n bytes.
func (u *unpacker) piece(f io.ReaderAt, b []byte, first, n, size, from int64) (int, error) {
	b = b[:min(int64(len(b)), n-from)]
	done := 0
	for done < len(b) {
		at := from + int64(done)
		k := at / u.x.chunk
		begin := k * u.x.chunk
		m := min(u.x.chunk, n-begin)
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

// cached returns the content of a chunk that is wanted in part: the rest may be wanted next.
func (u *unpacker) cached(f io.ReaderAt, k, size, n int64) ([]byte, error) {
	u.mu.Lock()
	c := u.cache[k]
	u.mu.Unlock()
	if int64(len(c)) == n {
		return c, nil
	}
	if err := u.plausible(f, k, n); err != nil {
		return nil, err
	}
	c = make([]byte, n)
	if err := u.chunk(f, k, size, c); err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for old := range u.cache {
		if int64(len(u.cache)) < max(2, cacheBytes/u.x.chunk) {
			break
		}
		delete(u.cache, old)
	}
	u.cache[k] = c
	return c, nil
}

// plausible looks at an entry before anything is allocated for its content.
func (u *unpacker) plausible(f io.ReaderAt, k, n int64) error {
	e, err := u.entry(f, k)
	if err == nil {
		if msg := e.fault(n, u.pl.packed.stored); msg != "" {
			err = formatErr(u.name, u.entryAt(k), fmt.Sprintf("entry %d of %s", k, indexPacked), ErrCorrupt, "%s", msg)
		}
	}
	return err
}

func (u *unpacker) entryAt(k int64) int64 {
	return u.pl.packed.idxOff + indexHead + u.pl.tableLen() + k*indexEntryLen
}

// entry returns entry k.
func (u *unpacker) entry(f io.ReaderAt, k int64) (packEntry, error) {
	if k < 0 || k >= u.x.total {
		return packEntry{}, formatErr(u.name, -1, indexPacked, ErrCorrupt, "entry %d of %d", k, u.x.total)
	}
	if u.x.ents != nil {
		return u.x.ents[k], nil
	}
	page := k / entryPage
	u.mu.Lock()
	b := u.pages[page]
	u.mu.Unlock()
	if b == nil {
		b = make([]byte, indexEntryLen*min(entryPage, u.x.total-page*entryPage))
		if err := readFull(f, b, u.entryAt(page*entryPage), u.name, indexPacked); err != nil {
			return packEntry{}, err
		}
		u.mu.Lock()
		for old := range u.pages {
			if len(u.pages) < maxPages {
				break
			}
			delete(u.pages, old)
		}
		u.pages[page] = b
		u.mu.Unlock()
	}
	e, zeros := parseEntry(b[k%entryPage*indexEntryLen:])
	if !zeros {
		return e, formatErr(u.name, u.entryAt(k)+13, fmt.Sprintf("entry %d of %s", k, indexPacked), ErrCorrupt, "its last three bytes of form are not zeros")
	}
	return e, nil
}

// chunk fills dst with the content of chunk k, elements of size bytes.
func (u *unpacker) chunk(f io.ReaderAt, k, size int64, dst []byte) error {
	if err := u.plausible(f, k, int64(len(dst))); err != nil {
		return err
	}
	e, err := u.entry(f, k)
	if err != nil {
		return err
	}
	at := u.pl.dataOff + e.off
	field := fmt.Sprintf("chunk %d of %s", k, dataPacked)
	if e.form == formRaw {
		if err := readFull(f, dst, at, u.name, field); err != nil {
			return err
		}
		if sum := crc32.ChecksumIEEE(dst); sum != e.sum {
			return formatErr(u.name, at, field, ErrChecksum, "%d stored bytes sum to %08x, the index says %08x", e.stored, sum, e.sum)
		}
	} else {
		in, flat := u.buffer(), dst
		defer u.bufs.Put(in)
		src := (*in)[:e.stored]
		if err := readFull(f, src, at, u.name, field); err != nil {
			return err
		}
		if sum := crc32.ChecksumIEEE(src); sum != e.sum {
			return formatErr(u.name, at, field, ErrChecksum, "%d stored bytes sum to %08x, the index says %08x", e.stored, sum, e.sum)
		}
		if e.form == formPlane {
			out := u.buffer()
			defer u.bufs.Put(out)
			flat = (*out)[:len(dst)]
		}
		if err := u.zstd.Decode(flat, src); err != nil {
			return formatErr(u.name, at, field, ErrCorrupt, "%d bytes cannot be decompressed: %v", e.stored, err)
		}
		if e.form == formPlane {
			codec.Unshuffle(dst, flat, int(size))
		}
	}
	if sum := crc32.ChecksumIEEE(dst); sum != e.content {
		return formatErr(u.name, at, field, ErrChecksum, "its content sums to %08x, the index says %08x", sum, e.content)
	}
	return nil
}

func (u *unpacker) buffer() *[]byte {
	if b, ok := u.bufs.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, u.x.chunk)
	return &b
}

// readBack is the subfile that is being written, as it is read: what was flushed.
func (e *engine) readBack(f vfs.File) vfs.File {
	if e.pack == nil {
		return f
	}
	pl := e.place.clone()
	pl.packed.stored = e.pack.end
	return unpackedFile{f, newUnpacker(pl, e.table, e.pack.x, e.name, e.proc.zstd)}
}

// unpack makes what the part's data are read through.
func (p *filePart) unpack() {
	if p.place != nil && p.place.packed != nil && p.table != nil {
		if p.place.packed.memory = p.r.opt.Memory; p.place.packed.memory == 0 { // of Check
			p.place.packed.memory = defaultReadMemory
		}
		p.un = newUnpacker(&p.place.where, p.table, p.place.packed.x, p.name, p.r.codec(p.place.packed.chunk))
	}
}

// codec is what all files of the dataset are decompressed with.
func (r *Reader) codec(chunk int64) *codec.Zstd {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.zstd == nil || r.chunk < chunk {
		r.chunk = chunk
		r.zstd = codec.NewZstd(codec.Options{Concurrency: r.opt.Workers, MaxContent: int(chunk)})
	}
	return r.zstd
}

// findH5 finds the datasets of header and data, and the index of a compressed file.
func findH5(hf *h5.File) (hd, dd, xd *h5.Dataset, herr, derr error) {
	hd, herr = hf.Dataset("/" + headerBlob)
	dd, derr = hf.Dataset("/" + dataBlob)
	if !errors.Is(herr, h5.ErrMissing) || !errors.Is(derr, h5.ErrMissing) {
		return hd, dd, nil, herr, derr
	}
	h, herr2 := hf.Dataset("/" + headerPacked)
	if errors.Is(herr2, h5.ErrMissing) {
		return hd, dd, nil, herr, derr
	}
	if herr2 != nil {
		return nil, nil, nil, herr2, nil
	}
	if dd, derr = hf.Dataset("/" + dataPacked); derr != nil {
		return h, nil, nil, nil, derr
	}
	xd, derr = hf.Dataset("/" + indexPacked)
	return h, dd, xd, nil, derr
}
