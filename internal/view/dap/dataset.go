package dap

import (
	"context"
	"slices"
	"strings"

	"blobio/cdf5"
)

// ReadFunc reads a hyperslab of a variable in canonical order, big-endian: count[i] elements from start[i] along each dimension,
// including the record dimension. The buffer has exactly the matching length.
type ReadFunc func(ctx context.Context, name string, start, count []int64, dst []byte) error

// A Dataset is the DAP2 view of a dataset. It is immutable, and safe for concurrent use if its ReadFunc is.
type Dataset struct {
	name   string
	hdr    *cdf5.Header
	read   ReadFunc
	client Client
	vars   []*variable
	byName map[string]*variable

	window, gap int64 // in bytes: maximum read, and maximum unneeded data read between elements
}

type variable struct {
	*cdf5.Var
	id   int
	name string // name in declarations
	kind kind
	dims []dim
	row  int64       // for a String: length in bytes of the undeclared last dimension
	last string      // name of the last dimension, "" if the variable has none
	maps []*variable // for a Grid: the coordinates, by dimension
}

// dim is a dimension; the length of an unlimited one is the number of records.
type dim struct {
	name string // name in declarations
	n    int64
}

// Client is the kind of client software.
type Client uint8

const (
	AnyClient    Client = iota
	NetCDFClient        // the netCDF library: it interprets backslashes in texts as escapes, and variables with names ending in "global" as global attributes
)

// ClientOf returns the client for a User-Agent header.
func ClientOf(userAgent string) Client {
	for _, s := range []string{"oc", "netCDF"} {
		if v, ok := strings.CutPrefix(userAgent, s); ok && v != "" && '0' <= v[0] && v[0] <= '9' {
			return NetCDFClient
		}
	}
	return AnyClient
}

// New returns the dataset described by a header. Only declarations use name.
func New(name string, hdr *cdf5.Header, client Client, read ReadFunc) *Dataset {
	d := &Dataset{name: name, hdr: hdr, read: read, client: client, window: defaultWindow, gap: defaultGap, byName: make(map[string]*variable, len(hdr.Vars))}
	for i := range hdr.Vars {
		x := &hdr.Vars[i]
		v := &variable{Var: x, id: i, name: d.encode(x.Name), kind: kinds[x.Type]}
		for _, id := range x.Dims {
			n := hdr.Dims[id].Len
			if n == 0 {
				n = hdr.NumRecs
			}
			v.dims = append(v.dims, dim{d.encode(hdr.Dims[id].Name), n})
		}
		if v.kind == dapString {
			v.row = 1
			if k := len(v.dims) - 1; k >= 0 {
				v.row, v.last = v.dims[k].n, v.dims[k].name
				v.dims = v.dims[:k]
			}
		}
		d.vars = append(d.vars, v)
		if d.byName[x.Name] == nil {
			d.byName[x.Name] = v
		}
		if d.byName[v.name] == nil {
			d.byName[v.name] = v
		}
	}
	for _, v := range d.vars {
		v.maps = d.coordinates(v)
	}
	return d
}

// coordinates returns the coordinate variables of all dimensions, or nil if a dimension has no coordinate variable.
func (d *Dataset) coordinates(v *variable) (maps []*variable) {
	if v.kind == dapString || len(v.Dims) == 0 {
		return nil
	}
	for _, id := range v.Dims {
		c := d.byName[d.hdr.Dims[id].Name]
		if slices.Contains(maps, c) { // a Grid can have each map only once
			return nil
		}
		if c == nil || c == v || c.kind == dapString || len(c.Dims) != 1 || c.Dims[0] != id {
			return nil
		}
		maps = append(maps, c)
	}
	return maps
}

// fill returns the fill value of a variable in the file's format.
func (d *Dataset) fill(v *variable) []byte {
	b := make([]byte, v.Type.Size())
	cdf5.FillBytes(b, v.Type, nil, d.hdr.FillAtt(v.id))
	return b
}
