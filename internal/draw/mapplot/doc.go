// Package mapplot draws the owners of a decomposition map, as PNG or SVG. Each rank has a colour.
//
// Without coordinates the picture shows the index space. Two dimensions are rows and columns. For three or more dimensions, the
// picture shows one plane of the last two. A single dimension is folded like the lines of a page. With the longitudes and
// latitudes of the elements, the picture is a world map in Mollweide's equal-area projection, or a plain longitude-latitude map.
// Each point of the globe has the colour of the nearest element.
//
// Elements without an owner are grey. Parts of the globe without elements, such as land in an ocean model, are pale.
package mapplot
