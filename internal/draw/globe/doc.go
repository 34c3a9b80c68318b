// Package globe is shared by pictures of the Earth. It has projections, a search for the nearest of many points on the sphere,
// rasters that map each pixel to a point, coasts, and the graticule with its degrees.
//
// Angles are in radians, positions of points in degrees. A raster does not depend on the values shown. A picture of any field on
// the same points takes its colours pixel by pixel from the raster.
package globe
