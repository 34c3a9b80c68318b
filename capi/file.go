//go:build cgo && unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/internal/base/fault"
)

// files holds the open files. C holds their words as pointers.
var files edge.Table[*file]

// file is a dataset that C has opened. Exactly one of defs, w and r is set, or none after a failed enddef.
type file struct {
	mu     sync.RWMutex // read-locked by calls that may run concurrently
	closed bool
	path   string
	team   team

	defs   *definitions
	w      *blob.Writer
	layout blob.Layout
	dofs   []*edge.Dof // by decomposition from 1; nil if the decomposition has no holes
	failed error       // error of enddef
	stats  stats

	r     *blob.Reader
	joint *joint // set with the option collective=yes
}

// team is the group of ranks that write a file together.
type team struct {
	c    comm.Comm
	fail func(error)                 // fails the calls of the other ranks; nil if there are no other ranks
	free func(context.Context) error // releases c collectively; nil if c needs no release
}

// teamOf returns the ranks of a communicator, or this process alone without one. Collective.
func teamOf(world uintptr) (team, error) {
	if world == 0 {
		return team{c: comm.Self()}, nil
	}
	return adopt(world)
}

// leave releases a team. Collective.
func (t *team) leave(ctx context.Context) error {
	if t.free == nil {
		return nil
	}
	return t.together(func() error { return t.free(ctx) })
}

// together runs a collective call. If it panics on this rank, it fails on the other ranks.
func (t *team) together(f func() error) error {
	err := safely(f)
	if errors.Is(err, edge.ErrInternal) || errors.Is(err, edge.ErrFault) {
		t.giveUp(err)
	}
	return err
}

// giveUp fails the calls of the other ranks, because this rank no longer takes part.
func (t *team) giveUp(err error) {
	if t.fail != nil {
		t.fail(fmt.Errorf("%v: %w", err, blob.ErrBroken))
	}
}

// definitions are the definitions of a file before enddef.
type definitions struct {
	opts         *blob.Options
	add          bool  // for an append: the schema has the definitions of the files and the new definitions
	have         int64 // number of existing records
	dims0, vars0 int   // numbers of existing dimensions and variables
	schema       *blob.Schema
	parts        []blob.Part
	err          error // the first error
	dims         map[string]bool
	vars         map[string]bool
	record       bool // the unlimited dimension has been defined
}

// locked runs f on the file of a handle. No other call uses the file at the same time.
func locked(h uintptr, f func(*file) error) error {
	x, err := files.Get(h)
	if err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.live(h, f)
}

// shared runs f on the file of a handle. Other calls of shared may run at the same time.
func shared(h uintptr, f func(*file) error) error {
	x, err := files.Get(h)
	if err != nil {
		return err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.live(h, f)
}

func (x *file) live(h uintptr, f func(*file) error) error {
	if x.closed {
		return fmt.Errorf("handle %#x was closed by another thread: %w", h, edge.ErrHandle)
	}
	return f(x)
}

// writer returns the writer. If the file has none, the error says why.
func (x *file) writer() (*blob.Writer, error) {
	switch {
	case x.w != nil:
		return x.w, nil
	case x.defs != nil:
		return nil, fmt.Errorf("%s: blobio_enddef was not called: %w", x.path, edge.ErrState)
	case x.r != nil:
		return nil, fmt.Errorf("%s: the dataset is open for reading: %w", x.path, edge.ErrState)
	}
	return nil, x.broken()
}

func (x *file) broken() error {
	return &edge.BrokenError{Path: x.path, Call: "blobio_enddef", Cause: x.failed}
}

func (x *file) reader() (*blob.Reader, error) {
	if x.r == nil {
		return nil, fmt.Errorf("%s: the dataset is open for writing: %w", x.path, edge.ErrState)
	}
	return x.r, nil
}

// schema returns the schema of the dataset.
func (x *file) schema() (*blob.Schema, error) {
	switch {
	case x.r != nil:
		return x.r.Schema(), nil
	case x.w != nil:
		return x.w.Schema(), nil
	case x.defs == nil:
		return nil, x.broken()
	}
	return x.defs.schema, nil
}

// variable returns a variable and its schema.
func (x *file) variable(id int32) (*blob.Schema, *blob.Variable, error) {
	s, err := x.schema()
	if err != nil {
		return nil, nil, err
	}
	if id < 0 || int(id) >= len(s.Vars()) {
		return nil, nil, edge.Usage("%s: variable id %d, want %s", x.path, id, fault.Below(len(s.Vars()), "variables"))
	}
	return s, &s.Vars()[id], nil
}

// view is edge.View for data of a put or a read of a variable. It rejects conversions between numbers and
// text.
func view(call string, v *blob.Variable, t int32, p uintptr, n int64) (any, error) {
	data, err := edge.View(cdf5.Type(t), p, n)
	if cdf5.Type(t) == cdf5.Char && v.Type != cdf5.Char {
		err = edge.Usage("memory holds text, but the variable has type %v", v.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %q: %w", call, v.Name, err)
	}
	return data, nil
}

// words reads n 64-bit numbers.
func words(what string, p uintptr, n int64) ([]int64, error) {
	v, err := edge.Slice[int64](p, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// attributes returns the attributes of a variable, or the global ones for id -1.
func (x *file) attributes(id int32) ([]cdf5.Att, error) {
	if id == -1 {
		s, err := x.schema()
		if err != nil {
			return nil, err
		}
		return s.Attributes(), nil
	}
	_, v, err := x.variable(id)
	if err != nil {
		return nil, err
	}
	return v.Atts, nil
}

// records returns the number of records that this rank knows.
func (x *file) records() int64 {
	switch {
	case x.r != nil:
		return x.r.Records()
	case x.w != nil:
		return x.w.Records()
	case x.defs != nil:
		return x.defs.have
	}
	return 0
}
