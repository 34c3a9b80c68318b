//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
)

// open opens a dataset for a team. It releases the team before it returns, unless the ranks read
// together.
func open(t team, pathp, optp, out uintptr) error {
	ctx := in("blobio_open")
	var x *file
	var stay bool
	err := t.together(func() error {
		o := new(edge.Reading)
		name, err := arguments(pathp, optp, out, func(s string) error {
			got, err := edge.ReadOptions(s)
			if err == nil {
				o, stay = got, got.Collective
			}
			return err
		})
		if both, e := comm.AllreduceOne(ctx, t.c, bit(stay), comm.Max); err == nil && (e != nil || both != bit(stay)) {
			err = cmp.Or(e, edge.Usage("%s: option collective=yes is set on some ranks only", name))
		}
		inject("open", t.c)
		if err := comm.Agree(ctx, t.c, err); err != nil {
			return err
		}
		r, err := blob.OpenComm(ctx, t.c, name, &o.OpenOptions)
		if err == nil {
			x = &file{path: name, r: r, layout: r.Form().Layout}
			if stay {
				x.team, x.joint = t, newJoint(r.Collective(t.c))
			}
		}
		return err
	})
	if err == nil && stay {
		return edge.Store(out, files.Add(x))
	}
	left := t.leave(ctx)
	if err == nil && left != nil {
		err = cmp.Or(left, x.r.Close())
	}
	if err != nil {
		return err
	}
	return edge.Store(out, files.Add(x))
}

//export blobioGoOpen
func blobioGoOpen(world, pathp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := teamOf(world)
		if err != nil {
			return err
		}
		return open(t, pathp, optp, out)
	})
}

//export blobioGoOpenFortran
func blobioGoOpenFortran(fcomm int32, pathp, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := adoptFortran(fcomm)
		if err != nil {
			return err
		}
		return open(t, pathp, optp, out)
	})
}

// reading runs f on a variable of an open dataset. Other reads may run at the same time.
func reading(h uintptr, varid int32, e *C.blobio_failure, f func(*blob.Reader, *blob.Schema, *blob.Variable) error) int32 {
	return withReader(h, e, shared, func(x *file, r *blob.Reader) error {
		s, v, err := x.variable(varid)
		if err != nil {
			return err
		}
		return f(r, s, v)
	})
}

//export blobioGoGetVara
func blobioGoGetVara(h uintptr, varid int32, startp, countp uintptr, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return reading(h, varid, e, func(r *blob.Reader, _ *blob.Schema, v *blob.Variable) error {
		var start, count []int64
		if dims := int64(len(v.Dims)); startp != 0 || countp != 0 {
			var err error
			if start, err = words("start", startp, dims); err != nil {
				return err
			}
			if count, err = words("count", countp, dims); err != nil {
				return err
			}
		}
		dst, err := view("read", v, t, p, n)
		if err != nil {
			return err
		}
		return r.Read(context.Background(), v.Name, start, count, dst)
	})
}

//export blobioGoGetDarray
func blobioGoGetDarray(h uintptr, varid int32, rec, nruns int64, offp, lenp uintptr, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return reading(h, varid, e, func(r *blob.Reader, _ *blob.Schema, v *blob.Variable) error {
		runs, err := requests(nruns, offp, lenp)
		if err != nil {
			return err
		}
		dst, err := view("read", v, t, p, n)
		if err != nil {
			return err
		}
		return r.ReadRuns(context.Background(), v.Name, rec, runs, dst)
	})
}

//export blobioGoGetDarrayPIO
func blobioGoGetDarrayPIO(h uintptr, varid int32, rec, n int64, dofp uintptr, t int32, p uintptr, e *C.blobio_failure) int32 {
	return reading(h, varid, e, func(r *blob.Reader, s *blob.Schema, v *blob.Variable) error {
		w, err := wantedBy(s, v, t, n, dofp, p)
		if err != nil {
			return err
		}
		if err := r.ReadRuns(context.Background(), v.Name, rec, w.runs, w.into); err != nil {
			return err
		}
		w.unpack()
		return nil
	})
}

// wanted describes a read by compdof: elements of runs, which are read into memory without holes.
type wanted struct {
	runs   []decomp.Req
	into   any
	unpack func() // copies the elements to the caller's memory
}

