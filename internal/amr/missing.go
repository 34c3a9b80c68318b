package amr

import "cmp"

// Missing counts, by level, the missing blocks that a restart needs: root blocks, ancestors of existing blocks, and the siblings
// of both down to level 0. first is a missing block of the coarsest level with missing blocks. The memory use depends only on the
// number of existing blocks.
func (t *Tree) Missing() (levels map[int]int64, first Index) {
	levels = map[int]int64{}
	n := t.g.Extent(0)
	if lost := int64(n[0])*int64(n[1])*int64(n[2]) - int64(t.LevelLen(0)); lost > 0 {
		levels[0] = lost
		for x := range t.g.Level(0) {
			if !t.Has(x) {
				first = x
				break
			}
		}
	}
	refined := map[Index]bool{}
	for x, v := range t.nodes {
		if v&present == 0 {
			continue
		}
		for x.Level() > 0 && !refined[x.Parent()] {
			x = x.Parent()
			refined[x] = true
		}
	}
	_, rootless := levels[0]
	found := rootless
	for p := range refined {
		for k := range t.g.Children() {
			c := p.Child(childBits(k))
			if t.Has(c) {
				continue
			}
			levels[c.Level()]++
			if !rootless && (!found || c.Level() < first.Level() || c.Level() == first.Level() && compareMorton(c, first) < 0) {
				first, found = c, true
			}
		}
	}
	return levels, first
}

func compareMorton(x, y Index) int {
	if c := mortonKey(x).Compare(mortonKey(y)); c != 0 {
		return c
	}
	return cmp.Compare(x.Level(), y.Level())
}
