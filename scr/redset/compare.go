package redset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"blobio/internal/base/vfs"
)

// Sets that the original SCR made have no checksums. Therefore their elements are compared with each other. Each spare element
// must equal the element computed from the others. The distance of the code is the number of spare elements plus one. With two
// spare elements a single wrong element can be identified, because the others agree only if this element is left out.

// options applies the options of Recover or Offline.
func (r *repair) options(o *RecoverOptions) {
	if o != nil {
		r.compare = r.compare && !o.Sure
		r.counts = o.Lost
	}
}

// doubt returns the error for a stripe in which an unknown element is wrong.
func (r *repair) doubt(c int) error {
	e := &DoubtError{Scheme: r.scheme, Set: r.set, Detail: fmt.Sprintf("the elements of stripe %d disagree and have no checksums", c)}
	if !r.lay.chunked() {
		p := r.lay.files[c]
		e.Detail = fmt.Sprintf("file %d of rank %d differs from its copies, and none of them has a checksum", p.file, r.descs[p.member].world)
	}
	for x, s := range r.state[c] {
		if !s.bad {
			e.Ranks = append(e.Ranks, r.descs[r.elems[c][x].member].world)
		}
	}
	slices.Sort(e.Ranks)
	return e
}

// trial is the result of leaving out each element of a stripe in turn.
type trial struct {
	agree int  // number of elements for which the others agree without the element
	wrong elem // the last of these elements
}

func (t *trial) add(e elem, agree bool) {
	if agree {
		t.agree++
		t.wrong = e
	}
}

// Held describes a place, such as a node, that has redundancy files of some ranks.
type Held struct {
	FS     vfs.FS // nil: the operating system's file system
	Prefix string // same as for Encode
}

// Compared is the result of Compare.
type Compared struct {
	Sets   int     // number of sets that were compared; they have no checksums, and spare elements in all stripes
	Others int     // number of sets that were not compared, because they have checksums or too many losses
	Wrong  []Entry // files that disagree with the rest of their sets
}

// Compare compares files that have no checksums with their redundancy. It needs no running ranks and changes nothing. File names
// in a redundancy file refer to the file system of the place that has the redundancy file. Files that disagree are in
// Compared.Wrong. If a wrong file of a set cannot be identified, the returned error contains a *DoubtError for the set.
func Compare(ctx context.Context, at []Held) (*Compared, error) {
	type here struct {
		Held
		all []found
	}
	sets := map[int]map[int]position{} // positions by set and member
	own := map[int]map[int]here{}
	for _, h := range at {
		h.FS = vfs.OrOS(h.FS)
		all, err := list(h.FS, h.Prefix)
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			hd, err := readHeader(h.FS, f)
			if err != nil {
				continue
			}
			if sets[hd.set] == nil {
				sets[hd.set], own[hd.set] = map[int]position{}, map[int]here{}
			}
			for _, d := range hd.descs {
				if _, ok := sets[hd.set][d.rank]; !ok {
					sets[hd.set][d.rank] = d.position
				}
			}
			sets[hd.set][hd.rank], own[hd.set][hd.rank] = hd.position, here{h, all}
		}
	}
	c := &Compared{}
	var errs []error
	for _, id := range slices.Sorted(maps.Keys(sets)) {
		var any position
		for _, any = range sets[id] {
			break
		}
		worlds, ev := make([]int, any.n), make([]*evidence, any.n)
		for m := range any.n {
			worlds[m], ev[m] = -1, &evidence{}
			if h, ok := own[id][m]; ok {
				p := sets[id][m]
				worlds[m], ev[m] = p.world, findEvidence(h.FS, h.Prefix, h.all, p)
			}
		}
		r, err := newRepair(any, worlds, ev)
		if err != nil || !r.compare {
			c.Others++ // Compare does not report faults of headers and sizes
			continue
		}
		for m, d := range r.descs {
			x := &member{r: r, fs: vfs.NewMem(), rank: m}
			if h, ok := own[id][m]; ok {
				x.fs, x.prefix = h.FS, h.Prefix
			}
			for _, f := range d.files {
				x.paths = append(x.paths, (*RecoverOptions)(nil).path(d.position, x.prefix, f.name))
			}
			r.locals = append(r.locals, x)
		}
		wrong, all, err := r.compareAll(ctx)
		var doubt *DoubtError
		switch {
		case errors.As(err, &doubt):
			errs = append(errs, err)
		case err != nil:
			return nil, err
		}
		c.Wrong = append(c.Wrong, wrong...)
		if all {
			c.Sets++
		} else {
			c.Others++
		}
	}
	return c, errors.Join(errs...)
}

// compareAll compares the existing elements and writes nothing. all reports whether all stripes could be compared.
func (r *repair) compareAll(ctx context.Context) (wrong []Entry, all bool, err error) {
	r.dry = true
	defer func() {
		for _, m := range r.locals {
			_ = m.store.close() // the files were opened only for reading
		}
	}()
	if err := r.begin(); err != nil {
		return nil, false, err
	}
	stores := make([]*store, r.n)
	before := make([][]state, len(r.state))
	for c := range r.state {
		before[c] = slices.Clone(r.state[c])
	}
	for _, m := range r.locals {
		stores[m.rank] = m.store
	}
	for again := true; again; {
		jobs, err := r.plan()
		if err != nil {
			return nil, false, err
		}
		e := &engine{lay: r.lay, ext: r.ext, stores: stores, me: -1, jobs: jobs}
		if err := e.run(ctx); err != nil {
			return nil, false, err
		}
		if again, err = r.judge(e); err != nil {
			return nil, false, err
		}
	}
	all = true
	for c, es := range r.elems {
		all = all && (r.faith[c] == agreed || r.lay.length(c) == 0)
		for x, e := range es {
			if !r.state[c][x].bad || before[c][x].bad {
				continue
			}
			m := r.locals[e.member]
			entry := Entry{Rank: r.descs[e.member].world}
			if e.parity {
				entry.Name = r.headers[e.member].dataName(m.prefix)
				wrong = append(wrong, entry)
				continue
			}
			_, lo, hi, _ := r.lay.inElem(r.ext, c, e)
			for i := lo; i < hi; i++ {
				if r.ext[e.member][i].n > 0 {
					entry.Name = m.paths[r.ext[e.member][i].part]
					wrong = append(wrong, entry)
				}
			}
		}
	}
	return slices.Compact(wrong), all, nil
}
