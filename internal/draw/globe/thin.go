package globe

import "math"

// A Thinner keeps one point in each of many small cells with nearly equal sides: the point nearest to the centre. So a tree of
// the kept points is no larger than a picture needs.
type Thinner struct {
	first []int // first cell of each row of latitudes, from the south; one extra entry
	cells []kept
}

type kept struct {
	lon, lat float32
	id       int32 // id + 1; 0: none
	off      float32
}

// NewThinner returns a thinner with about the given number of cells.
func NewThinner(cells int) *Thinner {
	rows := max(1, int(math.Sqrt(float64(cells)*math.Pi)/2))
	t := &Thinner{first: []int{0}}
	for j := range rows {
		wide := 2 * float64(rows) * math.Cos((float64(j)+0.5)/float64(rows)*math.Pi-math.Pi/2)
		t.first = append(t.first, t.first[j]+max(1, int(math.Ceil(wide))))
	}
	t.cells = make([]kept, t.first[rows])
	return t
}

// Add adds a point with an index, in degrees.
func (t *Thinner) Add(id int32, lon, lat float32) {
	rows := len(t.first) - 1
	y := (float64(lat) + 90) / 180 * float64(rows)
	j := min(max(int(y), 0), rows-1)
	wide := t.first[j+1] - t.first[j]
	x := turn(float64(lon)) / 360 * float64(wide)
	i := min(int(x), wide-1)
	off := float32(math.Hypot(x-float64(i)-0.5, y-float64(j)-0.5))
	if c := &t.cells[t.first[j]+i]; c.id == 0 || off < c.off {
		*c = kept{lon, lat, id + 1, off}
	}
}

// Points returns the kept points with their indices.
func (t *Thinner) Points() (lon, lat []float32, id []int32) {
	for _, c := range t.cells {
		if c.id != 0 {
			lon, lat, id = append(lon, c.lon), append(lat, c.lat), append(id, c.id-1)
		}
	}
	return lon, lat, id
}
