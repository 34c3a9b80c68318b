package amr

// Balance refines leaves until no two leaves that touch are more than one level apart. It returns the number of refined blocks.
// No block may be missing in the tree.
func (t *Tree) Balance() (int, error) {
	var todo []Index
	for x := range t.nodes {
		if x.Level() >= 1 && t.Refined(x) {
			todo = append(todo, x)
		}
	}
	return t.balance(todo)
}

// RefineBalanced refines a leaf and all further leaves that keep the tree 2:1 balanced. It returns the number of refined blocks.
func (t *Tree) RefineBalanced(x Index) (int, error) {
	if err := t.Refine(x); err != nil {
		return 0, err
	}
	n, err := t.balance([]Index{x})
	return n + 1, err
}

// balance refines blocks that are too coarse next to blocks with children. It returns the number of refined blocks.
func (t *Tree) balance(todo []Index) (n int, err error) {
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x.Level() < 1 {
			continue
		}
		for f := range t.g.faces {
			y, _, ok := t.g.Beside(x, f)
			if !ok {
				continue
			}
			up := y
			for !t.Has(up) && up.Level() > 0 {
				up = up.Parent()
			}
			for l := up.Level(); l < y.Level(); l++ {
				a := y.Ancestor(l)
				if err := t.Refine(a); err != nil {
					return n, err
				}
				n++
				todo = append(todo, a)
			}
		}
	}
	return n, nil
}
