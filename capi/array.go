//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"context"
	"fmt"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/elem"
	"blobio/versioned"
)

// openArrays are the versioned arrays that C has opened.
var openArrays edge.Table[*held[*versioned.Array]]

// kinds gives the element type of an array for each type in C.
var kinds = map[cdf5.Type]versioned.Type{cdf5.Byte: elem.Int8, cdf5.Short: elem.Int16, cdf5.Int: elem.Int32, cdf5.Int64: elem.Int64, cdf5.UByte: elem.Uint8,
	cdf5.UShort: elem.Uint16, cdf5.UInt: elem.Uint32, cdf5.UInt64: elem.Uint64, cdf5.Float: elem.Float32, cdf5.Double: elem.Float64}

// arrayArgs reads the arguments: the directory, which may be NULL, the name and the options.
func arrayArgs(dirp, namep, optp uintptr, keep *edge.ArrayOptions) (st *versioned.Store, err error) {
	st = &versioned.Store{}
	if dirp != 0 {
		if st.Dir, err = path(dirp); err != nil {
			return nil, err
		}
	}
	if keep.Name, err = edge.String("name", namep); err != nil {
		return nil, err
	}
	s, err := optional("options", optp)
	if err == nil {
		err = keep.Set(s)
	}
	st.Copies = keep.Copies
	return st, err
}

func createArray(t team, dirp, namep uintptr, kind, ndims int32, shapep, optp, out uintptr) error {
	var st *versioned.Store
	var o edge.ArrayOptions
	var spec versioned.Spec
	return hold(&openArrays, t, "blobio_array_create", out, func() (string, error) {
		var err error
		if st, err = arrayArgs(dirp, namep, optp, &o); err != nil {
			return "", err
		}
		if ndims < 1 || ndims > 4 {
			return "", edge.Usage("array %s: %d dimensions, want 1 to 4", o.Name, ndims)
		}
		shape, err := words("shape", shapep, int64(ndims))
		spec = o.Spec
		spec.Type, spec.Shape = kinds[cdf5.Type(kind)], append([]int64(nil), shape...)
		if _, ok := kinds[cdf5.Type(kind)]; !ok && err == nil {
			err = edge.Usage("array %s: type %d, want a number", spec.Name, kind)
		}
		return st.Dir, err
	}, func(ctx context.Context, c comm.Comm) (*versioned.Array, error) {
		return versioned.Create(ctx, c, st, spec, &o.Options)
	})
}

func openArray(t team, dirp, namep uintptr, version int64, optp, out uintptr) error {
	var st *versioned.Store
	var o edge.ArrayOptions
	return hold(&openArrays, t, "blobio_array_open", out, func() (string, error) {
		var err error
		if st, err = arrayArgs(dirp, namep, optp, &o); err == nil && st.Dir == "" {
			err = edge.Usage("array %s: no directory", o.Name)
		}
		return o.Name, err
	}, func(ctx context.Context, c comm.Comm) (*versioned.Array, error) {
		if version != -1 {
			return versioned.OpenAt(ctx, c, st, o.Name, version, &o.Options)
		}
		return versioned.Open(ctx, c, st, o.Name, &o.Options)
	})
}

//export blobioGoArrayCreate
func blobioGoArrayCreate(world, dirp, namep uintptr, kind, ndims int32, shapep, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := teamOf(world)
		if err != nil {
			return err
		}
		return createArray(t, dirp, namep, kind, ndims, shapep, optp, out)
	})
}

//export blobioGoArrayCreateFortran
func blobioGoArrayCreateFortran(fcomm int32, dirp, namep uintptr, kind, ndims int32, shapep, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := adoptFortran(fcomm)
		if err != nil {
			return err
		}
		return createArray(t, dirp, namep, kind, ndims, shapep, optp, out)
	})
}

//export blobioGoArrayOpen
func blobioGoArrayOpen(world, dirp, namep uintptr, version int64, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := teamOf(world)
		if err != nil {
			return err
		}
		return openArray(t, dirp, namep, version, optp, out)
	})
}

//export blobioGoArrayOpenFortran
func blobioGoArrayOpenFortran(fcomm int32, dirp, namep uintptr, version int64, optp, out uintptr, e *C.blobio_failure) int32 {
	return guarded(e, func() error {
		t, err := adoptFortran(fcomm)
		if err != nil {
			return err
		}
		return openArray(t, dirp, namep, version, optp, out)
	})
}

// These constants say what a call transfers between C and an array.
const (
	movePut, moveGet, moveGetAt = 0, 1, 2
)

// move puts or gets numbers of one type.
func move[T comm.Number](ctx context.Context, a *versioned.Array, how int32, version int64, lo, hi []int64, data []T) error {
	switch how {
	case movePut:
		return versioned.Put(ctx, a, lo, hi, data)
	case moveGet:
		return versioned.Get(ctx, a, lo, hi, data)
	}
	return versioned.GetAt(ctx, a, version, lo, hi, data)
}

