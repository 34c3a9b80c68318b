package amr

import (
	"blobio/internal/base/fault"
	"fmt"
	"math/bits"
	"strings"
)

// MaxName is the maximum length of a block name: "B", for each of three axes 10 array digits, a colon and 20 child bits, and two
// underscores.
const MaxName = 1 + 3*(arrayBits+1+MaxDepth) + 2

// digits returns the number of binary digits in the array part of a name, for a block of a level. roots is the number of root
// blocks of the axis. If a block of the level is wider than all root blocks of the axis, the name has one digit, 0. This happens
// if axes differ, for example 4 x 2 root blocks: Enzo-E halves the number to 0 and counts the digits of -1.
func digits(roots, level int) int {
	n := roots
	if level < 0 {
		n >>= uint(-level)
	}
	if n == 0 {
		return 1
	}
	return bits.Len(uint(n - 1))
}

// Name returns the name of the block in a domain with these root blocks. HDF5 groups and block lists use this name. If a number
// of root blocks is not a power of two, different blocks of one level can have the same name (see ErrAmbiguous). Blocks of
// different levels can also have the same name.
func (x Index) Name(rank int, roots [3]int) string {
	level, c := x.Level(), x.Coord()
	depth := max(level, 0)
	b := make([]byte, 1, MaxName)
	b[0] = 'B'
	for i := range min(rank, 3) {
		if i > 0 {
			b = append(b, '_')
		}
		for k := digits(roots[i], level) - 1; k >= 0; k-- {
			b = append(b, '0'+byte(c[i]>>uint(depth+k)&1))
		}
		if depth == 0 {
			continue
		}
		b = append(b, ':')
		for k := depth - 1; k >= 0; k-- {
			b = append(b, '0'+byte(c[i]>>uint(k)&1))
		}
	}
	return string(b)
}

// ParseName returns the block with a name and a level, in a domain with these root blocks. It also returns the number of
// dimensions. The level is needed because "B__", for example, is the root block of a domain with one root block, and the coarsest
// block of a larger domain. Errors are of class ErrCorrupt, or ErrAmbiguous if several blocks of the level have the name.
func ParseName(name string, roots [3]int, level int) (Index, int, error) {
	bad := func(format string, a ...any) (Index, int, error) {
		return Index{}, 0, &fault.FormatError{Offset: -1, Field: fmt.Sprintf("block name %.96q", name), Msg: fmt.Sprintf(format, a...), Err: fault.ErrCorrupt}
	}
	if level < MinLevel || level > MaxDepth {
		return bad("level %d, want %d to %d", level, MinLevel, MaxDepth)
	}
	if len(name) > MaxName {
		return bad("%d characters, want at most %d", len(name), MaxName)
	}
	rest, ok := strings.CutPrefix(name, "B")
	if !ok {
		return bad("wrong first letter, want B")
	}
	axes := strings.Split(rest, "_")
	if len(axes) > 3 {
		return bad("%d axes, want at most 3", len(axes))
	}
	depth := max(level, 0)
	var coord [3]int
	for i, a := range axes {
		axis := "xyz"[i : i+1]
		if roots[i] < 1 || roots[i] > MaxRoots {
			return bad("%d root blocks along %s, want 1 to %d", roots[i], axis, MaxRoots)
		}
		array, tree, colon := strings.Cut(a, ":")
		if colon != (depth > 0) || len(tree) != depth {
			return bad("%d child bits along %s, want %d at level %d", len(tree), axis, depth, level)
		}
		if want := digits(roots[i], level); len(array) != want {
			return bad("%d array digits along %s, want %d at level %d with %d root blocks", len(array), axis, want, level, roots[i])
		}
		for _, s := range [2]string{array, tree} {
			for k := range len(s) {
				if s[k] != '0' && s[k] != '1' {
					return bad("%q along %s, want 0 or 1", s[k], axis)
				}
				coord[i] = coord[i]<<1 | int(s[k]-'0')
			}
		}
		n := roots[i]
		if level < 0 {
			n = (n-1)>>uint(-level) + 1
		}
		if n > 1<<uint(len(array)) {
			return Index{}, 0, &fault.FormatError{Offset: -1, Field: fmt.Sprintf("block name %q", name), Msg: fmt.Sprintf("%d blocks along %s at level %d share %d digits (%d root blocks): use the index", n, axis, level, len(array), roots[i]), Err: ErrAmbiguous}
		}
		if coord[i]>>uint(depth) >= n {
			return bad("block %d along %s, want < %d", coord[i]>>uint(depth), axis, n)
		}
	}
	return At(level, coord), len(axes), nil
}
