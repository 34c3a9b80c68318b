package sfc

// Quality says how good a division into parts is.
type Quality struct {
	Max     float64 // weight of the heaviest part
	Mean    float64 // weight of all, by the number of parts
	Eff     float64 // Mean / Max: 1 is perfect; 1 if there is no weight
	Surface int64   // faces between units of different parts
	Faces   int64   // faces between units, of all
}

// Measure returns the figures of weights: w of each unit (nil: all 1), owner
// the part of each, in [0, parts). Surface and Faces are as in amr.Quality.
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
