package blob

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/internal/fault"
)

// Names that the blob layouts add to a header; formats as E3SM-IO writes them.
const (
	attNprocs   = "global_nprocs"
	attDecomps  = "num_decompositions"
	attSubfiles = "num_subfiles"
	attDecompID = "decomposition_ID"
	attDimIDs   = "global_dimids"
	attDescr    = "description"
)

// blobHeader returns the header of one subfile: the canonical dimensions and
// attributes, what the blob layouts add, and five variables for each map.
func (s *Schema) blobHeader(sh *layout.Shape) *cdf5.Header {
	nd := len(s.decomps)
	h := &cdf5.Header{Version: cdf5.CDF5}
	h.Atts = append(h.Atts,
		cdf5.Att{Name: attNprocs, Type: cdf5.Int, Value: []int32{int32(sh.Ranks)}},
		cdf5.Att{Name: attDecomps, Type: cdf5.Int, Value: []int32{int32(nd)}},
		cdf5.Att{Name: attSubfiles, Type: cdf5.Int, Value: []int32{int32(sh.Subfiles)}})
	if sh.Chunk > 0 {
		h.Atts = append(h.Atts, layout.PackedAtt(sh.Chunk))
	}
	h.Atts = append(h.Atts, s.atts...)
	h.Dims = append(h.Dims, s.dims...)
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
				v.Atts = append(v.Atts, dimidsAtt(s.decomps[d]))
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
	natts, ndims := 0, 0
	for i := range s.vars {
		natts, ndims = natts+len(s.vars[i].Atts)+2, ndims+len(s.vars[i].Dims)
	}
	// Each process of a job makes this: few allocations, and attributes that follow from the decomposition once for each of them.
	h.Vars = slices.Grow(h.Vars, len(s.vars))
	atts, dims := make([]cdf5.Att, 0, natts), make([]int, 0, ndims)
	added := make([]struct {
		dims []DimID
		atts [2]cdf5.Att
	}, nd)
	for i := range s.vars {
		v := &s.vars[i]
		hv := cdf5.Var{Name: v.Name, Type: v.Type}
		from := len(dims)
		if v.Decomp == 0 {
			hv.Atts = v.Atts
			for _, d := range v.Dims {
				dims = append(dims, int(d))
			}
		} else {
			d := &added[v.Decomp-1]
			if d.dims == nil || !slices.Equal(d.dims, v.Dims) {
				d.dims = v.Dims
				d.atts = [2]cdf5.Att{{Name: attDecompID, Type: cdf5.Int, Value: []int32{int32(v.Decomp)}}, dimidsAtt(v.Dims)}
			}
			first := len(atts)
			atts = append(append(atts, d.atts[:]...), v.Atts...)
			hv.Atts = slices.Clip(atts[first:])
			if v.Record {
				dims = append(dims, int(v.Dims[0]))
			}
			dims = append(dims, blobs+int(v.Decomp))
		}
		if len(dims) > from {
			hv.Dims = slices.Clip(dims[from:])
		}
		h.Vars = append(h.Vars, hv)
	}
	return h
}

func dimidsAtt(dims []DimID) cdf5.Att {
	ids := make([]int32, len(dims))
	for i, d := range dims {
		ids[i] = int32(d)
	}
	return cdf5.Att{Name: attDimIDs, Type: cdf5.Int, Value: ids}
}

// canonicalHeader returns the header of an ordinary netCDF file of the schema.
func (s *Schema) canonicalHeader(version cdf5.Version) *cdf5.Header {
	h := &cdf5.Header{Version: version, Dims: s.dims, Atts: s.atts}
	for i := range s.vars {
		v := &s.vars[i]
		hv := cdf5.Var{Name: v.Name, Type: v.Type, Atts: v.Atts}
		for _, d := range v.Dims {
			hv.Dims = append(hv.Dims, int(d))
		}
		h.Vars = append(h.Vars, hv)
	}
	return h
}

