package fieldplot

import (
	"context"
	"math"

	"blobio/decomp"
	"blobio/internal/draw/globe"
	"blobio/internal/view/cf"
)

// points are positions in degrees; id holds the indices of the points if some are left out.
type points struct {
	lon, lat []float32
	id       []int32
}

// points reads the coordinates of a site. If there are more than maxPoints, it keeps one point in
// each small cell.
func (s *site) points(ctx context.Context) (*points, error) {
	if s.makes != nil {
		lon, lat, err := s.makes()
		return &points{lon: lon, lat: lat}, err
	}
	n := s.size()
	var thin *globe.Thinner
	if n > maxPoints {
		thin = globe.NewThinner(maxPoints / 2)
	}
	p := &points{}
	bad := int64(0)
	lon, lat := make([]float64, min(n, window)), make([]float64, min(n, window))
	for lo := int64(0); lo < n; lo += window {
		k := min(window, n-lo)
		run := []decomp.Req{{Offset: lo, Length: k}}
		if err := s.data.coordinate(ctx, s.lon, run, lon[:k]); err != nil {
			return nil, err
		}
		if err := s.data.coordinate(ctx, s.lat, run, lat[:k]); err != nil {
			return nil, err
		}
		for i := range k {
			x, y, there := s.degrees(lon[i], lat[i])
			switch {
			case !there:
				if bad == 0 && thin == nil && p.id == nil {
					for e := range lo + i {
						p.id = append(p.id, int32(e))
					}
				}
				bad++
			case thin != nil:
				thin.Add(int32(lo+i), x, y)
			default:
				if bad > 0 {
					p.id = append(p.id, int32(lo+i))
				}
				p.lon, p.lat = append(p.lon, x), append(p.lat, y)
			}
		}
	}
	if thin != nil {
		p.lon, p.lat, p.id = thin.Points()
	}
	if bad > n/2 || len(p.lon) == 0 || same(p.lon, p.lat) {
		return nil, errNowhere
	}
	return p, nil
}

// meaning returns the meaning of a variable, which must exist.
func (d *Data) meaning(name string) *cf.Meaning {
	s := d.Reader.Schema()
	id, _ := s.VarID(name)
	return cf.MeaningOf(&s.Vars()[id])
}

// coordinate reads elements of a fixed variable; a nil run means all.
func (d *Data) coordinate(ctx context.Context, name string, run []decomp.Req, dst []float64) error {
	m := d.meaning(name)
	if m.Err != nil {
		return errNowhere
	}
	return m.Read(dst, func(stored any) error {
		if run == nil {
			return d.Reader.Read(ctx, name, nil, nil, stored)
		}
		return d.Reader.ReadRuns(ctx, name, 0, run, stored)
	})
}

// degrees converts a position to degrees. It returns false for fill values.
func (s *site) degrees(lon, lat float64) (x, y float32, ok bool) {
	if s.radians {
		lon, lat = lon*(180/math.Pi), lat*(180/math.Pi)
	}
	return float32(lon), float32(lat), math.Abs(lon) <= 720 && math.Abs(lat) <= 90.01
}

// same reports whether all points are equal, as in unwritten coordinates.
func same(lon, lat []float32) bool {
	for i := range lon {
		if lon[i] != lon[0] || lat[i] != lat[0] {
			return false
		}
	}
	return true
}
