package blob

import (
	"fmt"

	"blobio/cdf5"
)

// Layout says how the elements of a dataset lie in its files.
type Layout uint8

const (
	// VariableCentric is PnetCDF's blob layout: CDF-5 subfiles in which every
	// variable, and every record of one, holds one blob per rank.
	VariableCentric Layout = iota
	// ProcessCentric is the HDF5 blob layout: the datasets header_blob and
	// data_blob, one blob per rank that holds all its variables.
	ProcessCentric
	// Canonical is an ordinary netCDF file in one of the CDF formats.
	Canonical
)

var layoutNames = [...]string{"variable-centric", "process-centric", "canonical"}

// String returns the layout's name.
func (l Layout) String() string {
	if int(l) < len(layoutNames) {
		return layoutNames[l]
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// ParseLayout is the reverse of String; "variable", "process", "pnetcdf" and
// "hdf5" are accepted too.
func ParseLayout(s string) (Layout, error) {
	switch s {
	case "variable-centric", "variable", "pnetcdf":
		return VariableCentric, nil
	case "process-centric", "process", "hdf5":
		return ProcessCentric, nil
	case "canonical":
		return Canonical, nil
	}
	return 0, usageErr("layout %q, want variable-centric, process-centric or canonical", s)
}

// place says where everything of one subfile lies. It is immutable after the
// ranks' table is filled, and shared by all that read or write the subfile.
type place struct {
	layout  Layout
	schema  *Schema
	hdr     *cdf5.Header // with begins (variable-centric) or without
	shape   *subShape
	big     bool         // byte order of the data
	at      *cdf5.Places // offsets of hdr's variables; nil if it has no begins
	hdrOff  int64        // file offset of the header
	hdrLen  int64
	fileLen int64   // of the file, when it was opened for reading; bounds every length
	dataOff int64   // process-centric: file offset of data_blob
	dataLen int64   // process-centric: its bytes
	records int64   // process-centric: records of every record variable
	packed  *packed // of a compressed process-centric subfile

	// Process-centric: a blob holds its variables one after the other. before[v*(nd+1)+d]
	// is the sum over the variables before v with map d+1 of records*size, so that the place of v
	// is the sum over d of before times the rank's count; column nd holds the
	// bytes of the variables that are not decomposed, which only blob 0 has.
	before []int64
}

// ranks is what is known of each blob of a subfile, or of some of them.
// Entry i is sub rank id[i]; the values of map d are at i*nd+d.
type ranks struct {
	id    []int   // sub rank = blob number
	nreqs []int64 // requests
	start []int64 // first element of the blob in the subfile's nelems
	count []int64 // elements
	reqs  []int64 // requests of all lower sub ranks
	blob  []int64 // process-centric: file offset of the blob
}

func newRanks(n, nd int) *ranks {
	all := make([]int64, 4*n*nd+n)
	return &ranks{id: make([]int, n), nreqs: all[:n*nd], start: all[n*nd : 2*n*nd], count: all[2*n*nd : 3*n*nd], reqs: all[3*n*nd : 4*n*nd], blob: all[4*n*nd:]}
}

func (p *place) nd() int { return len(p.schema.decomps) }

// setRecords fixes the number of records and with it the place of every
// variable in a process-centric blob.
func (p *place) setRecords(n int64) {
	p.records = n
	if p.layout != ProcessCentric {
		return
	}
	nd := p.nd()
	p.before = make([]int64, (len(p.schema.vars)+1)*(nd+1))
	for i := range p.schema.vars {
		v := &p.schema.vars[i]
		row, next := p.before[i*(nd+1):(i+1)*(nd+1)], p.before[(i+1)*(nd+1):(i+2)*(nd+1)]
		copy(next, row)
		recs := int64(1)
		if v.Record {
			recs = n
		}
		size := int64(v.Type.Size()) * recs
		if v.Decomp != 0 {
			next[v.Decomp-1] += size
		} else {
			next[nd] += size * p.schema.Elems(VarID(i))
		}
	}
}

// offsetSize is the size of an entry of Dk.offsets in bytes, d from 0.
func (p *place) offsetSize(d int) int64 {
	if p.shape.wide != nil && p.shape.wide[d] {
		return 8
	}
	return 4
}

// mapBytes is the size of all map variables in the blob of entry i.
func (p *place) mapBytes(r *ranks, i int) int64 {
	n := int64(0)
	for d, q := range r.nreqs[i*p.nd() : (i+1)*p.nd()] {
		n += 20 + (4+p.offsetSize(d))*q
	}
	return n
}

// varOff is the offset of variable v in the blob of entry i; v may be one past the last.
func (p *place) varOff(v VarID, r *ranks, i int) int64 {
	nd := p.nd()
	row := p.before[int(v)*(nd+1) : (int(v)+1)*(nd+1)]
	n := p.mapBytes(r, i)
	for d, c := range r.count[i*nd : (i+1)*nd] {
		n += row[d] * c
	}
	if r.id[i] == 0 {
		n += row[nd]
	}
	return n
}

// blobSize is the length of the process-centric blob of entry i, in bytes.
func (p *place) blobSize(r *ranks, i int) int64 {
	return p.varOff(VarID(len(p.schema.vars)), r, i)
}

// piece returns where entry i's part of a variable's record lies: file offset
// and bytes. A variable that is not decomposed is a piece of sub rank 0.
func (p *place) piece(v VarID, rec int64, r *ranks, i int) (off, n int64) {
	sv := &p.schema.vars[v]
	size := int64(sv.Type.Size())
	var start, count int64
	if sv.Decomp != 0 {
		k := i*p.nd() + int(sv.Decomp) - 1
		start, count = r.start[k], r.count[k]
	} else if r.id[i] == 0 {
		count = p.schema.Elems(v)
	}
	n = count * size
	if p.layout == VariableCentric {
		off, _ = p.at.Extent(p.fileVar(v), rec)
		return off + start*size, n
	}
	return r.blob[i] + p.varOff(v, r, i) + rec*n, n
}

// fileVar is the index in the header of variable v of the schema.
func (p *place) fileVar(v VarID) int { return p.nd()*mapVars + int(v) }

// gap is how many bytes are read and dropped rather than starting a new read. Of compressed data none: each
// byte costs more than a new read.
func (p *place) gap() int64 {
	if p.packed != nil {
		return 0
	}
	return readGap
}

// mapPiece returns where entry i's part of variable m of map d (from 0) lies.
// For the lists in the variable-centric layout n is the whole padded row.
func (p *place) mapPiece(d, m int, r *ranks, i int) (off, n int64) {
	q := r.nreqs[i*p.nd()+d]
	if p.layout == VariableCentric {
		off, _ = p.at.Extent(d*mapVars+m, 0)
		j, width := int64(r.id[i]), atLeast1(p.shape.maxReqs[d])
		switch m {
		case mapNreqs:
			return off + 4*j, 4
		case mapStart, mapCount:
			return off + 8*j, 8
		case mapOffsets:
			return off + p.offsetSize(d)*width*j, p.offsetSize(d) * width
		}
		return off + 4*width*j, 4 * width
	}
	off = r.blob[i]
	for e, n := range r.nreqs[i*p.nd() : i*p.nd()+d] {
		off += 20 + (4+p.offsetSize(e))*n
	}
	switch m {
	case mapNreqs:
		return off, 4
	case mapStart:
		return off + 4, 8
	case mapCount:
		return off + 12, 8
	case mapOffsets:
		return off + 20, p.offsetSize(d) * q
	}
	return off + 20 + p.offsetSize(d)*q, 4 * q
}
