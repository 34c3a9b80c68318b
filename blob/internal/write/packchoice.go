package write

import (
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/process"
	"blobio/internal/base/codec"
	"blobio/internal/base/par"
	"slices"
	"sync"
)

// packer compresses the data of an engine. Chunks lie in data_zblob in the order of flushes, and within a flush by sub rank,
// variable and record. The bytes therefore depend neither on which ranks share a process nor on the number of workers.
type packer struct {
	lay     *Layout
	proc    *process.Process
	how     dataset.Compress
	chunk   int64
	x       *layout.Index // index of the local ranks; nil until the blobs have offsets
	End     int64         // length of data_zblob so far
	choices []choice      // by list of the maps, then by variable
}

// choice is the compression of one unit: a map's list or a variable.
type choice struct {
	form  uint8 // layout.FormNone if there is no choice yet
	level int
}

// newPacker returns nil if nothing is compressed.
func newPacker(o *dataset.Settings, proc *process.Process, lay *Layout) *packer {
	if !o.Compress.On() {
		return nil
	}
	p := &packer{lay: lay, proc: proc, how: o.Compress, chunk: o.Chunk, choices: make([]choice, 2*len(lay.Schema.Decomps)+len(lay.Schema.Vars))}
	for k := range p.choices {
		switch o.Compress.Method {
		case dataset.Zstd:
			p.choices[k] = choice{layout.FormZstd, max(o.Compress.Level, codec.MinLevel)}
		case dataset.ShuffleZstd:
			p.choices[k] = choice{layout.FormPlane, max(o.Compress.Level, codec.MinLevel)}
		}
	}
	return p
}

// Before the first write, samples are compressed with each candidate.
const (
	candidates  = 5        // words per unit: the size of the sample, and its compressed size with each entry of candidateList
	sampleBytes = 64 << 10 // maximum bytes of a sample of one rank
	sampleRanks = 4        // number of ranks that give samples of a variable
)

var candidateList = [candidates]choice{1: {layout.FormZstd, 1}, 2: {layout.FormZstd, 2}, 3: {layout.FormPlane, 1}, 4: {layout.FormPlane, 2}}

// candidate returns entry k of candidateList. A level in the options replaces the level of the entry.
func (p *packer) candidate(k int) choice {
	c := candidateList[k]
	if p.how.Level != 0 {
		c.level = p.how.Level
	}
	return c
}

// samplers lists, for each unit without a choice, the sub ranks that give a sample. For each unit it picks a few ranks that have
// at least the mean number of elements, and different ranks for different units.
func (pk *packer) samplers() [][]int {
	t := pk.lay.All
	nd, n := pk.lay.Place.Header.Maps, len(t.ID)
	sums := make([]int64, 2*nd) // requests, then elements
	for j := range n {
		for d := range nd {
			sums[d] += t.Nreqs[j*nd+d]
			sums[nd+d] += t.Count[j*nd+d]
		}
	}
	out := make([][]int, len(pk.choices))
	for u := range out {
		if pk.choices[u].form != layout.FormNone {
			continue
		}
		d, col := u/2, t.Nreqs
		mean := int64(0)
		if u >= 2*nd {
			if d, col = int(pk.lay.Schema.Vars[u-2*nd].Decomp)-1, t.Count; d < 0 {
				out[u] = []int{0}
				continue
			}
			mean = sums[nd+d] / int64(n)
		} else {
			mean = sums[d] / int64(n)
		}
		most := min(sampleRanks, n)
		for k := range most {
			j := (u + k*n/most) % n
			for range n {
				if m := col[j*nd+d]; m > 0 && m >= mean {
					out[u] = append(out[u], t.ID[j])
					break
				}
				j = (j + 1) % n
			}
		}
	}
	return out
}

// sample compresses samples for each unit without a choice. It returns the bytes of the samples in this queue, and their sizes
// with each candidate.
func (pk *packer) sample(q *queue, workers int) ([]int64, error) {
	sizes := make([]int64, candidates*len(pk.choices))
	if !slices.ContainsFunc(pk.choices, func(c choice) bool { return c.form == layout.FormNone }) {
		return sizes, nil
	}
	type probe struct {
		unit int
		r    ref
	}
	var probes []probe
	who := pk.samplers()
	given := map[[2]int]bool{}
	for _, r := range q.refs {
		pd := q.pend(r)
		unit := pk.unit(pd.V)
		if key := [2]int{unit, int(r.i)}; (pd.V < 0 || len(pd.Raw) > 0) && slices.Contains(who[unit], pk.lay.Table.ID[r.i]) && !given[key] {
			given[key] = true
			probes = append(probes, probe{unit, r})
		}
	}
	errs := make([]error, len(probes))
	var mu sync.Mutex
	par.Do(workers, len(probes), func(k int) {
		pr := probes[k]
		pd := q.pend(pr.r)
		_, n, size := pk.piece(int(pr.r.i), pd)
		// A long piece gives two samples, at its beginning and at its middle.
		half := min(n, sampleBytes/2)
		b := make([]byte, min(n, sampleBytes))
		if errs[k] = pk.lay.fill(b[:half], int(pr.r.i), pd, 0, half); errs[k] == nil && int64(len(b)) > half {
			from := max(half, n/2&^7)
			from = min(from, n-(int64(len(b))-half))
			errs[k] = pk.lay.fill(b[half:], int(pr.r.i), pd, from, from+int64(len(b))-half)
		}
		if errs[k] != nil {
			return
		}
		var out, planes []byte
		var got [candidates]int64
		got[0] = int64(len(b))
		for c := 1; c < candidates; c++ {
			how, src := pk.candidate(c), b
			if pk.how.Level != 0 && c%2 == 0 || how.form == layout.FormPlane && size == 1 {
				got[c] = got[c-1] // the same candidate again
				continue
			}
			if how.form == layout.FormPlane {
				if planes == nil {
					planes = make([]byte, len(b))
					codec.Shuffle(planes, b, int(size))
				}
				src = planes
			}
			if out, errs[k] = pk.proc.Zstd.Encode(out[:0], src, how.level); errs[k] != nil {
				return
			}
			got[c] = min(int64(len(out)), got[0])
		}
		mu.Lock()
		defer mu.Unlock()
		for c, n := range got {
			sizes[candidates*pr.unit+c] += n
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return sizes, nil
}

// choose picks the smallest candidate for each sampled unit. A slower candidate wins only if it saves 3 % more. Compression wins
// only if it saves at least 2 %.
func (p *packer) choose(sizes []int64) {
	for u := range p.choices {
		s := sizes[candidates*u : candidates*(u+1)]
		if p.choices[u].form != layout.FormNone || s[0] == 0 {
			continue
		}
		best, least := choice{form: layout.FormRaw}, s[0]-s[0]/50
		for _, k := range [...]int{1, 3, 2, 4} {
			if s[k] < least {
				best, least = p.candidate(k), s[k]-s[k]*3/100
			}
		}
		p.choices[u] = best
	}
}

// choiceOf returns the choice for a unit, or the default if none has been made.
func (p *packer) choiceOf(unit int) choice {
	if c := p.choices[unit]; c.form != layout.FormNone {
		return c
	}
	return choice{layout.FormPlane, max(p.how.Level, codec.MinLevel)}
}
