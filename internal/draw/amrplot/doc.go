// Package amrplot draws the blocks of an adaptive mesh, as PNG or SVG: the leaf
// blocks of a plane, coloured by level, owner or file, with the space-filling
// curve drawn through their centres.
//
// A mesh of two dimensions is drawn whole; of three, the blocks that a plane
// cuts. Blocks that have children are not drawn, since their children cover
// them. The curve visits the leaf blocks in the order in which they are given.
// Where it leaves the plane and comes back, the two blocks are joined by a thin
// line.
package amrplot
