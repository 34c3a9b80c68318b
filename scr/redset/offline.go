package redset

import (
	"context"
	"fmt"
	"sort"

	"blobio/internal/base/vfs"
)

// Offline rebuilds lost and corrupt files after a crash. It needs no ranks. First the redundancy files of all surviving ranks
// must be copied to one directory. All must have the same prefix. Offline also rebuilds lost redundancy files there. Otherwise it
// works as Recover does.
func Offline(ctx context.Context, fsys vfs.FS, prefix string, o *RecoverOptions) (*Report, error) {
	fsys = vfs.OrOS(fsys)
	all, err := list(fsys, prefix)
	if err != nil {
		return nil, err
	}
	sets := map[int]map[int]position{} // positions by set and member
	for _, f := range all {
		h, err := readHeader(fsys, f)
		if err != nil {
			continue
		}
		v := sets[h.set]
		if v == nil {
			v = map[int]position{}
			sets[h.set] = v
		}
		for _, d := range h.descs {
			v[d.rank] = d.position
		}
		v[h.rank] = h.position
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("%s: %w", prefix, ErrNone)
	}
	var ids []int
	for id := range sets {
		ids = append(ids, id)
	}
	sort.Ints(ids)
	var repairs []*repair
	undo := func() {
		for _, r := range repairs {
			for _, m := range r.locals {
				m.undo()
			}
		}
	}
	members, worlds := 0, 0
	for _, id := range ids {
		r, err := offlineSet(fsys, prefix, all, sets[id], o)
		if err == nil {
			repairs = append(repairs, r)
			members += r.n
			worlds = r.worlds
			err = r.run(ctx)
		}
		if err != nil {
			undo()
			return nil, err
		}
	}
	if members != worlds {
		undo()
		return nil, &LostError{Scheme: repairs[0].scheme, Set: -1, Detail: fmt.Sprintf("only %[2]d of %[1]d ranks are in sets that have a redundancy file", worlds, members)}
	}
	rep := &Report{}
	for _, r := range repairs {
		for _, m := range r.locals {
			if err := m.commit(); err != nil {
				undo()
				return nil, err
			}
			rep.add(m)
		}
	}
	return rep, nil
}

// offlineSet evaluates the evidence of one set.
func offlineSet(fsys vfs.FS, prefix string, all []found, known map[int]position, o *RecoverOptions) (*repair, error) {
	var any position
	for _, p := range known {
		any = p
	}
	worlds, ev := make([]int, any.n), make([]*evidence, any.n)
	for m := range any.n {
		p, ok := known[m]
		if !ok {
			p = any
			p.rank, p.world = m, -1
		}
		worlds[m] = p.world
		ev[m] = findEvidence(fsys, prefix, all, p)
	}
	r, err := newRepair(any, worlds, ev)
	if err != nil {
		return nil, err
	}
	r.options(o)
	for rank, d := range r.descs {
		m := &member{r: r, fs: fsys, prefix: prefix, rank: rank}
		for _, f := range d.files {
			m.paths = append(m.paths, o.path(d.position, prefix, f.name))
		}
		r.locals = append(r.locals, m)
	}
	return r, nil
}
