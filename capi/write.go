//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/blob/dyn"
)

// errAborted is the error that other ranks get from blobio_abort.
var errAborted = fmt.Errorf("blobio_abort was called: %w", blob.ErrBroken)

// optional reads a string that may be NULL.
func optional(what string, p uintptr) (string, error) {
	if p == 0 {
		return "", nil
	}
	return edge.String(what, p)
}

// path reads a string that must not be empty.
func path(p uintptr) (string, error) {
	s, err := edge.String("path", p)
	if err == nil && s == "" {
		err = edge.Usage("the path is empty")
	}
	return s, err
}

// arguments reads the arguments of a function that opens a file, and sets the handle to NULL. It tests all addresses, so that
// after a wild address the other ranks get the error too.
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
			return edge.Usage("the address for the handle is NULL")
		}
		return edge.Store(out, uintptr(0))
	})
	return name, err
}

// begin opens a file for writing by a team. If an argument is wrong on one rank, all ranks get an error.
func begin(t team, add bool, pathp, optp, out uintptr) error {
	ctx := in(map[bool]string{false: "blobio_create", true: "blobio_append"}[add])
	var x *file
	err := t.together(func() error {
		var o *blob.Options
		name, err := arguments(pathp, optp, out, func(s string) (err error) {
			o, err = edge.WriteOptions(s)
			return err
		})
		if err == nil && t.free == nil { // there is no communicator
			err = aloneAmongOthers(name)
		}
		var lines io.Writer
		if err == nil {
			lines, err = statsOut()
		}
		inject("begin", t.c)
		wanted, err := comm.AgreeMin(ctx, t.c, err, bit(lines != nil))
		if err != nil {
			return err
		}
		if wanted[0] == 0 { // some rank does not request it
			lines = nil
		}
		d := &definitions{opts: o, add: add, schema: blob.NewSchema(), dims: map[string]bool{}, vars: map[string]bool{}}
		x = &file{path: name, team: t, layout: o.Layout, defs: d, stats: stats{out: lines}}
		if !add {
			return nil
		}
		r, err := blob.OpenComm(ctx, t.c, name, nil)
		if err != nil {
			return err
		}
		d.schema, d.have, x.layout = r.Extend(), r.Records(), r.Form().Layout
		d.dims0, d.vars0 = len(d.schema.Dims()), len(d.schema.Vars())
		for _, dim := range d.schema.Dims() {
			d.dims[dim.Name] = true
		}
		for i := range d.schema.Vars() {
			d.vars[d.schema.Vars()[i].Name] = true
		}
		inject("append", t.c)
		return comm.Agree(ctx, t.c, r.Close())
	})
	if err != nil {
		return cmp.Or(err, t.leave(ctx))
	}
	return edge.Store(out, files.Add(x))
}

//export blobioGoBegin
func blobioGoBegin(add int32, world, pathp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := teamOf(world)
		if err != nil {
			return err
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

// dof returns the holes of a variable's decomposition, or nil if there are none.
func (x *file) dof(v *blob.Variable) *edge.Dof {
	if k := int(v.Decomp) - 1; k >= 0 && k < len(x.dofs) {
		return x.dofs[k]
	}
	return nil
}

//export blobioGoPut
func blobioGoPut(h uintptr, varid int32, rec int64, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return withWriter(h, e, locked, func(x *file, w *blob.Writer) error {
		_, v, err := x.variable(varid)
		if err != nil {
			return err
		}
		defer x.stats.putting(v, n)()
		data, err := view("put", v, t, p, n)
		if err != nil {
			return err
		}
		if dof := x.dof(v); dof != nil {
			if n != dof.Elems {
				return edge.Usage("put of %q, record %d: %d elements, want %d", v.Name, rec, n, dof.Elems)
			}
			packed, err := edge.Make(cdf5.Type(t), dof.Kept)
			if err != nil {
				return err
			}
			dof.Pack(edge.Bytes(packed), edge.Bytes(data), cdf5.Type(t).Size())
			data = packed
		}
		return dyn.Put(w, blob.VarID(varid), rec, data)
	})
}

//export blobioGoPutVara
func blobioGoPutVara(h uintptr, varid int32, rec int64, startp, countp uintptr, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return withWriter(h, e, locked, func(x *file, w *blob.Writer) error {
		s, v, err := x.variable(varid)
		if err != nil {
			return err
		}
		dims := int64(len(s.Shape(blob.VarID(varid))))
		start, err := words("start", startp, dims)
		if err != nil {
			return err
		}
		count, err := words("count", countp, dims)
		if err != nil {
			return err
		}
		defer x.stats.putting(v, n)()
		data, err := view("put", v, t, p, n)
		if err != nil {
			return err
		}
		return dyn.PutAt(w, blob.VarID(varid), rec, start, count, data)
	})
}

//export blobioGoPutCount
func blobioGoPutCount(h uintptr, varid int32, out uintptr, e *C.blobio_failure) int32 {
	return withWriter(h, e, shared, func(x *file, w *blob.Writer) error {
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
}

//export blobioGoCopies
func blobioGoCopies(h, bytesp, limitp uintptr, e *C.blobio_failure) int32 {
	return withWriter(h, e, shared, func(_ *file, w *blob.Writer) error {
		bytes, limit := w.Copies()
		return errors.Join(edge.Store(bytesp, bytes), edge.Store(limitp, limit))
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

//export blobioGoCommit
func blobioGoCommit(h uintptr, e *C.blobio_failure) int32 {
	return flush(h, e, "commit", (*blob.Writer).Commit)
}

//export blobioGoCommitAsync
func blobioGoCommitAsync(h uintptr, e *C.blobio_failure) int32 {
	return flush(h, e, "commit_async", (*blob.Writer).CommitAsync)
}

//export blobioGoCommitted
func blobioGoCommitted(h, recordsp uintptr, e *C.blobio_failure) int32 {
	return withWriter(h, e, shared, func(_ *file, w *blob.Writer) error {
		return edge.Store(recordsp, w.Committed())
	})
}

func flush(h uintptr, e *C.blobio_failure, name string, f func(*blob.Writer, context.Context) error) int32 {
	return withWriter(h, e, locked, func(x *file, w *blob.Writer) error {
		defer spend(&x.stats.commit)()
		return x.team.together(func() error {
			inject(name, x.team.c)
			return f(w, in("blobio_"+name))
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
		ctx := in("blobio_close")
		if x.joint != nil {
			return cmp.Or(x.r.Close(), x.team.leave(ctx))
		}
		if x.r != nil {
			return x.r.Close()
		}
		err = x.team.together(func() error {
			if x.defs != nil {
				if err := x.enddef(in("blobio_enddef")); err != nil { // another rank may have called blobio_enddef explicitly
					return err
				}
			}
			w, err := x.writer()
			if err != nil {
				return err
			}
			inject("close", x.team.c)
			stop := spend(&x.stats.close)
			err = w.Close(ctx)
			stop()
			return x.stats.report(ctx, x.team.c, x.path, err)
		})
		return cmp.Or(err, x.team.leave(ctx))
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
			return fmt.Errorf("%s: the dataset is open for reading: %w", x.path, edge.ErrState)
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
