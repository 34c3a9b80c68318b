package pio

import (
	"context"
	"slices"

	"blobio/blob"
	"blobio/cdf5"
)

// addition is a planned append to the base.
type addition struct {
	*schemaOf
	more bool       // there are new variables
	atts []attOfVar // new or changed attributes
}

type attOfVar struct {
	name string // name of the variable; "": the file
	att  cdf5.Att
}

// addition plans an append to the base. It returns nil if an append cannot make the changes. An append can add records,
// record variables and attributes. open means that the writer will get more data than the log has now. Collective.
func (tx *transaction) addition(ctx context.Context, open bool) (*addition, error) {
	if tx.base == nil || tx.base.layout == blob.Canonical || !tx.base.extends(tx.defs, &tx.log) {
		return nil, nil
	}
	if _, err := tx.base.collective(ctx, tx.s.c); err != nil {
		return nil, err
	}
	a := &addition{schemaOf: &schemaOf{tx: tx, s: tx.base.r.Extend(), known: map[string]blob.DecompID{}}}
	if !a.attributes() {
		return nil, nil
	}
	if ok, err := a.variables(ctx, open); err != nil || !ok {
		return nil, err
	}
	return a, a.s.Err()
}

// extends reports whether an append to the base can add the dimensions, the variables and the log.
func (b *base) extends(f *definitions, l *log) bool {
	for i, d := range b.dims {
		if f.dims[i] != d {
			return false
		}
	}
	for _, d := range f.dims[len(b.dims):] {
		if d.n == Unlimited {
			return false
		}
	}
	used := make([]bool, len(f.dims))
	for i, v := range f.vars {
		if i >= len(b.vars) {
			for _, d := range v.dims {
				used[d] = true
			}
			if !f.isRecord(v) || f.records == b.records {
				return false
			}
			for rec := range l.of[v] {
				if rec < b.records {
					return false
				}
			}
			continue
		}
		if v.name != b.vars[i].Name {
			return false
		}
		for rec := range l.of[v] {
			if !f.isRecord(v) || rec < b.records {
				return false
			}
		}
	}
	return !slices.Contains(used[len(b.dims):], false)
}

// attributes finds the changed attributes. It returns false if an append cannot make the changes.
func (a *addition) attributes() bool {
	f, b := a.tx.defs, a.tx.base
	for i := range b.atts {
		is, name := f.atts, ""
		if i < len(b.vars) {
			is, name = f.vars[i].atts, b.vars[i].Name
		}
		list, ok := attChanges(b.atts[i], is)
		if !ok {
			return false
		}
		if _, there := a.s.VarID(name); len(list) > 0 && name != "" && !there {
			return false // a fixed variable, but the layout appends only record variables
		}
		for _, x := range list {
			a.atts = append(a.atts, attOfVar{name, x})
		}
	}
	return true
}

// variables finds the route of each record variable. It returns false if an append cannot write one of them. Collective.
func (a *addition) variables(ctx context.Context, open bool) (bool, error) {
	f, b := a.tx.defs, a.tx.base
	byShape := map[string]blob.DecompID{}
	for d := a.s.NumDecomps(); d > 0; d-- {
		byShape[keyOf(a.s.DecompDims(blob.DecompID(d)))] = blob.DecompID(d)
	}
	users := map[blob.DecompID][]*route{}
	for i, v := range f.vars {
		if !f.isRecord(v) {
			continue
		}
		shape := f.shape(v)
		r := &route{v: v, name: v.name, elems: product(shape), record: true}
		if i < len(b.vars) {
			id, ok := a.s.VarID(v.name)
			if !ok {
				return false, nil
			}
			r.id, r.dec = id, a.s.Vars()[id].Decomp
		} else if size := r.elems * int64(v.t.Size()); size > a.tx.limits.whole {
			if r.dec = byShape[keyOf(shape)]; r.dec == 0 && size > a.tx.limits.fresh {
				return false, nil
			}
		}
		a.routes = append(a.routes, r)
		if r.dec != 0 && (len(a.tx.log.of[v]) > 0 || open) {
			users[r.dec] = append(users[r.dec], r)
		}
	}
	for d := blob.DecompID(1); int(d) <= a.s.NumDecomps(); d++ {
		if err := a.choose(ctx, d, users[d]); err != nil {
			return false, err
		}
	}
	return true, a.define()
}

// choose finds the routes of a decomposition: straight if one map wrote all its variables, else share. Collective.
func (a *addition) choose(ctx context.Context, d blob.DecompID, users []*route) error {
	if len(users) == 0 {
		return nil
	}
	var by *Decomp
	for _, r := range users {
		if len(a.tx.log.of[r.v]) == 0 { // probably written later by the same map
			continue
		}
		x, err := a.tx.log.straight(ctx, r.v, a.tx.defs.shape(r.v))
		if err != nil {
			return err
		}
		if x == nil || by != nil && by.key != x.key {
			by = nil
			break
		}
		by = x
	}
	for _, r := range a.routes {
		if r.dec != d {
			continue
		}
		if r.routing = share; by != nil {
			r.routing, r.d = straight, by
		}
	}
	r := users[0]
	a.wide = a.wide || r.elems > 1<<31-1
	a.parts = append(a.parts, blob.Part{Decomp: d, Runs: r.runs(a.tx.s, a.s.DecompDims(d))})
	return nil
}

// define adds the new dimensions and variables to the schema.
func (a *addition) define() error {
	f, b := a.tx.defs, a.tx.base
	for _, d := range f.dims[len(b.dims):] {
		a.s.Dim(d.name, d.n)
	}
	for _, r := range a.routes {
		if r.v.stored != "" {
			continue
		}
		a.more = true
		dims := make([]blob.DimID, len(r.v.dims))
		for i, d := range r.v.dims {
			dims[i] = blob.DimID(d)
		}
		a.variable(r, dims)
	}
	return a.s.Err()
}
