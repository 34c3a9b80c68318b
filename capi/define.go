//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"context"
	"fmt"
	"math"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

// define runs f on the definitions of a file, and keeps the first error.
func define(h uintptr, e *C.blobio_failure, f func(*file, *definitions) error) int32 {
	return withFile(h, e, locked, func(x *file) error { return x.define(f) })
}

func (x *file) define(f func(*file, *definitions) error) error {
	switch {
	case x.defs == nil && x.r == nil && x.w == nil:
		return x.broken()
	case x.defs == nil:
		return fmt.Errorf("%s: definitions are allowed only between blobio_create and blobio_enddef: %w", x.path, edge.ErrState)
	}
	err := safely(func() error { return f(x, x.defs) })
	if err == nil {
		err = x.defs.schema.Err()
	}
	if err != nil && x.defs.err == nil {
		x.defs.err = fmt.Errorf("%s: a definition failed: %w", x.path, err)
	}
	return err
}

func newName(what string, p uintptr, have map[string]bool) (string, error) {
	name, err := edge.String("name", p)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", edge.Usage("%s: the name is empty", what) // blobio_enddef checks everything else
	}
	name = cdf5.NormalName(name)
	if have[name] {
		return "", edge.Usage("%s %q already exists", what, name)
	}
	have[name] = true
	return name, nil
}

//export blobioGoDefDim
func blobioGoDefDim(h, namep uintptr, n int64, out uintptr, e *C.blobio_failure) int32 {
	return define(h, e, func(x *file, d *definitions) error {
		if n == blob.Unlimited && d.add {
			return edge.Usage("an append cannot add an unlimited dimension")
		}
		if n < 0 || n == blob.Unlimited && d.record {
			return edge.Usage("length %d, want > 0 or BLOBIO_UNLIMITED once", n)
		}
		name, err := newName("dimension", namep, d.dims)
		if err != nil {
			return err
		}
		d.record = d.record || n == blob.Unlimited
		return edge.Store(out, int32(d.schema.Dim(name, n)))
	})
}

// dimIDs reads n dimension ids of s at address p.
func dimIDs(s *blob.Schema, n int32, p uintptr) ([]blob.DimID, error) {
	in, err := edge.Slice[int32](p, int64(n))
	if err != nil {
		return nil, fmt.Errorf("dimids: %w", err)
	}
	ids := make([]blob.DimID, n)
	for i, d := range in {
		if d < 0 || int(d) >= len(s.Dims()) {
			return nil, edge.Usage("dimids[%d] is %d, want %s", i, d, fault.Below(len(s.Dims()), "dimensions"))
		}
		ids[i] = blob.DimID(d)
	}
	return ids, nil
}

// decomposition defines a decomposition. runs returns this rank's requests in an array of the given lengths, and the
// holes.
func decomposition(h uintptr, ndims int32, dimp, out uintptr, e *C.blobio_failure, runs func(dims []int64, elems int64) ([]decomp.Req, *edge.Dof, error)) int32 {
	return define(h, e, func(x *file, d *definitions) error {
		id := blob.DecompID(len(d.parts) + 1)
		var ids []blob.DimID
		if !d.add {
			var err error
			if ids, err = dimIDs(d.schema, ndims, dimp); err != nil {
				return err
			}
		} else if n := d.schema.NumDecomps(); int(id) > n {
			return edge.Usage("decomposition %d, but the dataset has only %d", id, n)
		} else {
			ids = d.schema.DecompDimIDs(id)
		}
		if len(ids) == 0 {
			return edge.Usage("the decomposition has no dimensions")
		}
		dims, elems := make([]int64, len(ids)), int64(1)
		for i, k := range ids {
			dim := d.schema.Dims()[k]
			if dims[i] = dim.Len; dim.Len == blob.Unlimited {
				return edge.Usage("the decomposition contains the unlimited dimension %q", dim.Name)
			}
			if elems > math.MaxInt64/dim.Len {
				return fmt.Errorf("the decomposition has more than 2^63-1 elements: %w", blob.ErrRange)
			}
			elems *= dim.Len
		}
		rr, dof, err := runs(dims, elems)
		if err != nil {
			return err
		}
		for i, q := range rr {
			if q.Offset < 0 || q.Length < 0 || q.Offset > elems || q.Length > elems-q.Offset {
				return edge.Usage("run %d has %d elements from element %d on, want a run within %d elements", i, q.Length, q.Offset, elems)
			}
		}
		if !d.add {
			id = d.schema.Decomp(ids...)
		}
		if dof != nil && !dof.Holes() {
			dof = nil
		}
		x.dofs = append(x.dofs, dof)
		d.parts = append(d.parts, blob.Part{Decomp: id, Runs: rr})
		return edge.Store(out, int32(id))
	})
}

