package h5

import (
	"blobio/internal/fault"
	"iter"
)

// Walk visits the root and every object below it that hard links lead to,
// groups before their members. An object with several links is visited by the
// first; so cycles, which hard links may form, end. An error is yielded in
// place of the object it concerns, and the walk goes on with what else there
// is; it descends 1,024 groups deep at most.
func (f *File) Walk() iter.Seq2[*Object, error] {
	return func(yield func(*Object, error) bool) {
		root, err := f.Root()
		if err != nil {
			yield(nil, err)
			return
		}
		w := &walker{f: f, yield: yield, seen: map[int64]bool{f.root: true}}
		if yield(root.Object, nil) {
			w.group(root, 1)
		}
	}
}

type walker struct {
	f     *File
	yield func(*Object, error) bool
	seen  map[int64]bool // addresses of object headers
}

// group visits the members; false ends the walk.
func (w *walker) group(g *Group, depth int) bool {
	if depth > maxNesting {
		return w.yield(nil, w.f.errAt(w.f.base+g.h.addr, "group "+g.path, fault.ErrTooLarge, "nested deeper than %d", maxNesting))
	}
	for l, err := range g.Members() {
		if err != nil {
			return w.yield(nil, err)
		}
		if l.Kind != LinkHard || w.seen[l.addr] {
			continue
		}
		w.seen[l.addr] = true
		o, err := g.Open(l)
		if err != nil {
			if !w.yield(nil, err) {
				return false
			}
			continue
		}
		if !w.yield(o, nil) {
			return false
		}
		if o.Kind() != KindGroup {
			continue
		}
		sub, err := o.Group()
		if err != nil {
			if !w.yield(nil, err) {
				return false
			}
			continue
		}
		if !w.group(sub, depth+1) {
			return false
		}
	}
	return true
}
