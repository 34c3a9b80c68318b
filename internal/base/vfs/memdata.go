package vfs

import (
	"io"
	"sync"
)

const (
	pageSize = 4096
	chunkLen = 256 // pages of a chunk: 1 MiB
)

type page [pageSize]byte

// chunk is 1 MiB of a file; a nil page is a hole.
type chunk [chunkLen]*page

// memData is the content of a file, with what of it is durable. A page that is
// written first after a Sync is copied: saved keeps the durable one.
type memData struct {
	mu     sync.RWMutex
	size   int64
	chunks map[int64]*chunk
	saved  map[int64]*page // durable version of each page changed since the Sync; nil: a hole

	durSize int64 // size at the last Sync
	lowSize int64 // smallest size since
}

func (d *memData) page(i int64) *page {
	if c := d.chunks[i/chunkLen]; c != nil {
		return c[i%chunkLen]
	}
	return nil
}

// put sets a page (nil makes a hole) and remembers the durable version. It
// returns the change in the number of pages.
func (d *memData) put(i int64, p *page) int64 {
	c := d.chunks[i/chunkLen]
	if c == nil {
		if p == nil {
			return 0
		}
		if d.chunks == nil {
			d.chunks = map[int64]*chunk{}
		}
		c = new(chunk)
		d.chunks[i/chunkLen] = c
	}
	old := c[i%chunkLen]
	if old == nil && p == nil {
		return 0
	}
	if _, ok := d.saved[i]; !ok {
		if d.saved == nil {
			d.saved = map[int64]*page{}
		}
		d.saved[i] = old
	}
	c[i%chunkLen] = p
	switch {
	case old == nil:
		return 1
	case p == nil:
		return -1
	}
	return 0
}

// writable returns page i, to be changed in place. grow reports whether it was a hole.
func (d *memData) writable(i int64) (p *page, grow bool) {
	p = d.page(i)
	if p != nil {
		if _, ok := d.saved[i]; ok {
			return p, false // this version is not the durable one
		}
		q := *p
		d.put(i, &q)
		return &q, false
	}
	p = new(page)
	d.put(i, p)
	return p, true
}

// write copies b to offset off. reserve is asked before the file gets a new page;
// it returns false when there is no space. The result is the number of bytes written.
func (d *memData) write(b []byte, off int64, reserve func() bool) int {
	n := 0
	for n < len(b) {
		i, at := (off+int64(n))/pageSize, (off+int64(n))%pageSize
		if d.page(i) == nil && !reserve() {
			break
		}
		p, _ := d.writable(i)
		n += copy(p[at:], b[n:])
	}
	if n > 0 {
		d.size = max(d.size, off+int64(n))
	}
	return n
}

func (d *memData) read(b []byte, off int64) (int, error) {
	if off >= d.size {
		return 0, io.EOF
	}
	want := int64(len(b))
	if want > d.size-off {
		want = d.size - off
	}
	n := int64(0)
	for n < want {
		i, at := (off+n)/pageSize, (off+n)%pageSize
		k := min(want-n, pageSize-at)
		if p := d.page(i); p != nil {
			copy(b[n:n+k], p[at:])
		} else {
			clear(b[n : n+k])
		}
		n += k
	}
	if want < int64(len(b)) {
		return int(want), io.EOF
	}
	return int(want), nil
}

// truncate returns the change in the number of pages.
func (d *memData) truncate(size int64) int64 {
	var delta int64
	if size < d.size {
		first := (size + pageSize - 1) / pageSize
		for ci, c := range d.chunks {
			if (ci+1)*chunkLen <= first {
				continue
			}
			for k, p := range c {
				if i := ci*chunkLen + int64(k); p != nil && i >= first {
					delta += d.put(i, nil)
				}
			}
		}
		// Bytes behind the end in the last page must read as zero when the file grows again.
		if at := size % pageSize; at != 0 && d.page(size/pageSize) != nil {
			p, _ := d.writable(size / pageSize)
			clear(p[at:])
		}
	}
	d.size = size
	d.lowSize = min(d.lowSize, size)
	return delta
}

// count is the number of pages that are not holes.
func (d *memData) count() (n int64) {
	for _, c := range d.chunks {
		for _, p := range c {
			if p != nil {
				n++
			}
		}
	}
	return n
}

func (d *memData) sync() {
	clear(d.saved)
	d.durSize, d.lowSize = d.size, d.size
}
