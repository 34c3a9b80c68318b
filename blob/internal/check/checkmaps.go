package check

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/blob/internal/read"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// maps reads every map of all subfiles, checks every request, and returns the readable maps.
func (c *checker) maps(parts []*checkPart) []*decomp.Map {
	var lead *checkPart
	blobs := 0
	for _, p := range parts {
		if p.Table == nil {
			continue
		}
		if lead == nil {
			lead = p
		} else if read.SameDataset(lead.Place, p.Place, true) != nil {
			continue
		}
		p.First = blobs
		blobs += p.Place.Shape.Blobs
	}
	if lead == nil {
		return nil
	}
	maps := make([]*decomp.Map, lead.Place.Header.Maps)
	for d := range maps {
		dims := lead.Place.Schema.DecompDims(dataset.DecompID(d + 1))
		b := decomp.NewBuilder(dims, blobs)
		last, wraps := dims[len(dims)-1], false
		for _, p := range parts {
			if p.Table == nil || read.SameDataset(lead.Place, p.Place, true) != nil {
				continue
			}
			f, done, err := p.File()
			if err != nil {
				c.add(fault.Of(dataset.Error, p.Name, err))
				continue
			}
			var wrap firstRequest
			l := &read.MapLists{F: f, Pl: p.Place, T: p.Table, Name: p.Name, D: d, Workers: c.o.Workers, Report: func(err error) { c.add(fault.Of(dataset.Error, p.Name, err)) }}
			err = l.Read(c.ctx, func(j int, reqs []decomp.Req) error {
				for k, q := range reqs {
					if q.Length == 0 {
						at, _ := p.Place.MapPiece(d, layout.MapLengths, p.Table, j)
						c.say(dataset.Note, place{p.Name, p.Place.Shown(at + 4*int64(k)), fmt.Sprintf("D%d.lengths[%d][%d]", d+1, j, k)}, nil, "a request has length 0")
						break
					}
					if q.Length > 0 && q.Offset >= 0 && q.Offset%last+q.Length > last {
						wrap.at(j, k, q)
						break
					}
				}
				return b.Set(p.First+j, reqs)
			})
			if err != nil {
				c.add(fault.Of(dataset.Error, p.Name, err))
			}
			if wrap.found && !wraps { // one such finding is enough
				wraps = true
				at, _ := p.Place.MapPiece(d, layout.MapLengths, p.Table, wrap.blob)
				c.say(dataset.Warning, place{p.Name, p.Place.Shown(at + 4*int64(wrap.index)), fmt.Sprintf("D%d.lengths[%d][%d]", d+1, wrap.blob, wrap.index)}, nil,
					"a request of %d elements from element %d on crosses the end of its row of %d elements", wrap.req.Length, wrap.req.Offset, last)
			}
			if p.Place.Rows() {
				c.padding(p, f, d)
			}
			done()
		}
		m, err := b.Map()
		if err != nil {
			c.add(fault.Of(dataset.Error, lead.Name, err))
			continue
		}
		maps[d] = m
	}
	return maps
}

// firstRequest is the first request of a subfile that has a finding.
type firstRequest struct {
	mu          sync.Mutex
	found       bool
	blob, index int
	req         decomp.Req
}

func (f *firstRequest) at(blob, index int, q decomp.Req) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.found || blob < f.blob {
		f.found, f.blob, f.index, f.req = true, blob, index, q
	}
}

// prints compares the maps with the manifest's fingerprints, if all maps were read.
func (c *checker) prints(parts []*checkPart, maps []*decomp.Map) {
	for _, p := range parts {
		if p.Table == nil || !p.own {
			return
		}
	}
	if len(maps) == 0 {
		return
	}
	files := parts[0].Files
	name := subfile.ManifestName(files.Base)
	_, prints := files.Manifest.MapsOf(parts[0].set)
	if n := len(prints); n != len(maps) {
		c.say(dataset.Error, place{name, -1, "maps"}, dataset.ErrCorrupt, "the manifest has %d map fingerprints, but the files have %d maps", n, len(maps))
		return
	}
	for d, m := range maps {
		sum := int64(0)
		for _, p := range parts {
			sum += dataset.MapPrint(m.Sub(p.First, p.Place.Shape.Blobs), p.Table, p.Index)
		}
		if got, want := fmt.Sprintf("%016x", uint64(sum)), prints[d]; got != want {
			c.say(dataset.Error, place{name, -1, fmt.Sprintf("maps[%d]", d)}, dataset.ErrMapMismatch, "the manifest has fingerprint %q, but D%d of %s has %s", want, d+1, parts[0].base, got)
		}
	}
}

