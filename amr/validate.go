package amr

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// Code is the kind of a Finding.
type Code string

// Kinds of findings.
const (
	MissingRoot     Code = "missing-root"     // a root block is not there
	MissingAncestor Code = "missing-ancestor" // a block of a level below 0 is not there
	MissingParent   Code = "missing-parent"   // blocks are there, the parent is not
	MissingChild    Code = "missing-child"    // some children are there, not all
	Unbalanced      Code = "unbalanced"       // two leaves that touch are more than a level apart
)

// Finding is one thing that is wrong with a tree.
type Finding struct {
	Code  Code
	Index Index // the block that is missing; of Unbalanced the finer one's parent
	Other Index // of Unbalanced: the block that is missing beside Index; else a child or the parent of Index
	Msg   string
}

// String returns code and message.
func (f Finding) String() string { return string(f.Code) + ": " + f.Msg }

// Validate yields all that is wrong with the structure: root blocks and blocks
// above them that are missing, parents that are missing, incomplete sets of
// children, and leaves that touch over a face, an edge or a corner, periodic
// borders included, but are more than one level apart. Its time is linear in
// the number of blocks (and n log n for the order of the findings: of a kind, in
// Morton order).
func (t *Tree) Validate() iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		_ = t.checkTop(yield) && t.checkFamilies(yield) && t.checkBalance(yield)
	}
}

// checkTop looks for the blocks of levels <= 0. It reports at most maxTop of
// them in one level: a hostile geometry has room for 2^30.
func (t *Tree) checkTop(yield func(Finding) bool) bool {
	const maxTop = 1000
	for l := t.g.MinLevel; l <= 0; l++ {
		n := t.g.Extent(l)
		want := int64(n[0]) * int64(n[1]) * int64(n[2])
		missing := want - int64(t.LevelLen(l))
		if missing == 0 {
			continue
		}
		code, told := MissingAncestor, 0
		if l == 0 {
			code = MissingRoot
		}
		for x := range t.g.Level(l) {
			if t.Has(x) {
				continue
			}
			msg := fmt.Sprintf("block %s (level %d, %v) is missing", t.Name(x), l, x.Coord())
			if told++; told == maxTop && missing > maxTop {
				msg += fmt.Sprintf("; so are %d more of this level", missing-maxTop)
			}
			if !yield(Finding{Code: code, Index: x, Other: x, Msg: msg}) {
				return false
			}
			if told == maxTop || int64(told) == missing {
				break
			}
		}
	}
	return true
}

// checkFamilies looks for parents and siblings above level 0.
func (t *Tree) checkFamilies(yield func(Finding) bool) bool {
	var bad []Index
	full := uint16(1)<<t.g.Children() - 1
	for x, v := range t.nodes {
		if kids := v & children; x.Level() >= 0 && kids != 0 && (v&present == 0 || kids != full) {
			bad = append(bad, x)
		}
	}
	slices.SortFunc(bad, compareMorton)
	for _, x := range bad {
		v := t.nodes[x]
		if v&present == 0 && x.Level() > 0 { // of root blocks checkTop tells
			child := x.Child(childBits(bits.TrailingZeros16(v & children)))
			if !yield(Finding{Code: MissingParent, Index: x, Other: child, Msg: fmt.Sprintf("block %s (level %d) is missing, child %s is there", t.Name(x), x.Level(), t.Name(child))}) {
				return false
			}
		}
		for m := full &^ (v & children); m != 0; m &= m - 1 {
			c := x.Child(childBits(bits.TrailingZeros16(m)))
			if !yield(Finding{Code: MissingChild, Index: c, Other: x, Msg: fmt.Sprintf("block %s (level %d) is missing: %s has %d of %d children", t.Name(c), c.Level(), t.Name(x), bits.OnesCount16(v&children), t.g.Children())}) {
				return false
			}
		}
	}
	return true
}

// checkBalance looks at the surroundings of each refined block: all blocks of
// its level must be there.
func (t *Tree) checkBalance(yield func(Finding) bool) bool {
	type pair struct{ x, y Index }
	var bad []pair
	for x, v := range t.nodes {
		if v&present == 0 || v&children == 0 || x.Level() < 1 {
			continue // all root blocks are there, or checkTop tells
		}
		for f := range t.g.faces {
			y, _, ok := t.g.Beside(x, f)
			// What is missing for another reason is told elsewhere.
			if ok && t.nodes[y] == 0 && t.nodes[y.Parent()]&children == 0 {
				bad = append(bad, pair{x, y})
			}
		}
	}
	slices.SortFunc(bad, func(a, b pair) int {
		if c := compareMorton(a.x, b.x); c != 0 {
			return c
		}
		return compareMorton(a.y, b.y)
	})
	for _, p := range slices.Compact(bad) {
		if !yield(Finding{Code: Unbalanced, Index: p.x, Other: p.y, Msg: fmt.Sprintf("block %s (level %d) has children, but beside it %s is not there: leaves that touch differ by more than one level", t.Name(p.x), p.x.Level(), t.Name(p.y))}) {
			return false
		}
	}
	return true
}

func compareMorton(x, y Index) int {
	if c := mortonKey(x).Compare(mortonKey(y)); c != 0 {
		return c
	}
	return cmp.Compare(x.Level(), y.Level())
}

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
