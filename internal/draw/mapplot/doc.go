// Package mapplot draws who owns what: a picture of a decomposition map in
// which each rank has a colour, as PNG or SVG.
//
// Without coordinates the picture is of the index space. Two dimensions are
// rows and columns; of three or more, one plane of the last two is shown; one
// dimension is folded like the lines of a page. With the longitudes and
// latitudes of the elements, the picture is a world map (the equal-area
// projection of Mollweide), in which each point of the globe has the colour of
// the nearest element, or a plain longitude-latitude map.
//
// Elements without an owner are grey. Where the globe has no elements (land, for
// an ocean model), the map is pale.
package mapplot
