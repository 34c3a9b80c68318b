package fieldplot

import (
	"slices"
	"strings"

	"blobio/blob"
)

// A site says where the elements of a variable lie: which of its dimensions are places, and which variables tell the coordinates.
type site struct {
	data     *Data // that has the coordinates; nil if they are made
	lat, lon string
	dims     []string // of the places, in the order of the variable
	lens     []int64
	axes     bool // lat and lon are the axes of two dimensions
	radians  bool
	made     string // what made the coordinates that the dataset lacks
	makes    func() (lon, lat []float32, err error)
}

// noPositions says of coordinates that they are not what they would have to be.
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

// size is the number of places.
func (s *site) size() int64 {
	n := int64(1)
	for _, l := range s.lens {
		n *= l
	}
	return n
}

// key names the places among those of all datasets.
func (s *site) key() string {
	id := "made " + s.made
	if s.data != nil {
		id = s.data.ID
	}
	return strings.Join(append([]string{id, s.lat, s.lon}, s.dims...), "\x00")
}

// findSite looks for coordinates of a variable in a dataset. nil: there are none.
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

// pair is the site of two variables, nil if they do not tell of the dimensions.
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
		return nil // rows and columns the other way round
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
