package cello

import (
	"fmt"
	"math"
	"slices"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
)

// blocks checks indices, names, order and tree.
func (v *verifier) blocks() {
	k, m := v.k, &v.k.meta
	lists := map[string]string{} // file list of each block, by the block's name and level
	k.tree = amr.NewTree(&m.Geometry)
	total := 0
	for _, f := range v.s.files {
		total += len(f.list)
		v.partial = v.partial || len(f.list) == 0 && f.bad()
	}
	var unread []cellodir.Entry
	order := orderCheck{v: v, total: int64(total), orders: make(map[int64]string, total)}
	at, mapped := int64(0), true
	maxLevel, limit := v.maxLevels()
	for i, f := range v.s.files {
		if f.blocks == nil { // the file was unreadable
			unread = append(unread, f.list...)
		}
		if len(f.list) == 0 && !f.bad() {
			v.add(note, spot{file: f.name + cellodir.DataSuffix}, nil, writesHang, "has no blocks")
		}
		mapped = mapped && at == cellodir.FileStart(i, len(v.s.files), int64(total))
		at += int64(len(f.list))
		for n := range f.blocks {
			b := &f.blocks[n]
			key := fmt.Sprintf("%s %d", b.name, b.level)
			if other, ok := lists[key]; ok {
				v.add(Error, spot{file: f.name + cellodir.ListSuffix, block: b.name}, ErrExist, hangs, "listed twice, before in %s", other)
				continue
			}
			lists[key] = f.name + cellodir.ListSuffix
			if len(b.name) >= 80 {
				v.fit(finding(warning, spot{file: f.name + cellodir.ListSuffix, block: b.name}, nil, "compares names in 80 bytes", "name of %d characters", len(b.name)))
			}
			if b.level > maxLevel {
				v.add(Error, spot{file: f.name + cellodir.ListSuffix, block: b.name, field: "level"}, ErrCorrupt, crashes, "%d, want at most max_level %d", b.level, maxLevel)
			} else if b.level > limit {
				v.fit(finding(Error, spot{file: f.name + cellodir.ListSuffix, block: b.name, field: "level"}, ErrUnfit, crashes, "%d, want at most max_level %d", b.level, limit))
			}
			if !b.known {
				unread = append(unread, cellodir.Entry{Name: b.name, Level: b.level})
				continue
			}
			if d := checkIndex(m, b); d != nil {
				d.File = f.name + cellodir.DataSuffix
				v.tell(*d)
				unread = append(unread, cellodir.Entry{Name: b.name, Level: b.index.Level()}, cellodir.Entry{Name: b.name, Level: b.level})
				continue
			}
			if err := k.tree.Add(b.index); err != nil {
				v.add(Error, spot{file: f.name + cellodir.DataSuffix, block: b.name, field: "index"}, ErrExist, hangs, "%v", err)
			}
			order.block(f.name+cellodir.DataSuffix, b)
		}
	}
	// Add these blocks to the tree: they have findings already and must not be reported as missing.
	for _, e := range unread {
		if x, _, err := amr.ParseName(e.Name, m.Roots, e.Level); err == nil && !k.tree.Has(x) {
			_ = k.tree.Add(x)
		}
	}
	if !mapped && !v.stop {
		v.add(note, spot{}, nil, "does not mind", "division of blocks among the %d files does not follow the rule floor(i*files/blocks)", len(v.s.files))
	}
	switch {
	case k.Dump():
		sev := note
		if v.o.ForRestart {
			sev = Error
		}
		v.add(sev, spot{}, ErrDump, "", "checkpoint is a data dump without some blocks, fields or particles")
	case v.partial:
		v.add(note, spot{}, nil, "", "a block list is unreadable, so blocks may be missing")
	default:
		v.tree()
	}
	order.tell()
}

// maxLevels returns the finest level of the run that wrote the checkpoint, and of the run that is to restart.
func (v *verifier) maxLevels() (written, limit int) {
	written = math.MaxInt32
	if i := slices.IndexFunc(v.s.files, func(f *scannedFile) bool { return f.root.ok }); i >= 0 {
		written = int(v.s.files[i].root.maxLevel)
	}
	if v.o.MaxLevel != nil {
		return written, *v.o.MaxLevel
	}
	return written, written
}

// orderCheck checks the order numbers of blocks. Faults of the tree can cause faults of the order, so orderCheck reports the
// faults of the order last. It reports the first three of each kind, and the number of all.
type orderCheck struct {
	v      *verifier
	total  int64
	orders map[int64]string // blocks by order number
	late   []Finding
	count  int // number of wrong values of the attribute
	wrong  int
}

func (o *orderCheck) block(file string, b *scanned) {
	const places = "places blocks wrongly"
	add := func(n *int, field, effect, format string, args ...any) {
		if *n++; *n <= 3 {
			o.late = append(o.late, finding(Error, spot{file: file, block: b.name, field: field}, ErrCorrupt, effect, format, args...))
		}
	}
	switch {
	case b.count < 0 || b.count == o.total || b.count > 0 && o.v.partial:
	case b.count == 0:
		add(&o.count, "count_order", crashes, "0, want %d", o.total)
	default:
		add(&o.count, "count_order", places, "%d, the lists have %d blocks", b.count, o.total)
	}
	other, twice := o.orders[b.order]
	switch {
	case b.order < 0:
	case twice:
		add(&o.wrong, "index_order", places, "%d, as block %s", b.order, other)
	case b.order >= o.total && !o.v.partial:
		add(&o.wrong, "index_order", crashes, "%d, want 0 to %d", b.order, o.total-1)
	default:
		o.orders[b.order] = b.name
	}
}

func (o *orderCheck) tell() {
	for _, f := range o.late {
		o.v.tell(f)
	}
	if o.count > 3 {
		o.v.add(Error, spot{field: "count_order"}, ErrCorrupt, "places blocks wrongly", "wrong in %d blocks", o.count)
	}
	if o.wrong > 3 {
		o.v.add(Error, spot{field: "index_order"}, ErrCorrupt, "places blocks wrongly", "wrong in %d blocks", o.wrong)
	}
}

// tree checks that no block is missing in the mesh.
func (v *verifier) tree() {
	t, g := v.k.tree, &v.k.meta.Geometry
	if t.LevelLen(0) != g.Roots[0]*g.Roots[1]*g.Roots[2] {
		for x := range g.Level(0) {
			if !t.Has(x) {
				v.add(Error, spot{block: t.Name(x)}, ErrMissing, runsWrong, "root block is missing")
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
			v.add(Error, spot{block: t.Name(x.Parent())}, ErrMissing, hangs, "block of level %d is missing, but has children", l-1)
		}
		if l >= 0 && t.Refined(x) {
			for c := range g.Children() {
				if y := x.Child([3]int{c & 1, c >> 1 & 1, c >> 2 & 1}); !t.Has(y) {
					v.add(Error, spot{block: t.Name(y)}, ErrMissing, hangs, "block of level %d is missing, but its siblings exist", l+1)
				}
			}
		}
		if l > 0 && t.Leaf(x) {
			for face := range 27 {
				n, _, ok := g.Beside(x, amr.FaceOf(face))
				if ok && !t.Has(n) && !t.Has(n.Parent()) && l > 1 {
					v.add(Error, spot{block: t.Name(x)}, ErrCorrupt, aborts, "a neighbour is more than one level coarser than its level %d", l)
					break
				}
			}
		}
	}
	if !negative && g.Roots != [3]int{1, 1, 1} {
		v.add(note, spot{}, nil, "accepts the checkpoint; the blocks keep time 0", "no blocks below level 0")
	}
}
