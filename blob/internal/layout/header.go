package layout

import (
	"iter"

	"blobio/cdf5"
)

// Header is the header of a subfile with its offsets.
type Header struct {
	*cdf5.Header
	Off    int64 // offset in the file
	Len    int64
	Maps   int          // number of maps in the schema; the variables of the maps come first
	At     *cdf5.Places // offsets of the variables; nil if the header has none
	oneRec bool         // there is exactly one record variable
}

// FileVar returns the index in the header of variable v of the schema.
func (h *Header) FileVar(v int) int { return h.Maps*MapVars + v }

// PendVar returns the number that puts and queues use for a header variable.
func (h *Header) PendVar(v int) int32 {
	if nmap := h.Maps * MapVars; v >= nmap {
		return int32(v - nmap)
	}
	return int32(-1 - v)
}

// HeaderVar returns the index in the header for a number of PendVar.
func (h *Header) HeaderVar(v int32) int {
	if v < 0 {
		return int(-1 - v)
	}
	return h.FileVar(int(v))
}

// ExtentOrder gives, for each header variable, the number of earlier variables of the same kind (fixed or record).
type ExtentOrder struct {
	Fixed, Recs int // number of variables
	Pos         []int
	record      []bool
}

// Index returns the number of a variable's record among the extents in the manifest. The fixed variables come first, then record
// by record.
func (o *ExtentOrder) Index(v int, rec int64) int64 {
	if o.record[v] {
		return o.First(rec) + int64(o.Pos[v])
	}
	return int64(o.Pos[v])
}

// First returns the number of the first extent of a record.
func (o *ExtentOrder) First(rec int64) int64 { return int64(o.Fixed) + rec*int64(o.Recs) }

// ExtentOrder returns the order of the extents of the header.
func (h *Header) ExtentOrder() *ExtentOrder {
	o := &ExtentOrder{Pos: make([]int, len(h.Vars)), record: make([]bool, len(h.Vars))}
	for v := range h.Vars {
		n := &o.Fixed
		if o.record[v] = h.IsRecord(v); o.record[v] {
			n = &o.Recs
		}
		o.Pos[v] = *n
		*n++
	}
	return o
}

// Kinds lists the header's fixed and record variables, in definition order.
func (h *Header) Kinds() (fixed, recs []int) {
	for v := range h.Vars {
		if h.IsRecord(v) {
			recs = append(recs, v)
		} else {
			fixed = append(fixed, v)
		}
	}
	return fixed, recs
}

// Extent is one record of a header variable.
type Extent struct {
	Var int
	Rec int64 // of the file
}

// Extents yields extents with their numbers, in the order of ExtentOrder: the fixed variables if fixed is true, and the records
// from to to-1.
func (h *Header) Extents(fixed bool, from, to int64) iter.Seq2[int64, Extent] {
	return func(yield func(int64, Extent) bool) {
		fix, recs := h.Kinds()
		if fixed {
			for k, v := range fix {
				if !yield(int64(k), Extent{v, 0}) {
					return
				}
			}
		}
		for rec := from; rec < to && len(recs) > 0; rec++ { // without record variables there are no record extents
			for k, v := range recs {
				if !yield(int64(len(fix))+rec*int64(len(recs))+int64(k), Extent{v, rec}) {
					return
				}
			}
		}
	}
}

// LastPiece returns the file offset of the last variable (of the last record) of a CDF file, and the end of its data. PnetCDF
// writes without fill mode by default, and such a canonical file ends after the last written element. The rest of the last piece
// reads as zeros, like any hole in the file.
func (h *Header) LastPiece(records int64) (off, end int64) {
	for v := range h.Vars {
		rec := int64(0)
		if h.IsRecord(v) {
			if records == 0 {
				continue
			}
			rec = records - 1
		}
		if o, n := h.At.Extent(v, rec); o >= off {
			off, end = o, o+n
		}
	}
	return off, end
}
