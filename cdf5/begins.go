package cdf5

import (
	"math"
	"slices"
)

// checkPlaces checks that sizes and their sums stay below 2^63, so that Header's methods cannot overflow. Without
// DecodeOptions.NoBegins, it also checks the begins.
func (d *decoder) checkPlaces() error {
	h := d.h
	var fixed, record []int
	recSize, first := int64(0), int64(0)
	for i := range h.Vars {
		if !h.IsRecord(i) {
			fixed = append(fixed, i)
			continue
		}
		record = append(record, i)
		n := pad4(h.Bytes(i))
		if recSize > math.MaxInt64-8-n {
			return d.beginFault(i, "the record size exceeds 2^63")
		}
		recSize += n
	}
	if !d.o.NoBegins {
		if err := d.checkBegins(fixed, record); err != nil {
			return err
		}
		first = max(h.FirstRecord(), 0)
	}
	recSize = h.RecSize()
	if n, ok := mulFits(max(h.NumRecs, 0), recSize); !ok || n > math.MaxInt64-8-first {
		return d.fault(magicLen, numRecsField, ErrCorrupt, "%d records of %d bytes end past 2^63", h.NumRecs, recSize)
	}
	return nil
}

// checkBegins checks that variables overlap neither each other nor the header. The variables may have any order in the file.
func (d *decoder) checkBegins(fixed, record []int) error {
	h := d.h
	for i := range h.Vars {
		v := &h.Vars[i]
		if v.Begin < d.pos {
			return d.beginFault(i, "%d, want >= %d, the end of the header", v.Begin, d.pos)
		}
		if v.Begin > math.MaxInt64-8-h.Bytes(i) {
			return d.beginFault(i, "%d: the variable ends past 2^63", v.Begin)
		}
	}
	byBegin := func(a, b int) int {
		if h.Vars[a].Begin < h.Vars[b].Begin {
			return -1
		}
		if h.Vars[a].Begin > h.Vars[b].Begin {
			return 1
		}
		return a - b
	}
	for _, list := range [][]int{fixed, record} {
		slices.SortFunc(list, byBegin)
		last := -1
		for _, i := range list {
			if h.Bytes(i) == 0 { // empty only with ZeroDims
				continue
			}
			if last >= 0 && h.Vars[i].Begin < h.Vars[last].Begin+h.Bytes(last) {
				return d.beginFault(i, "%d overlaps var %q, which ends at %d", h.Vars[i].Begin, h.Vars[last].Name, h.Vars[last].Begin+h.Bytes(last))
			}
			last = i
		}
	}
	if len(record) == 0 {
		return nil
	}
	first, recSize := h.Vars[record[0]].Begin, h.RecSize()
	if n := len(fixed); n > 0 {
		last := fixed[n-1]
		if end := h.Vars[last].Begin + h.Bytes(last); first < end {
			return d.beginFault(record[0], "%d is before the end of the fixed variables, %d (var %q)", first, end, h.Vars[last].Name)
		}
	}
	for _, i := range record {
		if end := h.Vars[i].Begin + h.Bytes(i); end-first > recSize {
			return d.beginFault(i, "%d: the variable ends %d bytes into the record, want <= %d", h.Vars[i].Begin, end-first, recSize)
		}
	}
	return nil
}

func (d *decoder) beginFault(i int, format string, args ...any) error {
	return d.fault(d.beginAt[i], field{owner: "var", name: d.h.Vars[i].Name, what: " begin"}, ErrCorrupt, format, args...)
}
