// Package globe has what pictures of the Earth share: projections, the nearest of
// many points on the sphere, rasters that say which point each pixel shows, coasts,
// and the graticule with its degrees.
//
// Angles are in radians, positions of points in degrees. A raster does not depend
// on what is shown with it: the picture of any field on the same points takes its
// colours pixel by pixel from the raster.
package globe
