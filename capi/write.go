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
)

// errAborted is what the other ranks are told.
var errAborted = fmt.Errorf("blobio_abort was called: %w", blob.ErrBroken)

// optional is a string that may be NULL.
func optional(what string, p uintptr) (string, error) {
	if p == 0 {
		return "", nil
	}
	return edge.String(what, p)
}

// path is a string that may not be empty.
func path(p uintptr) (string, error) {
	s, err := edge.String("path", p)
	if err == nil && s == "" {
		err = edge.Usage("empty path")
	}
	return s, err
}

// arguments reads those of a function that opens a file, and clears the handle. A rank that
// was passed an address of nothing must still tell the others, so that a fault is an error here.
func arguments(pathp, optp, out uintptr, options func(s string) error) (name string, err error) {
	err = safely(func() error {
		if name, err = path(pathp); err != nil {
			return err
		}
		s, err := optional("options", optp)
		if err != nil {
			return err
		}
		if err := options(s); err != nil {
			return err
		}
		if out == 0 {
			return edge.Usage("NULL for the handle")
		}
		return edge.Store(out, uintptr(0))
	})
	return name, err
}

// begin makes a file that is to be written by a team. What one rank passes wrong is an error on all.
func begin(t team, add bool, pathp, optp, out uintptr) error {
	ctx := context.Background()
	var x *file
	err := t.together(func() error {
		var o *blob.Options
		name, err := arguments(pathp, optp, out, func(s string) (err error) {
			o, err = edge.WriteOptions(s)
			return err
		})
		inject("begin", t.c)
		if err := comm.Agree(ctx, t.c, err); err != nil {
			return err
		}
		d := &definitions{opts: o, add: add, schema: blob.NewSchema(), dims: map[string]bool{}, vars: map[string]bool{}}
		x = &file{path: name, team: t, layout: o.Layout, defs: d}
		if !add {
			return nil
		}
		r, err := blob.OpenComm(ctx, t.c, name, nil)
		if err != nil {
			return err
		}
		d.schema, d.have, x.layout = r.Schema(), r.Records(), r.Layout()
		inject("append", t.c)
		return comm.Agree(ctx, t.c, r.Close())
	})
	if err != nil {
		return edge.First(err, t.leave(ctx))
	}
	return edge.Store(out, files.Add(x))
}

//export blobioGoBegin
func blobioGoBegin(add int32, world, pathp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t := alone()
		if world != 0 {
			var err error
			if t, err = adopt(world); err != nil {
				return err
			}
		}
		return begin(t, add != 0, pathp, optp, out)
	})
}

//export blobioGoBeginFortran
func blobioGoBeginFortran(add, fcomm int32, pathp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := adoptFortran(fcomm)
		if err != nil {
			return err
		}
		return begin(t, add != 0, pathp, optp, out)
	})
}

// define runs f on the definitions of a file, and remembers that it failed.
func define(h uintptr, f func(*file, *definitions) error) error {
	return locked(h, func(x *file) error {
		switch {
		case x.defs == nil && x.r == nil && x.w == nil:
			return x.broken()
		case x.defs == nil:
			return fmt.Errorf("%s: definitions are made between blobio_create and blobio_enddef: %w", x.path, edge.ErrState)
		}
		err := safely(func() error { return f(x, x.defs) })
		if err == nil {
			err = x.defs.schema.Err()
		}
		if err != nil && x.defs.err == nil {
			x.defs.err = fmt.Errorf("%s: a definition failed: %w", x.path, err)
		}
		return err
	})
}

func (d *definitions) fresh() error {
	if d.add {
		return fmt.Errorf("the definitions of a dataset that is appended to are in its files: %w", edge.ErrState)
	}
	return nil
}

func newName(what string, p uintptr, have map[string]bool) (string, error) {
	name, err := edge.String("name", p)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", edge.Usage("%s: empty name", what) // what else a name must not be, blobio_enddef says
	}
	if have[name] {
		return "", edge.Usage("%s %q is there already", what, name)
	}
	have[name] = true
	return name, nil
}

//export blobioGoDefDim
func blobioGoDefDim(h, namep uintptr, n int64, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return define(h, func(x *file, d *definitions) error {
			if err := d.fresh(); err != nil {
				return err
			}
			if n < 0 || n == blob.Unlimited && d.record {
				return edge.Usage("length %d, want > 0, or BLOBIO_UNLIMITED once", n)
			}
			name, err := newName("dimension", namep, d.dims)
			if err != nil {
				return err
			}
			d.record = d.record || n == blob.Unlimited
			return edge.Store(out, int32(d.schema.Dim(name, n)))
		})
	})
}

// dimIDs reads ids, which must be those of dimensions of s.
func dimIDs(s *blob.Schema, n int32, p uintptr) ([]blob.DimID, error) {
	in, err := edge.Slice[int32](p, int64(n))
	if err != nil {
		return nil, fmt.Errorf("dimids: %w", err)
	}
	ids := make([]blob.DimID, n)
	for i, d := range in {
		if d < 0 || int(d) >= len(s.Dims()) {
			return nil, edge.Usage("dimids[%d] is %d, want 0..%d", i, d, len(s.Dims())-1)
		}
		ids[i] = blob.DimID(d)
	}
	return ids, nil
}

