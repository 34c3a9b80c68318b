package sfc

// Quality measures a division into parts.
type Quality struct {
	Max     float64 // weight of the heaviest part
	Mean    float64 // total weight divided by the number of parts
	Eff     float64 // Mean / Max: 1 is perfect; 1 if the total weight is 0
	Surface int64   // number of faces between units of different parts
	Faces   int64   // number of faces between any units
}

// Measure computes the figures of a division. w has the weight of each unit (nil: all 1), and owner has its part, in [0,
// parts). Measure leaves Surface and Faces 0; amr.Quality computes them.
func Measure(w []float64, owner []int, parts int) Quality {
	if parts < 1 {
		return Quality{Eff: 1}
	}
	sum := make([]float64, parts)
	var total float64
	for i, p := range owner {
		x := 1.0
		if w != nil {
			x = sane(w[i])
		}
		sum[p] += x
		total += x
	}
	q := Quality{Mean: total / float64(parts), Eff: 1}
	for _, s := range sum {
		q.Max = max(q.Max, s)
	}
	if q.Max > 0 {
		q.Eff = q.Mean / q.Max
	}
	return q
}
