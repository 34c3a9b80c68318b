package layout

// Blob describes a blob that has its variables one after the other. The offsets of the variables depend on the number of records.
type Blob struct {
	Records int64 // number of records of every record variable
	shape   *Shape
	vars    int

	// before[v*(nd+1)+d] is the sum of records*size over the variables before v that have map d+1. To get the offset of v,
	// multiply each entry by the rank's number of elements in that map, and add up the products. Column nd has the bytes of the
	// variables without a decomposition, which only blob 0 holds.
	before []int64
}

// NewBlob describes blobs with n records.
func NewBlob(vars []Var, sh *Shape, n int64) Blob {
	nd := len(sh.Elems)
	b := Blob{Records: n, shape: sh, vars: len(vars), before: make([]int64, (len(vars)+1)*(nd+1))}
	for i := range vars {
		v := &vars[i]
		row, next := b.before[i*(nd+1):(i+1)*(nd+1)], b.before[(i+1)*(nd+1):(i+2)*(nd+1)]
		copy(next, row)
		size := v.Size
		if v.Record {
			size *= n
		}
		if v.Decomp != 0 {
			next[v.Decomp-1] += size
		} else {
			next[nd] += size * v.Elems
		}
	}
	return b
}

// mapBytes returns the size of all map variables in the blob of entry i.
func (b *Blob) mapBytes(r *Ranks, i int) int64 {
	nd := len(b.shape.Elems)
	n := int64(0)
	for d, q := range r.Nreqs[i*nd : (i+1)*nd] {
		n += 20 + (4+b.shape.OffsetSize(d))*q
	}
	return n
}

// VarOff returns the offset of variable v in the blob of entry i. v may be the number of variables, for the end of the blob.
func (b *Blob) VarOff(v int, r *Ranks, i int) int64 {
	nd := len(b.shape.Elems)
	row := b.before[v*(nd+1) : (v+1)*(nd+1)]
	n := b.mapBytes(r, i)
	for d, c := range r.Count[i*nd : (i+1)*nd] {
		n += row[d] * c
	}
	if r.ID[i] == 0 {
		n += row[nd]
	}
	return n
}

// Size returns the length of the blob of entry i, in bytes.
func (b *Blob) Size(r *Ranks, i int) int64 { return b.VarOff(b.vars, r, i) }