// decomposition defines one; runs makes this rank's requests in an array of these
// lengths, and says where there are holes.
func decomposition(h uintptr, ndims int32, dimp, out uintptr, runs func(dims []int64, elems int64) ([]decomp.Req, *edge.Dof, error)) error {
	return define(h, func(x *file, d *definitions) error {
		id := blob.DecompID(len(d.parts) + 1)
		var ids []blob.DimID
		if !d.add {
			var err error
			if ids, err = dimIDs(d.schema, ndims, dimp); err != nil {
				return err
			}
		} else if n := d.schema.NumDecomps(); int(id) > n {
			return edge.Usage("decomposition %d, but the dataset has %d", id, n)
		} else {
			ids = d.schema.DecompDimIDs(id)
		}
		if len(ids) == 0 {
			return edge.Usage("a decomposition without dimensions")
		}
		dims, elems := make([]int64, len(ids)), int64(1)
		for i, k := range ids {
			dim := d.schema.Dims()[k]
			if dims[i] = dim.Len; dim.Len == blob.Unlimited {
				return edge.Usage("a decomposition over the unlimited dimension %q", dim.Name)
			}
			if elems > math.MaxInt64/dim.Len {
				return fmt.Errorf("a decomposition of over 2^63-1 elements: %w", blob.ErrRange)
			}
			elems *= dim.Len
		}
		rr, dof, err := runs(dims, elems)
		if err != nil {
			return err
		}
		for i, q := range rr {
			if q.Offset < 0 || q.Length < 0 || q.Offset > elems || q.Length > elems-q.Offset {
				return edge.Usage("run %d is %d elements from %d on, want within %d", i, q.Length, q.Offset, elems)
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
	return guarded(e, func() error {
		return decomposition(h, ndims, dimp, out, func([]int64, int64) ([]decomp.Req, *edge.Dof, error) {
			rr, err := requests(n, offp, lenp)
			return rr, nil, err
		})
	})
}

func requests(n int64, offp, lenp uintptr) ([]decomp.Req, error) {
	off, err := edge.Slice[int64](offp, n)
	if err != nil {
		return nil, fmt.Errorf("offsets: %w", err)
	}
	lens, err := edge.Slice[int64](lenp, n)
	if err != nil {
		return nil, fmt.Errorf("lengths: %w", err)
	}
	return edge.Runs(off, lens), nil
}

//export blobioGoDefDecompPIO
func blobioGoDefDecompPIO(h uintptr, ndims int32, dimp uintptr, n int64, dofp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return decomposition(h, ndims, dimp, out, func(dims []int64, elems int64) ([]decomp.Req, *edge.Dof, error) {
			list, err := edge.Slice[int64](dofp, n)
			if err != nil {
				return nil, nil, fmt.Errorf("compdof: %w", err)
			}
			dof, err := edge.NewDof(list, elems, dims[len(dims)-1])
			if err != nil {
				return nil, nil, err
			}
			return dof.Runs, dof, nil
		})
	})
}

//export blobioGoDefVar
func blobioGoDefVar(h, namep uintptr, t, ndims int32, dimp uintptr, dec int32, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return define(h, func(x *file, d *definitions) error {
			if err := d.fresh(); err != nil {
				return err
			}
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
			v := d.schema.Var(name, cdf5.Type(t), ids, blob.Decomposed(blob.DecompID(dec)))
			return edge.Store(out, int32(v))
		})
	})
}

func setAtt(h uintptr, varid int32, namep uintptr, t cdf5.Type, value func() (any, error)) error {
	return define(h, func(x *file, d *definitions) error {
		if err := d.fresh(); err != nil {
			return err
		}
		if varid < -1 || int(varid) >= len(d.schema.Vars()) {
			return edge.Usage("variable id %d, want -1..%d", varid, len(d.schema.Vars())-1)
		}
		name, err := newName("attribute", namep, map[string]bool{})
		if err != nil {
			return err
		}
		v, err := value()
		if err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
		d.schema.SetAtt(blob.VarID(varid), cdf5.Att{Name: name, Type: t, Value: v})
		return nil
	})
}

//export blobioGoPutAttText
func blobioGoPutAttText(h uintptr, varid int32, namep uintptr, n int64, p uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return setAtt(h, varid, namep, cdf5.Char, func() (any, error) {
			if n == -1 {
				return edge.String("text", p)
			}
			b, err := edge.Slice[byte](p, n)
			return string(b), err
		})
	})
}

//export blobioGoPutAtt
func blobioGoPutAtt(h uintptr, varid int32, namep uintptr, t int32, n int64, p uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return setAtt(h, varid, namep, cdf5.Type(t), func() (any, error) {
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
	})
}

