package blob

import (
	"fmt"
	"math"
	"strconv"

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
	dimBlobs    = "nblobs"
)

// The five variables of a map, in order: Dk.nreqs, Dk.blob_start, ...
const (
	mapNreqs = iota
	mapStart
	mapCount
	mapOffsets
	mapLengths
	mapVars // how many
)

var mapVarDefs = [mapVars]struct {
	name, descr string
	typ         cdf5.Type
}{
	{"nreqs", "Number of noncontiguous requests in individual blobs", cdf5.Int},
	{"blob_start", "Starting array indices of individual blobs stored in a variable", cdf5.Int64},
	{"blob_count", "Number of contiguous array elements in individual blobs stored in a variable", cdf5.Int64},
	{"offsets", "Starting indices of flattened canonical noncontiguous requests of individual blobs", cdf5.Int},
	{"lengths", "Number of elements of flattened canonical noncontiguous requests of individual blobs", cdf5.Int},
}

// shape of one subfile: what its header says beyond the schema.
type subShape struct {
	ranks    int     // world size
	subfiles int     // of the dataset
	nblobs   int     // of this subfile
	nelems   []int64 // by map from 0: elements in this subfile; the dimension is at least 1
	maxReqs  []int64 // by map from 0: most requests of a blob; the dimension is at least 1
	wide     []bool  // by map from 0: Dk.offsets is int64
	chunk    int64   // of a compressed subfile: bytes of a chunk; else 0
}

// Header lengths of 0 would mean "unlimited" in CDF, so a subfile that holds
// nothing of a map gets dimensions of length 1. blob_count and nreqs say that
// the one element is not there. (The reference aborts, or writes 0.)
func atLeast1(n int64) int64 { return max(n, 1) }