//export blobioGoArrayMove
func blobioGoArrayMove(h uintptr, how int32, version int64, startp, countp uintptr, kind int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return use(&openArrays, h, e, func(x *held[*versioned.Array]) error {
		a, ctx := x.v, context.Background()
		dims := int64(len(a.Spec().Shape))
		start, err := words("start", startp, dims)
		if err != nil {
			return err
		}
		count, err := words("count", countp, dims)
		if err != nil {
			return err
		}
		hi := make([]int64, dims)
		for d := range hi {
			if hi[d] = start[d] + count[d]; count[d] < 0 || hi[d] < start[d] {
				return edge.Usage("array %s: dimension %d: %d elements from %d on, want a count >= 0", a.Spec().Name, d, count[d], start[d])
			}
		}
		v, err := edge.View(cdf5.Type(kind), p, n)
		if err != nil {
			return fmt.Errorf("array %s: %w", a.Spec().Name, err)
		}
		if kinds[cdf5.Type(kind)] != a.Spec().Type || cdf5.Type(kind) == cdf5.Char {
			return edge.Usage("array %s has elements of %v, not of type %d", a.Spec().Name, a.Spec().Type, kind)
		}
		switch v := v.(type) {
		case []int8:
			return move(ctx, a, how, version, start, hi, v)
		case []int16:
			return move(ctx, a, how, version, start, hi, v)
		case []int32:
			return move(ctx, a, how, version, start, hi, v)
		case []int64:
			return move(ctx, a, how, version, start, hi, v)
		case []uint8:
			return move(ctx, a, how, version, start, hi, v)
		case []uint16:
			return move(ctx, a, how, version, start, hi, v)
		case []uint32:
			return move(ctx, a, how, version, start, hi, v)
		case []uint64:
			return move(ctx, a, how, version, start, hi, v)
		case []float32:
			return move(ctx, a, how, version, start, hi, v)
		default:
			return move(ctx, a, how, version, start, hi, v.([]float64))
		}
	})
}

//export blobioGoArrayFence
func blobioGoArrayFence(h uintptr, e *C.blobio_failure) int32 {
	return useJointly(&openArrays, h, "blobio_array_fence", e, func(ctx context.Context, a *versioned.Array) error { return a.Fence(ctx) })
}

//export blobioGoArrayIncrement
func blobioGoArrayIncrement(h uintptr, step int64, labelp, version uintptr, e *C.blobio_failure) int32 {
	var label string
	var slot []int64
	return withArguments(&openArrays, h, "blobio_array_increment", e, func() (err error) {
		if label, err = optional("label", labelp); err == nil && version != 0 {
			slot, err = edge.Slice[int64](version, 1)
		}
		return err
	}, func(ctx context.Context, a *versioned.Array) error {
		n, err := a.Inc(ctx, step, label)
		if err == nil && version != 0 {
			slot[0] = n
		}
		return err
	})
}

//export blobioGoArrayRestore
func blobioGoArrayRestore(h uintptr, version int64, e *C.blobio_failure) int32 {
	return useJointly(&openArrays, h, "blobio_array_restore", e, func(ctx context.Context, a *versioned.Array) error { return a.Restore(ctx, version) })
}

//export blobioGoArrayTaint
func blobioGoArrayTaint(h uintptr, n int32, versionsp uintptr, e *C.blobio_failure) int32 {
	var list []int64
	return withArguments(&openArrays, h, "blobio_array_taint", e, func() (err error) {
		list, err = words("versions", versionsp, int64(n))
		return err
	}, func(ctx context.Context, a *versioned.Array) error { return a.Taint(ctx, list...) })
}

//export blobioGoArrayList
func blobioGoArrayList(h uintptr, most int32, versions, tainted, count uintptr, e *C.blobio_failure) int32 {
	return use(&openArrays, h, e, func(x *held[*versioned.Array]) error {
		var numbers []int64
		var marks []int32
		for _, v := range x.v.Versions() {
			numbers, marks = append(numbers, v.Number), append(marks, int32(bit(v.Tainted)))
		}
		if err := putList("marks", marks, most, tainted, count); err != nil {
			return err
		}
		return putList("versions", numbers, most, versions, count)
	})
}

//export blobioGoArrayInq
func blobioGoArrayInq(h, kindp, ndims, shape uintptr, most int32, newest uintptr, e *C.blobio_failure) int32 {
	return use(&openArrays, h, e, func(x *held[*versioned.Array]) error {
		s := x.v.Spec()
		for k, v := range kinds {
			if v == s.Type {
				if err := edge.Store(kindp, int32(k)); err != nil {
					return err
				}
			}
		}
		if err := edge.Store(newest, x.v.Newest()); err != nil {
			return err
		}
		return putList("lengths", s.Shape, most, shape, ndims)
	})
}

//export blobioGoArrayClose
func blobioGoArrayClose(h uintptr, e *C.blobio_failure) int32 {
	return release(&openArrays, h, "blobio_array_close", e, func(ctx context.Context, a *versioned.Array) error { return a.Close(ctx) })
}
