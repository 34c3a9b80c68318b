package e3smcases

import "blobio/blob"

// Schema returns what blob.Create wants: dimensions, decompositions,
// attributes and variables in the case's order, so that variable i of the case
// is VarID i. float is the float setting (Var.FileType).
func (c *Case) Schema(float bool) (*blob.Schema, error) {
	s := blob.NewSchema()
	for _, d := range c.Dims {
		s.Dim(d.Name, d.Len)
	}
	for _, ids := range c.MapDims {
		s.Decomp(dimIDs(ids)...)
	}
	s.GlobalAtts(c.Atts...)
	for i := range c.Vars {
		v := &c.Vars[i]
		t, atts := v.FileType(float)
		s.Var(v.Name, t, dimIDs(v.Dims), blob.Decomposed(blob.DecompID(v.Map)), blob.Atts(atts...))
	}
	return s, s.Err()
}

func dimIDs(ids []int) []blob.DimID {
	out := make([]blob.DimID, len(ids))
	for i, d := range ids {
		out[i] = blob.DimID(d)
	}
	return out
}