//export blobioGoDefDecomp
func blobioGoDefDecomp(h uintptr, ndims int32, dimp uintptr, n int64, offp, lenp, out uintptr, e *C.blobio_failure) int32 {
	return decomposition(h, ndims, dimp, out, e, func([]int64, int64) ([]decomp.Req, *edge.Dof, error) {
		rr, err := requests(n, offp, lenp)
		return rr, nil, err
	})
}

// pairs reads the offsets and lengths of n runs.
func pairs(n int64, offp, lenp uintptr) (off, lens []int64, err error) {
	if off, err = words("offsets", offp, n); err == nil {
		lens, err = words("lengths", lenp, n)
	}
	return off, lens, err
}

func requests(n int64, offp, lenp uintptr) ([]decomp.Req, error) {
	off, lens, err := pairs(n, offp, lenp)
	if err != nil {
		return nil, err
	}
	return edge.Runs(off, lens), nil
}

//export blobioGoDefDecompPIO
func blobioGoDefDecompPIO(h uintptr, ndims int32, dimp uintptr, n int64, dofp, out uintptr, e *C.blobio_failure) int32 {
	return decomposition(h, ndims, dimp, out, e, func(dims []int64, elems int64) ([]decomp.Req, *edge.Dof, error) {
		list, err := words("compdof", dofp, n)
		if err != nil {
			return nil, nil, err
		}
		dof, err := edge.NewDof(list, elems, dims[len(dims)-1])
		if err != nil {
			return nil, nil, err
		}
		return dof.Runs, dof, nil
	})
}

//export blobioGoDefVar
func blobioGoDefVar(h, namep uintptr, t, ndims int32, dimp uintptr, dec int32, out uintptr, e *C.blobio_failure) int32 {
	return define(h, e, func(x *file, d *definitions) error {
		ids, err := dimIDs(d.schema, ndims, dimp)
		if err != nil {
			return err
		}
		name, err := newName("variable", namep, d.vars)
		if err != nil {
			return err
		}
		if !cdf5.Type(t).Valid() {
			return edge.Usage("variable %q: type %d, want 1..11", name, t)
		}
		if dec < 0 || int(dec) > d.schema.NumDecomps() {
			return edge.Usage("variable %q: decomposition %d, want 0..%d", name, dec, d.schema.NumDecomps())
		}
		if d.add && (len(ids) == 0 || d.schema.Dims()[ids[0]].Len != blob.Unlimited) {
			return edge.Usage("variable %q lacks the unlimited dimension, which an append requires", name)
		}
		v := d.schema.Var(name, cdf5.Type(t), ids, blob.Decomposed(blob.DecompID(dec)))
		return edge.Store(out, int32(v))
	})
}

