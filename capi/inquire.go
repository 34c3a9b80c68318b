//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/internal/base/fault"
)

//export blobioGoInq
func blobioGoInq(h, layoutp, ndimsp, nvarsp, nattsp, ndecompsp, unlimp, recordsp uintptr, e *C.blobio_failure) int32 {
	return withSchema(h, e, func(x *file, s *blob.Schema) error {
		unlim := int32(-1)
		for i, d := range s.Dims() {
			if d.Len == blob.Unlimited {
				unlim = int32(i)
			}
		}
		return errors.Join(
			edge.Store(layoutp, int32(x.layout)),
			edge.Store(ndimsp, int32(len(s.Dims()))),
			edge.Store(nvarsp, int32(len(s.Vars()))),
			edge.Store(nattsp, int32(len(s.Attributes()))),
			edge.Store(ndecompsp, int32(s.NumDecomps())),
			edge.Store(unlimp, unlim),
			edge.Store(recordsp, x.records()))
	})
}

//export blobioGoInqRanks
func blobioGoInqRanks(h, subfilesp, ranksp uintptr, e *C.blobio_failure) int32 {
	return withReader(h, e, shared, func(_ *file, r *blob.Reader) error {
		n, ranks := r.Subfiles()
		return errors.Join(edge.Store(subfilesp, int32(n)), edge.Store(ranksp, int32(ranks)))
	})
}

//export blobioGoRefresh
func blobioGoRefresh(h, recordsp uintptr, e *C.blobio_failure) int32 {
	return withReader(h, e, locked, func(x *file, r *blob.Reader) error {
		n, err := r.Refresh(context.Background())
		if err == nil && x.joint != nil {
			x.joint = newJoint(r.Collective(x.team.c)) // for the new state
		}
		if err != nil {
			return err
		}
		return edge.Store(recordsp, n)
	})
}

//export blobioGoWaitRecords
func blobioGoWaitRecords(h uintptr, n int64, seconds float64, recordsp uintptr, e *C.blobio_failure) int32 {
	return withReader(h, e, shared, func(x *file, r *blob.Reader) error {
		if x.joint != nil {
			return fmt.Errorf("%s: the dataset is open with collective=yes: %w", x.path, edge.ErrState)
		}
		ctx := context.Background()
		if seconds >= 0 {
			until, cancel := context.WithTimeout(ctx, time.Duration(min(seconds, maxWait)*float64(time.Second)))
			defer cancel()
			ctx = until
		}
		have, err := r.WaitRecords(ctx, n)
		if errors.Is(err, context.DeadlineExceeded) {
			err = nil // no error: the number of records shows the timeout
			if have, err = r.Refresh(context.Background()); err != nil {
				return err
			}
		}
		return cmp.Or(err, edge.Store(recordsp, have))
	})
}

// maxWait stands for a wait without a limit, in seconds.
const maxWait = 1e9

//export blobioGoStatus
func blobioGoStatus(pathp uintptr, wait int32, statusp, recordsp uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		path, err := edge.String("path", pathp)
		if err != nil {
			return err
		}
		look, w := (*blob.Watch).Look, blob.NewWatch(nil, path)
		if wait != 0 {
			look = func(w *blob.Watch) (*blob.Status, error) { return w.Settle(context.Background()) }
		}
		s, err := look(w)
		if err != nil {
			return err
		}
		return errors.Join(edge.Store(statusp, int32(s.State)), edge.Store(recordsp, s.Records))
	})
}

//export blobioGoInqDimID
func blobioGoInqDimID(h, namep, out uintptr, e *C.blobio_failure) int32 {
	return withSchema(h, e, func(x *file, s *blob.Schema) error {
		name, err := edge.String("name", namep)
		if err != nil {
			return err
		}
		for i, d := range s.Dims() {
			if d.Name == cdf5.NormalName(name) {
				return edge.Store(out, int32(i))
			}
		}
		return fmt.Errorf("%s: dimension %q: %w", x.path, name, edge.ErrNotFound)
	})
}

//export blobioGoInqDim
func blobioGoInqDim(h uintptr, id int32, namep uintptr, size int64, lenp uintptr, e *C.blobio_failure) int32 {
	return withSchema(h, e, func(x *file, s *blob.Schema) error {
		if id < 0 || int(id) >= len(s.Dims()) {
			return edge.Usage("%s: dimension id %d, want %s", x.path, id, fault.Below(len(s.Dims()), "dimensions"))
		}
		d := s.Dims()[id]
		if d.Len == blob.Unlimited {
			d.Len = x.records()
		}
		return errors.Join(edge.Store(lenp, d.Len), edge.PutString("name of the dimension", namep, size, d.Name))
	})
}

