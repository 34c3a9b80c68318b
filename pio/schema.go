package pio

import (
	"context"
	"encoding/binary"
	"fmt"

	"blobio/blob"
	"blobio/cdf5"
)

// schemaOf builds the schema of a writer, this rank's parts of the decompositions, and the routes of the variables.
type schemaOf struct {
	tx     *transaction
	s      *blob.Schema
	parts  []blob.Part
	known  map[string]blob.DecompID
	routes []*route
	wide   bool
}

// fresh plans a new dataset from the base and all later writes. open means that the writer will get more data.
func (tx *transaction) fresh(ctx context.Context, open bool) (*schemaOf, error) {
	b := &schemaOf{tx: tx, s: blob.NewSchema(), known: map[string]blob.DecompID{}}
	var ids []blob.DimID
	for _, d := range tx.defs.dims {
		ids = append(ids, b.s.Dim(d.name, d.n))
	}
	if err := b.route(ctx, open); err != nil {
		return nil, err
	}
	for _, r := range b.routes {
		dims := make([]blob.DimID, len(r.v.dims))
		for i, d := range r.v.dims {
			dims[i] = ids[d]
		}
		if shape := tx.defs.shape(r.v); r.routing != whole {
			r.dec = b.decomposition(r, dims[len(dims)-len(shape):], shape)
		}
		b.variable(r, dims)
	}
	b.setAtts(-1, tx.defs.atts)
	return b, b.s.Err()
}

// variable adds the variable of a route to the schema.
func (b *schemaOf) variable(r *route, dims []blob.DimID) {
	r.id = b.s.Var(r.name, r.v.t, dims, blob.Decomposed(r.dec))
	b.setAtts(r.id, r.v.atts)
}

func (b *schemaOf) setAtts(v blob.VarID, atts []cdf5.Att) {
	for _, a := range atts {
		b.s.SetAtt(v, a)
	}
}

// decomposition returns the decomposition of a route in the schema, and adds it if missing.
func (b *schemaOf) decomposition(r *route, dims []blob.DimID, shape []int64) blob.DecompID {
	key := keyOf(shape)
	switch r.routing {
	case straight:
		key = keyOf(append(shape[:len(shape):len(shape)], int64(r.d.key[0]), int64(r.d.key[1])))
	case blank:
		key = keyOf(append(shape[:len(shape):len(shape)], 0))
	}
	if id, ok := b.known[key]; ok {
		return id
	}
	id := b.s.Decomp(dims...)
	b.known[key] = id
	b.parts = append(b.parts, blob.Part{Decomp: id, Runs: r.runs(b.tx.s, shape)})
	b.wide = b.wide || r.elems > 1<<31-1
	return id
}

// route finds the routes of all variables to a new dataset. With open, an unwritten variable gets the route of other variables
// with its shape, because it will probably be written in the same way. So does a record variable, which an append may write.
func (b *schemaOf) route(ctx context.Context, open bool) (err error) {
	f, tx, by := b.tx.defs, b.tx, map[string]*Decomp{}
	of := func(r *route) string { return keyOf(stripped(f.shape(r.v))) }
	for _, v := range f.vars {
		r := &route{v: v, name: v.name, elems: product(f.shape(v)), record: f.isRecord(v)}
		b.routes = append(b.routes, r)
		if v.stored != "" && !(tx.base.blank[v] && len(tx.log.of[v]) == 0) {
			if r.old = 1; r.record {
				r.old = tx.base.records
			}
		}
		if !tx.log.covers(r) {
			continue
		}
		if r.d, err = tx.log.straight(ctx, v, f.shape(v)); err != nil {
			return err
		}
		if r.d != nil {
			by[of(r)] = r.d
		}
	}
	for _, r := range b.routes {
		large := len(f.shape(r.v)) > 0 && r.elems*int64(r.v.t.Size()) > tx.limits.whole
		unwritten := large && r.old == 0 && len(tx.log.of[r.v]) == 0
		if unwritten {
			r.d = by[of(r)]
		}
		switch {
		case unwritten && !open && !r.record:
			r.routing = blank
		case r.d != nil:
			r.routing = straight
		case large:
			r.routing = share
		}
	}
	return nil
}

// keyOf returns a key for maps: equal for equal numbers.
func keyOf(n []int64) string {
	b := make([]byte, 0, 64)
	for _, x := range n {
		b = binary.LittleEndian.AppendUint64(b, uint64(x))
	}
	return string(b)
}

// attChanges returns the attributes that are new or changed. ok is false if attributes are missing or the order has changed.
func attChanges(was, is []cdf5.Att) (list []cdf5.Att, ok bool) {
	if len(is) < len(was) {
		return nil, false
	}
	for i, a := range is {
		if i < len(was) && was[i].Name != a.Name {
			return nil, false
		}
		if i < len(was) && was[i].Type == a.Type && fmt.Sprint(was[i].Value) == fmt.Sprint(a.Value) {
			continue
		}
		if a.Name == "_FillValue" {
			return nil, false
		}
		list = append(list, a)
	}
	return list, true
}
