package vfs

import (
	"maps"
	"math/rand"
	"slices"
	"time"
)

// CrashOptions says what of the unsynced state a power loss leaves.
type CrashOptions struct {
	// Rand decides, with equal chance, for each page (4 KiB) changed since the Sync
	// of its file whether the old or the newest version survives, for each
	// size among those the file may have had, and for each directory operation since
	// the SyncDir whether it happened: writes are torn at page borders and reordered.
	// Of a page written twice, the version between is not considered.
	// nil: nothing unsynced survives.
	Rand *rand.Rand
}

// CrashClone returns the file system that a power loss at this moment would
// leave, as an independent Mem in which everything is durable. m goes on unharmed,
// and may be in use meanwhile: the clone is of one moment. The same Rand state on
// the same tree gives the same clone.
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
	done map[*node]*node // a file can be found under two names after a crash
	mem  *Mem
}

func (c *cloner) keep() bool { return c.rand != nil && c.rand.Intn(2) == 0 }

func (c *cloner) clone(n *node) *node {
	if k := c.done[n]; k != nil {
		return k
	}
	k := &node{dir: n.dir}
	k.mtime.Store(n.mtime.Load() - int64(time.Minute)) // it takes a while until the machine is there again
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
	for _, name := range slices.Sorted(maps.Keys(entries)) { // sorted: the same Rand gives the same clone
		k.entries[name] = c.clone(entries[name])
	}
	k.durable = maps.Clone(k.entries)
	return k
}

// cloneData copies what survives of d to k.
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
