package h5

import "iter"

// walk visits the root and every object that hard links reach from it. It visits each object once, and a group before its
// members. It yields an error in place of the object and continues.
func walk(f *File) iter.Seq2[*Object, error] {
	seen := map[int64]bool{f.root: true}
	return func(yield func(*Object, error) bool) {
		var group func(o *Object) bool
		group = func(o *Object) bool {
			g, err := o.Group()
			if err != nil {
				return yield(nil, err)
			}
			for l, err := range g.Members() {
				if err != nil {
					return yield(nil, err)
				}
				if l.Kind != LinkHard || seen[l.addr] {
					continue
				}
				seen[l.addr] = true
				o, err := g.Open(l)
				if !yield(o, err) || err == nil && o.Kind() == KindGroup && !group(o) {
					return false
				}
			}
			return true
		}
		if root, err := f.Root(); err != nil {
			yield(nil, err)
		} else if yield(root.Object, nil) {
			group(root.Object)
		}
	}
}
