//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"blobio/internal/base/fault"
	"runtime"
	"sync"
)

// Thread levels, as in glue.h.
const (
	levelSingle = iota
	levelFunneled
	levelSerialized
	levelMultiple
)

// home chooses the thread that calls MPI: the caller's thread, or a thread of its own (jobs) if this package started MPI and MPI
// allows only one thread.
type home struct {
	jobs chan func() // nil: use the caller's thread
	gone chan struct{}

	mu    sync.Mutex // one call at a time
	level int
}

func newThread() *home {
	h := &home{jobs: make(chan func()), gone: make(chan struct{})}
	go func() {
		defer close(h.gone)
		// Do not unlock the thread. MPI may have changed it, so it must end with the goroutine.
		runtime.LockOSThread()
		for f := range h.jobs {
			f()
		}
	}()
	return h
}

func (h *home) close() {
	if h.jobs != nil {
		close(h.jobs)
		<-h.gone
	}
}

func (h *home) closeIf(owner bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if owner && h.jobs != nil {
		h.close()
		h.jobs = nil
		h.level = levelMultiple // later calls fail in Engine.closed before they call MPI
	}
}

// do runs f on a thread that may call MPI.
func (h *home) do(f func() error) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.jobs != nil {
		done := make(chan struct{})
		h.jobs <- func() { err = f(); close(done) }
		<-done
		return err
	}
	if h.level <= levelFunneled {
		runtime.LockOSThread() // all of f must run on one thread
		defer runtime.UnlockOSThread()
		var level, isMain C.int
		if err := check("MPI_Is_thread_main", C.glue_level(&level, &isMain)); err != nil {
			return err
		}
		if isMain == 0 {
			return fault.Usage("call from a thread other than MPI's main thread; MPI was initialized with MPI_THREAD_SINGLE or FUNNELED")
		}
	}
	return f()
}
