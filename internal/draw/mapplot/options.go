package mapplot

import "blobio/internal/base/fault"

// Options are the options of Draw. nil means the defaults.
type Options struct {
	// Title is drawn above the picture. Default: none.
	Title string
	// Width is the width of the picture in points of 1/72 inch; a PNG has twice as many pixels. Default 720, range 240 to 4000.
	Width int
	// Plane is the index of the plane to draw, if there are several. A plane is a part of the index space, or the elements located
	// by Lon and Lat. Default 0.
	Plane int64
	// Lon and Lat are the positions of the elements of a plane, in degrees (any range of longitudes). If both are nil, the index
	// space is drawn.
	Lon, Lat []float32
	// Plate draws longitude and latitude at right angles instead of the globe. A part of the globe is always drawn with longitude
	// and latitude at right angles.
	Plate bool
}

// Validate returns an error for options that are invalid for any map.
func (o *Options) Validate() error {
	switch {
	case o == nil:
	case o.Plane < 0:
		return fault.Usage("plane %d, want >= 0", o.Plane)
	case len(o.Lon) != len(o.Lat):
		return fault.Usage("%d longitudes, but %d latitudes", len(o.Lon), len(o.Lat))
	}
	return nil
}
