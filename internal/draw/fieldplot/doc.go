// Package fieldplot draws the data of a dataset: one variable at a time, as the map, the section, the line or the
// histogram that its dimensions and coordinates allow, as PNG or SVG.
//
//	Map        each point of the globe has the colour of the nearest element; one record, one level
//	Section    two dimensions, colours
//	Line       one dimension: series of records, profiles of levels
//	Histogram  how often values occur; the default where no coordinates are known
//
// Coordinates come from the dataset: variables that the attribute "coordinates" names, or that have units,
// standard names or names of latitudes and longitudes, as axes (lat, lon) or for each column or cell (ncol,
// nCells); coordinates of another dataset, or of a grid that blobio generates, only if they are asked for. Only what is shown is read: one level, one record.
//
// An Atlas draws. It keeps rasters, which say which element each pixel of a map shows, and pictures, so that the
// next record or level costs no more than reading it, and the value at a point of a picture costs nothing.
//
// Read first: plan.go, mapfigure.go, scale.go.
package fieldplot
