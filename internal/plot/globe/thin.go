package globe

import "math"

// A Thinner keeps one of the points in each of many small cells of equal area, the one nearest to the middle, so that
// a tree of the rest is not larger than a picture can show.
type Thinner struct {
	w, h  int
	cells []kept
}

type kept struct {
	lon, lat float32
	id       int32 // + 1; 0: none
	off      float32
}

// NewThinner makes one of about so many cells.
func NewThinner(cells int) *Thinner {
	h := max(1, int(math.Sqrt(float64(cells)/math.Pi)))
	w := max(1, cells/h)
	return &Thinner{w, h, make([]kept, w*h)}
}

// Add takes a point with a number, in degrees.
func (t *Thinner) Add(id int32, lon, lat float32) {
	x := turn(float64(lon)) / 360 * float64(t.w)
	y := (math.Sin(float64(lat)*math.Pi/180) + 1) / 2 * float64(t.h)
	i, j := min(int(x), t.w-1), min(max(int(y), 0), t.h-1)
	off := float32(math.Hypot(x-float64(i)-0.5, y-float64(j)-0.5))
	if c := &t.cells[j*t.w+i]; c.id == 0 || off < c.off {
		*c = kept{lon, lat, id + 1, off}
	}
}

// Points are those that were kept, with their numbers.
func (t *Thinner) Points() (lon, lat []float32, id []int32) {
	for _, c := range t.cells {
		if c.id != 0 {
			lon, lat, id = append(lon, c.lon), append(lat, c.lat), append(id, c.id-1)
		}
	}
	return lon, lat, id
}
