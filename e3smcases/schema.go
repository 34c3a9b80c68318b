package e3smcases

import (
	"blobio/blob"
	"blobio/cdf5"
)

// Schema returns the argument of blob.Create: dimensions, decompositions, attributes and variables in the case's order, so that
// variable i of the case has VarID i. float is the float setting (Var.FileType).
func (c *Case) Schema(float bool) (*blob.Schema, error) {
	s := blob.NewSchema()
	for _, d := range c.Dims {
		s.Dim(d.Name, d.Len)
	}
	for _, ids := range c.MapDims {
		s.Decomp(dimIDs(ids)...)
	}
	setAtts(s, -1, c.Atts)
	for i := range c.Vars {
		v := &c.Vars[i]
		t, atts := v.FileType(float)
		setAtts(s, s.Var(v.Name, t, dimIDs(v.Dims), blob.Decomposed(blob.DecompID(v.Map))), atts)
	}
	return s, s.Err()
}

func setAtts(s *blob.Schema, v blob.VarID, atts []cdf5.Att) {
	for _, a := range atts {
		s.SetAtt(v, a)
	}
}

func dimIDs(ids []int) []blob.DimID {
	out := make([]blob.DimID, len(ids))
	for i, d := range ids {
		out[i] = blob.DimID(d)
	}
	return out
}
