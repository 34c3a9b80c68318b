package blocks

import (
	"context"
	"fmt"
	"iter"

	"blobio/amr"
	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/fault"
)

// Check looks for everything that is wrong with a dataset of blocks: what blob.Check
// finds (structure, checksums), then whether the tables agree with each other and
// with the tree. It never stops at the first. o may be nil.
func Check(ctx context.Context, name string, o *blob.CheckOptions) iter.Seq[blob.Finding] {
	return func(yield func(blob.Finding) bool) {
		var bo blob.CheckOptions
		if o != nil {
			bo = *o
		}
		bo.AcrossRows = true // a request is all blocks of a rank here
		bad := false
		for f := range blob.Check(ctx, name, &bo) {
			bad = bad || f.Severity == blob.Error
			if !yield(f) {
				return
			}
		}
		d, err := Open(ctx, name, &OpenOptions{NoVerify: true})
		if err != nil {
			if !bad {
				yield(fault.Of(fault.Error, name, err))
			}
			return
		}
		defer d.Close()
		if err := d.compareMeta(); err != nil && !yield(fault.Of(fault.Error, name, err)) {
			return
		}
		if d.check(ctx, yield) && (o == nil || !o.Quick) {
			d.checkData(ctx, yield)
		}
	}
}

// check compares the tables. It tells whether more findings are wanted.
func (d *Dataset) check(ctx context.Context, yield func(blob.Finding) bool) bool {
	more := true
	found := func(sev blob.Severity, field, format string, args ...any) {
		if more {
			f := blob.Finding{Severity: sev, File: d.r.Base(), Offset: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
			if sev == blob.Error {
				f.Err = ErrCorrupt
			}
			more = yield(f)
		}
	}
	for i := range d.meta.Fields {
		if f := &d.meta.Fields[i]; f.Scrambled {
			found(blob.Error, "field_"+f.Name, "the cells are in the wrong places, in every block, and cannot be put right: the program that wrote them has scrambled them")
		}
	}
	if cdf5.FindAtt(d.r.Schema().Attributes(), unverifiedAtt) != nil {
		found(blob.Warning, unverifiedAtt, "made from unverified data, which may be damaged: the checksums are those of what was read")
	}
	n := len(d.infos)
	level, order := make([]int32, n), make([]int64, n)
	lower, upper := make([]float64, 3*n), make([]float64, 3*n)
	for name, dst := range map[string]any{"block_level": level, "block_order": order, "block_lower": lower, "block_upper": upper} {
		if err := d.table(ctx, name, dst); err != nil {
			found(blob.Error, name, "%v", err)
		}
	}
	row := make(map[amr.Index]int, n)
	tree := amr.NewTree(&d.meta.Geometry)
	for i := range d.infos {
		x := d.infos[i].Index
		if k, ok := row[x]; ok {
			found(blob.Error, "block_index", "blocks %d and %d are both %s", k, i, d.name(x))
			continue
		}
		row[x] = i
		if err := tree.Add(x); err != nil {
			found(blob.Error, "block_index", "block %d: %v", i, err)
		}
	}
	for i := range d.infos {
		b := &d.infos[i]
		x := b.Index
		if int(level[i]) != x.Level() {
			found(blob.Error, "block_level", "block %d is of level %d, its index says %d", i, level[i], x.Level())
		}
		if order[i] != int64(i) {
			found(blob.Warning, "block_order", "block %d says that it is number %d", i, order[i])
		}
		parent, ok := row[x.Parent()]
		if !ok {
			parent = -1
		}
		if b.Parent != parent {
			found(blob.Error, "block_parent", "block %d says that its parent is in row %d, it is in %d", i, b.Parent, parent)
		}
		if b.Leaf && tree.Refined(x) {
			found(blob.Error, "block_leaf", "block %d (%s) has children, but is called a leaf", i, d.name(x))
		}
		if !b.Leaf && tree.Leaf(x) {
			found(blob.Warning, "block_leaf", "block %d (%s) is called refined, but has no children here", i, d.name(x))
		}
		lo, hi := x.Bounds(&d.meta.Geometry)
		if [3]float64(lower[3*i:]) != lo || [3]float64(upper[3*i:]) != hi {
			found(blob.Warning, "block_lower", "block %d is from %v to %v, its index says %v to %v", i, lower[3*i:3*i+3], upper[3*i:3*i+3], lo, hi)
		}
		if !more {
			return false
		}
	}
	d.checkTree(tree, found)
	return more
}

// checkTree looks for what a restart needs. A part of a tree is a good dataset all the same.
func (d *Dataset) checkTree(tree *amr.Tree, found func(sev blob.Severity, field, format string, args ...any)) {
	const most = 3 // of a kind
	kinds := map[amr.Code]int{}
	for f := range tree.Validate() {
		if kinds[f.Code]++; kinds[f.Code] <= most {
			found(blob.Warning, "block_index", "%s: a program cannot restart from this", f.Msg)
		}
	}
	for _, c := range []amr.Code{amr.MissingRoot, amr.MissingAncestor, amr.MissingParent, amr.MissingChild, amr.Unbalanced} {
		if n := kinds[c]; n > most {
			found(blob.Warning, "block_index", "%d more findings of the kind %s", n-most, c)
		}
	}
}

func (d *Dataset) name(x amr.Index) string { return x.Name(d.meta.Rank, d.meta.Roots) }
