// Package amrplot draws an adaptive mesh, as PNG or SVG. Draw draws the leaf blocks in a plane, coloured by level, owner or
// file, with the space-filling curve through their centres.
//
// A two-dimensional mesh is drawn whole; of a three-dimensional one, the blocks that the plane cuts. Blocks with children are
// not drawn, since the children cover them. The curve visits the leaf blocks in the given order. Where the curve leaves the
// plane and comes back, a thin line joins the two blocks.
//
// DrawField draws values in a plane, from a slice or a projection, optionally with the borders of the blocks.
package amrplot
