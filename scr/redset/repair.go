package redset

import (
	"context"
	"fmt"
	"slices"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/scr/kvtree"
)

// repair rebuilds one set. If there is a Comm of the set, each member has a repair, and all make the same decisions. Offline
// there is only one repair for all members.
type repair struct {
	sc     comm.Comm // Comm of the set; nil: offline
	me     int       // member of this rank; -1: offline
	locals []*member // members whose files are accessible: this member, or offline all members

	counts  func(name string) bool
	dry     bool // only compare, and rebuild nothing
	compare bool // there are no checksums, and elements must agree with each other

	position       // position of one of the members
	group    []int // world ranks
	headers  []*header
	descs    []*desc
	extra    *kvtree.Tree
	sums     []*memberSums // nil: unknown

	// learned holds checksums that were computed from rebuilt bytes, for members whose own checksums are lost.
	learned []*memberSums

	lay   *layout
	ext   [][]extent
	elems [][]elem
	state [][]state // by stripe and position in the stripe
	faith []faith   // by stripe, for sets without checksums
}

// faith is the state of a stripe whose elements have no checksums.
type faith int

const (
	unknown faith = iota
	doubted       // the elements disagree, and it is unknown which one is wrong
	agreed        // the existing elements agree, or there is no spare element
)

// state is what is known about an element.
type state struct {
	bad  bool // lost, or different from its checksum
	made bool // rebuilt from good elements
	read bool // read, and, if its checksum is known, equal to it
	crc  []uint32
}

// plan returns the jobs for the present state of the stripes. The jobs are the same on all members.
func (r *repair) plan() ([]*job, error) {
	var jobs []*job
	for c, es := range r.elems {
		var out, good []elem
		erased := 0
		for x, s := range r.state[c] {
			switch {
			case s.bad && !s.made:
				out = append(out, es[x])
				erased++
			case s.bad:
				erased++
			default:
				good = append(good, es[x])
			}
		}
		d := r.lay.dataPerStripe()
		if r.dry {
			out = nil
		}
		if len(out) > 0 && len(good) < d {
			return nil, r.lost(fmt.Sprintf("stripe %d has lost %d of %d elements", c, erased, len(es)))
		}
		var code []*job
		switch compare := r.compare && r.faith[c] != agreed && len(good) > d; {
		case compare && r.faith[c] == doubted:
			for i := range good {
				rest := slices.Delete(slices.Clone(good), i, i+1)
				code = append(code, &job{c: c, in: rest[:d], out: rest[d:], checks: len(rest) - d, apart: &good[i]})
			}
		case compare:
			code = append(code, &job{c: c, in: good[:d], out: slices.Concat(out, good[d:]), checks: len(good) - d})
			for _, e := range good[d:] {
				jobs = append(jobs, &job{c: c, worker: e.member, in: []elem{e}})
			}
		case len(out) > 0:
			code = append(code, &job{c: c, in: good[:d], out: out})
			good = good[d:]
		}
		for _, j := range code {
			j.worker = r.lay.worker(c)
			if r.me < 0 || j.worker == r.me {
				var err error
				if j.code, err = r.lay.newCoder(c, j.in, j.out); err != nil {
					return nil, err
				}
			}
			jobs = append(jobs, j)
		}
		for _, e := range good { // the members that have the other elements check them
			if !r.state[c][e.pos].read && r.lay.ofElem(r.sums, r.ext, c, e) != nil {
				jobs = append(jobs, &job{c: c, worker: e.member, in: []elem{e}})
			}
		}
	}
	return jobs, nil
}

