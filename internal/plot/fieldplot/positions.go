package fieldplot

import (
	"context"
	"errors"
	"slices"

	"blobio/blob"
)

// Positions returns where the elements of an array of these dimensions lie, by the coordinates of the dataset, in degrees: one for each place in
// the order of the array, however many levels there are beside. ok is false if the dataset does not tell, or tells of more than maxPoints.
func Positions(ctx context.Context, r *blob.Reader, ids []blob.DimID) (lon, lat []float32, ok bool, err error) {
	all := r.Schema().Dims()
	var dims []dim
	for _, id := range ids {
		dims = append(dims, dim{name: all[id].Name, n: all[id].Len})
	}
	s := findSite(&Data{Reader: r, ID: r.Base()}, dims, &blob.Variable{})
	if s == nil || s.size() > maxPoints {
		return nil, nil, false, nil
	}
	if s.axes {
		return s.crossed(ctx, r)
	}
	p, err := s.points(ctx)
	if errors.Is(err, errNowhere) || err == nil && p.id != nil { // some have no place
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	return p.lon, p.lat, true, nil
}

// crossed are the points of a grid of two axes.
func (s *site) crossed(ctx context.Context, r *blob.Reader) (lon, lat []float32, ok bool, err error) {
	v, _ := r.Schema().VarID(s.lat)
	latDim := r.Schema().Dims()[r.Schema().Vars()[v].Dims[0]].Name
	first := slices.Index(s.dims, latDim) == 0 // latitudes are the slower ones
	n := map[string]int64{s.dims[0]: s.lens[0], s.dims[1]: s.lens[1]}
	lats := make([]float64, n[latDim])
	lons := make([]float64, s.size()/n[latDim])
	err = s.data.coordinate(ctx, s.lat, nil, lats)
	if err == nil {
		err = s.data.coordinate(ctx, s.lon, nil, lons)
	}
	if errors.Is(err, errNowhere) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, err
	}
	for i := range s.lens[0] {
		for k := range s.lens[1] {
			x, y := k, i
			if !first {
				x, y = i, k
			}
			px, py, there := s.degrees(lons[x], lats[y])
			if !there {
				return nil, nil, false, nil
			}
			lon, lat = append(lon, px), append(lat, py)
		}
	}
	return lon, lat, !same(lon, lat), nil
}
