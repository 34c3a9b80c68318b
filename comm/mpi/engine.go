//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"blobio/comm"
	"blobio/internal/base/fault"
)

// Options are the options of Init, Adopt and Run. A nil pointer means the defaults.
type Options struct {
	// Multiple requests MPI_THREAD_MULTIPLE, so that the program may call MPI while this package does. The default requests
	// MPI_THREAD_SERIALIZED. Adopt ignores Multiple.
	Multiple bool
	// Piece is the maximum number of bytes that one MPI call sends or receives, 64 ... 1<<30. 0 (default) means 1<<30.
	Piece int
	// RanksPerNode, if not 0, divides the ranks into nodes of this many consecutive ranks, to simulate several nodes on one
	// machine. 0 (default) asks MPI which ranks share memory.
	RanksPerNode int
}

const maxPiece = 1 << 30

// Validate returns an error that wraps comm.ErrUsage if a field is out of range.
func (o *Options) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Piece != 0 && (o.Piece < 64 || o.Piece > maxPiece):
		return fault.Usage("Piece %d, want 64 ... %d or 0", o.Piece, maxPiece)
	case o.RanksPerNode < 0:
		return fault.Usage("RanksPerNode %d, want >= 0", o.RanksPerNode)
	}
	return nil
}

// Handle is the value of an MPI_Comm of C: a pointer in Open MPI, an int in MPICH.
type Handle uintptr

// FortranHandle returns the Handle of a Fortran MPI communicator (an integer, or comm%MPI_VAL of mpi_f08).
func FortranHandle(f int32) Handle { return Handle(C.word_of_comm(C.comm_of_fortran(C.int(f)))) }

// World returns the Handle of MPI_COMM_WORLD.
func World() Handle { return Handle(C.word_of_comm(C.comm_world())) }

// Engine is a communicator with all Comms made from it. A failure breaks all of these Comms.
type Engine struct {
	opts   Options
	home   *home
	owner  bool       // Init started MPI
	k      *C.control // C memory
	world  *rank
	tagMax int

	failure atomic.Pointer[failure]
	mail
	links  []*link
	closed bool
	fails  string // value of the environment variable BLOBIO_MPI_FAIL

	live      int  // number of communicators, windows and requests in MPI
	notified  bool // this rank has sent its notice to all ranks
	mpiFailed bool // an MPI call failed, so the state of MPI is unknown
	node      *node
	calls     uint
	rested    time.Time // begin of this goroutine's time slice
	passive   bool      // a window is open whose accesses may need this process inside MPI
}

// Init starts MPI in this process and returns the Engine of MPI_COMM_WORLD. Every process of the job must call it once. The
// caller must call Finalize.
func Init(o *Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if C.glue_running() != 0 {
		return nil, fault.Usage("MPI is already initialized; use Adopt")
	}
	want := levelSerialized
	if o != nil && o.Multiple {
		want = levelMultiple
	}
	h := newThread()
	var level int
	err := h.do(func() (err error) { level, err = start(want); return err })
	if err != nil {
		h.close()
		return nil, err
	}
	if level >= levelSerialized {
		h.close()
		h = &home{level: level}
	}
	e, err := open(h, World(), o)
	if err != nil {
		h.closeIf(true)
		return nil, err
	}
	e.owner = true
	return e, nil
}

// start starts MPI on this thread and returns the thread level that MPI grants.
func start(level int) (int, error) {
	var got C.int
	err := check("MPI_Init_thread", C.glue_init(C.int(level), &got))
	return int(got), err
}

// stop ends MPI.
func stop() error { return check("MPI_Finalize", C.MPI_Finalize()) }

// Adopt returns an Engine for an intra-communicator of a program that has started MPI itself. It is collective. Adopt duplicates
// the communicator; the caller still owns the original. The package comment lists the threads that may call the Engine. The
// caller should call Finalize, which does not end MPI.
func Adopt(c Handle, o *Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if C.glue_running() == 0 {
		return nil, fault.Usage("MPI is not initialized; use Init")
	}
	var level, isMain C.int
	if err := check("MPI_Query_thread", C.glue_level(&level, &isMain)); err != nil {
		return nil, err
	}
	return open(&home{level: int(level)}, c, o)
}