// enddef ends the definitions. Collective.
func (x *file) enddef(ctx context.Context) error {
	d := x.defs
	x.defs = nil
	defer func() {
		if x.w == nil && x.failed == nil { // a panic
			x.failed = edge.ErrInternal
		}
	}()
	err := comm.Agree(ctx, x.team.c, d.err)
	inject("enddef", x.team.c)
	switch {
	case err != nil:
	case d.add:
		x.w, err = blob.Append(ctx, x.team.c, x.path, d.parts, d.opts)
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
	return guarded(e, func() error {
		return locked(h, func(x *file) error {
			if x.defs == nil {
				if _, err := x.writer(); err != nil {
					return err
				}
				return fmt.Errorf("%s: blobio_enddef was called already: %w", x.path, edge.ErrState)
			}
			return x.team.together(func() error { return x.enddef(context.Background()) })
		})
	})
}

// dof returns the holes of a variable's decomposition, nil if there are none.
func (x *file) dof(v *blob.Variable) *edge.Dof {
	if k := int(v.Decomp) - 1; k >= 0 && k < len(x.dofs) {
		return x.dofs[k]
	}
	return nil
}

//export blobioGoPut
func blobioGoPut(h uintptr, varid int32, rec int64, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return locked(h, func(x *file) error {
			w, err := x.writer()
			if err != nil {
				return err
			}
			_, v, err := x.variable(varid)
			if err != nil {
				return err
			}
			data, err := view(v, t, p, n)
			if err != nil {
				return fmt.Errorf("put of %q: %w", v.Name, err)
			}
			if dof := x.dof(v); dof != nil {
				if n != dof.Elems {
					return edge.Usage("put of %q record %d: %d elements, want %d", v.Name, rec, n, dof.Elems)
				}
				packed, err := edge.Make(cdf5.Type(t), dof.Kept)
				if err != nil {
					return err
				}
				dof.Pack(edge.Bytes(packed), edge.Bytes(data), cdf5.Type(t).Size())
				data = packed
			}
			return edge.Put(w, blob.VarID(varid), rec, data)
		})
	})
}

//export blobioGoPutVara
func blobioGoPutVara(h uintptr, varid int32, rec int64, startp, countp uintptr, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return locked(h, func(x *file) error {
			w, err := x.writer()
			if err != nil {
				return err
			}
			s, v, err := x.variable(varid)
			if err != nil {
				return err
			}
			dims := int64(len(s.Shape(blob.VarID(varid))))
			start, err := edge.Slice[int64](startp, dims)
			if err != nil {
				return fmt.Errorf("start: %w", err)
			}
			count, err := edge.Slice[int64](countp, dims)
			if err != nil {
				return fmt.Errorf("count: %w", err)
			}
			data, err := view(v, t, p, n)
			if err != nil {
				return fmt.Errorf("put of %q: %w", v.Name, err)
			}
			return edge.PutAt(w, blob.VarID(varid), rec, start, count, data)
		})
	})
}

//export blobioGoPutCount
func blobioGoPutCount(h uintptr, varid int32, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		return shared(h, func(x *file) error {
			w, err := x.writer()
			if err != nil {
				return err
			}
			s, v, err := x.variable(varid)
			if err != nil {
				return err
			}
			n := s.Elems(blob.VarID(varid))
			if dof := x.dof(v); dof != nil {
				n = dof.Elems
			} else if v.Decomp != 0 {
				n = w.Count(v.Decomp)
			}
			return edge.Store(out, n)
		})
	})
}

//export blobioGoFlush
func blobioGoFlush(h uintptr, e *C.blobio_failure) int32 {
	return flush(h, e, "flush", (*blob.Writer).Flush)
}

//export blobioGoFlushAsync
func blobioGoFlushAsync(h uintptr, e *C.blobio_failure) int32 {
	return flush(h, e, "flush_async", (*blob.Writer).FlushAsync)
}

//export blobioGoWait
func blobioGoWait(h uintptr, e *C.blobio_failure) int32 {
	return flush(h, e, "wait", (*blob.Writer).Wait)
}

func flush(h uintptr, e *C.blobio_failure, name string, f func(*blob.Writer, context.Context) error) int32 {
	return guarded(e, func() error {
		return locked(h, func(x *file) error {
			w, err := x.writer()
			if err != nil {
				return err
			}
			return x.team.together(func() error {
				inject(name, x.team.c)
				return f(w, context.Background())
			})
		})
	})
}

//export blobioGoClose
func blobioGoClose(h uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		x, err := files.Take(h)
		if err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.closed = true
		if x.r != nil {
			return x.r.Close()
		}
		ctx := context.Background()
		err = x.team.together(func() error {
			if x.defs != nil {
				if err := x.enddef(ctx); err != nil {
					return err
				}
			}
			w, err := x.writer()
			if err != nil {
				return err
			}
			inject("close", x.team.c)
			return w.Close(ctx)
		})
		return edge.First(err, x.team.leave(ctx))
	})
}

//export blobioGoAbort
func blobioGoAbort(h uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		x, err := files.Get(h)
		if err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.r != nil {
			return fmt.Errorf("%s: opened for reading: %w", x.path, edge.ErrState)
		}
		if _, err := files.Take(h); err != nil {
			return err
		}
		x.closed = true
		if x.w != nil {
			x.w.Abort()
		}
		if x.team.fail != nil {
			x.team.fail(errAborted)
		}
		return x.team.leave(context.Background())
	})
}
