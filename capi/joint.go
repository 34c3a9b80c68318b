//go:build cgo && unix

package main

// #include "edge.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"

	"blobio/blob"
	"blobio/capi/internal/edge"
	"blobio/comm"
	"blobio/decomp"
)

// joint reads a file collectively. It keeps plans for the decompositions that were used last, which may differ between ranks.
type joint struct {
	k     *blob.Collective
	plans []planned // the most recent plan comes first
}

type planned struct {
	runs []decomp.Req
	plan *blob.ReadPlan
}

// maxPlans limits the plans that are kept.
const maxPlans = 16

func newJoint(k *blob.Collective) *joint { return &joint{k: k} }

func (j *joint) plan(runs []decomp.Req) *blob.ReadPlan {
	i := slices.IndexFunc(j.plans, func(p planned) bool { return slices.Equal(p.runs, runs) })
	p := planned{runs: runs}
	if i >= 0 {
		p = j.plans[i]
		j.plans = slices.Delete(j.plans, i, i+1)
	} else {
		p.plan = j.k.Plan(runs)
	}
	j.plans = slices.Insert(j.plans, 0, p)
	j.plans = j.plans[:min(len(j.plans), maxPlans)]
	return p.plan
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// lockedJointly is locked for a collective call. If the handle is unknown, it is unknown on which dataset the other ranks wait,
// so lockedJointly breaks all datasets that ranks read together.
func lockedJointly(h uintptr, f func(*file) error) error {
	err := locked(h, f)
	if errors.Is(err, edge.ErrHandle) {
		for _, x := range files.All() {
			if x.joint != nil {
				x.team.giveUp(err)
			}
		}
	}
	return err
}

// jointly reads a record of a variable together with the other ranks. of returns the elements that this rank wants. If an
// argument is wrong on one rank, all ranks get an error.
func jointly(h uintptr, varid int32, rec int64, e *C.blobio_failure, of func(*blob.Schema, *blob.Variable) (*wanted, error)) int32 {
	return withReader(h, e, lockedJointly, func(x *file, _ *blob.Reader) error {
		if x.joint == nil {
			return fmt.Errorf("%s: the dataset is open without option collective=yes: %w", x.path, edge.ErrState)
		}
		return x.team.together(func() error {
			ctx := in("blobio_get_darray_all")
			var w *wanted
			s, v, err := x.variable(varid)
			if err == nil {
				w, err = of(s, v)
			}
			if err := comm.Agree(ctx, x.team.c, err); err != nil {
				return err
			}
			if err := x.joint.plan(w.runs).Read(ctx, blob.Get{Name: v.Name, Record: rec, Into: w.into}); err != nil {
				return err
			}
			w.unpack()
			return nil
		})
	})
}

//export blobioGoGetDarrayAll
func blobioGoGetDarrayAll(h uintptr, varid int32, rec, nruns int64, offp, lenp uintptr, t int32, p uintptr, n int64, e *C.blobio_failure) int32 {
	return jointly(h, varid, rec, e, func(_ *blob.Schema, v *blob.Variable) (*wanted, error) {
		runs, err := requests(nruns, offp, lenp)
		if err != nil {
			return nil, err
		}
		dst, err := view("read", v, t, p, n)
		if err != nil {
			return nil, err
		}
		return &wanted{runs, dst, func() {}}, nil
	})
}

//export blobioGoGetDarrayPIOAll
func blobioGoGetDarrayPIOAll(h uintptr, varid int32, rec, n int64, dofp uintptr, t int32, p uintptr, e *C.blobio_failure) int32 {
	return jointly(h, varid, rec, e, func(s *blob.Schema, v *blob.Variable) (*wanted, error) {
		return wantedBy(s, v, t, n, dofp, p)
	})
}
