package fieldplot

import (
	"context"
	"errors"

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
	lon, lat, err = s.all(ctx)
	if errors.Is(err, errNowhere) { // some have no place
		return nil, nil, false, nil
	}
	return lon, lat, err == nil, err
}

// all are the places of all elements.
func (s *site) all(ctx context.Context) (lon, lat []float32, err error) {
	if !s.axes {
		p, err := s.points(ctx)
		if err == nil && p.id != nil {
			err = errNowhere
		}
		if err != nil {
			return nil, nil, err
		}
		return p.lon, p.lat, nil
	}
	v, err := s.axisValues(ctx)
	if err != nil {
		return nil, nil, err
	}
	slow := s.dims[0] == s.data.axisDim(s.lat) // latitudes are the slower ones
	for i := range s.lens[0] {
		for k := range s.lens[1] {
			x, y := i, k
			if slow {
				x, y = k, i
			}
			lon, lat = append(lon, float32(v[1][x])), append(lat, float32(v[0][y]))
		}
	}
	return lon, lat, nil
}
