package dap

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// A Request is a constraint resolved for a dataset.
type Request struct {
	d     *Dataset
	items []*item
}

// item is one declaration of an answer: a variable, a Grid, or a Structure with members of a Grid.
type item struct {
	of    *variable
	form  form
	parts []part // for a Grid: the array, then the maps
}

type form uint8

const (
	alone form = iota
	grid
	structure
)

// part is a variable with the selected elements, by declared dimension.
type part struct {
	v  *variable
	at []slice
}

// maxElems is the maximum number of elements that DAP2 can declare.
const maxElems = math.MaxInt32

// Request parses a constraint expression from a URL; "" requests everything. A variable that is named twice is sent once if both
// selections are equal. Different selections of one variable are an error. In DAP2, clients write %XX only for characters of
// names that are not separators. But some clients write %XX for brackets and commas, too. So if a constraint with %XX is
// invalid, Request decodes it and parses it again.
func (d *Dataset) Request(query string) (*Request, error) {
	constraint, err := url.PathUnescape(query)
	if err != nil {
		return nil, fault.Usage("constraint %s: %v", fault.Quoted(query), err)
	}
	q, err := d.request(constraint)
	if err != nil && constraint != query {
		if as, aerr := d.request(query); aerr == nil {
			return as, nil
		}
	}
	return q, err
}

func (d *Dataset) request(constraint string) (*Request, error) {
	list, err := parseConstraint(constraint)
	if err != nil {
		return nil, err
	}
	q := &Request{d: d}
	if len(list) == 0 {
		for _, v := range d.vars {
			if err := q.add(v, nil, nil); err != nil {
				return nil, err
			}
		}
		return q, nil
	}
	at := make(map[*variable]*item, len(list))
	for _, p := range list {
		v, member, err := d.find(p.path)
		if err == nil {
			err = q.project(at, v, member, p.at)
		}
		if err != nil {
			return nil, err
		}
	}
	// The netCDF library reads wrong values if the Grids of an answer are not in the dataset's order.
	slices.SortFunc(q.items, func(a, b *item) int { return a.of.id - b.of.id })
	return q, nil
}

// Several reports whether the request has more than one variable.
func (q *Request) Several() bool { return len(q.items) > 1 }

// find returns the object with a path: a variable, or a Grid and its member.
func (d *Dataset) find(path string) (v, member *variable, err error) {
	if v := d.lookup(path); v != nil {
		return v, nil, nil
	}
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		v, m := d.lookup(path[:i]), d.lookup(path[i+1:])
		if v != nil && m != nil && v.maps != nil && (m == v || slices.Contains(v.maps, m)) {
			return v, m, nil
		}
	}
	return nil, nil, fault.Class(ErrNoVariable, "constraint: %s: %w", fault.Quoted(path), fault.ErrUsage)
}

func (d *Dataset) lookup(name string) *variable {
	if v := d.byName[name]; v != nil {
		return v
	}
	if strings.Contains(name, "%") {
		if v := d.byName[decodeName(name)]; v != nil {
			return v
		}
	}
	return d.byName[cdf5.NormalName(decodeName(name))] // d.byName has names in normal form, but a client may send another form
}

// project adds one projection to the declarations so far.
func (q *Request) project(at map[*variable]*item, v, member *variable, s []slice) error {
	was := at[v]
	if was == nil {
		if err := q.add(v, member, s); err != nil {
			return err
		}
		at[v] = q.items[len(q.items)-1]
		return nil
	}
	one := &Request{d: q.d}
	if err := one.add(v, member, s); err != nil {
		return err
	}
	now := one.items[0]
	if now.form != was.form {
		return fault.Usage("constraint: %s is requested in two forms", v.name)
	}
	for _, p := range now.parts {
		i := slices.IndexFunc(was.parts, func(o part) bool { return o.v == p.v })
		switch {
		case i < 0:
			was.parts = append(was.parts, p)
		case !slices.Equal(was.parts[i].at, p.at):
			return fault.Usage("constraint: two parts of %s are requested", p.v.name)
		}
	}
	return nil
}

// add declares a variable or a member of a Grid.
func (q *Request) add(v, member *variable, s []slice) error {
	x := &item{of: v, form: alone}
	target := v
	switch {
	case member != nil:
		x.form, target = structure, member
	case v.maps != nil:
		x.form = grid
	}
	at, err := target.slices(s)
	if err != nil {
		return err
	}
	x.parts = []part{{target, at}}
	if x.form == grid {
		for i, m := range v.maps {
			x.parts = append(x.parts, part{m, at[i : i+1]})
		}
	}
	q.items = append(q.items, x)
	return nil
}

// slices returns the selection along each declared dimension.
func (v *variable) slices(s []slice) ([]slice, error) {
	out := make([]slice, len(v.dims))
	for i, d := range v.dims {
		out[i] = slice{0, 1, d.n}
	}
	if len(s) == 0 {
		return out, nil
	}
	if len(s) != len(v.dims) {
		return nil, fault.Usage("constraint: %s has %d slices, want %d", v.name, len(s), len(v.dims))
	}
	for i, d := range v.dims {
		if s[i].last() >= d.n {
			return nil, fault.Usage("constraint: %s dimension %d: index %d, want less than %d", v.name, i, s[i].last(), d.n)
		}
	}
	copy(out, s)
	return out, nil
}

// elems returns the number of elements of a part. For a String, this is the number of texts. More elements than clients can
// handle are an error.
func (p *part) elems() (int64, error) {
	n := int64(1)
	for _, s := range p.at {
		if s.count == 0 {
			return 0, nil
		}
	}
	for _, s := range p.at {
		if s.count > maxElems/n {
			return 0, fault.Class(fault.ErrTooLarge, "%s: more than %d elements, want a smaller slice", p.v.name, maxElems)
		}
		n *= s.count
	}
	return n, nil
}

// Memory returns the approximate memory for an answer, in bytes.
func (q *Request) Memory() int64 {
	most := int64(0)
	for _, x := range q.items {
		for _, p := range x.parts {
			n := int64(p.v.Type.Size()) * max(1, p.v.row)
			for _, s := range p.at {
				if n *= min(s.dense(), q.d.window); n > q.d.window {
					break
				}
			}
			most = max(most, min(n, q.d.window))
		}
	}
	return 3*most + int64(len(q.items))<<10 // the data read and sent, plus declarations and attributes
}
