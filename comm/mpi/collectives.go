//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"blobio/comm"
)

// rank is one process's view of a Comm.
type rank struct {
	*link
	serial int64 // which of the Comms of the link
}

// link is a communicator of MPI. Comms of the same ranks in the same order share one:
// MPI has some thousands of them, and nobody frees a Comm.
type link struct {
	e          *Engine
	c          C.MPI_Comm
	rank, size int
	head       *[2 * headWords]C.int64_t // C memory: what a header sends and receives
	windows    int                       // opened so far
	comms      int64                     // made so far; their serials are below
	divisions  []division                // by Split and SplitNode, the same on all ranks
	shared     shared
	tidy       tidy
	board      *board // nil: the ranks have none
}

var _ comm.Comm = (*rank)(nil)

func (e *Engine) newLink(c C.MPI_Comm) (*link, error) {
	var n, size, tagMax C.int
	if err := check("MPI_Comm_rank", C.comm_info(c, &n, &size, &tagMax)); err != nil {
		return nil, err
	}
	e.tagMax = int(tagMax)
	head := (*[2 * headWords]C.int64_t)(C.calloc(2*headWords, 8))
	l := &link{e: e, c: c, rank: int(n), size: int(size), head: head}
	e.links = append(e.links, l)
	e.live++
	return l, nil
}

// newComm makes one more Comm of the link. All its ranks do so in the same order.
func (l *link) newComm() *rank {
	l.comms++
	return &rank{l, l.comms - 1}
}

func (r *rank) Rank() int { return r.rank }
func (r *rank) Size() int { return r.size }

// call runs f where MPI is called, if nothing is broken.
func (r *rank) call(ctx context.Context, f func() error) error {
	return r.e.home.do(func() error {
		if err := r.e.enter(ctx); err != nil {
			return err
		}
		return f()
	})
}

// usage breaks the communication because of a bad argument: the other ranks would wait in vain.
func (r *rank) usage(format string, args ...any) error {
	return r.e.failRank(fmt.Errorf("mpi: %w: %s", comm.ErrUsage, fmt.Sprintf(format, args...)))
}

func (r *rank) checkRank(name string, n int) error {
	if n < 0 || n >= r.size {
		return r.usage("%s %d, want 0 ... %d", name, n, r.size-1)
	}
	return nil
}

func (r *rank) checkOp(op comm.Op) error {
	if op >= comm.Replace {
		return r.usage("%v in a reduction", op)
	}
	return nil
}

// kind is which collective.
type kind uint8

const (
	kBarrier kind = iota
	kBcast
	kGather
	kAllgather
	kAlltoallv
	kAllreduce
	kExscan
	kSplit
	kSplitNode
	kNewWindow
	kFence
	kFree
	kShare
	kMemory
	kMemoryFence
	kLeave // Finalize
)

var kindNames = [...]string{"Barrier", "Bcast", "Gather", "Allgather", "Alltoallv", "AllreduceInt64", "ExscanInt64",
	"Split", "SplitNode", "NewWindow", "Fence", "Free", "Share", "SharedMemory", "Fence of memory", "Finalize"}

// sig packs kind, op and root (or the number of a window): 8, 8 and 32 bits.
func sig(k kind, op comm.Op, root int) int64 {
	return int64(k)<<40 | int64(op)<<32 | int64(uint32(root))
}

func sigString(s, elems int64) string {
	k, op, root := kind(s>>40), comm.Op(s>>32&0xff), int(uint32(s))
	switch k {
	case kBcast, kGather:
		return fmt.Sprintf("%s with root %d", kindNames[k], root)
	case kAllreduce, kExscan:
		return fmt.Sprintf("%s %v of %d elements", kindNames[k], op, elems)
	case kFence, kFree:
		return fmt.Sprintf("%s of window %d", kindNames[k], root)
	}
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "an unknown collective"
}

const (
	fixedWords = 5
	// freeWords are elements of a short Allreduce that travel with the header. Their number does
	// not depend on the call, so that MPI never sees ranks with different counts.
	freeWords = 8
	headWords = fixedWords + freeWords
)

// header begins a collective, where MPI may be called. All ranks must give the same kind, op, root and elems; the
// result is the greatest n.
func (r *rank) header(ctx context.Context, k kind, op comm.Op, root int, elems, n int, stay bool) (int64, error) {
	r.fill(k, op, root, elems, n)
	if err := r.exchange(ctx, nil, stay); err != nil {
		return 0, err
	}
	most, err := r.judge()
	if err != nil {
		return 0, r.e.fail(err, err)
	}
	return most, nil
}

