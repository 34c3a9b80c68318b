package cello

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"blobio/internal/amr"
	"blobio/internal/base/fault"
	"blobio/internal/base/h5"
	"blobio/internal/base/par"
)

// attributes examines every attribute of every block.
func (v *verifier) attributes(ctx context.Context) {
	v.k.tree.Sorted()
	for i := range v.s.files {
		v.k.files = append(v.k.files, fileInfo{name: v.s.files[i].name, size: v.s.files[i].size})
	}
	v.each(ctx, func(ctx context.Context, w chunk, part *portion) {
		f := v.s.files[w.file]
		win := &window{r: poolReader{v.s.pool, v.k.path(w.file)}, t: v.s.schema.template, end: f.size}
		for i := w.from; i < w.to && ctx.Err() == nil; i++ {
			if b := &f.blocks[i]; b.addr >= 0 {
				v.block(win, w.to-i-1, part, f, w.file, b)
			}
		}
	})
}

type portion struct {
	scannedFile
	survey *survey
}

// each calls do for all chunks of blocks, several at a time, and yields the findings in block
// order.
func (v *verifier) each(ctx context.Context, do func(ctx context.Context, w chunk, part *portion)) {
	var work []chunk
	for i, f := range v.s.files {
		for from := 0; from < len(f.blocks); from += 256 {
			work = append(work, chunk{i, from, min(from+256, len(f.blocks))})
		}
	}
	if v.stop {
		return
	}
	for _, part := range par.Ordered(ctx, par.Workers(0), len(work), func(ctx context.Context, n int) *portion {
		part := &portion{survey: newSurvey(&v.k.meta)}
		part.name = v.s.files[work[n].file].name
		do(ctx, work[n], part)
		return part
	}) {
		for _, d := range part.finds {
			v.tell(d)
		}
		v.survey.merge(part.survey)
		if v.stop {
			return
		}
	}
}

