package lockfs

import "math/bits"

// maxClients is as many as a word has bits.
const maxClients = 64

// File is the servers' record of a file.
type File struct {
	name    string
	layout  Layout
	size    int64
	objects []object
	writers []uint64 // by unit: clients that wrote it, a bit each
	last    []uint8  // by page: 1 + the client that wrote it last
	counts  FileCounts
}

// part is a contiguous range of an object.
type part struct {
	object   int
	from, to int64
}

// parts are the ranges that [off, off+n) has in objects, at most one in each: units of a file that
// follow on in an object lie side by side there.
func (f *File) parts(off, n int64) []part {
	list := make([]part, 0, f.layout.Count)
	at := make(map[int]int, f.layout.Count)
	for end := off + n; off < end; {
		unit, in := off/f.layout.Size, off%f.layout.Size
		k := min(end-off, f.layout.Size-in)
		o := int(unit % int64(f.layout.Count))
		from := unit/int64(f.layout.Count)*f.layout.Size + in
		if i, ok := at[o]; ok {
			list[i].to = from + k
		} else {
			at[o] = len(list)
			list = append(list, part{o, from, from + k})
		}
		off += k
	}
	return list
}

// wrote records the writer of the units and pages of [off, off+n), and returns the number of pages at its ends that the client
// must first read: it writes a part of them, the file has bytes there, and it was not the last to write them.
func (f *File) wrote(client int, off, n int64) (reads int) {
	end := off + n
	for u := off / f.layout.Size; u*f.layout.Size < end; u++ {
		for int64(len(f.writers)) <= u {
			f.writers = append(f.writers, 0)
		}
		f.writers[u] |= 1 << client
	}
	for int64(len(f.last))*pageSize < end {
		f.last = append(f.last, 0)
	}
	first, last := off/pageSize, (end-1)/pageSize
	for p := first; p <= last; p++ {
		whole := off <= p*pageSize && end >= min((p+1)*pageSize, f.size)
		if !whole && p*pageSize < f.size && f.last[p] != uint8(client)+1 {
			reads++
		}
		f.last[p] = uint8(client) + 1
	}
	f.size = max(f.size, end)
	return reads
}

// truncate forgets what was written beyond a size.
func (f *File) truncate(size int64) {
	f.size = size
	if pages := (size + pageSize - 1) / pageSize; pages < int64(len(f.last)) {
		f.last = f.last[:pages]
	}
}

// shared are the units that several clients have written.
func (f *File) shared() (units []int64) {
	for u, w := range f.writers {
		if bits.OnesCount64(w) > 1 {
			units = append(units, int64(u))
		}
	}
	return units
}
