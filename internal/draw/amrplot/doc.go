// Package amrplot draws an adaptive mesh, as PNG or SVG. Draw draws its blocks: the leaf
// blocks of a plane, coloured by level, owner or file, with the space-filling
// curve drawn through their centres.
//
// A mesh of two dimensions is drawn whole; of three, the blocks that a plane
// cuts. Blocks that have children are not drawn, since their children cover
// them. The curve visits the leaf blocks in the order in which they are given.
// Where it leaves the plane and comes back, the two blocks are joined by a thin
// line.
//
// DrawField draws values in a plane, a slice or a projection, with the borders of the blocks by choice.
package amrplot
