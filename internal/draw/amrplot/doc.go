// Package amrplot draws an adaptive mesh, as PNG or SVG. Draw draws the leaf blocks in a plane, coloured by level, owner or
// file, with the space-filling curve through their centres.
//
// All blocks of a two-dimensional mesh are drawn. For a three-dimensional mesh, the blocks that the plane cuts are drawn.
// Blocks with children are left out, because the children cover them. The curve visits the leaf blocks in the given order.
// Where the curve leaves the plane and comes back, a thin line joins the two blocks.
//
// DrawField draws values in a plane, from a slice or a projection, optionally with the borders of the blocks.
package amrplot
