package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// Names that the blob layouts add to a header, with formats as in E3SM-IO.
const (
	AttNprocs   = "global_nprocs"
	attDecomps  = "num_decompositions"
	AttSubfiles = "num_subfiles"
	AttDecompID = "decomposition_ID"
	AttDimIDs   = "global_dimids"
	attDescr    = "description"
)

// BlobHeader returns the header of one subfile: the canonical dimensions and attributes, the additions of the blob layouts, and
// five variables for each map.
func (s *Schema) BlobHeader(sh *layout.Shape) *cdf5.Header {
	nd := len(s.Decomps)
	h := &cdf5.Header{Version: cdf5.CDF5}
	h.Atts = append(h.Atts,
		cdf5.Att{Name: AttNprocs, Type: cdf5.Int, Value: []int32{int32(sh.Ranks)}},
		cdf5.Att{Name: attDecomps, Type: cdf5.Int, Value: []int32{int32(nd)}},
		cdf5.Att{Name: AttSubfiles, Type: cdf5.Int, Value: []int32{int32(sh.Subfiles)}})
	if sh.Chunk > 0 {
		h.Atts = append(h.Atts, layout.PackedAtt(sh.Chunk))
	}
	h.Atts = append(h.Atts, s.Atts...)
	h.Dims = append(h.Dims, s.Dims...)
	blobs := len(h.Dims)
	h.Dims = append(h.Dims, cdf5.Dim{Name: layout.DimBlobs, Len: int64(sh.Blobs)})
	for d := range nd {
		h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprintf("D%d.nelems", d+1), Len: layout.AtLeast1(sh.Elems[d])})
	}
	for d := range nd {
		h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprintf("D%d.max_nreqs", d+1), Len: layout.AtLeast1(sh.MaxReqs[d])})
	}
	for d := range nd {
		for m, def := range layout.MapVarDefs {
			v := cdf5.Var{Name: fmt.Sprintf("D%d.%s", d+1, def.Name), Type: def.Type, Dims: []int{blobs}}
			v.Atts = []cdf5.Att{{Name: attDescr, Type: cdf5.Char, Value: def.Descr}}
			switch m {
			case layout.MapNreqs:
				v.Atts = append(v.Atts, dimidsAtt(s.Decomps[d]))
			case layout.MapOffsets:
				if sh.Wide != nil && sh.Wide[d] {
					v.Type = cdf5.Int64
				}
				fallthrough
			case layout.MapLengths:
				v.Dims = append(v.Dims, blobs+1+nd+d)
			}
			h.Vars = append(h.Vars, v)
		}
	}
	h.Vars = slices.Grow(h.Vars, len(s.Vars))
	for i := range s.Vars {
		v := &s.Vars[i]
		hv := cdf5.Var{Name: v.Name, Type: v.Type, Atts: v.Atts}
		dims := v.Dims
		if v.Decomp != 0 {
			dims = []DimID{DimID(blobs + int(v.Decomp))}
			if v.Record {
				dims = []DimID{v.Dims[0], dims[0]}
			}
			hv.Atts = append([]cdf5.Att{{Name: AttDecompID, Type: cdf5.Int, Value: []int32{int32(v.Decomp)}}, dimidsAtt(v.Dims)}, v.Atts...)
		}
		hv.Dims = dimNumbers(dims)
		h.Vars = append(h.Vars, hv)
	}
	return h
}

// dimNumbers converts a schema's dimension ids to a header's.
func dimNumbers(dims []DimID) (list []int) {
	for _, d := range dims {
		list = append(list, int(d))
	}
	return list
}

func dimidsAtt(dims []DimID) cdf5.Att {
	ids := make([]int32, len(dims))
	for i, d := range dims {
		ids[i] = int32(d)
	}
	return cdf5.Att{Name: AttDimIDs, Type: cdf5.Int, Value: ids}
}