// blobHeader returns the header of one subfile: the canonical dimensions and
// attributes, what the blob layouts add, and five variables for each map.
func (s *Schema) blobHeader(sh *subShape) *cdf5.Header {
	nd := len(s.decomps)
	h := &cdf5.Header{Version: cdf5.CDF5}
	h.Atts = append(h.Atts,
		cdf5.Att{Name: attNprocs, Type: cdf5.Int, Value: []int32{int32(sh.ranks)}},
		cdf5.Att{Name: attDecomps, Type: cdf5.Int, Value: []int32{int32(nd)}},
		cdf5.Att{Name: attSubfiles, Type: cdf5.Int, Value: []int32{int32(sh.subfiles)}})
	if sh.chunk > 0 {
		h.Atts = append(h.Atts, packedAtt(sh.chunk))
	}
	h.Atts = append(h.Atts, s.atts...)
	h.Dims = append(h.Dims, s.dims...)
	blobs := len(h.Dims)
	h.Dims = append(h.Dims, cdf5.Dim{Name: dimBlobs, Len: int64(sh.nblobs)})
	for d := range nd {
		h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprintf("D%d.nelems", d+1), Len: atLeast1(sh.nelems[d])})
	}
	for d := range nd {
		h.Dims = append(h.Dims, cdf5.Dim{Name: fmt.Sprintf("D%d.max_nreqs", d+1), Len: atLeast1(sh.maxReqs[d])})
	}
	for d := range nd {
		for m, def := range mapVarDefs {
			v := cdf5.Var{Name: fmt.Sprintf("D%d.%s", d+1, def.name), Type: def.typ, Dims: []int{blobs}}
			v.Atts = []cdf5.Att{{Name: attDescr, Type: cdf5.Char, Value: def.descr}}
			switch m {
			case mapNreqs:
				v.Atts = append(v.Atts, dimidsAtt(s.decomps[d]))
			case mapOffsets:
				if sh.wide != nil && sh.wide[d] {
					v.Type = cdf5.Int64
				}
				fallthrough
			case mapLengths:
				v.Dims = append(v.Dims, blobs+1+nd+d)
			}
			h.Vars = append(h.Vars, v)
		}
	}
	for i := range s.vars {
		v := &s.vars[i]
		hv := cdf5.Var{Name: v.Name, Type: v.Type}
		if v.Decomp == 0 {
			hv.Atts = v.Atts
			for _, d := range v.Dims {
				hv.Dims = append(hv.Dims, int(d))
			}
		} else {
			hv.Atts = append([]cdf5.Att{
				{Name: attDecompID, Type: cdf5.Int, Value: []int32{int32(v.Decomp)}},
				dimidsAtt(v.Dims)}, v.Atts...)
			if v.Record {
				hv.Dims = append(hv.Dims, int(v.Dims[0]))
			}
			hv.Dims = append(hv.Dims, blobs+int(v.Decomp))
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
	s.dims, s.atts = h.Dims, h.Atts
	for i := range h.Vars {
		v := &h.Vars[i]
		dims := make([]DimID, len(v.Dims))
		for k, d := range v.Dims {
			dims[k] = DimID(d)
		}
		s.Var(v.Name, v.Type, dims, Atts(v.Atts...))
	}
	if s.err != nil {
		return nil, formatErr(file, -1, "header", ErrCorrupt, "%s", bareText(s.err))
	}
	return s, nil
}

// parseBlobHeader is the reverse of blobHeader: it returns the canonical
// schema and what the header says beyond it. Attributes and map variables are
// found by name, dimensions by the names nblobs and Dk.*. base is where the
// header begins in its file.
func parseBlobHeader(h *cdf5.Header, file string, base int64) (*Schema, *subShape, error) {
	at := locator{h, base}
	bad := func(off int64, field, format string, args ...any) (*Schema, *subShape, error) {
		return nil, nil, formatErr(file, off, field, ErrCorrupt, format, args...)
	}
	s, sh := NewSchema(), new(subShape)
	ints := map[string]int{}
	for _, a := range h.Atts {
		switch a.Name {
		case attNprocs, attDecomps, attSubfiles:
			v, ok := a.Value.([]int32)
			if !ok || len(v) != 1 || v[0] < 0 {
				return bad(at.globalAtt(a.Name), "attribute "+a.Name, "%v of type %v, want one int >= 0", a.Value, a.Type)
			}
			ints[a.Name] = int(v[0])
		default:
			s.atts = append(s.atts, a)
		}
	}
	for _, name := range []string{attNprocs, attDecomps, attSubfiles} {
		if _, ok := ints[name]; !ok {
			return bad(at.atts(), "attribute "+name, "not there: not a blob subfile")
		}
	}
	sh.ranks, sh.subfiles = ints[attNprocs], ints[attSubfiles]
	nd := ints[attDecomps]
	if nd > len(h.Vars)/mapVars {
		return bad(at.globalAtt(attDecomps), "attribute "+attDecomps, "%d decompositions need %d variables, the file has %d", nd, int64(nd)*mapVars, len(h.Vars))
	}
	if sh.subfiles < 1 || sh.subfiles > max(sh.ranks, 1) {
		return bad(at.globalAtt(attSubfiles), "attribute "+attSubfiles, "%d, want 1..%d (%s)", sh.subfiles, sh.ranks, attNprocs)
	}

	// Canonical dimensions are those before nblobs.
	blobs := -1
	for i, d := range h.Dims {
		if d.Name == dimBlobs {
			blobs = i
			break
		}
	}
	if blobs < 0 || len(h.Dims) != blobs+1+2*nd {
		return bad(at.dims(), "dimensions", "%d with %s at %d, want %s followed by 2 for each of %d maps", len(h.Dims), dimBlobs, blobs, dimBlobs, nd)
	}
	if n := h.Dims[blobs].Len; n < 1 || n > int64(max(sh.ranks, 1)) || n > math.MaxInt32 {
		return bad(at.dimLen(blobs), "dimension "+dimBlobs, "%d, want 1..%d (%s)", n, sh.ranks, attNprocs)
	}
	sh.nblobs = int(h.Dims[blobs].Len)
	s.dims = h.Dims[:blobs:blobs]
	sh.nelems, sh.maxReqs, sh.wide = make([]int64, nd), make([]int64, nd), make([]bool, nd)
	for d := range nd {
		ne, nr := &h.Dims[blobs+1+d], &h.Dims[blobs+1+nd+d]
		if want := fmt.Sprintf("D%d.nelems", d+1); ne.Name != want {
			return bad(at.dim(blobs+1+d), fmt.Sprintf("dimension %d", blobs+1+d), "%q, want %q", ne.Name, want)
		}
		if want := fmt.Sprintf("D%d.max_nreqs", d+1); nr.Name != want {
			return bad(at.dim(blobs+1+nd+d), fmt.Sprintf("dimension %d", blobs+1+nd+d), "%q, want %q", nr.Name, want)
		}
		sh.nelems[d], sh.maxReqs[d] = ne.Len, nr.Len
	}
	for d := range nd {
		for m, def := range mapVarDefs {
			i := d*mapVars + m
			v := &h.Vars[i]
			if want := fmt.Sprintf("D%d.%s", d+1, def.name); v.Name != want {
				return bad(at.variable(i), fmt.Sprintf("variable %d", i), "%q, want %q", v.Name, want)
			}
			if v.Type != def.typ && !(m == mapOffsets && v.Type == cdf5.Int64) {
				return bad(at.varType(i), "variable "+v.Name, "type %v, want %v", v.Type, def.typ)
			}
			dims := []int{blobs}
			if m >= mapOffsets {
				dims = append(dims, blobs+1+nd+d)
			}
			if fmt.Sprint(v.Dims) != fmt.Sprint(dims) {
				return bad(at.dimIDs(i), "variable "+v.Name, "dimension ids %v, want %v", v.Dims, dims)
			}
		}
		v := &h.Vars[d*mapVars]
		ids, ok := intAtt(v.Atts, attDimIDs)
		if !ok || len(ids) == 0 {
			return bad(at.varAtt(d*mapVars, attDimIDs), "variable "+v.Name, "no attribute %s of type int", attDimIDs)
		}
		dims, err := canonicalIDs(ids, blobs)
		if err != nil {
			return bad(at.varAtt(d*mapVars, attDimIDs), "variable "+v.Name+" attribute "+attDimIDs, "%v", err)
		}
		s.Decomp(dims...)
		if s.err != nil {
			return bad(at.varAtt(d*mapVars, attDimIDs), "variable "+v.Name+" attribute "+attDimIDs, "%s", bareText(s.err))
		}
		if !s.canonicalFits(&Variable{Type: cdf5.Double, Dims: dims}) {
			return bad(at.varAtt(d*mapVars, attDimIDs), "variable "+v.Name+" attribute "+attDimIDs, "dimensions of %v elements, which is over the limit", s.shape(dims, false))
		}
		sh.wide[d] = h.Vars[d*mapVars+mapOffsets].Type == cdf5.Int64
	}
	for i := nd * mapVars; i < len(h.Vars); i++ {
		v := &h.Vars[i]
		field := "variable " + strconv.Quote(v.Name)
		id, decomposed := intAtt(v.Atts, attDecompID)
		if !decomposed {
			dims := make([]DimID, len(v.Dims))
			for k, d := range v.Dims {
				if d >= blobs {
					return bad(at.dimIDs(i)+hdrCount*int64(1+k), field, "dimension %q, but no attribute %s", h.Dims[d].Name, attDecompID)
				}
				dims[k] = DimID(d)
			}
			s.Var(v.Name, v.Type, dims, Atts(v.Atts...))
		} else {
			if len(id) != 1 || id[0] < 1 || int(id[0]) > nd {
				return bad(at.varAtt(i, attDecompID), field+" attribute "+attDecompID, "%v, want one of 1..%d", id, nd)
			}
			ids, ok := intAtt(v.Atts, attDimIDs)
			if !ok {
				return bad(at.varAtt(i, attDimIDs), field, "no attribute %s of type int", attDimIDs)
			}
			dims, err := canonicalIDs(ids, blobs)
			if err != nil {
				return bad(at.varAtt(i, attDimIDs), field+" attribute "+attDimIDs, "%v", err)
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
				return bad(at.dimIDs(i), field, "dimension ids %v, want %v", v.Dims, want)
			}
		}
		if s.err != nil {
			return bad(at.dimIDs(i), field, "%s", bareText(s.err))
		}
		if !s.canonicalFits(&s.vars[len(s.vars)-1]) {
			return bad(at.dimIDs(i), field, "its canonical dimensions %v make more than 2^63 bytes", s.Shape(VarID(len(s.vars)-1)))
		}
	}
	return s, sh, nil
}

// bareText is the text of a mistake of a schema without package and class: in a
// file it is not an argument that is wrong.
func bareText(err error) string {
	return fault.Text(err)
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
