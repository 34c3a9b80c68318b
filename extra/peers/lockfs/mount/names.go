//go:build linux && !386 && !arm

package mount

import (
	"slices"
	"sync"

	"blobio/extra/peers/lockfs"
)

// name is an entry of a directory, and the file that it leads to, if it is known.
type name struct {
	parent lockfs.Key
	name   string
	file   lockfs.Key
}

// entry is a name in a directory.
type entry struct {
	parent lockfs.Key
	name   string
}

// names holds what threads have looked up, until it is known why: a server gets one call to open or stat a name, but the kernel
// looks it up first. The next call of the thread shows why.
type names struct {
	mu    sync.Mutex
	open  map[uint32][]name
	dirs  map[lockfs.Key]bool  // directories that the node knows
	known map[entry]lockfs.Key // names in the kernel's cache, which looks up a wrong one again
}

// lookup notes a name of a thread. A directory costs a call the first time only.
func (n *names) lookup(tid uint32, x name, dir bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := entry{x.parent, x.name}
	was, ok := n.known[e]
	n.note(e, x.file)
	if ok && was != x.file || dir && n.dirs[x.file] {
		return
	}
	if dir {
		n.dirs[x.file] = true
	}
	n.open[tid] = append(n.open[tid], x)
}

// note records the file of a name, with mu held; zero: none.
func (n *names) note(e entry, file lockfs.Key) {
	delete(n.known, e)
	if file != (lockfs.Key{}) {
		n.known[e] = file
	}
}

// made records that the node has made a file or directory, or with a zero file has removed the name.
func (n *names) made(x name, file lockfs.Key, dir bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note(entry{x.parent, x.name}, file)
	if dir {
		n.dirs[file] = true
	}
}

// used takes what the thread has looked up, and returns the names that were not for the call that it makes now: of each name that it is on
// the last look was.
func (n *names) used(tid uint32, of []name) (others []name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	others = n.open[tid]
	delete(n.open, tid)
	for _, o := range of {
		for i, x := range slices.Backward(others) {
			if o.file == x.file && o.file != (lockfs.Key{}) || o.name == x.name && o.name != "" && o.parent == x.parent {
				others = slices.Delete(others, i, i+1)
				break
			}
		}
	}
	return others
}

// all takes what all threads have looked up.
func (n *names) all() (list []name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.open {
		list = append(list, l...)
	}
	clear(n.open)
	return list
}
