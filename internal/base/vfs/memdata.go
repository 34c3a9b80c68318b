package vfs

import (
	"io"
	"maps"
	"math/rand"
	"slices"
	"sync"
	"time"
)

const (
	pageSize = 4096
	chunkLen = 256 // pages per chunk: 1 MiB
)

type page [pageSize]byte

// chunk is 1 MiB of a file; a nil page is a hole.
type chunk [chunkLen]*page

// memData is the content of a file and its durable version. The first write to a page after a Sync saves the durable page in
// saved.
type memData struct {
	mu     sync.RWMutex
	size   int64
	chunks map[int64]*chunk
	saved  map[int64]*page // durable version of each page changed since the Sync; nil: a hole

	durSize int64 // size at the last Sync
	lowSize int64 // minimum size since the last Sync
}

func (d *memData) page(i int64) *page {
	if c := d.chunks[i/chunkLen]; c != nil {
		return c[i%chunkLen]
	}
	return nil
}

// put sets a page (nil makes a hole) and saves the durable version. It returns the change in the number of pages.
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

// writable returns page i for a change in place.
func (d *memData) writable(i int64) *page {
	p := d.page(i)
	if p != nil {
		if _, ok := d.saved[i]; ok {
			return p // the durable version is saved already
		}
		q := *p
		d.put(i, &q)
		return &q
	}
	p = new(page)
	d.put(i, p)
	return p
}

// write copies b to offset off. It calls reserve before the file gets a new page. If reserve returns false, there is no space for
// the page. It returns the number of bytes written.
func (d *memData) write(b []byte, off int64, reserve func() bool) int {
	n := 0
	for n < len(b) {
		i, at := (off+int64(n))/pageSize, (off+int64(n))%pageSize
		if d.page(i) == nil && !reserve() {
			break
		}
		p := d.writable(i)
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

// truncate sets the size and returns the change in the number of pages.
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
		// Bytes after the end in the last page must be zero when the file grows again.
		if at := size % pageSize; at != 0 && d.page(size/pageSize) != nil {
			p := d.writable(size / pageSize)
			clear(p[at:])
		}
	}
	d.size = size
	d.lowSize = min(d.lowSize, size)
	return delta
}

// count returns the number of pages that are not holes.
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

// CrashOptions choose the part of the unsynced state that survives a power loss.
type CrashOptions struct {
	// Rand draws the survivors with equal chances. For each page (4 KiB) changed since the Sync of its file, either the old or
	// the newest version survives. Each file keeps one of the sizes that it has had since its Sync. Each directory operation
	// since the SyncDir survives or not. So writes are torn at page borders and reordered. Intermediate versions of a page never
	// survive. nil: no unsynced state survives.
	Rand *rand.Rand
}

// CrashClone returns an independent Mem with the state after a power loss now; all of it is durable. m is unchanged and may be in
// use meanwhile: the clone shows all files at one moment. The same Rand state on the same tree gives the same clone.
func (m *Mem) CrashClone(o CrashOptions) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Mem{}
	c.limit.Store(m.limit.Load())
	cl := cloner{rand: o.Rand, done: map[*node]*node{}, mem: c}
	c.root = cl.clone(m.root)
	return c
}

type cloner struct {
	rand *rand.Rand
	done map[*node]*node // after a crash a file may have two names
	mem  *Mem
}

func (c *cloner) keep() bool { return c.rand != nil && c.rand.Intn(2) == 0 }

func (c *cloner) clone(n *node) *node {
	if k := c.done[n]; k != nil {
		return k
	}
	k := &node{dir: n.dir}
	k.mtime.Store(n.mtime.Load() - int64(time.Minute)) // a reboot takes a while
	c.done[n] = k
	if !n.dir {
		n.file.mu.RLock()
		defer n.file.mu.RUnlock()
		c.cloneData(&k.file, &n.file)
		return k
	}
	entries := maps.Clone(n.durable)
	for _, op := range n.log {
		if c.keep() {
			op.apply(entries)
		}
	}
	k.entries = map[string]*node{}
	for _, name := range slices.Sorted(maps.Keys(entries)) { // sorted, so that the same Rand gives the same clone
		k.entries[name] = c.clone(entries[name])
	}
	k.durable = maps.Clone(k.entries)
	return k
}

// cloneData copies the surviving part of d to k.
func (c *cloner) cloneData(k, d *memData) {
	size := d.durSize
	if c.rand != nil {
		sizes := []int64{d.durSize, d.size, d.lowSize}
		if lo, hi := d.lowSize/pageSize, (max(d.size, d.durSize)+pageSize-1)/pageSize; hi > lo {
			between := (lo + c.rand.Int63n(hi-lo+1)) * pageSize
			sizes = append(sizes, min(max(between, d.lowSize), max(d.size, d.durSize)))
		}
		size = sizes[c.rand.Intn(len(sizes))]
	}
	set := func(i int64, p *page) {
		if p == nil || i*pageSize >= size {
			return
		}
		q := *p
		if end := size - i*pageSize; end < pageSize {
			clear(q[end:])
		}
		c.mem.pages.Add(k.put(i, &q))
	}
	for _, ci := range slices.Sorted(maps.Keys(d.chunks)) {
		for j, p := range d.chunks[ci] {
			i := ci*chunkLen + int64(j)
			if old, ok := d.saved[i]; ok && !c.keep() {
				p = old
			}
			set(i, p)
		}
	}
	k.size = size
	k.sync()
}
