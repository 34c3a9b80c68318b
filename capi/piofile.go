//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/pio"
)

// Bits of the mode of a file.
const (
	modeWrite     = 1
	modeNoClobber = 4
	mode64Data    = 0x20
	mode64Offset  = 0x200
)

// netCDF4 is netCDF's number for the netCDF-4 format.
const netCDF4 = 3

// ofNetCDF4 reports whether PIO writes netCDF-4 files for an I/O type.
func ofNetCDF4(iotype int32) bool { return iotype >= 3 && iotype <= 5 }

// formVariable is the environment variable that selects the form of the files. A hint overrides it.
const formVariable = "BLOBIO_PIO"

// fileOptions returns the options for an I/O type and a mode.
func (s *pioSystem) fileOptions(iotype, mode int32) (*pio.FileOptions, error) {
	ncar := mode&C.PIO_OF_NCAR != 0
	if iotype < 1 || iotype > 9 {
		code := eBadIOType
		if ncar {
			code = pio.EINVAL
		}
		return nil, fmt.Errorf("I/O type %d, want PIO_IOTYPE_PNETCDF to PIO_IOTYPE_HDF5C: %w", iotype, code)
	}
	o := &pio.FileOptions{NoClobber: mode&modeNoClobber != 0, Write: mode&modeWrite != 0, Auto: iotype > 2, OwnFill: ncar, Buffer: bufferLimit.Load()}
	switch {
	case o.Buffer == 0:
		o.Buffer = -1
	case o.Buffer < 0:
		o.Buffer = 0 // 0 selects the default buffer
	}
	switch {
	case mode&mode64Data != 0:
		o.Version = cdf5.CDF5
	case mode&mode64Offset != 0:
		o.Version = cdf5.CDF2
	}
	var err error
	if o.Stats, err = statsOut(); err != nil {
		return nil, err
	}
	if s := cmp.Or(s.form, os.Getenv(formVariable)); s != "" {
		f, err := pio.ParseForm(s)
		if err != nil {
			return nil, fmt.Errorf("%s or the hint %s: %w", formVariable, formHint, err)
		}
		o.Form = f
	}
	return o, nil
}

// opening holds the arguments for creating or opening a file.
type opening struct {
	id           int32
	name         uintptr
	iotype, mode int32
	out          uintptr
}

// file creates or opens a file with f and stores its handle. f returns the requested format as netCDF's
// number. Collective.
func (a opening) file(ctx context.Context, s *pioSystem, f func(name string, o *pio.FileOptions) (x *pio.File, format int32, err error)) error {
	var name string
	o, err := s.fileOptions(a.iotype, a.mode)
	if err == nil {
		err = safely(func() (err error) {
			if name, err = path(a.name); err == nil && a.out == 0 {
				err = edge.Usage("%s: the address for the file id is NULL", name)
			}
			return err
		})
	}
	if err := s.agreed(ctx, err); err != nil {
		return err
	}
	x := &pioFile{id: a.id, sys: s, nc4: ofNetCDF4(a.iotype)}
	if x.f, x.format, err = f(name, o); err != nil {
		return err
	}
	if x.nc4 && x.format == 0 { // an opened file: blobs count as netCDF-4, as requested, but CDF-1 and CDF-2 files do not
		format, err := x.f.Format()
		if err != nil {
			return err
		}
		if x.nc4 = format >= netCDF4; x.nc4 {
			x.format = netCDF4
		}
	}
	x.write, x.redefs = o.Write, x.nc4 && a.mode&C.PIO_OF_NCAR != 0
	if _, x.late, _, _, err = x.f.Counts(); err != nil {
		return err
	}
	return edge.Store(a.out, opened.add(x))
}

//export blobioGoPioCreate
func blobioGoPioCreate(id int32, namep uintptr, iotype, mode int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		ctx := in("PIOc_createfile")
		return opening{id, namep, iotype, mode, out}.file(ctx, sys, func(name string, o *pio.FileOptions) (*pio.File, int32, error) {
			o.Write = true
			format := int32(cmp.Or(o.Version, cdf5.CDF1))
			if ofNetCDF4(iotype) {
				format = netCDF4
			} else if iotype > 2 {
				format = int32(o.Version)
			}
			f, err := sys.s.Create(ctx, name, o)
			if err != nil {
				return nil, 0, err
			}
			_, err = f.SetFill(true) // PIO files begin in this state
			return f, format, err
		})
	})
}

//export blobioGoPioOpen
func blobioGoPioOpen(id int32, namep uintptr, iotype, mode int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		ctx := in("PIOc_openfile")
		return opening{id, namep, iotype, mode, out}.file(ctx, sys, func(name string, o *pio.FileOptions) (*pio.File, int32, error) {
			f, err := sys.s.Open(ctx, name, o)
			return f, 0, err
		})
	})
}

//export blobioGoPioClose
func blobioGoPioClose(nc int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		opened.drop(nc)
		return x.f.Close(in("PIOc_closefile"))
	})
}

//export blobioGoPioDelete
func blobioGoPioDelete(id int32, namep uintptr, e *C.blobio_pio_failure) int32 {
	return onSystem(id, e, func(sys *pioSystem) error {
		ctx := in("PIOc_deletefile")
		var name string
		err := safely(func() (err error) {
			name, err = path(namep)
			return err
		})
		if err := sys.agreed(ctx, err); err != nil {
			return err
		}
		return sys.s.Delete(ctx, name)
	})
}

//export blobioGoPioIsOpen
func blobioGoPioIsOpen(nc int32, out uintptr, e *C.blobio_pio_failure) int32 {
	return anyhow(e, func() error {
		if _, err := opened.get("an open file", nc); err != nil {
			return edge.Store(out, int32(0))
		}
		return edge.Store(out, int32(1))
	})
}

//export blobioGoPioSync
func blobioGoPioSync(nc int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error { return x.f.Sync(in("PIOc_sync")) })
}

//export blobioGoPioRedef
func blobioGoPioRedef(nc int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		err := x.f.Redef()
		if x.redefs && errors.Is(err, pio.EINDEFINE) {
			return nil
		}
		return err
	})
}

//export blobioGoPioEnddef
func blobioGoPioEnddef(nc int32, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		err := x.f.EndDef()
		if err == nil {
			_, x.late, _, _, err = x.f.Counts()
		}
		return err
	})
}

//export blobioGoPioInq
func blobioGoPioInq(nc int32, dimsp, varsp, attsp, unlimp, formatp uintptr, e *C.blobio_pio_failure) int32 {
	return onFile(nc, e, func(x *pioFile) error {
		dims, vars, atts, unlim, err := x.f.Counts()
		if err != nil {
			return err
		}
		format, err := x.f.Format()
		if err != nil {
			return err
		}
		return errors.Join(edge.Store(dimsp, int32(dims)), edge.Store(varsp, int32(vars)), edge.Store(attsp, int32(atts)),
			edge.Store(unlimp, int32(unlim)), edge.Store(formatp, cmp.Or(x.format, int32(format))))
	})
}
