//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/pio"
)

// Storage settings of netCDF-4 variables: chunks, filters, byte order, caches. Blobs have no such settings. For a file of a
// netCDF-4 I/O type, a setting is checked, kept while the file is open, and returned by inquiries. The written bytes do not
// depend on it.

// Kinds of storage, as numbered by netCDF.
const (
	chunked    = 0
	contiguous = 1
	compact    = 2
)

// cache describes a chunk cache: its bytes, its slots, and the preemption of full chunks, from 0 to 1.
type cache struct {
	size, elems int64
	preemption  float32
}

// usualCache is netCDF's default.
var usualCache = cache{16 << 20, 4133, 0.75}

func (c cache) check() error {
	if c.size < 0 || c.elems < 0 || !(c.preemption >= 0 && c.preemption <= 1) {
		return edge.Usage("chunk cache of %d bytes, %d elements, preemption %v, want bytes and elements >= 0, and preemption 0 to 1", c.size, c.elems, c.preemption)
	}
	return nil
}

// storage holds the settings requested for one variable.
type storage struct {
	way            int32 // kind of storage; -1 if not requested
	chunks         []int64
	filters        []filter
	endian         int32
	quantize, keep int32 // quantization mode, and number of significant digits or bits
	cache          cache
}

// onStorage runs f for a variable in a file of a netCDF-4 I/O type. Like PIO, it checks the I/O type before the variable. define
// is true if f defines something.
func onStorage(nc, v int32, define bool, e *C.blobio_pio_failure, f func(*pioFile, *pio.Var, *storage) error) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		format, err := x.f.Format()
		if err != nil {
			return err
		}
		if !x.nc4 {
			return fmt.Errorf("%s: %w", x.f.Path(), eNotNC4)
		}
		w, err := x.f.Var(int(v))
		if err != nil {
			return err
		}
		if format == netCDF4 {
			return fmt.Errorf("%s: variable %q: storage settings of netCDF-4 files are not supported: %w", x.f.Path(), w.Name, eNotBuilt)
		}
		if define {
			if !x.write {
				return fmt.Errorf("%s: storage settings of variable %q: %w", x.f.Path(), w.Name, pio.EPERM)
			}
			if int(v) < x.late {
				return fmt.Errorf("%s: storage settings of variable %q must be made before enddef: %w", x.f.Path(), w.Name, eLateDef)
			}
		}
		s := x.storage[v]
		if s == nil {
			s = &storage{way: -1, cache: x.sys.cache}
			if x.storage == nil {
				x.storage = map[int32]*storage{}
			}
			x.storage[v] = s
		}
		return f(x, &w, s)
	})
}

// lengths returns the lengths of a variable's dimensions. The record dimension has length 0.
func lengths(x *pioFile, w *pio.Var) ([]int64, error) {
	_, _, _, unlimited, err := x.f.Counts()
	n := make([]int64, len(w.Dims))
	for i, d := range w.Dims {
		if d == unlimited || err != nil {
			continue
		}
		_, n[i], err = x.f.Dim(d)
	}
	return n, err
}

//export blobioGoPioDefChunking
func blobioGoPioDefChunking(nc, v, way int32, sizesp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, true, e, func(x *pioFile, w *pio.Var, s *storage) error {
		dims, err := lengths(x, w)
		if err != nil {
			return err
		}
		if way < chunked || way > compact || way != chunked && (slices.Contains(dims, 0) || len(s.filters) > 0) {
			return edge.Usage("%s: storage %d of %q, want 0 (chunked), 1 (contiguous) or 2 (compact), and only 0 with records or filters", x.f.Path(), way, w.Name)
		}
		var chunks []int64
		if way == chunked && sizesp != 0 {
			given, err := edge.Slice[int64](sizesp, int64(len(dims)))
			if err != nil {
				return err
			}
			chunks = slices.Clone(given)
			for i, n := range given {
				switch {
				case n == 0: // the default: the whole dimension
					chunks[i] = max(dims[i], 1)
				case n < 0:
					return fmt.Errorf("%s: chunk size %d of %q: %w", x.f.Path(), n, w.Name, pio.ERANGE)
				case dims[i] > 0 && n > dims[i]:
					return fmt.Errorf("%s: chunk size %d of %q, want 0 to %d: %w", x.f.Path(), n, w.Name, dims[i], eBadChunk)
				}
			}
		}
		s.way, s.chunks = way, chunks
		return nil
	})
}

