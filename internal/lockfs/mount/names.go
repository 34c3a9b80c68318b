//go:build linux

package mount

import (
	"slices"
	"sync"

	"blobio/internal/lockfs"
)

// name is an entry of a directory, and the file that it leads to, if it is known.
type name struct {
	parent lockfs.Key
	name   string
	file   lockfs.Key
}

// names holds what threads have looked up, until it is known why: a server gets one call to open or stat a name, but the kernel
// looks it up first. What the thread does next tells.
type names struct {
	mu    sync.Mutex
	open  map[uint32][]name
	known map[lockfs.Key]bool // directories that were looked up before
}

// lookup notes a name of a thread. A directory costs a call the first time only.
func (n *names) lookup(tid uint32, x name, dir bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open == nil {
		n.open, n.known = map[uint32][]name{}, map[lockfs.Key]bool{}
	}
	if dir && n.known[x.file] {
		return
	}
	if dir {
		n.known[x.file] = true
	}
	n.open[tid] = append(n.open[tid], x)
}

// used takes what the thread has looked up, and returns the names that were not for the call that it makes now.
func (n *names) used(tid uint32, of []name) (others []name) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, x := range n.open[tid] {
		if !slices.ContainsFunc(of, func(o name) bool {
			return o.file == x.file && o.file != (lockfs.Key{}) || o.name == x.name && o.name != "" && o.parent == x.parent
		}) {
			others = append(others, x)
		}
	}
	delete(n.open, tid)
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
