package kvtree

type list struct {
	elems []elem         // the last element of the slice is the head of the list
	index map[string]int // position by key; kept only while there are more than narrow elements
	dead  int            // number of removed elements that still have a slot in elems
}

// elem is an element of a list. sub is nil if the element was removed.
type elem struct {
	key string
	sub *Tree
}

// narrow is the maximum number of elements for which comparing keys is faster than a map.
const narrow = 16

func (l *list) len() int { return len(l.elems) - l.dead }

// find returns the position of a key, or -1 if the key does not exist.
func (l *list) find(key string) int {
	if l.index != nil {
		if i, ok := l.index[key]; ok {
			return i
		}
		return -1
	}
	for i := len(l.elems) - 1; i >= 0; i-- {
		if e := &l.elems[i]; e.key == key && e.sub != nil {
			return i
		}
	}
	return -1
}

// insert adds an element with a new key.
func (l *list) insert(key string, sub *Tree) {
	l.elems = append(l.elems, elem{key, sub})
	if l.index != nil {
		l.index[key] = len(l.elems) - 1
	} else if l.len() > narrow {
		l.reindex()
	}
}

// remove removes the element at a position. Iterations in progress stay valid, because lower positions keep their elements or
// compact moves all elements to a new array.
func (l *list) remove(i int) {
	delete(l.index, l.elems[i].key)
	l.elems[i] = elem{}
	l.dead++
	for n := len(l.elems); n > 0 && l.elems[n-1].sub == nil; n-- {
		l.elems = l.elems[:n-1]
		l.dead--
	}
	if l.dead > narrow && l.dead > len(l.elems)/2 {
		l.compact()
	}
}

// compact drops the slots of removed elements.
func (l *list) compact() {
	elems := make([]elem, 0, l.len())
	for _, e := range l.elems {
		if e.sub != nil {
			elems = append(elems, e)
		}
	}
	l.elems, l.dead = elems, 0
	l.reindex()
}

// reindex rebuilds the index, or drops it if there are few elements.
func (l *list) reindex() {
	l.index = nil
	if l.len() <= narrow {
		return
	}
	l.index = make(map[string]int, l.len())
	for i, e := range l.elems {
		if e.sub != nil {
			l.index[e.key] = i
		}
	}
}
