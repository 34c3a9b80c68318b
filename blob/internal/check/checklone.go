package check

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// Each subfile has the whole of a variable without a decomposition, and a program writes the same values to all subfiles. Without
// a manifest, only headers and these values show that subfiles come from different runs.

// loneSums has the checksums of one subfile's variables without a decomposition.
type loneSums struct {
	sums  []uint32 // by variable, over all records
	ranks bool     // all values are rank numbers, see rankValues
}

// alike compares the values of variables without a decomposition between subfiles without a manifest.
func (c *checker) alike(parts []*checkPart) {
	var lead *checkPart
	var others []*checkPart
	for _, p := range parts {
		switch {
		case p.set != nil || p.Place == nil || p.Place.Plain || p.Table == nil || len(p.Table.ID) == 0:
		case lead == nil:
			lead = p
		case read.SameDataset(lead.Place, p.Place, false) == nil && p.Records == lead.Records:
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return
	}
	all := append([]*checkPart{lead}, others...)
	sums := make([]*loneSums, len(all))
	c.col.Each(len(all), c.o.Workers, func(i int, give func(dataset.Finding) bool) {
		one := *c
		one.give = give
		sums[i] = one.loneSums(all[i])
	})
	want := sums[0]
	for i, p := range others {
		got := sums[i+1]
		if want == nil || got == nil {
			continue
		}
		n, first := 0, 0
		for v, sum := range got.sums {
			if sum != want.sums[v] {
				if n++; n == 1 {
					first = v
				}
			}
		}
		switch field := read.FieldOf(p.Place, p.Place.Header.FileVar(first), 0); {
		case n == 0:
		case want.ranks && got.ranks:
			c.say(dataset.Note, place{p.Name, -1, "variables"}, nil, "variables without a decomposition differ from %s: they hold the number of the writing rank, as in E3SM-IO files", lead.Name)
		default:
			off, _, _ := p.Place.Spot(p.Table, 0, int32(first), 0)
			c.say(dataset.Error, place{p.Name, p.Place.Shown(off), field}, dataset.ErrCorrupt, "this variable differs from %s, as do %d other variables without a decomposition: the subfiles come from different runs or were changed", lead.Name, n-1)
		}
	}
}

// loneSums reads the variables without a decomposition of one subfile and returns their checksums. If a read fails, loneSums adds
// the error to the findings and returns nil.
func (c *checker) loneSums(p *checkPart) *loneSums {
	f, done, err := p.File()
	if err != nil {
		c.add(fault.Of(dataset.Error, p.Name, err))
		return nil
	}
	defer done()
	s := &loneSums{sums: make([]uint32, len(p.Place.Schema.Vars)), ranks: true}
	numbers := rankValues{big: p.Place.Big, of: [2]int{p.First, p.Index}}
	buf := make([]byte, 0, 4096)
	for v := range p.Place.Schema.Vars {
		sv := &p.Place.Schema.Vars[v]
		if sv.Decomp != 0 {
			continue
		}
		records := int64(1)
		if sv.Record {
			if records = p.Records; p.Place.ByRank {
				records = min(records, p.Place.Blob.Records)
			}
		}
		for rec := range records {
			off, n, _ := p.Place.Spot(p.Table, 0, int32(v), rec)
			field := fmt.Sprintf("variable %q record %d", sv.Name, rec)
			for n > 0 && c.ctx.Err() == nil {
				buf = buf[:min(n, int64(cap(buf)))]
				if err := layout.ReadFull(f, buf, off, p.Name, field); err != nil {
					if !errors.Is(err, dataset.ErrTruncated) { // sizes reports this fault
						c.add(fault.Of(dataset.Error, p.Name, err))
					}
					return nil
				}
				s.sums[v] = crc32.Update(s.sums[v], crc32.IEEETable, buf)
				s.ranks = s.ranks && numbers.has(sv.Type, buf)
				off, n = off+int64(len(buf)), n-int64(len(buf))
				if cap(buf) < read.ReadBatch && n > 0 {
					buf = make([]byte, 0, read.ReadBatch)
				}
			}
		}
	}
	if c.ctx.Err() != nil {
		return nil
	}
	return s
}

// rankValues are the values that E3SM-IO writes: the number of the first rank of the subfile, or in text a letter for it. This
// number is the number of ranks in all earlier subfiles or, with round-robin assignment, the number of the subfile.
type rankValues struct {
	big bool
	of  [2]int
}

// has reports whether all elements of b equal one of the two numbers.
func (r *rankValues) has(t cdf5.Type, b []byte) bool {
	one := make([]byte, t.Size())
	for _, rank := range r.of {
		if one[0] = byte('a' + rank%26); t != cdf5.Char && cdf5.ToFile(one, r.big, t, []float64{float64(rank)}) != nil {
			continue
		}
		if bytes.Equal(b, bytes.Repeat(one, len(b)/len(one))) {
			return true
		}
	}
	return false
}
