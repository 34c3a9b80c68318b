package cello

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"blobio/amr"
	"blobio/h5"
)

// VerifyOptions for Verify. nil means the defaults.
type VerifyOptions struct {
	// StructureOnly leaves the data unread: no checksums of them.
	StructureOnly bool
	// EnzoFloat is that of the program that is to restart from it; default (0): that
	// of the attributes.
	EnzoFloat amr.Type
	// MaxLevel is the finest level of the run that is to restart from it; default (nil): the attribute max_level.
	MaxLevel *int
	// Progress is called with the bytes that were compared with their checksums, often and by
	// several goroutines.
	Progress func(done, total int64)
	OpenOptions
}

// Verify looks for everything that is wrong with a checkpoint: files, lists, groups, attributes,
// datasets, the tree, checksums. It never stops at the first finding, only where nothing
// more can be read. What the real program does not check, and hangs, crashes or runs wrong on, is
// found here, and Finding.Effect says so.
func Verify(ctx context.Context, dir string, o *VerifyOptions) iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		if o == nil {
			o = &VerifyOptions{}
		}
		v := &verifier{s: newScanner(dir, &o.OpenOptions), o: o, yield: yield}
		v.s.deep = true
		v.run(ctx)
		if err := v.s.pool.Close(); err != nil {
			v.tell(Finding{Severity: Warning, Msg: err.Error(), Err: err})
		}
	}
}

type verifier struct {
	s     *scanner
	o     *VerifyOptions
	k     *Checkpoint // as far as it could be made
	yield func(Finding) bool
	stop  bool
	done  atomic.Int64 // bytes compared, of total
	total int64
	late  []Finding // told after those of the tree, from which they may follow
	// partial: not all lists could be read, so which blocks there are is not known.
	partial bool
}

func (v *verifier) tell(f Finding) {
	if !v.stop && !v.yield(f) {
		v.stop = true
	}
}

func (v *verifier) add(s Severity, file, block, field string, err error, effect, format string, args ...any) {
	v.tell(Finding{Severity: s, File: file, Block: block, Field: field, Msg: sprintf(format, args...), Effect: effect, Err: err})
}

// later is add of what is told after the findings of the tree.
func (v *verifier) later(s Severity, file, block, field string, err error, effect, format string, args ...any) {
	v.late = append(v.late, Finding{Severity: s, File: file, Block: block, Field: field, Msg: sprintf(format, args...), Effect: effect, Err: err})
}

func (v *verifier) run(ctx context.Context) {
	s := v.s
	fatal := func(file string, err error, effect string) {
		v.tell(Finding{Severity: Error, File: file, Msg: err.Error(), Effect: effect, Err: err})
	}
	err := s.fileList()
	if err == nil {
		err = s.lists(ctx, nil)
	}
	if err != nil {
		effect, file := aborts, fileListName
		if errors.Is(err, ErrNotCommitted) {
			effect, file = "does not look at it, and takes what is there", lockName
		}
		fatal(file, err, effect)
		return
	}
	v.strays()
	if err := s.headers(ctx, nil); err != nil {
		fatal("", err, "")
		return
	}
	for _, f := range s.files {
		for _, d := range f.finds {
			v.tell(d)
		}
	}
	k := &Checkpoint{dir: s.dir, fs: s.fs, pool: s.pool, h5s: map[int]*h5.File{}}
	v.k = k
	if !v.o.NoManifest {
		var err error
		if k.man, err = s.manifest(); err != nil {
			fatal(ManifestName, err, "does not look at it")
		} else if k.man == nil {
			v.add(Note, "", "", "", nil, "", "no manifest: nothing says whether data are as they were written")
		}
	}
	if err := s.describe(k); err != nil {
		fatal("", err, "")
		return
	}
	v.roots()
	v.blocks()
	v.fields()
	if v.stop || ctx.Err() != nil {
		return
	}
	v.attributes(ctx)
	if k.man != nil && !v.stop {
		v.total = v.bytes()
		v.heads(ctx)
		if !v.o.StructureOnly {
			v.sums(ctx)
		}
	}
	if err := ctx.Err(); err != nil {
		fatal("", err, "")
	}
}

