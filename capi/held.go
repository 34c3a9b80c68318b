//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"blobio/capi/internal/edge"
	"blobio/comm"
)

// held is a store or an array that C has opened, with the ranks that share it.
type held[T any] struct {
	mu     sync.Mutex
	closed bool
	team   team
	v      T
}

// hold opens an object for a team. arguments reads this rank's arguments. If they are wrong on one rank, all ranks get an error.
// Collective.
func hold[T any](t *edge.Table[*held[T]], tm team, call string, out uintptr, arguments func() (name string, err error), open func(context.Context, comm.Comm) (T, error)) error {
	ctx := in(call)
	x := &held[T]{team: tm}
	err := tm.together(func() error {
		name, err := arguments()
		if err == nil && out == 0 {
			err = edge.Usage("the address for the handle is NULL")
		}
		if err == nil && tm.free == nil { // there is no communicator
			err = aloneAmongOthers(name)
		}
		if err := comm.Agree(ctx, tm.c, err); err != nil {
			return err
		}
		x.v, err = open(ctx, tm.c)
		return err
	})
	if err != nil {
		return cmp.Or(err, tm.leave(ctx))
	}
	return edge.Store(out, t.Add(x))
}

// use runs f on the object of a handle. Calls with the same handle run one at a time.
func use[T any](t *edge.Table[*held[T]], h uintptr, e *C.blobio_failure, f func(*held[T]) error) int32 {
	return guarded(e, func() error {
		x, err := t.Get(h)
		if err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.closed {
			return fmt.Errorf("handle %#x: closed by another thread: %w", h, edge.ErrHandle)
		}
		return f(x)
	})
}

// useJointly is use for a collective call. If a rank passes an unknown handle, useJointly breaks all objects that are shared
// with other ranks, because these ranks would wait for this rank.
func useJointly[T any](t *edge.Table[*held[T]], h uintptr, call string, e *C.blobio_failure, f func(context.Context, T) error) int32 {
	if _, err := t.Get(h); err != nil {
		for _, x := range t.All() {
			x.team.giveUp(err)
		}
	}
	return use(t, h, e, func(x *held[T]) error {
		return x.team.together(func() error { return f(in(call), x.v) })
	})
}

// withArguments is useJointly for calls with arguments, which read reads. If they are wrong on one rank, all ranks get an error.
func withArguments[T any](t *edge.Table[*held[T]], h uintptr, call string, e *C.blobio_failure, read func() error, f func(context.Context, T) error) int32 {
	return useJointly(t, h, call, e, func(ctx context.Context, v T) error {
		x, err := t.Get(h)
		if err == nil {
			err = comm.Agree(ctx, x.team.c, read())
		}
		if err != nil {
			return err
		}
		return f(ctx, v)
	})
}

// release closes the object of a handle. Collective.
func release[T any](t *edge.Table[*held[T]], h uintptr, call string, e *C.blobio_failure, end func(context.Context, T) error) int32 {
	return guarded(e, func() error {
		x, err := t.Take(h)
		if err != nil {
			return err
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		x.closed = true
		ctx := in(call)
		err = x.team.together(func() error { return end(ctx, x.v) })
		return errors.Join(err, x.team.leave(ctx))
	})
}
