package cello

import (
	"fmt"
	"math"

	"blobio/amr"
)

// blocks checks indices, names, order and tree.
func (v *verifier) blocks() {
	k, m := v.k, &v.k.meta
	type origin struct{ file, block string }
	names := map[string]origin{} // name and level
	k.tree = amr.NewTree(&m.Geometry)
	total := 0
	for _, f := range v.s.files {
		total += len(f.list)
		v.partial = v.partial || len(f.list) == 0 && f.bad()
	}
	var unread []listEntry
	orders := make(map[int64]string, total)
	files := len(v.s.files)
	at := int64(0)
	mapped, counted, badOrder := true, 0, 0
	maxLevel := int(math.MaxInt32)
	for _, f := range v.s.files {
		if f.root.ok {
			maxLevel = int(f.root.maxLevel)
			break
		}
	}
	limit := maxLevel // of the run that is to restart
	if v.o.MaxLevel != nil {
		limit = *v.o.MaxLevel
	}
	for i, f := range v.s.files {
		if f.blocks == nil { // the file could not be read
			unread = append(unread, f.list...)
		}
		if len(f.list) == 0 && !f.bad() {
			v.add(Note, f.name+dataSuffix, "", "", nil, writesHang, "has no blocks")
		}
		if at != fileStart(i, files, int64(total)) {
			mapped = false
		}
		at += int64(len(f.list))
		for n := range f.blocks {
			b := &f.blocks[n]
			key := fmt.Sprintf("%s %d", b.name, b.level)
			if o, ok := names[key]; ok {
				v.add(Error, f.name+listSuffix, b.name, "", ErrExist, hangs, "listed twice, before in %s", o.file)
				continue
			}
			names[key] = origin{f.name + listSuffix, b.name}
			if len(b.name) >= 80 {
				v.addFit(Warning, f.name+listSuffix, b.name, "", nil, "compares names in 80 bytes", "name of %d characters", len(b.name))
			}
			if b.level > maxLevel {
				v.add(Error, f.name+listSuffix, b.name, "level", ErrCorrupt, crashes, "%d, want at most max_level %d", b.level, maxLevel)
			} else if b.level > limit {
				v.addFit(Error, f.name+listSuffix, b.name, "level", ErrUnfit, crashes, "%d, want at most max_level %d", b.level, limit)
			}
			if !b.known {
				unread = append(unread, listEntry{name: b.name, level: b.level})
				continue
			}
			if d := checkIndex(m, b); d != nil {
				d.File = f.name + dataSuffix
				v.tell(*d)
				unread = append(unread, listEntry{name: b.name, level: b.index.Level()})
				unread = append(unread, listEntry{name: b.name, level: b.level})
				continue
			}
			if err := k.tree.Add(b.index); err != nil {
				v.add(Error, f.name+dataSuffix, b.name, "index", ErrExist, hangs, "%v", err)
			}
			switch {
			case b.count < 0 || b.count == int64(total) || b.count > 0 && v.partial:
			default:
				if counted++; counted > 3 {
					break
				}
				if b.count == 0 {
					v.later(Error, f.name+dataSuffix, b.name, "count_order", ErrCorrupt, crashes, "0, want %d", total)
				} else {
					v.later(Error, f.name+dataSuffix, b.name, "count_order", ErrCorrupt, "places blocks wrongly", "%d, the lists have %d blocks", b.count, total)
				}
			}
			if b.order < 0 {
				continue
			}
			if o, ok := orders[b.order]; ok || b.order >= int64(total) && !v.partial {
				if badOrder++; badOrder > 3 {
					continue
				}
				if ok {
					v.later(Error, f.name+dataSuffix, b.name, "index_order", ErrCorrupt, "places blocks wrongly", "%d, as block %s", b.order, o)
				} else {
					v.later(Error, f.name+dataSuffix, b.name, "index_order", ErrCorrupt, crashes, "%d, want 0 to %d", b.order, total-1)
				}
				continue
			}
			orders[b.order] = b.name
		}
	}
	// What is wrong with these was told; they are not missing.
	for _, e := range unread {
		if x, _, err := amr.ParseName(e.name, m.Roots, e.level); err == nil && !k.tree.Has(x) {
			_ = k.tree.Add(x)
		}
	}
	if counted > 3 {
		v.later(Error, "", "", "count_order", ErrCorrupt, "places blocks wrongly", "wrong in %d blocks", counted)
	}
	if badOrder > 3 {
		v.later(Error, "", "", "index_order", ErrCorrupt, "places blocks wrongly", "wrong in %d blocks", badOrder)
	}
	defer func() {
		for _, f := range v.late {
			v.tell(f)
		}
	}()
	if !mapped && !v.stop {
		v.add(Note, "", "", "", nil, "does not mind", "blocks are not divided among the %d files by the rule floor(i*files/blocks)", files)
	}
	if k.Dump() {
		sev := Note
		if v.o.ForRestart {
			sev = Error
		}
		v.add(sev, "", "", "", ErrDump, "", "a data dump, made without some blocks, fields or particles")
		return
	}
	if v.partial {
		v.add(Note, "", "", "", nil, "", "a list could not be read, so blocks may be missing")
		return
	}
	v.tree()
}

// tree checks that the blocks are a whole mesh.
func (v *verifier) tree() {
	t, g := v.k.tree, &v.k.meta.Geometry
	if t.LevelLen(0) != g.Roots[0]*g.Roots[1]*g.Roots[2] {
		for x := range g.Level(0) {
			if !t.Has(x) {
				v.add(Error, "", t.Name(x), "", ErrMissing, runsWrong, "root block is missing")
			}
		}
	}
	parents := map[amr.Index]bool{}
	negative := false
	for _, x := range t.Sorted() {
		l := x.Level()
		negative = negative || l < 0
		if l > 0 && !t.Has(x.Parent()) && !parents[x.Parent()] {
			parents[x.Parent()] = true
			v.add(Error, "", t.Name(x.Parent()), "", ErrMissing, hangs, "block of level %d is missing, but has children", l-1)
		}
		if l >= 0 && t.Refined(x) {
			for c := range g.Children() {
				if y := x.Child([3]int{c & 1, c >> 1 & 1, c >> 2 & 1}); !t.Has(y) {
					v.add(Error, "", t.Name(y), "", ErrMissing, hangs, "block of level %d is missing, but its siblings are there", l+1)
				}
			}
		}
		if l > 0 && t.Leaf(x) {
			for face := range 27 {
				n, _, ok := g.Beside(x, amr.FaceOf(face))
				if ok && !t.Has(n) && !t.Has(n.Parent()) && l > 1 {
					v.add(Error, "", t.Name(x), "", ErrCorrupt, aborts, "a neighbour is more than one level coarser than its level %d", l)
					break
				}
			}
		}
	}
	if !negative && g.Roots != [3]int{1, 1, 1} {
		v.add(Note, "", "", "", nil, "accepts that; the blocks keep time 0", "there are no blocks below level 0")
	}
}