// isBlobHeader says whether a header is that of a blob subfile.
func isBlobHeader(h *cdf5.Header) bool {
	_, a := intAtt(h.Atts, attDecomps)
	_, b := intAtt(h.Atts, attSubfiles)
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

// canonicalFits says whether every variable has less than 2^63 bytes in its
// canonical shape. A blob header says nothing of the sort: its variables have
// the lengths of blobs.
func (s *Schema) canonicalFits(v *Variable) bool {
	left := math.MaxInt64 / int64(v.Type.Size())
	for _, n := range s.shape(v.Dims, v.Record) {
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
	s.dims, s.atts = distinct(normalDims(h.Dims), func(d *cdf5.Dim) *string { return &d.Name }), distinctAtts(h.Atts)
	for i := range h.Vars {
		v := &h.Vars[i]
		dims := make([]DimID, len(v.Dims))
		for k, d := range v.Dims {
			dims[k] = DimID(d)
		}
		s.Var(v.Name, v.Type, dims, Atts(distinctAtts(v.Atts)...))
	}
	s.vars = distinct(s.vars, func(v *Variable) *string { return &v.Name })
	if s.err != nil {
		return nil, fault.At(file, -1, "header", ErrCorrupt, "%s", s.err.Error())
	}
	return s, nil
}

// parseBlobHeader is the reverse of blobHeader: it returns the canonical
// schema and what the header says beyond it. Attributes and map variables are
// found by name, dimensions by the names nblobs and Dk.*. base is where the
// header begins in its file.
func parseBlobHeader(h *cdf5.Header, file string, base int64) (*Schema, *layout.Shape, error) {
	at := layout.NewLocator(h, base)
	bad := func(off int64, field, format string, args ...any) (*Schema, *layout.Shape, error) {
		return nil, nil, fault.At(file, off, field, ErrCorrupt, format, args...)
	}
	s, sh := NewSchema(), new(layout.Shape)
	ints := map[string]int{}
	for _, a := range h.Atts {
		switch a.Name {
		case attNprocs, attDecomps, attSubfiles:
			v, ok := a.Value.([]int32)
			if !ok || len(v) != 1 || v[0] < 0 {
				return bad(at.GlobalAtt(a.Name), "attribute "+a.Name, "%v of type %v, want one int >= 0", a.Value, a.Type)
			}
			ints[a.Name] = int(v[0])
		default:
			s.atts = append(s.atts, a)
		}
	}
	for _, name := range []string{attNprocs, attDecomps, attSubfiles} {
		if _, ok := ints[name]; !ok {
			return bad(at.Atts(), "attribute "+name, "not there: not a blob subfile")
		}
	}
	sh.Ranks, sh.Subfiles = ints[attNprocs], ints[attSubfiles]
	nd := ints[attDecomps]
	if nd > len(h.Vars)/layout.MapVars {
		return bad(at.GlobalAtt(attDecomps), "attribute "+attDecomps, "%d decompositions need %d variables, the file has %d", nd, int64(nd)*layout.MapVars, len(h.Vars))
	}
	if sh.Subfiles < 1 || sh.Subfiles > max(sh.Ranks, 1) {
		return bad(at.GlobalAtt(attSubfiles), "attribute "+attSubfiles, "%d, want 1..%d (%s)", sh.Subfiles, sh.Ranks, attNprocs)
	}

	// Canonical dimensions are those before nblobs.
	blobs := -1
	for i, d := range h.Dims {
		if d.Name == layout.DimBlobs {
			blobs = i
			break
		}
	}
	if blobs < 0 || len(h.Dims) != blobs+1+2*nd {
		return bad(at.Dims(), "dimensions", "%d with %s at %d, want %s followed by 2 for each of %d maps", len(h.Dims), layout.DimBlobs, blobs, layout.DimBlobs, nd)
	}
	if n := h.Dims[blobs].Len; n < 1 || n > int64(max(sh.Ranks, 1)) || n > math.MaxInt32 {
		return bad(at.DimLen(blobs), "dimension "+layout.DimBlobs, "%d, want 1..%d (%s)", n, sh.Ranks, attNprocs)
	}
	sh.Blobs = int(h.Dims[blobs].Len)
	s.dims, s.atts = normalDims(h.Dims[:blobs]), normalAtts(s.atts)
	sh.Elems, sh.MaxReqs, sh.Wide = make([]int64, nd), make([]int64, nd), make([]bool, nd)
	for d := range nd {
		ne, nr := &h.Dims[blobs+1+d], &h.Dims[blobs+1+nd+d]
		if want := fmt.Sprintf("D%d.nelems", d+1); ne.Name != want {
			return bad(at.Dim(blobs+1+d), fmt.Sprintf("dimension %d", blobs+1+d), "%q, want %q", ne.Name, want)
		}
		if want := fmt.Sprintf("D%d.max_nreqs", d+1); nr.Name != want {
			return bad(at.Dim(blobs+1+nd+d), fmt.Sprintf("dimension %d", blobs+1+nd+d), "%q, want %q", nr.Name, want)
		}
		sh.Elems[d], sh.MaxReqs[d] = ne.Len, nr.Len
	}
	for d := range nd {
		for m, def := range layout.MapVarDefs {
			i := d*layout.MapVars + m
			v := &h.Vars[i]
			if want := fmt.Sprintf("D%d.%s", d+1, def.Name); v.Name != want {
				return bad(at.Variable(i), fmt.Sprintf("variable %d", i), "%q, want %q", v.Name, want)
			}
			if v.Type != def.Type && !(m == layout.MapOffsets && v.Type == cdf5.Int64) {
				return bad(at.VarType(i), "variable "+v.Name, "type %v, want %v", v.Type, def.Type)
			}
			dims := []int{blobs}
			if m >= layout.MapOffsets {
				dims = append(dims, blobs+1+nd+d)
			}
			if fmt.Sprint(v.Dims) != fmt.Sprint(dims) {
				return bad(at.DimIDs(i), "variable "+v.Name, "dimension ids %v, want %v", v.Dims, dims)
			}
		}
		v := &h.Vars[d*layout.MapVars]
		ids, ok := intAtt(v.Atts, attDimIDs)
		if !ok || len(ids) == 0 {
			return bad(at.VarAtt(d*layout.MapVars, attDimIDs), "variable "+v.Name, "no attribute %s of type int", attDimIDs)
		}
		dims, err := canonicalIDs(ids, blobs)
		if err != nil {
			return bad(at.VarAtt(d*layout.MapVars, attDimIDs), "variable "+v.Name+" attribute "+attDimIDs, "%v", err)
		}
		s.Decomp(dims...)
		if s.err != nil {
			return bad(at.VarAtt(d*layout.MapVars, attDimIDs), "variable "+v.Name+" attribute "+attDimIDs, "%s", s.err.Error())
		}
		if !s.canonicalFits(&Variable{Type: cdf5.Double, Dims: dims}) {
			return bad(at.VarAtt(d*layout.MapVars, attDimIDs), "variable "+v.Name+" attribute "+attDimIDs, "dimensions of %v elements, which is over the limit", s.shape(dims, false))
		}
		sh.Wide[d] = h.Vars[d*layout.MapVars+layout.MapOffsets].Type == cdf5.Int64
	}
	for i := nd * layout.MapVars; i < len(h.Vars); i++ {
		v := &h.Vars[i]
		field := "variable " + strconv.Quote(v.Name)
		id, decomposed := intAtt(v.Atts, attDecompID)
		if !decomposed {
			dims := make([]DimID, len(v.Dims))
			for k, d := range v.Dims {
				if d >= blobs {
					return bad(at.DimIDs(i)+layout.HdrCount*int64(1+k), field, "dimension %q, but no attribute %s", h.Dims[d].Name, attDecompID)
				}
				dims[k] = DimID(d)
			}
			s.Var(v.Name, v.Type, dims, Atts(v.Atts...))
		} else {
			if len(id) != 1 || id[0] < 1 || int(id[0]) > nd {
				return bad(at.VarAtt(i, attDecompID), field+" attribute "+attDecompID, "%v, want one of 1..%d", id, nd)
			}
			ids, ok := intAtt(v.Atts, attDimIDs)
			if !ok {
				return bad(at.VarAtt(i, attDimIDs), field, "no attribute %s of type int", attDimIDs)
			}
			dims, err := canonicalIDs(ids, blobs)
			if err != nil {
				return bad(at.VarAtt(i, attDimIDs), field+" attribute "+attDimIDs, "%v", err)
			}
			var atts []cdf5.Att
			for _, a := range v.Atts {
				if a.Name != attDecompID && a.Name != attDimIDs {
					atts = append(atts, a)
				}
			}
			n := s.Var(v.Name, v.Type, dims, Decomposed(DecompID(id[0])), Atts(atts...))
			want := []int{blobs + int(id[0])}
			if s.err == nil && s.vars[n].Record {
				want = []int{int(dims[0]), want[0]}
			}
			if s.err == nil && fmt.Sprint(v.Dims) != fmt.Sprint(want) {
				return bad(at.DimIDs(i), field, "dimension ids %v, want %v", v.Dims, want)
			}
		}
		if s.err != nil {
			return bad(at.DimIDs(i), field, "%s", s.err.Error())
		}
		if !s.canonicalFits(&s.vars[len(s.vars)-1]) {
			return bad(at.DimIDs(i), field, "its canonical dimensions %v make more than 2^63 bytes", s.Shape(VarID(len(s.vars)-1)))
		}
	}
	return s, sh, nil
}

func canonicalIDs(ids []int32, n int) ([]DimID, error) {
	dims := make([]DimID, len(ids))
	for i, id := range ids {
		if id < 0 || int(id) >= n {
			return nil, fmt.Errorf("[%d] = %d, want 0..%d", i, id, n-1)
		}
		dims[i] = DimID(id)
	}
	return dims, nil
}