// setAtt sets an attribute: before enddef in the definitions, afterwards in the dataset, which is collective.
func setAtt(h uintptr, varid int32, namep uintptr, t cdf5.Type, e *C.blobio_failure, value func() (any, error)) int32 {
	arguments := func() (name string, v any, err error) {
		if name, err = newName("attribute", namep, map[string]bool{}); err != nil {
			return name, nil, err
		}
		if v, err = value(); err != nil {
			err = fmt.Errorf("attribute %q: %w", name, err)
		}
		return name, v, err
	}
	return withFile(h, e, locked, func(x *file) error {
		if x.w == nil {
			return x.define(func(_ *file, d *definitions) error {
				if varid < -1 || int(varid) >= len(d.schema.Vars()) {
					return edge.Usage("variable id %d, want -1..%d", varid, len(d.schema.Vars())-1)
				}
				if d.add && int(varid) < d.vars0 {
					return fmt.Errorf("attributes of existing data can be put only after blobio_enddef: %w", edge.ErrState)
				}
				name, v, err := arguments()
				if err == nil {
					d.schema.SetAtt(blob.VarID(varid), cdf5.Att{Name: name, Type: t, Value: v})
				}
				return err
			})
		}
		return x.team.together(func() error {
			var name string
			var v any
			err := safely(func() (err error) {
				name, v, err = arguments()
				return err
			})
			inject("put_att", x.team.c)
			ctx := in("blobio_put_att")
			if err := comm.Agree(ctx, x.team.c, err); err != nil {
				return err
			}
			return x.w.SetAtt(ctx, blob.VarID(varid), name, v)
		})
	})
}

//export blobioGoPutAttText
func blobioGoPutAttText(h uintptr, varid int32, namep uintptr, n int64, p uintptr, e *C.blobio_failure) int32 {
	return setAtt(h, varid, namep, cdf5.Char, e, func() (any, error) {
		if n == -1 {
			return edge.String("text", p)
		}
		b, err := edge.Slice[byte](p, n)
		return string(b), err
	})
}

//export blobioGoPutAtt
func blobioGoPutAtt(h uintptr, varid int32, namep uintptr, t int32, n int64, p uintptr, e *C.blobio_failure) int32 {
	return setAtt(h, varid, namep, cdf5.Type(t), e, func() (any, error) {
		src, err := edge.View(cdf5.Type(t), p, n)
		if err != nil {
			return nil, err
		}
		if cdf5.Type(t) == cdf5.Char {
			return string(src.([]byte)), nil
		}
		own, err := edge.Make(cdf5.Type(t), n)
		if err == nil {
			copy(edge.Bytes(own), edge.Bytes(src))
		}
		return own, err
	})
}

// enddef ends the definitions. Collective.
func (x *file) enddef(ctx context.Context) error {
	d := x.defs
	x.defs = nil
	defer func() {
		if x.w == nil && x.failed == nil { // enddef has panicked
			x.failed = edge.ErrInternal
		}
	}()
	defer spend(&x.stats.define)()
	err := comm.Agree(ctx, x.team.c, d.err)
	inject("enddef", x.team.c)
	switch {
	case err != nil:
	case d.add && (len(d.schema.Vars()) > d.vars0 || len(d.schema.Dims()) > d.dims0):
		x.w, err = blob.Append(ctx, x.team.c, x.path, d.schema, d.parts, d.opts)
	case d.add:
		x.w, err = blob.Append(ctx, x.team.c, x.path, nil, d.parts, d.opts)
	default:
		x.w, err = blob.Create(ctx, x.team.c, x.path, d.schema, d.parts, d.opts)
	}
	if err != nil {
		x.w, x.failed = nil, err
	}
	return err
}

//export blobioGoEnddef
func blobioGoEnddef(h uintptr, e *C.blobio_failure) int32 {
	return withFile(h, e, locked, func(x *file) error {
		if x.defs == nil {
			if _, err := x.writer(); err != nil {
				return err
			}
			return fmt.Errorf("%s: blobio_enddef was already called: %w", x.path, edge.ErrState)
		}
		return x.team.together(func() error { return x.enddef(in("blobio_enddef")) })
	})
}
