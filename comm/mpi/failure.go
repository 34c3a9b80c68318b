//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/comm/remote"
)

// failure is the reason why the communication broke. Only the first failure is kept.
type failure struct {
	cause error // the cause as all ranks see it
	own   error // the error that the pending call of this rank returns: cause, or ctx.Err()
	known bool  // the other ranks know the failure; accessed only on threads that call MPI
}

// brokenError is returned by all calls after the communication broke.
type brokenError struct{ cause error }

func (e *brokenError) Error() string   { return fmt.Sprintf("%v: %v", comm.ErrBroken, e.cause) }
func (e *brokenError) Unwrap() []error { return []error{comm.ErrBroken, e.cause} }

// check converts an MPI return code into an error.
func check(what string, code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	buf := (*C.char)(C.calloc(1, C.ERROR_TEXT+1))
	defer C.free(unsafe.Pointer(buf))
	C.error_text(code, buf)
	return fmt.Errorf("%s: %s", what, C.GoString(buf))
}

// Fail breaks the communication of all ranks with an error of this rank. Any goroutine may call Fail. It ends a waiting call of
// this rank. Fail(nil) does nothing.
func (e *Engine) Fail(err error) {
	if err == nil {
		return
	}
	var re *comm.RankError
	if !errors.As(err, &re) || error(re) != err {
		re = &comm.RankError{Rank: e.world.rank, Err: err}
	}
	e.failure.CompareAndSwap(nil, &failure{cause: re, own: re})
	e.node.poke()
	// If this thread may not call MPI, the waiting call or the next call sends the notice.
	_ = e.home.do(func() error {
		if !e.closed {
			e.notify(e.failure.Load())
		}
		return nil
	})
}

// fail breaks the communication and returns the error of the pending call. It runs on a thread that may call MPI.
func (e *Engine) fail(cause, own error) error {
	e.failure.CompareAndSwap(nil, &failure{cause: cause, own: own})
	f := e.failure.Load()
	e.notify(f)
	return f.own
}

// failRank breaks the communication with an error of this rank.
func (e *Engine) failRank(err error) error {
	re := &comm.RankError{Rank: e.world.rank, Err: err}
	return e.fail(re, re)
}

// mpi breaks the communication if code is an MPI error.
func (e *Engine) mpi(what string, code C.int) error {
	if err := check(what, code); err != nil {
		e.mpiFailed = true
		return e.failRank(err)
	}
	return nil
}

// notify sends the notice without waiting. A notice has the rank of a RankError, or -1, in 8 little-endian bytes, and then the
// error in the form of remote.Encode.
func (e *Engine) notify(f *failure) {
	if f.known {
		return
	}
	f.known = true
	if C.control_poll(e.k); e.k.seen != 0 {
		return // another rank's notice has reached all ranks
	}
	who, err := int64(-1), f.cause
	var re *comm.RankError
	if errors.As(err, &re) && error(re) == err {
		who, err = int64(re.Rank), re.Err
	}
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(who)), remote.Encode(err)...)
	b = b[:min(len(b), C.NOTICE)]
	for to := range e.world.size {
		if to == e.world.rank {
			continue
		}
		s := sending{buf: block{C.CBytes(b), len(b)}}
		if C.msg_send(s.buf.p, C.int(len(b)), C.int(to), 0, e.k.comm, &s.req) == C.MPI_SUCCESS {
			e.sends = append(e.sends, s)
		}
	}
	e.notified = true
	e.node.alarm()
}

// noticed receives the notice.
func (e *Engine) noticed() *failure {
	b := C.GoBytes(unsafe.Pointer(&e.k.buf), e.k.len)
	var cause error
	if len(b) < 8 {
		cause = fmt.Errorf("a rank failed, but its error message cannot be read")
	} else {
		cause = remote.Decode(b[8:])
		if who := int64(binary.LittleEndian.Uint64(b)); who >= 0 {
			cause = &comm.RankError{Rank: int(who), Err: cause}
		}
	}
	e.failure.CompareAndSwap(nil, &failure{cause: cause, own: cause, known: true})
	return e.failure.Load()
}

// enter is called at the beginning of each call for which other ranks may wait.
func (e *Engine) enter(ctx context.Context) error {
	if err := e.begun(); err != nil {
		return err
	}
	return e.cancelled(ctx)
}

// timeSlice is how long a goroutine may run before the Go scheduler's monitor thread interferes. It then polls every 20 µs, and
// takes the processor away in each wait outside of Go: with 16 ranks on 2 cores, this took 30 % of the time. A goroutine that
// belongs to a thread, as in a call from C, begins a new slice only when it yields.
const timeSlice = 10 * time.Millisecond