// fill prepares the words of a header; those of a short Allreduce are there already.
func (r *rank) fill(k kind, op comm.Op, root int, elems, n int) {
	s := sig(k, op, root)
	for i, v := range [fixedWords]int64{s, -s, int64(elems), -int64(elems), int64(n)} {
		r.head[i] = C.int64_t(v)
	}
}

// exchange puts the greatest of all ranks' words into the second half of r.head. On a board it leaves data too.
func (r *rank) exchange(ctx context.Context, data []byte, stay bool) error {
	if r.board != nil {
		err := r.meet(ctx, data, stay)
		if err == nil {
			r.greatest()
		}
		return err
	}
	var req C.MPI_Request
	if err := r.e.mpi("MPI_Iallreduce", C.coll_allreduce(&r.head[0], &r.head[headWords], headWords, C.int(comm.Max), r.c, &req)); err != nil {
		return err
	}
	return r.complete(ctx, &req, aHeader, stay)
}

// judge returns the greatest n of a header, or how the calls of the ranks differ.
func (r *rank) judge() (int64, error) {
	out := r.head[headWords:]
	hi, lo := int64(out[0]), -int64(out[1])
	if hi == lo && out[2] == -out[3] {
		return int64(out[4]), nil
	}
	class := comm.ErrMismatch
	if kind(hi>>40) == kLeave {
		class = comm.ErrExited
	}
	return 0, fmt.Errorf("mpi: %w: %s and %s", class, sigString(lo, -int64(out[3])), sigString(hi, int64(out[2])))
}

// begin is a header from the goroutine of the caller. On a board each rank also leaves data, and
// MPI is called only if it comes to waiting.
func (r *rank) begin(ctx context.Context, k kind, op comm.Op, root int, elems, n int, data []byte) (most int64, err error) {
	b := r.board
	if b == nil || !r.e.quiet(ctx) {
		err = r.call(ctx, func() error {
			r.fill(k, op, root, elems, n)
			if err := r.exchange(ctx, data, false); err != nil {
				return err
			}
			if most, err = r.judge(); err != nil {
				return r.e.fail(err, err)
			}
			return nil
		})
		return most, err
	}
	r.fill(k, op, root, elems, n)
	if !b.come(r.head[:headWords], data) && !b.look(firstSleep) {
		if err := r.e.home.do(func() error { return r.waitBoard(ctx, false) }); err != nil {
			return 0, err
		}
	}
	r.greatest()
	if most, err = r.judge(); err != nil {
		return 0, r.e.home.do(func() error { return r.e.fail(err, err) })
	}
	return most, nil
}

// quiet says whether a call may begin without a look at MPI.
func (e *Engine) quiet(ctx context.Context) bool {
	e.home.mu.Lock() // Fail may come from any goroutine
	defer e.home.mu.Unlock()
	return !e.closed && e.home.anywhere() && e.failure.Load() == nil && len(e.sends) == 0 && ctx.Err() == nil
}

// short is a whole Allreduce of at most freeWords elements by Max or Min.
func (r *rank) short(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	turn := int64(0)
	if op == comm.Min {
		turn = -1 // ^x turns the order around
	}
	for i, x := range v {
		r.head[fixedWords+i] = C.int64_t(x ^ turn)
	}
	if _, err := r.begin(ctx, kAllreduce, op, 0, len(v), 0, nil); err != nil {
		return nil, err
	}
	res := make([]int64, len(v))
	for i := range res {
		res[i] = int64(r.head[headWords+fixedWords+i]) ^ turn
	}
	return res, nil
}

// common returns the bits that all ranks have set.
func (r *rank) common(ctx context.Context, bits uint64, stay bool) (uint64, error) {
	in, out := &r.head[0], &r.head[headWords]
	*in = C.int64_t(bits)
	if b := r.board; b != nil {
		if err := r.meet(ctx, nil, stay); err != nil {
			return 0, err
		}
		all := ^uint64(0)
		for j := range b.n {
			all &= uint64(b.words(b.round-1, j)[0])
		}
		return all, nil
	}
	var req C.MPI_Request
	if err := r.e.mpi("MPI_Iallreduce", C.coll_allreduce(in, out, 1, C.int(comm.BAnd), r.c, &req)); err != nil {
		return 0, err
	}
	err := r.complete(ctx, &req, noHeader, stay)
	return uint64(*out), err
}

