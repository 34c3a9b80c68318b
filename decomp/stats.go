package decomp

import "math/bits"

// Stats has statistics of a map.
type Stats struct {
	Ranks     int
	Active    int   // number of ranks that own elements
	Reqs      int64 // number of requests of all ranks
	Elems     int64 // number of elements of all requests
	MinReqs   int64 // over all ranks, like the fields below
	MaxReqs   int64
	MeanReqs  float64
	MinElems  int64
	MaxElems  int64
	MeanElems float64

	MinRun, MaxRun int64   // minimum and maximum length of a request
	MeanRun        float64 // elements per request
	// RunLengths[i] is the number of requests with length in [2^(i-1), 2^i), or with length 0 for i = 0.
	RunLengths []int64
}

// Imbalance returns the maximum number of elements of a rank divided by the mean. 1 is perfect. An empty map gives 0.
func (s *Stats) Imbalance() float64 {
	if s.MeanElems == 0 {
		return 0
	}
	return float64(s.MaxElems) / s.MeanElems
}

// Stats returns statistics of the map. The cost grows with the stored runs, not with their repetitions.
func (m *Map) Stats() Stats {
	s := Stats{Ranks: len(m.ranks), Elems: m.total}
	var hist [65]int64
	for r := range m.ranks {
		k := &m.ranks[r]
		if r == 0 {
			s.MinReqs, s.MinElems = k.nreqs, k.count
		}
		s.MinReqs, s.MaxReqs = min(s.MinReqs, k.nreqs), max(s.MaxReqs, k.nreqs)
		s.MinElems, s.MaxElems = min(s.MinElems, k.count), max(s.MaxElems, k.count)
		if k.count > 0 {
			s.Active++
		}
		blocks := m.blocks(k)
		for i := range blocks {
			b := &blocks[i]
			rel, end := m.store.pattern(b)
			if rel == nil {
				s.addRun(&hist, b.elems, b.count)
				continue
			}
			prev := int32(0)
			for _, e := range end {
				s.addRun(&hist, int64(e-prev), b.count)
				prev = e
			}
		}
	}
	for i, n := range hist {
		if n > 0 {
			s.RunLengths = append(s.RunLengths, make([]int64, i+1-len(s.RunLengths))...)
			s.RunLengths[i] = n
		}
	}
	if s.Ranks > 0 {
		s.MeanReqs = float64(s.Reqs) / float64(s.Ranks)
		s.MeanElems = float64(s.Elems) / float64(s.Ranks)
	}
	if s.Reqs > 0 {
		s.MeanRun = float64(s.Elems) / float64(s.Reqs)
	}
	return s
}

func (s *Stats) addRun(hist *[65]int64, n, count int64) {
	if s.Reqs == 0 {
		s.MinRun = n
	}
	s.MinRun, s.MaxRun = min(s.MinRun, n), max(s.MaxRun, n)
	hist[bits.Len64(uint64(n))] += count
	s.Reqs += count
}