// CanonicalHeader returns the header of an ordinary netCDF file of the schema.
func (s *Schema) CanonicalHeader(version cdf5.Version) *cdf5.Header {
	h := &cdf5.Header{Version: version, Dims: s.Dims, Atts: s.Atts}
	for i := range s.Vars {
		v := &s.Vars[i]
		h.Vars = append(h.Vars, cdf5.Var{Name: v.Name, Type: v.Type, Dims: dimNumbers(v.Dims), Atts: v.Atts})
	}
	return h
}

// isBlobHeader reports whether a header belongs to a blob subfile.
func isBlobHeader(h *cdf5.Header) bool {
	_, a := intAtt(h.Atts, attDecomps)
	_, b := intAtt(h.Atts, AttSubfiles)
	return a && b
}

func intAtt(atts []cdf5.Att, name string) ([]int32, bool) {
	for i := range atts {
		if atts[i].Name == name {
			v, ok := atts[i].Value.([]int32)
			return v, ok
		}
	}
	return nil, false
}

// canonicalFits reports whether every variable has less than 2^63 bytes in its canonical shape. A blob header does not ensure
// this, because its variables have the lengths of blobs.
func (s *Schema) canonicalFits(v *Variable) bool {
	left := math.MaxInt64 / int64(v.Type.Size())
	for _, n := range s.ShapeOf(v.Dims, v.Record) {
		if n > left {
			return false
		}
		if n > 0 {
			left /= n
		}
	}
	return true
}

// parseCanonical turns an ordinary header into a schema without decompositions.
func parseCanonical(h *cdf5.Header, file string) (*Schema, error) {
	s := NewSchema()
	s.Dims, s.Atts = distinct(normalDims(h.Dims), func(d *cdf5.Dim) *string { return &d.Name }), distinctAtts(h.Atts)
	for i := range h.Vars {
		v := &h.Vars[i]
		dims := make([]DimID, len(v.Dims))
		for k, d := range v.Dims {
			dims[k] = DimID(d)
		}
		s.Var(v.Name, v.Type, dims, Atts(distinctAtts(v.Atts)...))
	}
	s.Vars = distinct(s.Vars, func(v *Variable) *string { return &v.Name })
	if s.Err != nil {
		return nil, fault.At(file, -1, "header", ErrCorrupt, "%s", s.Err.Error())
	}
	return s, nil
}

// parseBlobHeader returns the canonical schema and the shape of the subfile for a header of Schema.BlobHeader. It finds
// attributes and map variables by name, dimensions by the names nblobs and Dk.*. base is the offset of the header in its file.
func parseBlobHeader(h *cdf5.Header, file string, base int64) (*Schema, *layout.Shape, error) {
	p := &headerParser{h: h, file: file, at: layout.NewLocator(h, base), s: NewSchema(), sh: new(layout.Shape)}
	for _, step := range []func() error{p.counts, p.dims, p.maps, p.vars} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return p.s, p.sh, nil
}

// headerParser is the state of parseBlobHeader.
type headerParser struct {
	h     *cdf5.Header
	file  string
	at    layout.Locator
	s     *Schema
	sh    *layout.Shape
	nd    int // number of maps
	blobs int // id of the dimension nblobs
}

func (p *headerParser) bad(off int64, field, format string, args ...any) error {
	return fault.At(p.file, off, field, ErrCorrupt, format, args...)
}

// counts parses the attributes of the dataset.
func (p *headerParser) counts() error {
	counts := []struct {
		name string
		n    *int
	}{{AttNprocs, &p.sh.Ranks}, {attDecomps, &p.nd}, {AttSubfiles, &p.sh.Subfiles}}
	for _, c := range counts {
		a := cdf5.FindAtt(p.h.Atts, c.name)
		if a == nil {
			return p.bad(p.at.Atts(), "attribute "+c.name, "missing, so the file is not a blob subfile")
		}
		v, ok := a.Value.([]int32)
		if !ok || len(v) != 1 || v[0] < 0 {
			return p.bad(p.at.GlobalAtt(c.name), "attribute "+c.name, "%v of type %v, want one int >= 0", a.Value, a.Type)
		}
		*c.n = int(v[0])
	}
	p.s.Atts = normalAtts(without(p.h.Atts, AttNprocs, attDecomps, AttSubfiles))
	if p.nd > len(p.h.Vars)/layout.MapVars {
		return p.bad(p.at.GlobalAtt(attDecomps), "attribute "+attDecomps, "%d decompositions need %d variables, the file has %d", p.nd, int64(p.nd)*layout.MapVars, len(p.h.Vars))
	}
	if n := p.sh.Subfiles; n < 1 || n > max(p.sh.Ranks, 1) {
		return p.bad(p.at.GlobalAtt(AttSubfiles), "attribute "+AttSubfiles, "%d, want 1..%d (%s)", n, p.sh.Ranks, AttNprocs)
	}
	return nil
}