func wantedBy(s *blob.Schema, v *blob.Variable, t int32, n int64, dofp, p uintptr) (*wanted, error) {
	list, err := words("compdof", dofp, n)
	if err != nil {
		return nil, err
	}
	elems := int64(1)
	for i, d := range v.Dims {
		if i > 0 || !v.Record {
			elems *= s.Dims()[d].Len
		}
	}
	dof, err := edge.NewDof(list, elems, 0)
	if err != nil {
		return nil, fmt.Errorf("read of %q: %w", v.Name, err)
	}
	dst, err := view("read", v, t, p, n)
	if err != nil {
		return nil, err
	}
	if !dof.Holes() {
		return &wanted{dof.Runs, dst, func() {}}, nil
	}
	packed, err := edge.Make(cdf5.Type(t), dof.Kept)
	if err != nil {
		return nil, err
	}
	return &wanted{dof.Runs, packed, func() { dof.Unpack(edge.Bytes(dst), edge.Bytes(packed), cdf5.Type(t).Size()) }}, nil
}

//export blobioGoGetBlob
func blobioGoGetBlob(h uintptr, varid int32, rec int64, rank, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return reading(h, varid, e, func(r *blob.Reader, _ *blob.Schema, v *blob.Variable) error {
		dst, err := view("read", v, t, p, n)
		if err != nil {
			return err
		}
		b, err := r.Inspect().RankBlob(context.Background(), v.Name, rec, int(rank))
		if err != nil {
			return err
		}
		if err := edge.Convert(dst, b.Data, v.Type == cdf5.Char); err != nil {
			return fmt.Errorf("blob of %q of rank %d: %w", v.Name, rank, err)
		}
		return nil
	})
}

// withMap runs f with the map of a decomposition of an open dataset.
func withMap(h uintptr, d int32, e *C.blobio_failure, f func(*file, *decomp.Map) error) int32 {
	return withReader(h, e, shared, func(x *file, r *blob.Reader) error {
		if n := r.Schema().NumDecomps(); d < 1 || int(d) > n {
			return edge.Usage("%s: decomposition %d, want 1..%d", x.path, d, n)
		}
		m, err := r.Map(context.Background(), blob.DecompID(d))
		if err != nil {
			return err
		}
		return f(x, m)
	})
}

//export blobioGoInqDecomp
func blobioGoInqDecomp(h uintptr, d int32, ndimsp, dimp uintptr, maxdims int32, ranksp uintptr, e *C.blobio_failure) int32 {
	return withMap(h, d, e, func(x *file, m *decomp.Map) error {
		return errors.Join(
			storeIDs(x.r.Schema().DecompDimIDs(blob.DecompID(d)), ndimsp, dimp, maxdims),
			edge.Store(ranksp, int32(m.Ranks())))
	})
}

// withPart is withMap, but first checks that the map has the rank.
func withPart(h uintptr, d, rank int32, e *C.blobio_failure, f func(*file, *decomp.Map) error) int32 {
	return withMap(h, d, e, func(x *file, m *decomp.Map) error {
		if rank < 0 || int(rank) >= m.Ranks() {
			return edge.Usage("%s: rank %d, want 0..%d", x.path, rank, m.Ranks()-1)
		}
		return f(x, m)
	})
}

//export blobioGoInqDecompRank
func blobioGoInqDecompRank(h uintptr, d, rank int32, runsp, elemsp uintptr, e *C.blobio_failure) int32 {
	return withPart(h, d, rank, e, func(_ *file, m *decomp.Map) error {
		return errors.Join(edge.Store(runsp, m.NumReqs(int(rank))), edge.Store(elemsp, m.Count(int(rank))))
	})
}

//export blobioGoGetDecompRank
func blobioGoGetDecompRank(h uintptr, d, rank int32, n int64, offp, lenp uintptr, e *C.blobio_failure) int32 {
	return withPart(h, d, rank, e, func(x *file, m *decomp.Map) error {
		if want := m.NumReqs(int(rank)); n != want {
			return edge.Usage("%s: the array has room for %d runs, want %d", x.path, n, want)
		}
		off, lens, err := pairs(n, offp, lenp)
		if err != nil {
			return err
		}
		i := 0
		for q := range m.Reqs(int(rank)) {
			off[i], lens[i] = q.Offset, q.Length
			i++
		}
		return nil
	})
}
