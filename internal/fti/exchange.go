package fti

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"blobio/comm"
	"blobio/internal/base/gf16"
)

// At most meetEvery pieces of a file wait at a slow member.
const (
	piece     = 512 << 10 // in bytes
	meetEvery = 16
)

// sink takes the bytes of an element.
type sink struct {
	w   io.WriterAt
	sum hash.Hash // nil: not wanted
}

// exchange carries out the tasks of a group. All members have the same tasks. Each member reads each of its sources once.
type exchange struct {
	c       comm.Comm // of the group
	tasks   []task
	sources map[element]io.ReaderAt // elements of this member
	sinks   map[element]sink        // elements that this member computes
	bufs    map[element][]byte      // memory for pieces of sources
	err     error                   // first error of this member
	torn    bool                    // another member could not read a source, and has the error
}

// run is a collective of the group. Its error is an error of the Comm.
func (x *exchange) run(ctx context.Context) error {
	var order []element
	longest := int64(0)
	for _, j := range x.tasks {
		longest = max(longest, j.n)
		for _, e := range j.from {
			if !slices.Contains(order, e) {
				order = append(order, e)
			}
		}
	}
	sum := make([]byte, min(piece, longest))
	factors := make([][]*gf16.Factor, len(x.tasks)) // of own tasks
	for i, j := range x.tasks {
		for _, f := range j.factors {
			if j.to.member == x.c.Rank() {
				factors[i] = append(factors[i], gf16.NewFactor(f))
			}
		}
	}
	for off, n := int64(0), 1; off < longest; off, n = off+piece, n+1 {
		got, err := x.pass(ctx, order, off)
		if err == nil && n%meetEvery == 0 {
			err = x.c.Barrier(ctx)
		}
		if err != nil {
			return err
		}
		for i, j := range x.tasks {
			if j.to.member == x.c.Rank() && off < j.n && x.err == nil && !x.torn {
				x.compute(&j, factors[i], got, off, sum[:min(piece, j.n-off)])
			}
		}
	}
	return nil
}

// needing returns the members that compute an element from byte off of e on, and the number of bytes that they need.
func (x *exchange) needing(e element, off int64) (members []int, n int64) {
	for _, j := range x.tasks {
		if off < j.n && slices.Contains(j.from, e) {
			n = min(piece, j.n-off)
			if !slices.Contains(members, j.to.member) {
				members = append(members, j.to.member)
			}
		}
	}
	return members, n
}

// pass sends pieces of the own sources, and returns the pieces that this member needs. A piece that could not be read is absent.
func (x *exchange) pass(ctx context.Context, order []element, off int64) (map[element][]byte, error) {
	got, me := map[element][]byte{}, x.c.Rank()
	for _, e := range order {
		members, n := x.needing(e, off)
		if e.member != me || n == 0 {
			continue
		}
		b := x.read(e, off, n)
		if b != nil {
			got[e] = b
		}
		for _, m := range members {
			if m == me {
				continue
			}
			if err := x.c.Send(ctx, m, 0, b); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range order {
		members, n := x.needing(e, off)
		if e.member == me || !slices.Contains(members, me) {
			continue
		}
		b, err := x.c.Recv(ctx, e.member, 0)
		if err != nil {
			return nil, err
		}
		if int64(len(b)) == n {
			got[e] = b
		}
	}
	return got, nil
}

// read returns n bytes of an own source, valid until the next call for this source, or nil after an error.
func (x *exchange) read(e element, off, n int64) []byte {
	if x.err != nil {
		return nil
	}
	b := x.bufs[e]
	if b == nil {
		if x.bufs == nil {
			x.bufs = map[element][]byte{}
		}
		b = make([]byte, n) // the first piece is the longest
		x.bufs[e] = b
	}
	b = b[:n]
	m, err := x.sources[e].ReadAt(b, off)
	if m == len(b) {
		return b
	}
	if errors.Is(err, io.EOF) { // the file has become shorter
		err = io.ErrUnexpectedEOF
	}
	what := "file"
	if e.backup {
		what = "copy or parity file"
	}
	x.err = fmt.Errorf("%s of group member %d: byte %d: %w", what, e.member, off+int64(m), err)
	return nil
}

// compute writes a piece of an element. sum is scratch memory of its length.
func (x *exchange) compute(j *task, factors []*gf16.Factor, got map[element][]byte, off int64, sum []byte) {
	clear(sum)
	for i, e := range j.from {
		b, ok := got[e]
		if !ok {
			x.torn = true
			return
		}
		if len(factors) == 0 {
			sum = b
		} else {
			factors[i].AddTo(sum, b)
		}
	}
	s := x.sinks[j.to]
	if s.sum != nil {
		s.sum.Write(sum)
	}
	if _, err := s.w.WriteAt(sum, off); err != nil {
		x.err = err
	}
}
