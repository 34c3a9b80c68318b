//go:build cgo && unix && mpi

package main

// #include "fti/edge.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"blobio/capi/internal/edge"
	"blobio/comm"
	"blobio/internal/fti"
)

// tolerant is the FTI session of this process. It is global, because FTI's
// calls have no handle.
var tolerant struct {
	mu   sync.Mutex
	s    *fti.Session
	team team
	byte byte // receives read bytes, so that the compiler does not remove the reads
}

// withFTI runs f so that no two threads run FTI calls at the same time.
func withFTI(e *C.blobio_fti_failure, f func() error) int32 {
	return exclusively(&tolerant.mu, e.text[:], f)
}

// inRun runs f between FTI_Init and FTI_Finalize. f is not collective.
func inRun(e *C.blobio_fti_failure, f func(*fti.Session) error) int32 {
	return withFTI(e, func() error {
		if tolerant.s == nil {
			return fmt.Errorf("FTI_Init was not called or has failed: %w", edge.ErrState)
		}
		return f(tolerant.s)
	})
}

// inRunAll runs f between FTI_Init and FTI_Finalize. f is collective.
func inRunAll(e *C.blobio_fti_failure, call string, f func(context.Context, *fti.Session) error) int32 {
	return inRun(e, func(s *fti.Session) error {
		return tolerant.team.together(func() error { return f(in(call), s) })
	})
}

//export blobioGoFtiInit
func blobioGoFtiInit(world, configp, nothingp uintptr, e *C.blobio_fti_failure) int32 {
	return withFTI(e, func() error {
		ctx := in("FTI_Init")
		if s := tolerant.s; s != nil { // the program calls FTI_Init again, to restart without having ended
			tolerant.s = nil
			err := tolerant.team.together(func() error { return s.Abandon(ctx) })
			if err := errors.Join(err, tolerant.team.leave(ctx)); err != nil {
				return err
			}
		}
		t, err := adopt(world)
		if err != nil {
			return err
		}
		err = t.together(func() error {
			config, err := edge.String("configFile", configp)
			if err := comm.Agree(ctx, t.c, err); err != nil {
				return err
			}
			tolerant.s, err = fti.Open(ctx, t.c, config, nil)
			return err
		})
		if tolerant.s == nil {
			_ = t.leave(ctx) // the first error is more important
			return err
		}
		tolerant.team = t
		if errors.Is(err, fti.ErrNothing) {
			return errors.Join(err, edge.Store(nothingp, int32(1)))
		}
		return err
	})
}

//export blobioGoFtiFinalize
func blobioGoFtiFinalize(e *C.blobio_fti_failure) int32 {
	return inRunAll(e, "FTI_Finalize", func(ctx context.Context, s *fti.Session) error {
		if err := s.Close(ctx); err != nil {
			return err
		}
		tolerant.s = nil
		return tolerant.team.leave(ctx)
	})
}

//export blobioGoFtiStatus
func blobioGoFtiStatus(statusp uintptr, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error { return edge.Store(statusp, int32(s.Status())) })
}

//export blobioGoFtiMode
func blobioGoFtiMode(modep uintptr, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error { return edge.Store(modep, int32(1000+s.Mode())) })
}

//export blobioGoFtiProtect
func blobioGoFtiProtect(id int32, p uintptr, count, size int64, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error {
		if size <= 0 {
			return edge.Usage("variable %d: no such type", id)
		}
		if count > math.MaxInt64/size || count < 0 {
			return edge.Usage("variable %d: %d elements of %d bytes, want 0 to 2^63-1 bytes in all", id, count, size)
		}
		if p == 0 && count > 0 {
			return s.Protect(int64(id), nil, count*size)
		}
		data, err := edge.Slice[byte](p, count*size)
		if err == nil && len(data) > 0 { // test the memory now, because a later fault in another thread would end the process
			err = safely(func() error { tolerant.byte = data[0] ^ data[len(data)-1]; return nil })
		}
		if err != nil {
			return fmt.Errorf("variable %d: its %d bytes at %#x cannot be read; memory of a GPU is not supported: %w", id, count*size, p, err)
		}
		return s.Protect(int64(id), data, count*size)
	})
}

//export blobioGoFtiCheckpoint
func blobioGoFtiCheckpoint(id, level int32, e *C.blobio_fti_failure) int32 {
	return inRunAll(e, "FTI_Checkpoint", func(ctx context.Context, s *fti.Session) error { return s.Checkpoint(ctx, id, int(level)) })
}

//export blobioGoFtiSnapshot
func blobioGoFtiSnapshot(takenp uintptr, e *C.blobio_fti_failure) int32 {
	return inRunAll(e, "FTI_Snapshot", func(ctx context.Context, s *fti.Session) error {
		taken, err := s.Snapshot(ctx)
		if err != nil {
			return err
		}
		return edge.Store(takenp, int32(bit(taken)))
	})
}

// Not collective, like the calls below except FTI_InitICP and FTI_FinalizeICP.
//
//export blobioGoFtiRecover
func blobioGoFtiRecover(e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error { return s.Recover(context.Background()) })
}

//export blobioGoFtiRecoverVar
func blobioGoFtiRecoverVar(id int32, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error { return s.ReadVar(context.Background(), id) })
}

//export blobioGoFtiStoredSize
func blobioGoFtiStoredSize(id int32, sizep uintptr, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error {
		return edge.Store(sizep, s.StoredSize(id))
	})
}

//export blobioGoFtiInitICP
func blobioGoFtiInitICP(id, level int32, e *C.blobio_fti_failure) int32 {
	return inRunAll(e, "FTI_InitICP", func(ctx context.Context, s *fti.Session) error { return s.Begin(ctx, id, int(level)) })
}

//export blobioGoFtiAddVarICP
func blobioGoFtiAddVarICP(id int32, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error { return s.Add(context.Background(), id) })
}

//export blobioGoFtiFinalizeICP
func blobioGoFtiFinalizeICP(e *C.blobio_fti_failure) int32 {
	return inRunAll(e, "FTI_FinalizeICP", func(ctx context.Context, s *fti.Session) error { return s.Finish(ctx) })
}

//export blobioGoFtiSetID
func blobioGoFtiSetID(namep, idp uintptr, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error {
		name, err := edge.String("name", namep)
		if err != nil {
			return err
		}
		if name == "" {
			return edge.Usage("the name is empty")
		}
		return edge.Store(idp, s.SetID(name))
	})
}

//export blobioGoFtiGetID
func blobioGoFtiGetID(namep, idp uintptr, e *C.blobio_fti_failure) int32 {
	return inRun(e, func(s *fti.Session) error {
		name, err := edge.String("name", namep)
		if err != nil {
			return err
		}
		return edge.Store(idp, s.ID(name))
	})
}