// block examines the attributes of one block.
func (v *verifier) block(win *window, ahead int, out *portion, f *scannedFile, file int, b *scanned) {
	k := v.k
	np := make([]int64, len(k.meta.Particles))
	if b.data != nil {
		if err := k.particleCounts(b, np); err != nil {
			out.find(Error, spot{block: b.name}, ErrCorrupt, runsWrong, "%v", err)
		}
	}
	inTree := b.known && k.tree.Has(b.index)
	stamp, ok, err := win.group(b.addr, ahead)
	if err != nil {
		out.find(Error, spot{block: b.name}, err, aborts, "")
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
	var at [numBlockAttrs]*h5.Attr
	if err == nil {
		_, at, err = openBlock(h, b.addr, b.name)
	}
	if err != nil {
		out.find(Error, spot{block: b.name}, err, aborts, "")
		return
	}
	good := true
	for i, a := range at {
		d := blockAttrs[i]
		if a == nil {
			out.find(Error, spot{block: b.name, field: d.name}, ErrMissing, aborts, "attribute is missing")
			good = false
			continue
		}
		good = out.attrShape(b.name, a, d, d.typ(k.enzo)) && good
	}
	if !good || !inTree {
		return
	}
	r, err := decodedAttrs(at)
	if err != nil {
		out.find(Error, spot{block: b.name}, err, aborts, "")
		return
	}
	v.values(out, f, b, &r)
	v.adapt(out, b, r[attrAdapt])
}

// values compares the attributes of a block with the values computed from its index.
func (v *verifier) values(out *portion, f *scannedFile, b *scanned, r *rawAttrs) {
	k, g := v.k, &v.k.meta.Geometry
	p := place{m: &k.meta, enzo: amr.Float64}
	p.lo, p.hi = b.index.Bounds(g)
	derived := func(n int) *rawAttrs {
		var want rawAttrs
		want[n] = make([]byte, int64(blockAttrs[n].n)*blockAttrs[n].typ(p.enzo).Size())
		p.derive(want[n], n, &amr.Block{Index: b.index})
		return &want
	}
	if b.level >= 0 { // below level 0 Enzo-E stores one block's values in all blocks of the level
		for _, n := range [...]int{attrLower, attrUpper, attrGridLeftEdge, attrCellWidth} {
			got, want := r.floats(n), derived(n).floats(n)
			tol := 1e-9
			if blockAttrs[n].kind == kindEnzo && k.enzo == amr.Float32 {
				tol = 1e-5
			}
			for i := range g.Rank { // on the other axes the values are junk, including NaN
				if !(math.Abs(got[i]-want[i]) <= tol*(math.Abs(want[i])+g.Upper[i]-g.Lower[i])) {
					out.find(warning, spot{block: b.name, field: blockAttrs[n].name}, ErrCorrupt, "computes it anew", "%v, want %v", got[:g.Rank], want[:g.Rank])
					break
				}
			}
		}
	}
	exact := func(n int, sev fault.Severity, effect string, want ...int64) {
		if got := r.ints(n); !slices.Equal(got, want) {
			out.find(sev, spot{block: b.name, field: blockAttrs[n].name}, ErrCorrupt, effect, "%v, want %v", got, want)
		}
	}
	exact(attrArray, warning, "computes it anew", derived(attrArray).ints(attrArray)...)
	for _, n := range [...]int{attrGridDimension, attrGridStart, attrGridEnd} {
		exact(n, Error, runsWrong, derived(n).ints(n)...)
	}
	for _, n := range [...]int{attrIndexOrder, attrCountOrder} { // the method blocks has checked the rest of the order numbers
		if got := r.ints(n)[0]; got < 0 {
			out.find(Error, spot{block: b.name, field: blockAttrs[n].name}, ErrCorrupt, crashes, "%d, want a number from 0 on", got)
		}
	}
	if b.level >= 0 {
		out.survey.number(b.index, blockAttrs[attrNumField].name, float64(r.ints(attrNumField)[0]))
		for _, n := range [...]int{attrDt, attrEnzoDt, attrRedshift} {
			out.survey.number(b.index, blockAttrs[n].name, r.floats(n)[0])
		}
	}
	if f.root.ok && b.level >= 0 {
		exact(attrCycle, warning, "takes the value of the first file", f.root.cycle)
		if t := r.floats(attrTime)[0]; t != f.root.time {
			out.find(warning, spot{block: b.name, field: "time"}, ErrCorrupt, "takes the value of the first file", "%v, want %v", t, f.root.time)
		}
	}
}

// adapt compares the adapt_buffer of a block with the block's neighbours in the tree.
func (v *verifier) adapt(out *portion, b *scanned, raw []byte) {
	const field = "adapt_buffer"
	t := v.k.tree
	a, err := decodeAdapt(raw)
	if err != nil {
		msg := err.Error()
		if fe := new(FormatError); errors.As(err, &fe) {
			msg = fmt.Sprintf("%s: %s (byte %d)", strings.TrimPrefix(fe.Field, field+" "), fe.Msg, fe.Offset)
		}
		out.find(Error, spot{block: b.name, field: field}, ErrCorrupt, aborts, "%s", msg)
		return
	}
	if v.k.Dump() || v.partial || b.level < 0 {
		return
	}
	if a.Valid != t.Leaf(b.index) {
		out.find(Error, spot{block: b.name, field: field}, ErrCorrupt, runsWrong, "valid is %v, want %v according to the children of the block", a.Valid, t.Leaf(b.index))
		return
	}
	if !a.Valid {
		return
	}
	want := synthesize(t, b.index)
	wrong := func(what string, got, want any) {
		out.find(Error, spot{block: b.name, field: field}, ErrCorrupt, runsWrong, "%s is %v, want %v according to the existing blocks", what, got, want)
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

// sameNeighbours compares lists in any order. want has no duplicates.
func sameNeighbours(got, want []levelInfo) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		w := &want[i]
		if !slices.ContainsFunc(got, func(g levelInfo) bool { return g.Index == w.Index && g.Now == w.Now }) {
			return false
		}
	}
	return true
}