// without returns the attributes that do not have one of the names.
func without(atts []cdf5.Att, names ...string) (list []cdf5.Att) {
	for _, a := range atts {
		if !slices.Contains(names, a.Name) {
			list = append(list, a)
		}
	}
	return list
}

// dims parses the dimensions. Those before nblobs are canonical; two for each map follow nblobs.
func (p *headerParser) dims() error {
	h, nd, sh := p.h, p.nd, p.sh
	if p.blobs = h.DimIndex(layout.DimBlobs); p.blobs < 0 || len(h.Dims) != p.blobs+1+2*nd {
		return p.bad(p.at.Dims(), "dimensions", "%d dimensions with %s at index %d, want %s followed by 2 dimensions for each of %d maps", len(h.Dims), layout.DimBlobs, p.blobs, layout.DimBlobs, nd)
	}
	if n := h.Dims[p.blobs].Len; n < 1 || n > int64(max(sh.Ranks, 1)) || n > math.MaxInt32 {
		return p.bad(p.at.DimLen(p.blobs), "dimension "+layout.DimBlobs, "%d, want 1..%d (%s)", n, sh.Ranks, AttNprocs)
	}
	sh.Blobs = int(h.Dims[p.blobs].Len)
	p.s.Dims = normalDims(h.Dims[:p.blobs])
	sh.Elems, sh.MaxReqs = make([]int64, nd), make([]int64, nd)
	for d := range nd {
		for k, name := range []string{"nelems", "max_nreqs"} {
			i := p.blobs + 1 + k*nd + d
			if want := fmt.Sprintf("D%d.%s", d+1, name); h.Dims[i].Name != want {
				return p.bad(p.at.Dim(i), fmt.Sprintf("dimension %d", i), "%q, want %q", h.Dims[i].Name, want)
			}
		}
		sh.Elems[d], sh.MaxReqs[d] = h.Dims[p.blobs+1+d].Len, h.Dims[p.blobs+1+nd+d].Len
	}
	return nil
}

// maps parses the variables of the maps.
func (p *headerParser) maps() error {
	p.sh.Wide = make([]bool, p.nd)
	for d := range p.nd {
		for m, def := range layout.MapVarDefs {
			i := d*layout.MapVars + m
			v := &p.h.Vars[i]
			if want := fmt.Sprintf("D%d.%s", d+1, def.Name); v.Name != want {
				return p.bad(p.at.Variable(i), fmt.Sprintf("variable %d", i), "%q, want %q", v.Name, want)
			}
			if v.Type != def.Type && !(m == layout.MapOffsets && v.Type == cdf5.Int64) {
				return p.bad(p.at.VarType(i), "variable "+v.Name, "type %v, want %v", v.Type, def.Type)
			}
			dims := []int{p.blobs}
			if m >= layout.MapOffsets {
				dims = append(dims, p.blobs+1+p.nd+d)
			}
			if !slices.Equal(v.Dims, dims) {
				return p.bad(p.at.DimIDs(i), "variable "+v.Name, "dimension ids %v, want %v", v.Dims, dims)
			}
		}
		first := d * layout.MapVars
		field := "variable " + p.h.Vars[first].Name
		dims, err := p.dimIDs(first, field)
		if err != nil {
			return err
		}
		if len(dims) == 0 {
			return p.bad(p.at.VarAtt(first, AttDimIDs), field, "no attribute %s of type int", AttDimIDs)
		}
		field += " attribute " + AttDimIDs
		if p.s.Decomp(dims...); p.s.Err != nil {
			return p.bad(p.at.VarAtt(first, AttDimIDs), field, "%s", p.s.Err.Error())
		}
		if !p.s.canonicalFits(&Variable{Type: cdf5.Double, Dims: dims}) {
			return p.bad(p.at.VarAtt(first, AttDimIDs), field, "the dimensions %v have too many elements", p.s.ShapeOf(dims, false))
		}
		p.sh.Wide[d] = p.h.Vars[first+layout.MapOffsets].Type == cdf5.Int64
	}
	return nil
}