// Adopt does the same as the function Adopt, but for an MPI that e has started. The new Engine calls MPI on the same threads as
// e.
func (e *Engine) Adopt(c Handle, o *Options) (*Engine, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return open(e.home, c, o)
}

func open(h *home, handle Handle, o *Options) (*Engine, error) {
	e := &Engine{home: h, node: newNode(), mail: mail{early: map[address][][]byte{}}, fails: os.Getenv("BLOBIO_MPI_FAIL")}
	if o != nil {
		e.opts = *o
	}
	if e.opts.Piece == 0 {
		e.opts.Piece = maxPiece
	}
	err := h.do(func() error {
		from := C.comm_of_word(C.uintptr_t(handle))
		if C.comm_is_null(from) != 0 {
			return fault.Usage("MPI_COMM_NULL")
		}
		var own C.MPI_Comm
		if err := check("MPI_Comm_dup", C.comm_dup(from, &own)); err != nil {
			return err
		}
		e.k = (*C.control)(C.calloc(1, C.sizeof_control))
		if err := check("cannot open the control communicator", C.control_open(e.k, own)); err != nil {
			return err
		}
		e.live++
		l, err := e.newLink(own)
		if err != nil {
			return err
		}
		e.world = l.newComm()
		return e.node.open(l)
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// World returns the Comm of all ranks of e.
func (e *Engine) World() comm.Comm { return e.world }

// handleOf returns the MPI communicator of a Comm of this package, for other MPI calls. It returns 0 for a Comm of another
// package. Comms of the same ranks may share a communicator.
func handleOf(c comm.Comm) Handle {
	if r, ok := c.(*rank); ok {
		return Handle(C.word_of_comm(r.c))
	}
	return 0
}

// Finalize ends the use of e, and ends MPI if Init started it. It is collective. Calls of other ranks on World then fail with
// ErrExited. If other ranks are in a call on another Comm of e, Finalize waits for them until a context ends. After a failure
// Finalize returns nil, because the ranks cannot agree on an outcome.
func (e *Engine) Finalize(ctx context.Context) error {
	defer e.home.closeIf(e.owner)
	return e.home.do(func() error {
		if e.closed {
			return fault.Usage("Finalize was called twice")
		}
		err := e.enter(ctx)
		if err == nil {
			err = e.poll(ctx, waiting{byMPI: len(e.sends) > 0}, func() (bool, error) {
				e.reap(e.k)
				return len(e.sends) == 0, nil
			})
		}
		if err == nil {
			_, err = e.world.meet(ctx, mark{sig: sig(kLeave, 0, 0)}, nil, true)
		}
		if f := e.failure.Load(); f != nil {
			e.notify(f)
			// Wait until the notice is sent. It is small, but MPI may need some time.
			for end := time.Now().Add(time.Second); len(e.sends) > 0 && time.Now().Before(end); e.rest(firstNap) {
				e.reap(e.k)
			}
			if e.owner || !e.tidyUp() {
				C.control_quiet(e.k)
			}
			if errors.Is(err, comm.ErrBroken) {
				err = nil
			}
		} else {
			for _, l := range slices.Backward(e.links) {
				l.release()
			}
			if x := e.releaseControl(); err == nil {
				err = x
			}
		}
		for _, l := range e.links { // links whose release failed remain
			l.closeAreas()
		}
		e.mail.close()
		e.node.close()
		e.closed = true
		if e.owner {
			if x := stop(); err == nil {
				err = x
			}
		}
		return err
	})
}

// Run calls Init, f on the Comm of all processes, and Finalize. An error or a panic of f on one rank breaks the communication of
// all, as in comm.Run. Run returns the error of this rank. If another rank failed, the error wraps comm.ErrBroken or is the
// failing rank's *comm.RankError.
func Run(ctx context.Context, o *Options, f func(ctx context.Context, c comm.Comm) error) error {
	e, err := Init(o)
	if err != nil {
		return err
	}
	err = runRank(ctx, e, f)
	if err != nil {
		e.Fail(err)
	}
	if x := e.Finalize(ctx); err == nil {
		err = x
	}
	return err
}

func runRank(ctx context.Context, e *Engine, f func(ctx context.Context, c comm.Comm) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &comm.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f(ctx, e.World())
}