// strays notes files that no list names.
func (v *verifier) strays() {
	known := map[string]bool{fileListName: true, ManifestName: true}
	for _, f := range v.s.files {
		known[f.name+listSuffix], known[f.name+dataSuffix] = true, true
	}
	l, err := v.s.fs.ReadDir(v.s.dir)
	if err != nil {
		v.tell(Finding{Severity: Warning, Msg: err.Error(), Err: err})
		return
	}
	var other []string
	for _, e := range l {
		if n := e.Name(); !known[n] && (strings.HasSuffix(n, listSuffix) || strings.HasSuffix(n, dataSuffix)) {
			other = append(other, n)
		}
	}
	if len(other) > 0 {
		v.add(Warning, "", "", "", nil, "ignores them", "%d files that %s does not name: %s", len(other), fileListName, some(other))
	}
}

// roots compares the attributes of "/" between files.
func (v *verifier) roots() {
	var first *scannedFile
	for _, f := range v.s.files {
		if !f.root.ok {
			continue
		}
		if first == nil {
			first = f
			continue
		}
		a, b := f.root, first.root
		a.extras, b.extras = nil, nil
		if sprintf("%v", a) != sprintf("%v", b) {
			v.add(Warning, f.name+dataSuffix, "", "/", ErrCorrupt, "takes those of the first file", "attributes %+v, but %+v in %s", a, b, first.name)
		}
	}
}

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
	if v.o.MaxLevel != nil {
		maxLevel = *v.o.MaxLevel
	}
	for i, f := range v.s.files {
		if f.blocks == nil { // the file could not be read
			unread = append(unread, f.list...)
		}
		if len(f.list) == 0 && !f.bad() {
			v.add(Note, f.name+dataSuffix, "", "", nil, writesHang, "has no blocks")
		}
		if at != FileStart(i, files, int64(total)) {
			mapped = false
		}
		at += int64(len(f.list))
		for n := range f.blocks {
			b := &f.blocks[n]
			key := sprintf("%s %d", b.name, b.level)
			if o, ok := names[key]; ok {
				v.add(Error, f.name+listSuffix, b.name, "", ErrExist, hangs, "listed twice, before in %s", o.file)
				continue
			}
			names[key] = origin{f.name + listSuffix, b.name}
			if len(b.name) >= 80 {
				v.add(Warning, f.name+listSuffix, b.name, "", nil, "compares names in 80 bytes", "name of %d characters", len(b.name))
			}
			if b.level > maxLevel {
				v.add(Error, f.name+listSuffix, b.name, "level", ErrCorrupt, crashes, "%d, want at most max_level %d", b.level, maxLevel)
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
		v.add(Note, "", "", "", ErrDump, "", "a data dump: not all blocks, fields or particles are there by intention")
		return
	}
	if v.partial {
		v.add(Note, "", "", "", nil, "", "a list could not be read: whether blocks are missing cannot be told")
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
			c, e := x.Coord(), g.Extent(l)
			for face := range 27 {
				n, ok := step(g, c, e, l, [3]int{face%3 - 1, face/3%3 - 1, face/9 - 1}, false)
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

// step returns the block of the same level one step away; ok is false beyond
// a border and on axes that the domain does not have.
func step(g *amr.Geometry, c, extent [3]int, level int, f [3]int, wrap bool) (amr.Index, bool) {
	for i := range c {
		if f[i] != 0 && i >= g.Rank {
			return amr.Index{}, false
		}
		c[i] += f[i]
		if c[i] < 0 || c[i] >= extent[i] {
			if !g.Periodic[i] && !wrap {
				return amr.Index{}, false
			}
			c[i] = (c[i] + extent[i]) % extent[i]
		}
	}
	return amr.At(level, c), true
}

// fields checks what concerns all blocks alike.
func (v *verifier) fields() {
	k := v.k
	enzo := v.o.EnzoFloat
	if enzo == 0 {
		enzo = k.enzo
	}
	if enzo != k.enzo {
		v.add(Error, "", "", "enzo_dt", ErrCorrupt, runsWrong, "%v, the program has %v", k.enzo, enzo)
	}
	for i := range k.meta.Fields {
		f := &k.meta.Fields[i]
		name := fieldPrefix + f.Name
		if k.Scrambled(i) {
			v.add(Error, "", "", name, ErrScrambled, "aborts when it restarts", "blocks of %v cells written without ghosts: the cells are in the wrong places, in every block, and cannot be put right", k.meta.Shape(f, false))
		}
		switch {
		case f.Type.Float() && f.Type != enzo:
			v.add(Error, "", "", name, ErrCorrupt, runsWrong, "%v, but enzo_float is %v", f.Type, enzo)
		case !f.Type.Float():
			v.add(Warning, "", "", name, nil, "has fields of floating-point types only", "%v", f.Type)
		}
	}
	for i := range k.meta.Particles {
		p := &k.meta.Particles[i]
		for j := range p.Attrs {
			if p.Attrs[j].Type == amr.Int16 {
				v.add(Error, "", "", particleName(p, &p.Attrs[j]), nil, aborts, "int16, which it writes but cannot read")
			}
		}
	}
}

// attributes looks at every attribute of every block.
func (v *verifier) attributes(ctx context.Context) {
	var work []chunk
	for i, f := range v.s.files {
		for from := 0; from < len(f.blocks); from += 256 {
			work = append(work, chunk{i, from, min(from+256, len(f.blocks))})
		}
	}
	finds := make([][]Finding, len(work))
	v.k.tree.Sorted()
	for i := range v.s.files {
		v.k.files = append(v.k.files, fileInfo{name: v.s.files[i].name, size: v.s.files[i].size})
	}
	_ = v.s.each(ctx, len(work), func(n int) {
		w := work[n]
		f := v.s.files[w.file]
		part := &scannedFile{name: f.name}
		win := &window{r: poolReader{v.s.pool, v.k.path(w.file)}, t: v.s.template, end: f.size}
		for i := w.from; i < w.to && ctx.Err() == nil; i++ {
			if b := &f.blocks[i]; b.addr >= 0 {
				v.block(win, w.to-i-1, part, f, w.file, b)
			}
		}
		finds[n] = part.finds
	})
	for _, l := range finds {
		for _, d := range l {
			v.tell(d)
		}
	}
}

// block looks at the attributes of one block.
func (v *verifier) block(win *window, ahead int, out, f *scannedFile, file int, b *scanned) {
	k := v.k
	np := make([]int64, len(k.meta.Particles))
	if b.data != nil {
		if err := k.particleCounts(b, np); err != nil {
			out.find(Error, b.name, "", ErrCorrupt, runsWrong, "%v", err)
		}
	}
	inTree := b.known && k.tree.Has(b.index)
	stamp, ok, err := win.group(b.addr, ahead)
	if err != nil {
		out.find(Error, b.name, "", err, aborts, "")
		return
	}
	if ok {
		if inTree {
			r := stampAttrs(win.t, stamp)
			v.values(out, f, b, &r)
			v.adapt(out, b, r[attrAdapt])
		}
		return
	}
	h, err := k.file(file)
	if err != nil {
		out.find(Error, b.name, "", err, aborts, "")
		return
	}
	o, err := h.Open(b.addr, "/"+b.name)
	if err != nil {
		out.find(Error, b.name, "", err, aborts, "")
		return
	}
	at, err := blockAttrsOf(o)
	if err != nil {
		out.find(Error, b.name, "", err, aborts, "")
		return
	}
	good := true
	for i, a := range at {
		d := blockAttrs[i]
		if a == nil {
			out.find(Error, b.name, d.name, ErrMissing, aborts, "attribute is missing")
			good = false
			continue
		}
		good = v.s.attrShape(out, b.name, a, d, d.typ(k.enzo)) && good
	}
	if !good || !inTree {
		return
	}
	r, err := decodedAttrs(at)
	if err != nil {
		out.find(Error, b.name, "", err, aborts, "")
		return
	}
	v.values(out, f, b, &r)
	v.adapt(out, b, r[attrAdapt])
}

// values holds the attributes of a block against what follows from its index.
func (v *verifier) values(out, f *scannedFile, b *scanned, r *rawAttrs) {
	k, g := v.k, &v.k.meta.Geometry
	lo, hi := b.index.Bounds(g)
	var width [3]float64
	for i := range width {
		width[i] = (hi[i] - lo[i]) / float64(g.Block[i])
	}
	near := func(n int, want [3]float64) {
		got := r.floats(n)
		tol := 1e-9
		if blockAttrs[n].kind == kindEnzo && k.enzo == amr.Float32 {
			tol = 1e-5
		}
		for i := range g.Rank { // the other axes hold junk, not-a-number among it
			if !(math.Abs(got[i]-want[i]) <= tol*(math.Abs(want[i])+g.Upper[i]-g.Lower[i])) {
				out.find(Warning, b.name, blockAttrs[n].name, ErrCorrupt, "computes it anew", "%v, want %v", got[:g.Rank], want[:g.Rank])
				return
			}
		}
	}
	if b.level >= 0 { // below, the real program leaves those of the first block of the level in all
		near(attrLower, lo)
		near(attrUpper, hi)
		near(attrGridLeftEdge, lo)
		near(attrCellWidth, width)
	}
	exact := func(n int, sev Severity, effect string, want ...int64) {
		if got := r.ints(n); !slices.Equal(got, want) {
			out.find(sev, b.name, blockAttrs[n].name, ErrCorrupt, effect, "%v, want %v", got, want)
		}
	}
	three := func(f func(i int) int) []int64 { return []int64{int64(f(0)), int64(f(1)), int64(f(2))} }
	a := b.index.Array()
	exact(attrArray, Warning, "computes it anew", three(func(i int) int { return a[i] })...)
	exact(attrGridDimension, Error, runsWrong, three(func(i int) int { return g.Block[i] + 2*g.Ghost[i] })...)
	exact(attrGridStart, Error, runsWrong, three(func(i int) int { return g.Ghost[i] })...)
	exact(attrGridEnd, Error, runsWrong, three(func(i int) int { return g.Ghost[i] + g.Block[i] - 1 })...)
	for _, n := range [...]int{attrIndexOrder, attrCountOrder} { // blocks has looked at the others
		if got := r.ints(n)[0]; got < 0 {
			out.find(Error, b.name, blockAttrs[n].name, ErrCorrupt, crashes, "%d, want a number from 0 on", got)
		}
	}
	if f.root.ok && b.level >= 0 {
		exact(attrCycle, Warning, "takes that of the first file", f.root.cycle)
		if t := r.floats(attrTime)[0]; t != f.root.time {
			out.find(Warning, b.name, "time", ErrCorrupt, "takes that of the first file", "%v, want %v", t, f.root.time)
		}
	}
}

// adapt holds the adapt_buffer of a block against its neighbours.
func (v *verifier) adapt(out *scannedFile, b *scanned, raw []byte) {
	const field = "adapt_buffer"
	t := v.k.tree
	a, err := DecodeAdapt(raw)
	if err != nil {
		msg := err.Error()
		if fe := new(FormatError); errors.As(err, &fe) {
			msg = sprintf("%s: %s (byte %d)", strings.TrimPrefix(fe.Field, field+" "), fe.Msg, fe.Offset)
		}
		out.find(Error, b.name, field, ErrCorrupt, aborts, "%s", msg)
		return
	}
	if v.k.Dump() || v.partial || b.level < 0 {
		return
	}
	if a.Valid != t.Leaf(b.index) {
		out.find(Error, b.name, field, ErrCorrupt, runsWrong, "valid is %v, want %v: the block has children or has none", a.Valid, t.Leaf(b.index))
		return
	}
	if !a.Valid {
		return
	}
	want := Synthesize(t, b.index)
	wrong := func(what string, got, want any) {
		out.find(Error, b.name, field, ErrCorrupt, runsWrong, "%s is %v, by the blocks that are there want %v", what, got, want)
	}
	switch {
	case a.Rank != want.Rank:
		wrong("rank", a.Rank, want.Rank)
	case a.Periodic != want.Periodic:
		wrong("periodicity", a.Periodic, want.Periodic)
	case a.Curr != want.Curr:
		wrong("face_level_curr", a.Curr, want.Curr)
	case a.Self.Index != want.Self.Index || a.Self.Now != want.Self.Now:
		wrong("the block itself", fmt.Sprint(a.Self.Index, " level ", a.Self.Now), fmt.Sprint(want.Self.Index, " level ", want.Self.Now))
	default:
		if !sameNeighbours(a.Neighbours, want.Neighbours) {
			wrong("the list of neighbours", fmt.Sprint(len(a.Neighbours), " blocks"), fmt.Sprint(len(want.Neighbours), ", others"))
		}
	}
}

// sameNeighbours compares lists that may be in any order; want has each block once.
func sameNeighbours(got, want []LevelInfo) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		w := &want[i]
		if !slices.ContainsFunc(got, func(g LevelInfo) bool { return g.Index == w.Index && g.Now == w.Now }) {
			return false
		}
	}
	return true
}