// dimIDs returns the canonical dimensions of a variable of the header, which an attribute of the variable lists.
func (p *headerParser) dimIDs(v int, field string) ([]DimID, error) {
	ids, ok := intAtt(p.h.Vars[v].Atts, AttDimIDs)
	if !ok {
		return nil, p.bad(p.at.VarAtt(v, AttDimIDs), field, "no attribute %s of type int", AttDimIDs)
	}
	dims := make([]DimID, len(ids))
	for i, id := range ids {
		if id < 0 || int(id) >= p.blobs {
			return nil, p.bad(p.at.VarAtt(v, AttDimIDs), field+" attribute "+AttDimIDs, "element %d is %d, want %s", i, id, fault.Below(p.blobs, "dimensions"))
		}
		dims[i] = DimID(id)
	}
	return dims, nil
}

// vars parses the variables of the schema.
func (p *headerParser) vars() error {
	for i := p.nd * layout.MapVars; i < len(p.h.Vars); i++ {
		v := &p.h.Vars[i]
		field := "variable " + strconv.Quote(v.Name)
		id, decomposed := intAtt(v.Atts, AttDecompID)
		var err error
		if decomposed {
			err = p.decomposed(i, field, id)
		} else {
			err = p.lone(i, field)
		}
		if err != nil {
			return err
		}
		if p.s.Err != nil {
			return p.bad(p.at.DimIDs(i), field, "%s", p.s.Err.Error())
		}
		if last := len(p.s.Vars) - 1; !p.s.canonicalFits(&p.s.Vars[last]) {
			return p.bad(p.at.DimIDs(i), field, "the canonical dimensions %v need more than 2^63 bytes", p.s.Shape(VarID(last)))
		}
	}
	return nil
}

// lone parses variable i, which has no decomposition.
func (p *headerParser) lone(i int, field string) error {
	v := &p.h.Vars[i]
	dims := make([]DimID, len(v.Dims))
	for k, d := range v.Dims {
		if d >= p.blobs {
			return p.bad(p.at.DimIDs(i)+layout.HdrCount*int64(1+k), field, "the variable has dimension %q, but no attribute %s", p.h.Dims[d].Name, AttDecompID)
		}
		dims[k] = DimID(d)
	}
	p.s.Var(v.Name, v.Type, dims, Atts(v.Atts...))
	return nil
}

// decomposed parses variable i, which has a decomposition. id is the value of its attribute.
func (p *headerParser) decomposed(i int, field string, id []int32) error {
	v := &p.h.Vars[i]
	if len(id) != 1 || id[0] < 1 || int(id[0]) > p.nd {
		return p.bad(p.at.VarAtt(i, AttDecompID), field+" attribute "+AttDecompID, "%v, want one of 1..%d", id, p.nd)
	}
	dims, err := p.dimIDs(i, field)
	if err != nil {
		return err
	}
	n := p.s.Var(v.Name, v.Type, dims, Decomposed(DecompID(id[0])), Atts(without(v.Atts, AttDecompID, AttDimIDs)...))
	if p.s.Err != nil {
		return nil // the method vars returns the error
	}
	want := []int{p.blobs + int(id[0])}
	if p.s.Vars[n].Record {
		want = []int{int(dims[0]), want[0]}
	}
	if !slices.Equal(v.Dims, want) {
		return p.bad(p.at.DimIDs(i), field, "dimension ids %v, want %v", v.Dims, want)
	}
	return nil
}