//export blobioGoPioInqChunking
func blobioGoPioInqChunking(nc, v int32, wayp, sizesp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, false, e, func(x *pioFile, w *pio.Var, s *storage) error {
		dims, err := lengths(x, w)
		if err != nil {
			return err
		}
		way, sizes := s.way, s.chunks
		if way < 0 {
			if way = contiguous; len(s.filters) > 0 || slices.Contains(dims, 0) {
				way = chunked
			}
		}
		if way == chunked && sizes == nil { // by default a chunk is one whole record
			for _, n := range dims {
				sizes = append(sizes, max(n, 1))
			}
		}
		return errors.Join(edge.Store(wayp, way), storeAll(sizesp, sizes))
	})
}

//export blobioGoPioDefEndian
func blobioGoPioDefEndian(nc, v, endian int32, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, true, e, func(x *pioFile, w *pio.Var, s *storage) error {
		if endian < 0 || endian > 2 {
			return edge.Usage("%s: byte order %d of %q, want 0 (native), 1 (little), 2 (big)", x.f.Path(), endian, w.Name)
		}
		s.endian = endian
		return nil
	})
}

//export blobioGoPioInqEndian
func blobioGoPioInqEndian(nc, v int32, endianp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, false, e, func(_ *pioFile, _ *pio.Var, s *storage) error { return edge.Store(endianp, s.endian) })
}

//export blobioGoPioDefQuantize
func blobioGoPioDefQuantize(nc, v, mode, keep int32, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, true, e, func(x *pioFile, w *pio.Var, s *storage) error {
		most := int32(7) // significant decimal digits of a float
		switch {
		case w.Type != cdf5.Float && w.Type != cdf5.Double || mode < 0 || mode > 3:
			return edge.Usage("%s: quantize mode %d of %q of type %v, want mode 0 to 3 and type float or double", x.f.Path(), mode, w.Name, w.Type)
		case mode == 3 && w.Type == cdf5.Float:
			most = 23 // bits of a float's mantissa
		case mode == 3:
			most = 52
		case w.Type == cdf5.Double:
			most = 15
		}
		if mode != 0 && (keep < 1 || keep > most) {
			return edge.Usage("%s: %d significant digits or bits of %q, want 1 to %d", x.f.Path(), keep, w.Name, most)
		}
		if s.quantize, s.keep = mode, keep; mode == 0 {
			s.keep = 0
		}
		return nil
	})
}

//export blobioGoPioInqQuantize
func blobioGoPioInqQuantize(nc, v int32, modep, keepp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, false, e, func(_ *pioFile, _ *pio.Var, s *storage) error {
		return errors.Join(edge.Store(modep, s.quantize), edge.Store(keepp, s.keep))
	})
}

// exchange stores the values of a cache for C or, if set is not 0, reads them from C.
func (c *cache) exchange(set int32, sizep, elemsp, preemptionp uintptr) error {
	if set == 0 {
		return errors.Join(edge.Store(sizep, c.size), edge.Store(elemsp, c.elems), edge.Store(preemptionp, c.preemption))
	}
	size, err := edge.Slice[int64](sizep, 1)
	if err != nil {
		return err
	}
	elems, err := edge.Slice[int64](elemsp, 1)
	if err != nil {
		return err
	}
	preemption, err := edge.Slice[float32](preemptionp, 1)
	if err != nil {
		return err
	}
	asked := cache{size[0], elems[0], preemption[0]}
	if err := asked.check(); err != nil {
		return err
	}
	*c = asked
	return nil
}

//export blobioGoPioVarCache
func blobioGoPioVarCache(nc, v, set int32, sizep, elemsp, preemptionp uintptr, e *C.blobio_pio_failure) int32 {
	return onStorage(nc, v, false, e, func(_ *pioFile, _ *pio.Var, s *storage) error {
		return s.cache.exchange(set, sizep, elemsp, preemptionp)
	})
}

// The cache applies to variables of files that are created or opened later.
//
//export blobioGoPioCache
func blobioGoPioCache(id, iotype, set int32, sizep, elemsp, preemptionp uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		if _, err := sys.fileOptions(iotype, 0); err != nil {
			return err
		}
		if !ofNetCDF4(iotype) {
			return fmt.Errorf("a chunk cache for I/O type %d: %w", iotype, eNotNC4)
		}
		return sys.cache.exchange(set, sizep, elemsp, preemptionp)
	})
}
