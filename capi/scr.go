//go:build cgo && unix && mpi

package main

// #include "scr/edge.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"blobio/capi/internal/edge"
	"blobio/comm"
	"blobio/internal/scr/config"
	"blobio/scr"
)

// checkpoints is the SCR session of this process. It is global, because SCR's calls have no handle.
var checkpoints struct {
	mu     sync.Mutex
	params *scr.Params // parameters set by SCR_Config before SCR_Init
	s      *scr.Session
	team   team
	off    bool  // SCR_ENABLE is 0, so each call fails without a text, as with SCR
	failed error // error of the last SCR_Start_output or SCR_Start_checkpoint, after which files cannot be routed
}

// Environment variables to simulate several nodes on one machine: the name of this rank's node, and its directory.
const (
	envNode    = "BLOBIO_NODE"
	envNodeDir = "BLOBIO_NODE_DIR"
)

// alone runs f so that no two threads run SCR calls at the same time.
func alone(e *C.blobio_scr_failure, f func() error) int32 {
	rc := exclusively(&checkpoints.mu, e.text[:], f)
	if checkpoints.off {
		e.text[0] = 0
	}
	return rc
}

// exclusively runs f while mu is held. It writes the text of an error and returns its code, or 0.
func exclusively(mu *sync.Mutex, text []C.char, f func() error) int32 {
	mu.Lock()
	defer mu.Unlock()
	err := safely(f)
	if err == nil {
		return 0
	}
	put(text, edge.Words(err.Error()))
	return int32(edge.CodeOf(err))
}

// inSession runs f, which is a collective call of the session.
func inSession(e *C.blobio_scr_failure, call string, f func(context.Context, *scr.Session) error) int32 {
	return alone(e, func() error {
		if err := begun(); err != nil {
			return err
		}
		return checkpoints.team.together(func() error { return f(in(call), checkpoints.s) })
	})
}

func begun() error {
	switch {
	case checkpoints.off:
		return scr.ErrDisabled
	case checkpoints.s == nil:
		return fmt.Errorf("SCR_Init was not called or has failed: %w", edge.ErrState)
	}
	return nil
}

// settings returns the parameters, including those that SCR_Config has set. It reads environ only once.
func settings(environ uintptr) (*scr.Params, error) {
	if checkpoints.s != nil {
		return checkpoints.s.Params(), nil
	}
	if checkpoints.params == nil {
		env, err := edge.Strings("environ", environ)
		if err != nil {
			return nil, err
		}
		if checkpoints.params, err = scr.LoadParams(scr.ParamSources{Environ: env, SystemFile: config.DefaultSystemFile}); err != nil {
			return nil, err
		}
	}
	return checkpoints.params, nil
}

// variable returns a variable of C's environment, which the program may have changed after Go read its own copy.
func variable(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

//export blobioGoScrInit
func blobioGoScrInit(world, environ uintptr, e *C.blobio_scr_failure) int32 {
	return alone(e, func() error {
		if checkpoints.s != nil {
			return fmt.Errorf("SCR_Init was already called: %w", edge.ErrState)
		}
		t, err := adopt(world)
		if err != nil {
			return err
		}
		ctx := in("SCR_Init")
		err = t.together(func() error {
			cfg := &scr.Config{}
			env, err := edge.Strings("environ", environ)
			if err == nil {
				cfg.Node, cfg.NodeRoot = variable(env, envNode), variable(env, envNodeDir)
				cfg.Params, err = settings(environ)
			}
			if err := comm.Agree(ctx, t.c, err); err != nil {
				return err
			}
			checkpoints.s, err = scr.Open(ctx, t.c, cfg)
			checkpoints.off = errors.Is(err, scr.ErrDisabled)
			return err
		})
		if err != nil {
			_ = t.leave(ctx) // the first error is more important
			return err
		}
		checkpoints.team, checkpoints.params = t, nil
		return nil
	})
}

//export blobioGoScrFinalize
func blobioGoScrFinalize(e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Finalize", func(ctx context.Context, s *scr.Session) error {
		err := s.Close(ctx)
		checkpoints.s = nil
		if left := checkpoints.team.leave(ctx); err == nil {
			err = left
		}
		return err
	})
}

//export blobioGoScrConfig
func blobioGoScrConfig(textp, environ, valuep uintptr, size int64, setp uintptr, e *C.blobio_scr_failure) int32 {
	return alone(e, func() error {
		text, err := edge.String("config", textp)
		if err != nil {
			return err
		}
		params, err := settings(environ)
		if err != nil {
			return err
		}
		value, ok, err := params.Config(text)
		if err != nil || !ok {
			return err
		}
		if err := edge.PutString("value", valuep, size, value); err != nil {
			return err
		}
		return edge.Store(setp, int32(1))
	})
}