//export blobioGoInqVarID
func blobioGoInqVarID(h, namep, out uintptr, e *C.blobio_failure) int32 {
	return withSchema(h, e, func(x *file, s *blob.Schema) error {
		name, err := edge.String("name", namep)
		if err != nil {
			return err
		}
		v, ok := s.VarID(name)
		if !ok {
			return fmt.Errorf("%s: variable %q: %w", x.path, name, edge.ErrNotFound)
		}
		return edge.Store(out, int32(v))
	})
}

// storeIDs stores all ids at dimp and their number at np. If there are more
// than room, it fails unless dimp is NULL.
func storeIDs(ids []blob.DimID, np, dimp uintptr, room int32) error {
	if err := edge.Store(np, int32(len(ids))); err != nil || dimp == 0 {
		return err
	}
	if int(room) < len(ids) {
		return fmt.Errorf("%d dimensions, but the array has only %d elements: %w", len(ids), room, edge.ErrSmall)
	}
	out, err := edge.Slice[int32](dimp, int64(len(ids)))
	for i := range out {
		out[i] = int32(ids[i])
	}
	return err
}

//export blobioGoInqVar
func blobioGoInqVar(h uintptr, id int32, namep uintptr, size int64, typep, ndimsp, dimp uintptr, maxdims int32, nattsp, decompp uintptr, e *C.blobio_failure) int32 {
	return withFile(h, e, shared, func(x *file) error {
		_, v, err := x.variable(id)
		if err != nil {
			return err
		}
		return errors.Join(
			edge.Store(typep, int32(v.Type)),
			edge.Store(nattsp, int32(len(v.Atts))),
			edge.Store(decompp, int32(v.Decomp)),
			storeIDs(v.Dims, ndimsp, dimp, maxdims),
			edge.PutString("name of the variable", namep, size, v.Name))
	})
}

//export blobioGoInqAttName
func blobioGoInqAttName(h uintptr, varid, n int32, namep uintptr, size int64, e *C.blobio_failure) int32 {
	return withFile(h, e, shared, func(x *file) error {
		atts, err := x.attributes(varid)
		if err != nil {
			return err
		}
		if n < 0 || int(n) >= len(atts) {
			return edge.Usage("%s: attribute number %d, want %s", x.path, n, fault.Below(len(atts), "attributes"))
		}
		return edge.PutString("name of the attribute", namep, size, atts[n].Name)
	})
}

// attribute runs f on an attribute.
func attribute(h uintptr, varid int32, namep uintptr, e *C.blobio_failure, f func(*cdf5.Att) error) int32 {
	return withFile(h, e, shared, func(x *file) error {
		atts, err := x.attributes(varid)
		if err != nil {
			return err
		}
		name, err := edge.String("name", namep)
		if err != nil {
			return err
		}
		a := cdf5.FindAtt(atts, name)
		if a == nil {
			return fmt.Errorf("%s: attribute %q: %w", x.path, name, edge.ErrNotFound)
		}
		if err := f(a); err != nil {
			return fmt.Errorf("%s: attribute %q: %w", x.path, name, err)
		}
		return nil
	})
}

//export blobioGoInqAtt
func blobioGoInqAtt(h uintptr, varid int32, namep, typep, lenp uintptr, e *C.blobio_failure) int32 {
	return attribute(h, varid, namep, e, func(a *cdf5.Att) error {
		return errors.Join(edge.Store(typep, int32(a.Type)), edge.Store(lenp, a.Len()))
	})
}

//export blobioGoGetAttText
func blobioGoGetAttText(h uintptr, varid int32, namep, p uintptr, size int64, e *C.blobio_failure) int32 {
	return attribute(h, varid, namep, e, func(a *cdf5.Att) error {
		s, ok := a.Value.(string)
		if !ok {
			return edge.Usage("the type is %v, want text", a.Type)
		}
		if p == 0 {
			return edge.Usage("the text is NULL")
		}
		return edge.PutString("text", p, size, s)
	})
}

//export blobioGoGetAtt
func blobioGoGetAtt(h uintptr, varid int32, namep uintptr, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return attribute(h, varid, namep, e, func(a *cdf5.Att) error {
		dst, err := edge.View(cdf5.Type(t), p, n)
		if err != nil {
			return err
		}
		return edge.Convert(dst, a.Value, a.Type == cdf5.Char)
	})
}
