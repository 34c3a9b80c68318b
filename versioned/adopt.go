package versioned

import (
	"context"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/redset"
)

// nextRecord completes the record, the same on all ranks, unless one of them has failed: then all get an error. It is collective.
func (a *Array) nextRecord(ctx context.Context, rec *record, v verInfo, w *written, bad error) error {
	m := message{failed: bad != nil, number: v.Number, label: v.Label, time: v.Time}
	if a.c.Rank() == 0 && v.Time == 0 {
		m.time = a.opt.Clock().UnixNano()
	}
	if w != nil && bad == nil {
		m.file, m.changed, m.dead = w.file(), w.changed, w.dead
		if m.file != nil {
			a.cat.mu.Lock()
			a.cat.note(m.file, w.tables) // discard takes it back
			a.cat.mu.Unlock()
		}
	}
	all, err := a.c.Allgather(ctx, m.encode())
	if err != nil {
		return err
	}
	dead := map[string]bool{}
	var first message
	for r, b := range all {
		if err := m.decode(b); err != nil {
			return err // the same on all ranks
		}
		if m.failed {
			return comm.Agree(ctx, a.c, bad) // all ranks see it
		}
		if r == 0 {
			v.Time, first = m.time, m
		}
		if m.number != first.number || m.label != first.label {
			return differ(a.spec.Name, r, m.number, m.label, first.number, first.label)
		}
		v.Changed += m.changed
		if m.file != nil {
			rec.Files = append(rec.Files, *m.file)
			v.Written += m.file.Size
		}
		for _, n := range m.dead {
			dead[n] = true
		}
	}
	a.add(rec, v)
	rec.prune(dead)
	return nil
}

// differ is the error of ranks that want different versions.
func differ(name string, rank int, number int64, label string, number0 int64, label0 string) error {
	return usageErr("array %s: rank %d commits version %d %q, rank 0 %d %q", name, rank, number, label, number0, label0)
}

// add adds a version to the record, and takes those away that are too old then.
func (a *Array) add(rec *record, v verInfo) {
	keep := retained(rec.Versions, v.Number, a.spec.Keep, a.pins)
	rec.Versions = append(rec.Versions, v)
	if len(keep) < len(rec.Versions) {
		rec.Versions = slices.DeleteFunc(rec.Versions, func(v verInfo) bool { return !slices.Contains(keep, v.Number) })
	}
}

// needed lists the generations that have versions, and the current one.
func (r *record) needed() []geometry {
	out := make([]geometry, 0, len(r.Generations))
	for i, g := range r.Generations {
		if i == len(r.Generations)-1 || slices.ContainsFunc(r.Versions, func(v verInfo) bool { return v.Gen == g.ID }) {
			out = append(out, g)
		}
	}
	return out
}

// prune drops files that are not needed: those named, and all of generations without versions.
func (r *record) prune(dead map[string]bool) {
	r.Generations = r.needed()
	gens := map[int]bool{}
	for _, g := range r.Generations {
		gens[g.ID] = true
	}
	for _, p := range r.Sets { // what is protected together goes together
		if slices.ContainsFunc(r.Files, func(f fileInfo) bool { return p.of(&f) && !dead[f.Name] }) {
			for i := range r.Files {
				if p.of(&r.Files[i]) {
					delete(dead, r.Files[i].Name)
				}
			}
		}
	}
	r.Files = slices.DeleteFunc(r.Files, func(f fileInfo) bool { return dead[f.Name] || !gens[f.Gen] })
	r.Sets = slices.DeleteFunc(r.Sets, func(p protection) bool {
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return p.of(&f) })
	})
}

// adopt makes the new record, which all ranks have agreed on, the one of this process, and removes the files that are gone.
func (a *Array) adopt(ctx context.Context, rec *record) error {
	gone := a.cat.install(rec)
	if err := a.conceal(ctx, rec); err != nil {
		return err
	}
	if a.memory { // nothing but what went with this version
		if a.keeper {
			for _, f := range gone {
				a.store.fs.Remove(filepath.Join(a.store.dir, f.Name)) // it may be that of another node
			}
		}
		return nil
	}
	a.sweep(rec)
	return nil
}

// note adds a file whose tables are known to the indexes that are loaded.
func (c *catalog) note(info *fileInfo, tables [][]entry) {
	id, ok := c.ids[info.Name]
	if !ok {
		id = int32(len(c.files))
		c.files = append(c.files, info)
		c.ids[info.Name] = id
	}
	for i, s := range info.Segs {
		if x := c.idx[[2]int{info.Gen, s}]; x != nil {
			x.add(id, tables[i])
		}
	}
}

// discard removes a file that is not to be committed. What cannot be removed is when the array is opened next.
func (a *Array) discard(w *written) {
	if w != nil && w.redundancy != "" {
		redset.Drop(a.store.fs, filepath.Join(a.store.dir, w.redundancy), a.lead.Rank())
	}
	if w.file() == nil {
		return
	}
	a.cat.forget(&w.info)
	a.store.fs.Remove(filepath.Join(a.store.dir, w.info.Name))
	for k := range a.cat.copies {
		if st := a.cat.stores[(a.nodeID+k+1)%a.nodes]; st != nil && st != a.store {
			st.fs.Remove(filepath.Join(st.dir, w.info.Name))
		}
	}
}

// sweep removes data files of this node that the record does not name. An error leaves them to the next sweep.
func (a *Array) sweep(rec *record) {
	if !a.keeper || a.shared && a.c.Rank() != 0 {
		return
	}
	list, err := a.store.fs.ReadDir(a.store.dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if rec.stray(e.Name()) {
			a.store.fs.Remove(filepath.Join(a.store.dir, e.Name()))
		}
	}
}
