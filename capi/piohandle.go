//go:build cgo && unix && mpi

package main

// #include "pio/edge.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"blobio/capi/internal/edge"
	"blobio/comm"
	"blobio/pio"
)

// Error handling methods of PIO.
const (
	handleInternal int32 = -51 // an error ends the job
	handleReturn   int32 = -54 // the last of the methods that return the code
)

// defaultHandler is the error handling method of new I/O systems, and of calls without a handle.
var defaultHandler atomic.Int32

func init() { defaultHandler.Store(handleInternal) }

// Codes that package pio does not use.
const (
	eNotNC4    pio.Code = -111
	eLateDef   pio.Code = -123
	eBadChunk  pio.Code = -127
	eNotBuilt  pio.Code = -128
	eNoFilter  pio.Code = -136
	eBadIOType pio.Code = -500
)

// ids maps handles to values. Handles are small numbers. No handle is reused before all numbers have been
// used.
type ids[T any] struct {
	mu   sync.Mutex
	last int32
	vals map[int32]T
}

// newIDs returns a set whose first handle is first.
func newIDs[T any](first int32) *ids[T] { return &ids[T]{last: first - 1, vals: map[int32]T{}} }

func (t *ids[T]) add(v T) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.last++; ; t.last++ {
		if _, used := t.vals[t.last]; !used && t.last > 0 {
			t.vals[t.last] = v
			return t.last
		}
	}
}

func (t *ids[T]) get(what string, id int32) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.vals[id]
	if !ok {
		return v, fmt.Errorf("%d is not the id of %s: %w", id, what, pio.EBADID)
	}
	return v, nil
}

func (t *ids[T]) drop(id int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.vals, id)
}

// in returns the handles of the values for which f returns true, in the order of creation, which is the
// same on all ranks.
func (t *ids[T]) in(f func(T) bool) (list []int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, v := range t.vals {
		if f(v) {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// The ranges differ, so that a handle of one kind is not valid for another kind.
var (
	systems = newIDs[*pioSystem](2048)
	decomps = newIDs[*pioDecomp](512)
	opened  = newIDs[*pioFile](16)
)

// pioSystem is a group of ranks that call PIO together, one call at a time.
type pioSystem struct {
	mu      sync.Mutex
	s       *pio.System
	team    team
	handler int32
	form    string // form selected by a hint; "" means the environment decides
	cache   cache  // default cache of variables in files of netCDF-4 I/O types
}

type pioDecomp struct {
	sys *pioSystem
	d   *pio.Decomp
}

type pioFile struct {
	id      int32 // id of sys
	sys     *pioSystem
	f       *pio.File
	handler int32 // 0 means the handler of the I/O system
	format  int32 // netCDF's number of the requested format; 0 means the format of the file
	nc4     bool  // the I/O type is netCDF-4, and the format can have netCDF-4 settings
	redefs  bool  // redef in define mode succeeds
	write   bool
	late    int // number of variables at opening or at the last enddef; later variables can still be changed
	storage map[int32]*storage
}

// answer passes an error's code and text, and the error handling method, to C.
func answer(e *C.blobio_pio_failure, handler int32, err error) int32 {
	if err == nil {
		return 0
	}
	if e.handler = C.int32_t(handler); handler == 0 {
		e.handler = C.int32_t(defaultHandler.Load())
	}
	put(e.text[:], edge.Words(err.Error()))
	return int32(codeOf(err))
}

// codeOf is pio.CodeOf, extended to errors of package edge.
func codeOf(err error) pio.Code {
	var c pio.Code
	switch {
	case errors.As(err, &c):
		return c
	case errors.Is(err, edge.ErrHandle):
		return pio.EBADID
	case errors.Is(err, edge.ErrFault), errors.Is(err, edge.ErrSmall):
		return pio.EINVAL
	}
	return pio.CodeOf(err)
}

// anyhow runs a call that has no handle.
func anyhow(e *C.blobio_pio_failure, f func() error) int32 { return answer(e, 0, safely(f)) }

// onSystem runs f on an I/O system. No other call uses the system at the same time.
func onSystem(id int32, e *C.blobio_pio_failure, f func(*pioSystem) error) int32 {
	sys, err := systems.get("an I/O system", id)
	if err != nil {
		return answer(e, 0, err)
	}
	sys.mu.Lock()
	defer sys.mu.Unlock()
	return answer(e, sys.handler, sys.team.together(func() error { return f(sys) }))
}

// onFile runs f on an open file. No other call uses the file's I/O system at the same time.
func onFile(nc int32, e *C.blobio_pio_failure, f func(*pioFile) error) int32 {
	x, err := opened.get("an open file", nc)
	if err != nil {
		return answer(e, 0, err)
	}
	x.sys.mu.Lock()
	defer x.sys.mu.Unlock()
	handler := x.handler
	if handler == 0 {
		handler = x.sys.handler
	}
	return answer(e, handler, x.sys.team.together(func() error { return f(x) }))
}

// agreed turns a wrong argument on one rank into an error with the same code on all ranks.
func (s *pioSystem) agreed(ctx context.Context, err error) error { return agreed(ctx, s.team.c, err) }

func agreed(ctx context.Context, c comm.Comm, err error) error {
	if err != nil {
		err = &numbered{err, codeOf(err)}
	}
	return pio.Agree(ctx, c, err)
}

// numbered is an error of package edge whose code package pio cannot derive.
type numbered struct {
	error
	code pio.Code
}

func (e *numbered) Unwrap() []error { return []error{e.error, e.code} }