// Not collective.
//
//export blobioGoScrRoute
func blobioGoScrRoute(namep, filep uintptr, size int64, e *C.blobio_scr_failure) int32 {
	return alone(e, func() (err error) {
		defer func() {
			if err != nil && filep != 0 { // a program that ignores the error must not write to an older path
				err = errors.Join(err, edge.PutString("file", filep, size, ""))
			}
		}()
		if err := begun(); err != nil && !checkpoints.off {
			return err
		}
		if checkpoints.failed != nil {
			return fmt.Errorf("no dataset was started: %w", checkpoints.failed)
		}
		name, err := edge.String("name", namep)
		if err != nil {
			return err
		}
		file := name
		if !checkpoints.off {
			if file, err = checkpoints.s.Route(name); err != nil {
				return err
			}
		}
		return edge.PutString("file", filep, size, file)
	})
}

// putFlag stores the answer, which all ranks have received. A NULL flag is an error only on this rank, because the
// collective call is over.
func putFlag(flagp uintptr, yes bool, err error) error {
	if err == nil && flagp == 0 {
		err = edge.Usage("flag is NULL")
	}
	if err != nil {
		return err
	}
	return edge.Store(flagp, int32(bit(yes)))
}

// putName stores the name of a checkpoint at the caller's address.
func putName(namep uintptr, size int64, name string) error {
	if namep == 0 {
		return nil
	}
	return edge.PutString("name", namep, size, name)
}

//export blobioGoScrHaveRestart
func blobioGoScrHaveRestart(flagp, namep uintptr, size int64, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Have_restart", func(ctx context.Context, s *scr.Session) error {
		r, ok, err := s.HaveRestart(ctx)
		if err := putFlag(flagp, ok, err); err != nil || !ok {
			return err
		}
		return putName(namep, size, r.Name)
	})
}

//export blobioGoScrStartRestart
func blobioGoScrStartRestart(namep uintptr, size int64, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Start_restart", func(ctx context.Context, s *scr.Session) error {
		r, err := s.StartRestart(ctx)
		if err != nil {
			return err
		}
		checkpoints.failed = nil
		return putName(namep, size, r.Name)
	})
}

//export blobioGoScrCompleteRestart
func blobioGoScrCompleteRestart(valid int32, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Complete_restart", func(ctx context.Context, s *scr.Session) error { return s.CompleteRestart(ctx, valid != 0) })
}

//export blobioGoScrNeedCheckpoint
func blobioGoScrNeedCheckpoint(flagp uintptr, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Need_checkpoint", func(ctx context.Context, s *scr.Session) error {
		need, err := s.NeedCheckpoint(ctx)
		return putFlag(flagp, need, err)
	})
}

//export blobioGoScrStart
func blobioGoScrStart(namep uintptr, flags int32, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Start_output", func(ctx context.Context, s *scr.Session) error {
		name := ""
		err := func() (err error) {
			if namep != 0 {
				name, err = edge.String("name", namep)
			}
			if err == nil && (flags == 0 || flags&^int32(scr.Checkpoint|scr.Output) != 0) {
				err = edge.Usage("flags %#x, want SCR_FLAG_CHECKPOINT, SCR_FLAG_OUTPUT or both", flags)
			}
			return err
		}()
		if err = comm.Agree(ctx, checkpoints.team.c, err); err == nil {
			err = s.Start(ctx, name, scr.Flags(flags))
		}
		if !errors.Is(err, scr.ErrState) { // otherwise an earlier dataset is still being written
			checkpoints.failed = err
		}
		return err
	})
}

//export blobioGoScrComplete
func blobioGoScrComplete(valid int32, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Complete_output", func(ctx context.Context, s *scr.Session) error {
		checkpoints.failed = nil
		return s.Complete(ctx, valid != 0)
	})
}

//export blobioGoScrShouldExit
func blobioGoScrShouldExit(flagp uintptr, e *C.blobio_scr_failure) int32 {
	return inSession(e, "SCR_Should_exit", func(ctx context.Context, s *scr.Session) error {
		stop, _, err := s.ShouldExit(ctx)
		return putFlag(flagp, stop, err)
	})
}

// onDataset runs f, which is a collective call, for the dataset with the given name.
func onDataset(e *C.blobio_scr_failure, call string, namep uintptr, f func(*scr.Session, context.Context, string) error) int32 {
	return inSession(e, call, func(ctx context.Context, s *scr.Session) error {
		name, err := edge.String("name", namep)
		if err := comm.Agree(ctx, checkpoints.team.c, err); err != nil {
			return err
		}
		return f(s, ctx, name)
	})
}

//export blobioGoScrCurrent
func blobioGoScrCurrent(namep uintptr, e *C.blobio_scr_failure) int32 {
	return onDataset(e, "SCR_Current", namep, (*scr.Session).Current)
}

//export blobioGoScrDrop
func blobioGoScrDrop(namep uintptr, e *C.blobio_scr_failure) int32 {
	return onDataset(e, "SCR_Drop", namep, (*scr.Session).Drop)
}

//export blobioGoScrDelete
func blobioGoScrDelete(namep uintptr, e *C.blobio_scr_failure) int32 {
	return onDataset(e, "SCR_Delete", namep, (*scr.Session).Delete)
}
