//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"

	"blobio/capi/internal/edge"
	"blobio/pio"
)

// Filters for which netCDF has functions, with HDF5's numbers.
const (
	filterDeflate = 1
	filterShuffle = 2
)

var filters = []uint32{filterDeflate, filterShuffle, 3, 4, 307, 32015} // and fletcher32, szip, bzip2, zstandard

// maxParams is the maximum number of parameters of these filters. inq_filter in pio.c has room for as
// many.
const maxParams = 2

type filter struct {
	id     uint32
	params []uint32
}

func (s *storage) filter(id uint32) *filter {
	if i := slices.IndexFunc(s.filters, func(f filter) bool { return f.id == id }); i >= 0 {
		return &s.filters[i]
	}
	return nil
}

// set adds a filter, or replaces its parameters. If on is false, it removes the filter.
func (s *storage) set(id uint32, on bool, params ...uint32) {
	s.filters = slices.DeleteFunc(s.filters, func(f filter) bool { return f.id == id })
	if on {
		s.filters = append(s.filters, filter{id, params})
	}
}

//export blobioGoPioDefDeflate
func blobioGoPioDefDeflate(nc, v, shuffle, deflate, level int32, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, true, e, func(x *pioFile, w *pio.Var, s *storage) error {
		if deflate != 0 && (level < 0 || level > 9) {
			return edge.Usage("%s: deflate level %d of %q, want 0 to 9", x.f.Path(), level, w.Name)
		}
		if err := s.filterable(x, w); err != nil && (shuffle != 0 || deflate != 0) {
			return err
		}
		s.set(filterShuffle, shuffle != 0)
		s.set(filterDeflate, deflate != 0, uint32(level))
		return nil
	})
}

// filterable returns an error if netCDF does not allow filters for the variable.
func (s *storage) filterable(x *pioFile, w *pio.Var) error {
	if len(w.Dims) == 0 || s.way > chunked {
		return edge.Usage("%s: variable %q cannot have filters, because it is not a chunked array", x.f.Path(), w.Name)
	}
	return nil
}

//export blobioGoPioDefFilter
func blobioGoPioDefFilter(nc, v int32, id uint32, n int64, paramsp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, true, e, func(x *pioFile, w *pio.Var, s *storage) error {
		if !slices.Contains(filters, id) {
			return noFilter(x, id)
		}
		if n > maxParams {
			return edge.Usage("%s: %d parameters of filter %d of %q, want at most %d", x.f.Path(), n, id, w.Name, maxParams)
		}
		params, err := edge.Slice[uint32](paramsp, n)
		if err == nil {
			err = s.filterable(x, w)
		}
		if err != nil {
			return err
		}
		s.set(id, true, slices.Clone(params)...)
		return nil
	})
}

func noFilter(x *pioFile, id uint32) error {
	return fmt.Errorf("%s: filter %d, want one of %v: %w", x.f.Path(), id, filters, eNoFilter)
}

// If the variable does not have the filter, has is 0 and the parameters stay unchanged.
//
//export blobioGoPioInqFilter
func blobioGoPioInqFilter(nc, v int32, id uint32, hasp, np, paramsp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, false, e, func(x *pioFile, _ *pio.Var, s *storage) error {
		f := s.filter(id)
		if f == nil && hasp == 0 {
			return noFilter(x, id)
		}
		if f == nil {
			return edge.Store(hasp, int32(0))
		}
		return errors.Join(edge.Store(hasp, int32(1)), edge.Store(np, uintptr(len(f.params))), storeAll(paramsp, f.params))
	})
}

// storeAll stores consecutive values, or nothing if p is NULL.
func storeAll[T any](p uintptr, v []T) error {
	if p == 0 {
		return nil
	}
	to, err := edge.Slice[T](p, int64(len(v)))
	copy(to, v)
	return err
}

// The list has no shuffle and checksum filters, as in netCDF.
//
//export blobioGoPioInqFilterIDs
func blobioGoPioInqFilterIDs(nc, v int32, np, idsp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, false, e, func(_ *pioFile, _ *pio.Var, s *storage) error {
		var list []uint32
		for _, f := range s.filters {
			if f.id != filterShuffle && f.id != 3 {
				list = append(list, f.id)
			}
		}
		return errors.Join(edge.Store(np, uintptr(len(list))), storeAll(idsp, list))
	})
}

//export blobioGoPioFilterAvail
func blobioGoPioFilterAvail(nc int32, id uint32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		if !x.nc4 {
			return fmt.Errorf("%s: %w", x.f.Path(), eNotNC4)
		}
		if !slices.Contains(filters, id) {
			return noFilter(x, id)
		}
		return nil
	})
}
