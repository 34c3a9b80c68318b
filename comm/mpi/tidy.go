//go:build mpi && cgo

package mpi

// #include "glue.h"
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"blobio/comm"
)

// After a failure MPI still has requests of abandoned calls. A communicator or window can be freed only by all its ranks
// together, and only if nothing is pending. Finalize of an adopted engine therefore collects the reports of all ranks on the
// control communicator. It ends the requests that can end, and frees the objects that are quiet on all ranks. The rest stays
// until MPI ends.
//
//	1  all gather the lengths of the reports   if a rank does not come within 3 seconds, nothing is freed
//	2  all gather the reports                  a rank that gets them knows that all have completed step 1
//	3  ranks that have not begun a collective begin it: it can only be the header, which is the
//	   same for all calls; then the abandoned requests end
//	4  all vote on the quiet communicators; every rank that has completed step 1 takes part
//	5  the quiet communicators are freed, in the same order on all ranks

// arrival is the time to wait for all ranks. It is longer than patience, for which a rank may ignore the failure.
const arrival = 3 * patience

// tidy records the MPI objects of a link, for the release after a failure.
type tidy struct {
	id       string // the same on all ranks of the link, and unique among links
	divided  int    // number of times that MPI divided the link
	begun    int64  // number of MPI collectives begun
	left     []leftover
	sent     int64 // number of MPI messages sent
	received int64
	windows  []*window
	lost     bool // some object of the link cannot be freed
}

// leftover is an abandoned request. Its buffers are never freed.
type leftover struct {
	req  C.MPI_Request
	what collective
}

type collective bool

const (
	aHeader  collective = true
	noHeader collective = false
)

// complete waits for a collective that was just begun.
func (l *link) complete(ctx context.Context, req *C.MPI_Request, what collective, stay bool) error {
	l.tidy.begun++
	err := l.e.wait(ctx, req, stay)
	if err != nil {
		l.tidy.left = append(l.tidy.left, leftover{*req, what})
		l.e.live++
	}
	return err
}

// childID returns tidy.id of a link made by dividing l.
func (l *link) childID(c C.MPI_Comm) string {
	var first C.int
	if C.comm_first(l.c, c, &first) != C.MPI_SUCCESS {
		l.e.mpiFailed = true
	}
	return fmt.Sprintf("%s/%d.%d", l.tidy.id, l.tidy.divided, first)
}

// release frees a link and its windows. It is collective over the link.
func (l *link) release() {
	for _, w := range l.tidy.windows {
		C.win_free(&w.w)
		w.freed, w.mem, w.last, w.parts = true, nil, nil, nil
		l.e.live--
	}
	l.tidy.windows = nil
	for k := range l.shared.windows {
		C.win_free(&l.shared.windows[k])
		l.e.live--
	}
	l.closeAreas()
	l.shared = shared{asked: true, full: true}
	C.MPI_Comm_free(&l.c)
	l.e.live--
	C.free(unsafe.Pointer(l.header.words))
}

// closeAreas frees common memory without MPI.
func (l *link) closeAreas() {
	for _, b := range l.shared.areas {
		closeArea(b)
	}
	l.shared.areas = nil
}

// releaseControl frees the control communicator. It is collective.
func (e *Engine) releaseControl() error {
	err := check("cannot close the control communicator", C.control_close(e.k))
	C.free(unsafe.Pointer(e.k))
	e.live--
	return err
}

