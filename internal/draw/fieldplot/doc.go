// Package fieldplot draws one variable of a dataset as PNG or SVG: as a map, section, line or histogram, depending on its
// dimensions and coordinates.
//
//	Map        each point of the globe has the colour of the nearest element; one record, one level
//	Section    two dimensions, colours
//	Line       one dimension: series of records, profiles of levels
//	Histogram  frequency of values; the default without known coordinates
//
// Coordinates come from the dataset. They are named by the attribute "coordinates", or recognized by units, standard names or
// names of latitudes and longitudes. They may be axes (lat, lon) or belong to each column or cell (ncol, nCells). On request,
// coordinates come from another dataset or a generated grid. Only the shown level and record are read.
//
// An Atlas draws and caches pictures. It also caches rasters, which map the pixels of a map to elements. So another record or
// level costs only the read of its data, and the value at a point of a picture costs nothing.
//
// Read first: plan.go, mapfigure.go, scale.go.
package fieldplot