// judge compares the results of the jobs with the checksums. again is true if another element proved bad.
func (r *repair) judge(e *engine) (again bool, err error) {
	good := make([]bool, len(e.jobs))
	for i, j := range e.jobs {
		good[i] = true
		for x, el := range j.in {
			s := &r.state[j.c][el.pos]
			want := r.lay.ofElem(r.sums, r.ext, j.c, el)
			if o := e.in[i][x]; o.bad || want != nil && !slices.Equal(want, o.crc) {
				s.bad, good[i], again = true, false, true
			} else {
				s.read, s.crc = true, o.crc
			}
		}
	}
	trials, found := map[int]*trial{}, false // by stripe
	for i, j := range e.jobs {
		if !good[i] || len(j.out) == 0 {
			continue
		}
		known, agree := true, true
		for x, el := range j.out {
			if s := r.state[j.c][el.pos]; !j.writes(x) {
				known = known && s.read && !s.bad
				agree = agree && slices.Equal(s.crc, e.out[i][x].crc)
			}
		}
		switch {
		case !known: // known only after another round
			continue
		case j.apart != nil:
			if trials[j.c] == nil {
				trials[j.c] = &trial{}
			}
			trials[j.c].add(*j.apart, agree)
			continue
		case !agree && j.checks < 2:
			return false, r.doubt(j.c)
		case !agree:
			r.faith[j.c], again = doubted, true
			continue
		}
		r.faith[j.c] = agreed
		for x, el := range j.out {
			if !j.writes(x) {
				continue
			}
			want := r.lay.ofElem(r.sums, r.ext, j.c, el)
			if want != nil && !slices.Equal(want, e.out[i][x].crc) {
				return false, r.lost(fmt.Sprintf("stripe %d: the rebuilt bytes do not match their checksum, so bytes without a checksum are corrupt", j.c))
			}
			r.state[j.c][el.pos].made = true
			r.lay.keep(r.learned, r.ext, j.c, el, e.out[i][x].crc)
		}
	}
	for c := range r.elems {
		if t := trials[c]; t != nil && !again {
			if t.agree != 1 {
				return false, r.doubt(c)
			}
			r.state[c][t.wrong.pos].bad, r.faith[c] = true, unknown
			found = true
		}
	}
	return again || found, nil
}

// run rebuilds the bad elements into temporary files.
func (r *repair) run(ctx context.Context) error {
	if err := r.agree(ctx, r.begin()); err != nil {
		return err
	}
	stores := make([]*store, r.n)
	for _, m := range r.locals {
		stores[m.rank] = m.store
	}
	for {
		if err := r.exchange(ctx); err != nil {
			return err
		}
		jobs, err := r.plan()
		if err != nil {
			return err // the error is the same on all members
		}
		for _, m := range r.locals {
			if err == nil {
				err = m.prepare()
			}
		}
		if err := r.agree(ctx, err); err != nil {
			return err
		}
		e := &engine{lay: r.lay, ext: r.ext, stores: stores, c: r.sc, me: r.me, jobs: jobs}
		if r.sc != nil {
			if err := e.share(ctx, r.locals[0].store); err != nil {
				return err
			}
		}
		err = e.run(ctx)
		if ok, terr := e.tell(ctx, err); err == nil && terr != nil {
			return terr
		} else if !ok {
			return r.agree(ctx, err)
		}
		again, err := r.judge(e)
		if err != nil {
			return err
		}
		if !again {
			break
		}
		for _, m := range r.locals {
			m.probe()
		}
	}
	for m, s := range r.learned {
		if s != nil {
			r.sums[m] = s // all bytes of the member were computed from good elements
		}
	}
	var err error
	for _, m := range r.locals {
		if err == nil {
			err = m.finish()
		}
	}
	return r.agree(ctx, err)
}

func (r *repair) begin() error {
	for _, m := range r.locals {
		if err := m.findLost(); err != nil {
			return err
		}
	}
	return nil
}

func (r *repair) agree(ctx context.Context, err error) error {
	if r.sc == nil {
		return err
	}
	return comm.Agree(ctx, r.sc, err)
}

// exchange sends each member's list of bad elements to all members. Until then a member knows only its own bad elements.
func (r *repair) exchange(ctx context.Context) error {
	if r.sc == nil {
		return nil
	}
	var own []byte
	for c, es := range r.elems {
		for x, e := range es {
			if e.member == r.me {
				b := byte(0)
				if r.state[c][x].bad {
					b = 1
				}
				own = append(own, b)
			}
		}
	}
	all, err := r.sc.Allgather(ctx, own)
	if err != nil {
		return err
	}
	at := make([]int, r.n)
	for c, es := range r.elems {
		for x, e := range es {
			if at[e.member] >= len(all[e.member]) {
				return formatErr("", -1, "message", "the states of another member are truncated", fault.ErrCorrupt)
			}
			r.state[c][x].bad = r.state[c][x].bad || all[e.member][at[e.member]] != 0
			at[e.member]++
		}
	}
	return nil
}
