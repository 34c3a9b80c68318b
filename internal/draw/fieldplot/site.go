package fieldplot

import (
	"context"
	"errors"
	"slices"
	"strings"

	"blobio/blob"
)

// A site locates the elements of a variable: its dimensions of positions, and the variables with the coordinates.
type site struct {
	data     *Data // dataset with the coordinates; nil if generated
	lat, lon string
	dims     []string // dimensions of positions, in the order of the variable
	lens     []int64
	axes     bool // lat and lon are axes along two dimensions
	radians  bool
	made     string // source of generated coordinates
	makes    func() (lon, lat []float32, err error)
}

// noPositions returns an error text for coordinates that are not valid positions.
func (s *site) noPositions() string {
	if s.made != "" {
		return "it has other dimensions than " + s.made
	}
	for _, name := range []string{s.lat, s.lon} {
		if err := s.data.meaning(name).Err; err != nil {
			return s.lat + " and " + s.lon + " are not positions on the globe: " + err.Error()
		}
	}
	return s.lat + " and " + s.lon + " are not positions on the globe"
}

// size returns the number of positions.
func (s *site) size() int64 {
	n := int64(1)
	for _, l := range s.lens {
		n *= l
	}
	return n
}

// key returns a text that identifies the positions; other positions have other keys.
func (s *site) key() string {
	id := "made " + s.made
	if s.data != nil {
		id = s.data.ID
	}
	return strings.Join(append([]string{id, s.lat, s.lon}, s.dims...), "\x00")
}

// findSite finds coordinates of a variable in a dataset, or returns nil.
func findSite(from *Data, dims []dim, v *blob.Variable) *site {
	s := from.Reader.Schema()
	named := strings.Fields(att(v, "coordinates"))
	var best *site
	rank := -1
	vars := s.Vars()
	for i := range vars {
		lat := &vars[i]
		if lat.Record || !isLat(lat) {
			continue
		}
		for k := range vars {
			lon := &vars[k]
			if lon.Record || !isLon(lon) {
				continue
			}
			x := pair(from, s, dims, lat, lon)
			if x == nil {
				continue
			}
			r := 0
			if lon.Name == partner(lat.Name) {
				r += 2
			}
			if slices.Contains(named, lat.Name) && slices.Contains(named, lon.Name) {
				r += 4
			}
			if r > rank {
				best, rank = x, r
			}
		}
	}
	return best
}

// pair returns the site of two coordinate variables, or nil if the variables do not match the dimensions.
func pair(from *Data, s *blob.Schema, dims []dim, lat, lon *blob.Variable) *site {
	x := &site{data: from, lat: lat.Name, lon: lon.Name, radians: inRadians(lat)}
	want := lat.Dims
	switch {
	case len(lat.Dims) == 0:
		return nil
	case slices.Equal(lat.Dims, lon.Dims) && len(lat.Dims) <= 2:
	case len(lat.Dims) == 1 && len(lon.Dims) == 1:
		x.axes = true
		want = []blob.DimID{lat.Dims[0], lon.Dims[0]}
	default:
		return nil
	}
	all := s.Dims()
	at := make([]int, len(want))
	for i, id := range want {
		at[i] = slices.IndexFunc(dims, func(d dim) bool { return d.name == all[id].Name && d.n == all[id].Len && !d.record })
		if at[i] < 0 {
			return nil
		}
	}
	if !x.axes && !slices.IsSorted(at) {
		return nil // rows and columns are swapped
	}
	slices.Sort(at)
	for _, i := range at {
		x.dims, x.lens = append(x.dims, dims[i].name), append(x.lens, dims[i].n)
	}
	if x.size() < 2 {
		return nil
	}
	return x
}

// Positions returns the positions of an array's elements in degrees, from the dataset's coordinates. Each horizontal position
// occurs once, in array order, even if the array has several levels. ok is false if the dataset has no coordinates, or more than
// maxPoints.
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
	if errors.Is(err, errNowhere) { // some elements have no position
		return nil, nil, false, nil
	}
	return lon, lat, err == nil, err
}

// all returns the positions of all elements.
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
	slow := s.dims[0] == s.data.axisDim(s.lat) // latitude varies more slowly
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