func (r *rank) Barrier(ctx context.Context) error {
	_, err := r.begin(ctx, kBarrier, 0, 0, 0, 0, nil)
	return err
}

func (r *rank) Share(ctx context.Context, v any) ([]any, error) {
	all := make([]any, r.size)
	all[r.rank] = v
	if _, err := r.begin(ctx, kShare, 0, 0, 0, 0, nil); err != nil {
		return nil, err
	}
	return all, nil
}

// buffer is C memory.
type buffer struct{ p unsafe.Pointer }

func alloc(n int) buffer { return buffer{C.malloc(C.size_t(max(n, 8)))} }

func (b buffer) bytes(n int) []byte   { return unsafe.Slice((*byte)(b.p), n) }
func (b buffer) ints(n int) []C.int   { return unsafe.Slice((*C.int)(b.p), n) }
func (b buffer) int64s(n int) []int64 { return unsafe.Slice((*int64)(b.p), n) }
func (b buffer) int64p() *C.int64_t   { return (*C.int64_t)(b.p) }
func (b buffer) intp() *C.int         { return (*C.int)(b.p) }

// finish waits for a request that a call has made. The buffers are freed only if it ends well:
// otherwise MPI may still use them.
func (r *rank) finish(ctx context.Context, what string, code C.int, req *C.MPI_Request) error {
	if err := r.e.mpi(what, code); err != nil {
		return err
	}
	return r.complete(ctx, req, noHeader, false)
}

func free(bufs ...buffer) {
	for _, b := range bufs {
		C.free(b.p)
	}
}

// usable breaks the communication if root is not a rank.
func (r *rank) usable(ctx context.Context, root int) error {
	if root >= 0 && root < r.size {
		return nil
	}
	return r.call(ctx, func() error { return r.checkRank("root", root) })
}

