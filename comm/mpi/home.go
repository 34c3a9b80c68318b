//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"blobio/internal/base/fault"
	"runtime"
	"sync"
)

// Levels of threads, as glue.h counts them.
const (
	levelSingle = iota
	levelFunneled
	levelSerialized
	levelMultiple
)

// home is where MPI is called: on the thread of the caller, or, where MPI was started by this package and allows no more than one
// thread, on a thread of its own (jobs).
type home struct {
	jobs chan func() // nil: on the thread of the caller
	gone chan struct{}

	mu    sync.Mutex // one call at a time
	level int
}

// newThread starts the thread. The caller must call close.
func newThread() *home {
	h := &home{jobs: make(chan func()), gone: make(chan struct{})}
	go func() {
		defer close(h.gone)
		// Never unlocked: MPI may have changed the thread, which ends with the goroutine.
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
		h.level = levelMultiple // later calls fail by Engine.closed, without MPI
	}
}

// do runs f where MPI may be called.
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
		runtime.LockOSThread() // MPI sees one thread through all of f
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