// padding reports rows of a map whose unused entries are not zero. E3SM-IO leaves such bytes.
func (c *checker) padding(p *checkPart, f vfs.File, d int) {
	width, nd := p.Place.Shape.MaxReqs[d], p.Place.Header.Maps
	for j := range p.Place.Shape.Blobs {
		for _, m := range []int{layout.MapOffsets, layout.MapLengths} {
			off, n := p.Place.MapPiece(d, m, p.Table, j)
			used := p.Table.Nreqs[j*nd+d] * n / max(width, 1)
			b := make([]byte, min(n-used, 1<<16))
			if len(b) == 0 {
				continue
			}
			if err := layout.ReadFull(f, b, off+used, p.Name, "padding"); err != nil {
				if !errors.Is(err, dataset.ErrTruncated) { // sizes reports this fault
					c.add(fault.Of(dataset.Error, p.Name, err))
				}
				continue
			}
			if i := slices.IndexFunc(b, func(x byte) bool { return x != 0 }); i >= 0 {
				c.say(dataset.Note, place{p.Name, off + used + int64(i), fmt.Sprintf("D%d.%s[%d]", d+1, layout.MapVarDefs[m].Name, j)}, nil,
					"bytes after the last request are not zero; E3SM-IO leaves them undefined")
				return // one finding per map is enough
			}
		}
	}
}

// coverage reports elements that have several owners, or none.
func (c *checker) coverage(parts []*checkPart, maps []*decomp.Map) {
	lost := c.state.lost.Load() && !allHere(parts)
	for d, m := range maps {
		if m == nil {
			continue
		}
		cov, err := m.Coverage()
		if err != nil {
			c.say(dataset.Error, place{"", -1, fmt.Sprintf("D%d", d+1)}, dataset.ErrCorrupt, "%v", err)
			continue
		}
		if err := implausible(parts, d); err != nil && !lost {
			c.add(fault.Of(dataset.Error, "", err))
			continue
		}
		name := fmt.Sprintf("D%d", d+1)
		again := m.Repeats()
		if again.Again > 0 {
			c.say(dataset.Warning, place{"", -1, name}, nil, "%s: the first is element %d in %s", again, again.Off, blobName(parts, again.Rank))
		}
		n := m.Shared(&cov, again)
		switch {
		case n > 0 && !lost && parts[0].set == nil && again.Again == 0 && m.Total() == m.Elems() && acrossSubfiles(parts, cov):
			c.say(dataset.Error, place{"", -1, name}, dataset.ErrMapMismatch, "%d elements are owned by several ranks, and equally many by none: the subfiles come from runs with different decompositions%s", n, overlapExample(parts, cov))
			continue
		case n > 0:
			c.say(dataset.Warning, place{"", -1, name}, nil, "%d elements are owned by several ranks; the value of the highest rank is kept%s", n, overlapExample(parts, cov))
		}
		switch {
		case cov.Uncovered > 0 && lost: // the missing files may own these elements
			c.say(dataset.Error, place{"", -1, name}, dataset.ErrMissing, "the subfiles with %d of %d elements are missing", cov.Uncovered, m.Elems())
		case cov.Uncovered > 0:
			c.say(dataset.Note, place{"", -1, name}, nil, "%d of %d elements are owned by no rank and read as fill values", cov.Uncovered, m.Elems())
		}
	}
}

// allHere reports whether all subfiles that the headers count are here, with readable maps. Only then are elements without an
// owner really missing.
func allHere(parts []*checkPart) bool {
	return !slices.ContainsFunc(parts, func(p *checkPart) bool { return p.Table == nil || p.Place.Shape.Subfiles != len(parts) })
}

// implausible returns an error if the dimensions of map d are not plausible. It trusts headers whose checksums are in a manifest.
func implausible(parts []*checkPart, d int) error {
	s := new(read.Set)
	for _, p := range parts {
		if p.Info != nil {
			return nil
		}
		s.Parts = append(s.Parts, p.FilePart)
	}
	return s.Plausible(d)
}

// acrossSubfiles reports whether ranks of two subfiles own the same element, among the first elements with two owners. If as many
// elements have no owner, the subfiles belong to two different decompositions of the array.
func acrossSubfiles(parts []*checkPart, cov decomp.Coverage) bool {
	return slices.ContainsFunc(cov.Overlaps, func(o decomp.Overlap) bool { return partOfRank(parts, o.Rank) != partOfRank(parts, o.Other) })
}

// partOfRank returns the subfile that has a rank's blob, or nil.
func partOfRank(parts []*checkPart, rank int) *checkPart {
	for _, p := range slices.Backward(parts) {
		if p.Table != nil && p.First <= rank {
			return p
		}
	}
	return nil
}

// overlapExample describes the first overlap by subfile and blob.
func overlapExample(parts []*checkPart, cov decomp.Coverage) string {
	i := slices.IndexFunc(cov.Overlaps, func(o decomp.Overlap) bool { return o.Rank != o.Other })
	if i < 0 {
		return ""
	}
	o := cov.Overlaps[i]
	return fmt.Sprintf(": the first %d start at element %d, in %s and %s", o.Len, o.Off, blobName(parts, o.Rank), blobName(parts, o.Other))
}

// blobName names a blob by its subfile and its number there.
func blobName(parts []*checkPart, rank int) string {
	if p := partOfRank(parts, rank); p != nil {
		return fmt.Sprintf("blob %d of %s", rank-p.First, p.Name)
	}
	return fmt.Sprintf("blob %d", rank)
}
