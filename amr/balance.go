package amr

// Balance refines leaves until no two that touch are more than one level
// apart, and returns how many it refined. The tree must be complete otherwise.
func (t *Tree) Balance() (int, error) {
	var todo []Index
	for x := range t.nodes {
		if x.Level() >= 1 && t.Refined(x) {
			todo = append(todo, x)
		}
	}
	n := 0
	for len(todo) > 0 {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for f := range t.g.faces {
			y, _, ok := t.g.Beside(x, f)
			if !ok {
				continue
			}
			m, more, err := t.ensure(y, todo)
			if err != nil {
				return n, err
			}
			n, todo = n+m, more
		}
	}
	return n, nil
}

// ensure makes block y exist by refining its ancestors, which it appends to
// todo.
func (t *Tree) ensure(y Index, todo []Index) (int, []Index, error) {
	up := y
	for !t.Has(up) && up.Level() > 0 {
		up = up.Parent()
	}
	n := 0
	for l := up.Level(); l < y.Level(); l++ {
		a := y.Ancestor(l)
		if err := t.Refine(a); err != nil {
			return n, todo, err
		}
		if n++; l >= 1 {
			todo = append(todo, a)
		}
	}
	return n, todo, nil
}

// RefineBalanced refines a leaf, after refining those that must be so that the
// tree stays 2:1 balanced. It returns how many blocks were refined.
func (t *Tree) RefineBalanced(x Index) (int, error) {
	if !t.Leaf(x) {
		return 0, t.Refine(x) // tells what is wrong
	}
	total, todo := 0, []Index{x}
	if err := t.Refine(x); err != nil {
		return 0, err
	}
	for total = 1; len(todo) > 0; {
		b := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.Level() < 1 {
			continue
		}
		for f := range t.g.faces {
			y, _, ok := t.g.Beside(b, f)
			if !ok {
				continue
			}
			m, more, err := t.ensure(y, todo)
			total, todo = total+m, more
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}