func (r *rank) Bcast(ctx context.Context, root int, buf []byte) ([]byte, error) {
	if err := r.usable(ctx, root); err != nil {
		return nil, err
	}
	if r.rank != root {
		buf = nil
	}
	size, err := r.begin(ctx, kBcast, 0, root, 0, len(buf), buf)
	if err != nil {
		return nil, err
	}
	if r.rank == root {
		buf = bytes.Clone(buf)
	} else if r.board.fits(size) {
		buf = bytes.Clone(r.board.left(root))
	} else {
		buf = make([]byte, size)
	}
	if buf == nil {
		buf = []byte{}
	}
	if r.board.fits(size) {
		return buf, nil
	}
	err = r.call(ctx, func() error {
		piece := min(len(buf), r.e.opts.Piece)
		p := alloc(piece)
		for rest := buf; len(rest) > 0; {
			n := min(len(rest), piece)
			if r.rank == root {
				copy(p.bytes(n), rest)
			}
			var req C.MPI_Request
			if err := r.finish(ctx, "MPI_Ibcast", C.coll_bcast(p.p, C.int(n), C.int(root), r.c, &req), &req); err != nil {
				return err
			}
			if r.rank != root {
				copy(rest, p.bytes(n))
			}
			rest = rest[n:]
		}
		free(p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return buf, nil
}

func (r *rank) Gather(ctx context.Context, root int, b []byte) ([][]byte, error) {
	if err := r.usable(ctx, root); err != nil {
		return nil, err
	}
	return r.collect(ctx, kGather, root, b)
}

func (r *rank) Allgather(ctx context.Context, b []byte) ([][]byte, error) {
	return r.collect(ctx, kAllgather, -1, b)
}

// collect gathers on root, or on all if root < 0.
func (r *rank) collect(ctx context.Context, k kind, root int, b []byte) (out [][]byte, err error) {
	most, err := r.begin(ctx, k, 0, max(root, 0), 0, len(b), b)
	if err != nil {
		return nil, err
	}
	if r.board.fits(most) {
		if root < 0 || root == r.rank {
			out = make([][]byte, r.size)
			for i := range out {
				out[i] = append([]byte{}, r.board.left(i)...)
			}
		}
		return out, nil
	}
	err = r.call(ctx, func() (err error) {
		out, err = r.gatherv(ctx, root, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// lengths tells all ranks a number of each.
func (r *rank) lengths(ctx context.Context, n int) ([]int64, error) {
	if b := r.board; b != nil {
		r.head[0] = C.int64_t(n)
		if err := r.meet(ctx, nil, false); err != nil {
			return nil, err
		}
		all := make([]int64, r.size)
		for j := range all {
			all[j] = b.words(b.round-1, j)[0]
		}
		return all, nil
	}
	in, out := alloc(8), alloc(8*r.size)
	in.int64s(1)[0] = int64(n)
	var req C.MPI_Request
	err := r.finish(ctx, "MPI_Iallgather", C.coll_allgather64(in.int64p(), out.int64p(), r.c, &req), &req)
	if err != nil {
		return nil, err
	}
	defer free(in, out)
	return slices.Clone(out.int64s(r.size)), nil
}

// portion is how many bytes a rank gives to one call of MPI, if the longest part is of
// longest bytes and one process holds parts of all: no sum exceeds a piece.
func (r *rank) portion(longest, total int64) int64 {
	if total <= int64(r.e.opts.Piece) {
		return max(longest, 1)
	}
	return max(1, int64(r.e.opts.Piece/r.size))
}

// layout fills counts and displs for parts that lie one after the other, and returns their sum.
func layout(counts, displs []C.int, n func(i int) int) int {
	sum := 0
	for i := range counts {
		counts[i], displs[i] = C.int(n(i)), C.int(sum)
		sum += n(i)
	}
	return sum
}

// window of round k in a part of n bytes, portion bytes each.
func cut(n, k, portion int64) (from, to int64) {
	from = min(n, k*portion)
	return from, min(n, from+portion)
}

// gatherv gathers on root, or on all if root < 0.
func (r *rank) gatherv(ctx context.Context, root int, b []byte) ([][]byte, error) {
	lens, err := r.lengths(ctx, len(b))
	if err != nil {
		return nil, err
	}
	longest, total := slices.Max(lens), int64(0)
	for _, n := range lens {
		total += n
	}
	portion := r.portion(longest, total)
	receives := root < 0 || root == r.rank
	var parts [][]byte
	if receives {
		parts = make([][]byte, r.size)
		for i := range parts {
			parts[i] = make([]byte, lens[i])
		}
	}
	counts, displs := alloc(4*r.size), alloc(4*r.size)
	for k := int64(0); k*portion < longest; k++ {
		sum := layout(counts.ints(r.size), displs.ints(r.size), func(i int) int {
			from, to := cut(lens[i], k, portion)
			return int(to - from)
		})
		if !receives {
			sum = 0
		}
		from, to := cut(int64(len(b)), k, portion)
		in, out := alloc(int(to-from)), alloc(sum)
		copy(in.bytes(int(to-from)), b[from:to])
		var req C.MPI_Request
		var code C.int
		if root < 0 {
			code = C.coll_allgatherv(in.p, C.int(to-from), out.p, counts.intp(), displs.intp(), r.c, &req)
		} else {
			code = C.coll_gatherv(in.p, C.int(to-from), out.p, counts.intp(), displs.intp(), C.int(root), r.c, &req)
		}
		if err := r.finish(ctx, "MPI_Igatherv", code, &req); err != nil {
			return nil, err
		}
		if receives {
			got := out.bytes(sum)
			for i, p := range parts {
				from, to := cut(lens[i], k, portion)
				got = got[copy(p[from:to], got):]
			}
		}
		free(in, out)
	}
	free(counts, displs)
	return parts, nil
}

func (r *rank) Alltoallv(ctx context.Context, b [][]byte) (out [][]byte, err error) {
	err = r.call(ctx, func() error {
		if len(b) != 0 && len(b) != r.size {
			return r.usage("Alltoallv of %d slices, want %d", len(b), r.size)
		}
		out, err = r.alltoallv(ctx, b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (r *rank) alltoallv(ctx context.Context, b [][]byte) ([][]byte, error) {
	if len(b) == 0 {
		b = make([][]byte, r.size)
	}
	most := 0
	for _, x := range b {
		most = max(most, len(x))
	}
	longest, err := r.header(ctx, kAlltoallv, 0, 0, 0, most, false)
	if err != nil {
		return nil, err
	}
	lin, lout := alloc(8*r.size), alloc(8*r.size)
	for i, x := range b {
		lin.int64s(r.size)[i] = int64(len(x))
	}
	var req C.MPI_Request
	err = r.finish(ctx, "MPI_Ialltoall", C.coll_alltoall64(lin.int64p(), lout.int64p(), r.c, &req), &req)
	if err != nil {
		return nil, err
	}
	lens := slices.Clone(lout.int64s(r.size))
	free(lin, lout)

	out := make([][]byte, r.size)
	for i := range out {
		out[i] = make([]byte, lens[i])
	}
	portion := r.portion(longest, longest*int64(r.size))
	nin, din, nout, dout := alloc(4*r.size), alloc(4*r.size), alloc(4*r.size), alloc(4*r.size)
	for k := int64(0); k*portion < longest; k++ {
		sends := layout(nin.ints(r.size), din.ints(r.size), func(i int) int {
			from, to := cut(int64(len(b[i])), k, portion)
			return int(to - from)
		})
		recvs := layout(nout.ints(r.size), dout.ints(r.size), func(i int) int {
			from, to := cut(lens[i], k, portion)
			return int(to - from)
		})
		pin, pout := alloc(sends), alloc(recvs)
		rest := pin.bytes(sends)
		for _, x := range b {
			from, to := cut(int64(len(x)), k, portion)
			rest = rest[copy(rest, x[from:to]):]
		}
		var req C.MPI_Request
		err := r.finish(ctx, "MPI_Ialltoallv",
			C.coll_alltoallv(pin.p, nin.intp(), din.intp(), pout.p, nout.intp(), dout.intp(), r.c, &req), &req)
		if err != nil {
			return nil, err
		}
		rest = pout.bytes(recvs)
		for i, x := range out {
			from, to := cut(lens[i], k, portion)
			rest = rest[copy(x[from:to], rest):]
		}
		free(pin, pout)
	}
	free(nin, din, nout, dout)
	return out, nil
}

func (r *rank) AllreduceInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	return r.reduce(ctx, kAllreduce, v, op)
}

func (r *rank) ExscanInt64(ctx context.Context, v []int64, op comm.Op) ([]int64, error) {
	return r.reduce(ctx, kExscan, v, op)
}

func (r *rank) reduce(ctx context.Context, k kind, v []int64, op comm.Op) (res []int64, err error) {
	if op >= comm.Replace {
		return nil, r.call(ctx, func() error { return r.checkOp(op) })
	}
	if k == kAllreduce && (op == comm.Max || op == comm.Min) && len(v) <= freeWords {
		return r.short(ctx, v, op)
	}
	res = make([]int64, len(v))
	copy(res, v)
	if op == comm.LAnd || op == comm.LOr { // of one rank MPI returns the value itself
		for i, x := range res {
			if x != 0 {
				res[i] = 1
			}
		}
	}
	var data []byte
	if r.board.fits(8 * int64(len(v))) {
		for _, x := range res {
			data = binary.NativeEndian.AppendUint64(data, uint64(x))
		}
	}
	if _, err := r.begin(ctx, k, op, 0, len(v), 0, data); err != nil {
		return nil, err
	}
	if r.board.fits(8 * int64(len(v))) {
		r.fold(k, op, res)
	} else if err := r.call(ctx, func() error { return r.reduction(ctx, k, op, res) }); err != nil {
		return nil, err
	}
	if k == kExscan && r.rank == 0 { // MPI leaves it undefined
		for i := range res {
			res[i] = op.IdentityInt64()
		}
	}
	return res, nil
}

// fold reduces what lies on the board, in the order of the ranks.
func (r *rank) fold(k kind, op comm.Op, res []int64) {
	n := r.size
	if k == kExscan {
		n = r.rank
	}
	for j := range n {
		b := r.board.left(j)
		for i := range res {
			x := []int64{int64(binary.NativeEndian.Uint64(b[8*i:]))}
			if j == 0 {
				res[i] = x[0]
			} else {
				op.CombineInt64(res[i:i+1], x)
			}
		}
	}
}

// reduction is that of MPI, in place.
func (r *rank) reduction(ctx context.Context, k kind, op comm.Op, res []int64) error {
	most := min(len(res), r.e.opts.Piece/8)
	in, out := alloc(8*most), alloc(8*most)
	for rest := res; len(rest) > 0; {
		n := min(len(rest), most)
		copy(in.int64s(n), rest)
		var req C.MPI_Request
		var code C.int
		if k == kAllreduce {
			code = C.coll_allreduce(in.int64p(), out.int64p(), C.int(n), C.int(op), r.c, &req)
		} else {
			code = C.coll_exscan(in.int64p(), out.int64p(), C.int(n), C.int(op), r.c, &req)
		}
		if err := r.finish(ctx, "reduction", code, &req); err != nil {
			return err
		}
		copy(rest, out.int64s(n))
		rest = rest[n:]
	}
	free(in, out)
	return nil
}
