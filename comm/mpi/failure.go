//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"blobio/comm"
)

// failure is why the communication broke; the first one stays.
type failure struct {
	cause error // as all ranks see it
	own   error // what the call that was pending here returns: cause, or ctx.Err()
	told  bool  // to the others, or by them; used where MPI is called
}

// brokenError is what calls return after the communication broke.
type brokenError struct{ cause error }

func (e *brokenError) Error() string   { return fmt.Sprintf("mpi: %v: %v", comm.ErrBroken, e.cause) }
func (e *brokenError) Package() string { return string(pkg) }
func (e *brokenError) Unwrap() []error { return []error{comm.ErrBroken, e.cause} }

// check makes an error of a return code of MPI.
func check(what string, code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	buf := (*C.char)(C.calloc(1, C.ERROR_TEXT+1))
	defer C.free(unsafe.Pointer(buf))
	C.error_text(code, buf)
	return pkg.Errorf("%s: %s", what, C.GoString(buf))
}

// Fail breaks the communication of all ranks with an error of this one, from any
// goroutine; a call that waits ends. With nil it does nothing.
func (e *Engine) Fail(err error) {
	if err == nil {
		return
	}
	var re *comm.RankError
	if !errors.As(err, &re) || error(re) != err {
		re = &comm.RankError{Rank: e.world.rank, Err: err}
	}
	e.failure.CompareAndSwap(nil, &failure{cause: re, own: re})
	// If MPI cannot be called here, the call that waits tells it, or the next.
	_ = e.home.do(func() error {
		if !e.closed {
			e.tell(e.failure.Load())
		}
		return nil
	})
}

// fail breaks the communication, where MPI is called, and returns the error of the pending call.
func (e *Engine) fail(cause, own error) error {
	e.failure.CompareAndSwap(nil, &failure{cause: cause, own: own})
	f := e.failure.Load()
	e.tell(f)
	return f.own
}

// failRank is fail by what happened on this rank.
func (e *Engine) failRank(err error) error {
	re := &comm.RankError{Rank: e.world.rank, Err: err}
	return e.fail(re, re)
}

// mpi breaks the communication if code is an error of MPI.
func (e *Engine) mpi(what string, code C.int) error {
	if err := check(what, code); err != nil {
		e.mpiFailed = true
		return e.failRank(err)
	}
	return nil
}

// tell sends the notice: the rank of a RankError or -1, 8 bytes little-endian, and the error as
// comm.EncodeError makes it. It does not wait.
func (e *Engine) tell(f *failure) {
	if f.told {
		return
	}
	f.told = true
	if C.control_poll(e.k); e.k.seen != 0 {
		return // another rank has told all of its failure
	}
	who, err := int64(-1), f.cause
	var re *comm.RankError
	if errors.As(err, &re) && error(re) == err {
		who, err = int64(re.Rank), re.Err
	}
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(who)), comm.EncodeError(err)...)
	b = b[:min(len(b), C.NOTICE)]
	for to := range e.world.size {
		if to == e.world.rank {
			continue
		}
		s := sending{buf: C.CBytes(b)}
		if C.msg_send(s.buf, C.int(len(b)), C.int(to), 0, e.k.comm, &s.req) == C.MPI_SUCCESS {
			e.sends = append(e.sends, s)
		}
	}
	e.toldAll = true
}

// noticed takes the notice that has come.
func (e *Engine) noticed() *failure {
	b := C.GoBytes(unsafe.Pointer(&e.k.buf), e.k.len)
	var cause error
	if len(b) < 8 {
		cause = pkg.Errorf("a rank failed, and its notice cannot be read")
	} else {
		cause = comm.DecodeError(b[8:])
		if who := int64(binary.LittleEndian.Uint64(b)); who >= 0 {
			cause = &comm.RankError{Rank: int(who), Err: cause}
		}
	}
	e.failure.CompareAndSwap(nil, &failure{cause: cause, own: cause, told: true})
	return e.failure.Load()
}

// enter is the beginning of each call.
func (e *Engine) enter(ctx context.Context) error {
	if e.closed {
		return pkg.Errorf("%w: a call after Finalize", comm.ErrUsage)
	}
	f := e.failure.Load()
	if f == nil {
		if err := e.mpi("MPI_Test", C.control_poll(e.k)); err != nil {
			return err
		}
		if e.k.seen != 0 {
			f = e.noticed()
		}
	}
	if f != nil {
		e.tell(f)
		return &brokenError{f.cause}
	}
	e.reap()
	return e.cancelled(ctx)
}

func (e *Engine) cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return e.fail(&comm.RankError{Rank: e.world.rank, Err: err}, err)
	}
	return nil
}

// Waiting: spins tests, then the context is looked at; after busyRounds of these it sleeps in between.
const (
	spins      = 256
	busyRounds = 40
	maxSleep   = time.Millisecond
	// patience is how long a call that precedes one which blocks ignores a failure.
	patience = time.Second
)

// poll calls try until it is true or the communication breaks. With stay it goes on for a while
// in that case; if try is true then, poll returns nil. It sleeps between calls, if try does not itself.
func (e *Engine) poll(ctx context.Context, stay, sleeps bool, try func() (bool, error)) error {
	var end time.Time
	var broken error
	sleep := 10 * time.Microsecond
	for round := 0; ; round++ {
		if ok, err := try(); err != nil || ok {
			return err
		}
		if broken == nil {
			if e.k.seen != 0 {
				e.noticed()
			}
			if f := e.failure.Load(); f != nil {
				e.tell(f)
				broken = f.own
			} else {
				broken = e.cancelled(ctx)
			}
		}
		if broken != nil {
			if !stay {
				return broken
			}
			if end.IsZero() {
				end = time.Now().Add(patience)
			} else if time.Now().After(end) {
				return broken
			}
		}
		if sleeps && round > busyRounds {
			time.Sleep(sleep)
			sleep = min(2*sleep, maxSleep)
		}
	}
}

// wait waits for a request. After an error MPI may still use the buffers.
func (e *Engine) wait(ctx context.Context, req *C.MPI_Request, stay bool) error {
	keep := C.int(0)
	if stay {
		keep = 1
	}
	return e.poll(ctx, stay, true, func() (bool, error) {
		var code C.int
		switch C.glue_test(req, e.k, keep, spins, &code) {
		case C.DONE:
			return true, nil
		case C.FAILED:
			return false, e.mpi("MPI_Test", code)
		}
		return false, nil
	})
}
