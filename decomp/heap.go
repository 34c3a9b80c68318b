package decomp

// laneEnd is where a lane ends so far.
type laneEnd struct {
	stop int64
	lane int
}

// laneHeap is a binary heap with the smallest stop first.
type laneHeap []laneEnd

func (h *laneHeap) push(e laneEnd) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if s[p].stop <= s[i].stop {
			return
		}
		s[p], s[i] = s[i], s[p]
		i = p
	}
}

// down restores the order after the first entry grew.
func (h laneHeap) down() {
	for i := 0; ; {
		k := 2*i + 1
		if k >= len(h) {
			return
		}
		if k+1 < len(h) && h[k+1].stop < h[k].stop {
			k++
		}
		if h[i].stop <= h[k].stop {
			return
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
}