// begun begins each call.
func (e *Engine) begun() error {
	if e.closed {
		return fault.Usage("call after Finalize")
	}
	if now := time.Now(); now.Sub(e.rested) > timeSlice/2 {
		e.rested = now
		runtime.Gosched()
	}
	f := e.failure.Load()
	if e.calls++; f == nil && (e.calls%64 == 0 || !e.node.whole || len(e.sends) > 0 || e.node.broken.Load() != 0) {
		if err := e.mpi("MPI_Test", C.control_poll(e.k)); err != nil {
			return err
		}
		if e.k.seen != 0 {
			f = e.noticed()
		}
	}
	if f != nil {
		e.notify(f)
		return &brokenError{f.cause}
	}
	e.reap(e.k)
	return nil
}

func (e *Engine) cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return e.fail(&comm.RankError{Rank: e.world.rank, Err: err}, err)
	}
	return nil
}

// A waiting call first polls, then sleeps until its bell rings or another goroutine pokes the process. If MPI must make progress,
// the call sleeps only briefly, because MPI progresses only in calls.
const (
	spins      = 256 // number of tests of a request in a round of polling
	busyRounds = 8   // number of rounds before the first sleep
	firstNap   = int64(time.Millisecond)
	lastNap    = 64 * int64(time.Millisecond)
	nodeNap    = 4 * int64(time.Millisecond) // maximum sleep if a notice may come from another node
	firstLook  = 10 * int64(time.Microsecond)
	lastLook   = 500 * int64(time.Microsecond)
	shortNap   = 20 * int64(time.Microsecond) // sleep while an MPI message or a notice is in transit
	// patience is how long a rendezvous before a blocking MPI call ignores a failure.
	patience = time.Second
)

// nap returns the maximum length of the next sleep if the last one was last.
func (e *Engine) nap(last int64, byMPI bool) int64 {
	first, most := firstNap, lastNap
	if byMPI {
		first, most = firstLook, lastLook
	} else if !e.node.whole {
		most = nodeNap
	}
	if len(e.sends) > 0 || e.passive {
		most = shortNap
	}
	return min(max(2*last, first), most)
}

// waiting describes how a call waits.
type waiting struct {
	stay  bool // the call continues for a while after the communication broke
	byMPI bool // MPI ends the wait, so the call must enter MPI often
	word  *atomic.Uint32
	round uint32 // sleep until the word has passed this round
}

// poll calls try until try returns true or the communication breaks. If w.stay is true, poll ignores a failure for the time
// patience, and returns nil if try succeeds within it.
func (e *Engine) poll(ctx context.Context, w waiting, try func() (bool, error)) error {
	var end time.Time
	var broken error
	var slept int64
	for turn := 0; ; turn++ {
		poked, known := e.node.pokes.Load(), e.node.broken.Load()
		if ok, err := try(); err != nil || ok {
			return err
		}
		if broken == nil {
			if broken = e.look(ctx); broken != nil && !w.stay {
				return broken
			}
		}
		e.reap(e.k)
		if broken != nil {
			if end.IsZero() {
				end = time.Now().Add(patience)
			} else if time.Now().After(end) {
				return broken
			}
		}
		if w.byMPI && turn < busyRounds {
			continue
		}
		if slept = e.nap(slept, w.byMPI); known != 0 || broken != nil {
			slept = shortNap
		}
		if slept >= 2*firstNap && ctx.Done() != nil {
			stop := context.AfterFunc(ctx, e.node.poke)
			e.node.sleep(w.word, w.round, poked, known, slept)
			stop()
		} else {
			e.node.sleep(w.word, w.round, poked, known, slept)
		}
	}
}

// look returns the error with which a waiting call must end, or nil.
func (e *Engine) look(ctx context.Context) error {
	if err := e.mpi("MPI_Test", C.control_poll(e.k)); err != nil {
		return err
	}
	if e.k.seen != 0 {
		e.noticed()
	}
	if f := e.failure.Load(); f != nil {
		e.notify(f)
		return f.own
	}
	return e.cancelled(ctx)
}

// wait waits for a request. After an error MPI may still use the buffers.
func (e *Engine) wait(ctx context.Context, req *C.MPI_Request, stay bool) error {
	keep := C.int(0)
	if stay {
		keep = 1
	}
	return e.poll(ctx, waiting{stay: stay, byMPI: true}, func() (bool, error) {
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