// tidyUp frees MPI objects after a failure, as far as possible. It returns true if it has freed the control communicator, too.
// It runs on a thread that may call MPI.
func (e *Engine) tidyUp() bool {
	n := e.world.size
	mine, err := json.Marshal(e.report())
	if err != nil {
		return false
	}
	length, lengths := alloc(8), alloc(8*n)
	length.int64s(1)[0] = int64(len(mine))
	var req C.MPI_Request
	if C.coll_allgather64(length.int64p(), lengths.int64p(), e.k.comm, &req) != C.MPI_SUCCESS || !e.await(&req, arrival) {
		return false // the buffers stay, because MPI may use them
	}
	all, ok := e.reports(mine, slices.Clone(lengths.int64s(n)))
	free(length, lengths)
	// From here on each rank must reach the vote.
	quiet := map[*link]bool{}
	var ids []string
	notices := false
	if ok {
		todo := plans(all)
		for id := range todo {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		for _, l := range e.links {
			quiet[l] = todo[l.tidy.id].possible() && l.settle(todo[l.tidy.id])
		}
		notices = e.takeNotices(all) && !slices.ContainsFunc(all, func(r report) bool { return r.Lost })
	}
	vote := ^uint64(0)
	if !notices {
		vote &^= 1
	}
	bit := func(l *link) uint64 {
		if k := slices.Index(ids, l.tidy.id); k >= 0 && k < 62 {
			return 2 << k
		}
		return 0
	}
	for _, l := range e.links {
		if !quiet[l] {
			vote &^= bit(l)
		}
	}
	if !ok {
		vote = 0
	}
	in, out := alloc(8), alloc(8)
	in.int64s(1)[0] = int64(vote)
	if C.coll_allreduce(in.int64p(), out.int64p(), 1, C.OP_AND, e.k.comm, &req) != C.MPI_SUCCESS {
		return false
	}
	if !ok {
		e.await(&req, patience)
		return false
	}
	if !e.await(&req, time.Hour) { // all ranks have entered this function
		return false
	}
	vote = uint64(out.int64s(1)[0])
	free(in, out)
	mineLinks := slices.Clone(e.links)
	slices.SortFunc(mineLinks, func(a, b *link) int { return slices.Index(ids, a.tidy.id) - slices.Index(ids, b.tidy.id) })
	for _, l := range slices.Backward(mineLinks) {
		if b := bit(l); b != 0 && vote&b != 0 {
			l.release()
		}
	}
	return vote&1 != 0 && e.releaseControl() == nil
}

// reports sends this rank's report to all ranks and returns the reports of all ranks.
func (e *Engine) reports(mine []byte, lens []int64) ([]report, bool) {
	n := len(lens)
	counts, displs := alloc(4*n), alloc(4*n)
	sum := layout(counts.ints(n), displs.ints(n), func(i int) int { return int(lens[i]) })
	in, out := alloc(len(mine)), alloc(sum)
	copy(in.bytes(len(mine)), mine)
	var req C.MPI_Request
	if C.coll_allgatherv(in.p, C.int(len(mine)), out.p, counts.intp(), displs.intp(), e.k.comm, &req) != C.MPI_SUCCESS || !e.await(&req, arrival) {
		return nil, false
	}
	all, rest := make([]report, n), out.bytes(sum)
	for i := range all {
		if err := json.Unmarshal(rest[:lens[i]], &all[i]); err != nil {
			return nil, false
		}
		rest = rest[lens[i]:]
	}
	free(counts, displs, in, out)
	return all, true
}

// settle waits for the abandoned requests of a link. It returns true if all have ended.
func (l *link) settle(p *plan) bool {
	t := &l.tidy
	if !t.end(l.e) { // all ranks have begun these collectives
		return false
	}
	if t.begun == p.begun {
		return true
	}
	*l.header.words = [2 * headWords]C.int64_t{}
	var req C.MPI_Request
	if C.coll_allreduce(&l.header.words[0], &l.header.words[headWords], headWords, C.int(comm.Max), l.c, &req) != C.MPI_SUCCESS {
		return false
	}
	t.begun++
	t.left = append(t.left, leftover{req, aHeader})
	l.e.live++
	return t.end(l.e)
}

// end waits for the remaining requests.
func (t *tidy) end(e *Engine) bool {
	for len(t.left) > 0 {
		if !e.await(&t.left[0].req, patience) {
			return false
		}
		t.left = t.left[1:]
		e.live--
	}
	return true
}

// takeNotices receives the notices of all other ranks. Otherwise MPI would deliver the notices to the next communicator with
// the same number.
func (e *Engine) takeNotices(all []report) bool {
	want, have := 0, 0
	for r, x := range all {
		if x.Told && r != e.world.rank {
			want++
		}
	}
	try := func(f func() bool) bool {
		for end := time.Now().Add(patience); !f(); e.rest(firstLook) {
			if time.Now().After(end) {
				return false
			}
		}
		return true
	}
	if want > 0 {
		if !try(func() bool { C.control_poll(e.k); return e.k.seen != 0 }) {
			return false
		}
		have++
	}
	for ; have < want; have++ {
		var flag, n C.int
		var m C.MPI_Message
		if !try(func() bool {
			return C.msg_probe(C.MPI_ANY_SOURCE, 0, e.k.comm, &flag, &n, &m) != C.MPI_SUCCESS || flag != 0
		}) || flag == 0 {
			return false
		}
		p := alloc(int(n))
		var req C.MPI_Request
		if C.msg_recv(p.p, n, &m, &req) != C.MPI_SUCCESS || !e.await(&req, patience) {
			return false
		}
		free(p)
	}
	return try(func() bool { e.reap(e.k); return len(e.sends) == 0 })
}

// await waits for a request, regardless of failures.
func (e *Engine) await(req *C.MPI_Request, limit time.Duration) bool {
	sleep := firstLook
	for end := time.Now().Add(limit); ; {
		var code C.int
		switch C.glue_test(req, e.k, 1, spins, &code) {
		case C.DONE:
			return true
		case C.FAILED:
			return false
		}
		if time.Now().After(end) {
			return false
		}
		e.rest(sleep)
		sleep = min(2*sleep, lastLook)
	}
}
