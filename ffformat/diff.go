package ffformat

import (
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"iter"
)

const (
	maxGap    = 1 << 20
	maxRanges = 100_000   // maximum number of ranges per variable
	diffPiece = 512 << 10 // bytes read at once from each file
	diffStep  = 4096      // bytes compared at once
)

// checkDiff returns an error if o is invalid.
func (o *Options) checkDiff() error {
	if o != nil && (o.Gap < 0 || o.Gap > maxGap) {
		return fault.Usage("gap %d, want 0 to %d", o.Gap, maxGap)
	}
	return nil
}

// A Range is a run of bytes of a variable.
type Range struct {
	Off int64 `json:"offset"`
	Len int64 `json:"bytes"`
}

// VarDiff describes how a variable differs between two files.
type VarDiff struct {
	ID           int32
	SizeA, SizeB int64   // in bytes; -1 if the file does not have the variable
	Bytes        int64   // differing bytes within the smaller of the two sizes
	Ranges       []Range // the first 100,000 ranges of differing bytes, ascending
	More         int64   // number of further ranges
}

// Diff compares the variables of two checkpoint files byte by byte. The files may differ in layout, hash and containers, and Diff
// does not rely on equal hashes. Diff yields the variables that differ: first the variables of a, then those that only b has.
// Diff verifies chunks and yields an error, not a difference, for a damaged chunk. An error belongs to the variable that is
// yielded with it, and Diff continues with the next variable. If ctx ends or an argument is wrong, Diff yields the error with a
// VarDiff of ID 0 and sizes -1, and stops.
func Diff(ctx context.Context, a, b *Reader, o *Options) iter.Seq2[VarDiff, error] {
	return func(yield func(VarDiff, error) bool) {
		none := VarDiff{SizeA: -1, SizeB: -1}
		if err := o.checkDiff(); err != nil {
			yield(none, err)
			return
		}
		d := &differ{ctx: ctx, a: a, b: b}
		if o != nil {
			d.Options = *o
		}
		list := d.variables()
		for _, v := range list {
			if v.SizeA > 0 && v.SizeB > 0 {
				d.total += min(v.SizeA, v.SizeB)
			}
		}
		for _, v := range list {
			err := d.compare(&v)
			if err := ctx.Err(); err != nil {
				yield(none, err)
				return
			}
			if (err != nil || v.SizeA != v.SizeB || v.Bytes > 0) && !yield(v, err) {
				return
			}
		}
	}
}

type differ struct {
	Options
	ctx         context.Context
	a, b        *Reader
	bufA, bufB  []byte
	done, total int64
	open        bool  // a range is open
	off, end    int64 // first byte of the open range, and the byte after it
}

func (d *differ) variables() []VarDiff {
	var list []VarDiff
	at := map[int32]int{}
	want := map[int32]bool{}
	for _, id := range d.Vars {
		want[id] = true
	}
	add := func(f *File, isB bool) {
		for _, v := range f.Vars() {
			if d.Vars != nil && !want[v.ID] {
				continue
			}
			i, ok := at[v.ID]
			if !ok {
				i = len(list)
				at[v.ID] = i
				list = append(list, VarDiff{ID: v.ID, SizeA: -1, SizeB: -1})
			}
			if isB {
				list[i].SizeB = v.Size
			} else {
				list[i].SizeA = v.Size
			}
		}
	}
	add(d.a.File(), false)
	add(d.b.File(), true)
	return list
}

func (d *differ) compare(v *VarDiff) error {
	for _, r := range []struct {
		r    *Reader
		size int64
	}{{d.a, v.SizeA}, {d.b, v.SizeB}} {
		if r.size >= 0 {
			if _, err := r.r.variable(v.ID); err != nil {
				return err
			}
		}
	}
	if d.bufA == nil {
		d.bufA, d.bufB = make([]byte, diffPiece), make([]byte, diffPiece)
	}
	both := min(v.SizeA, v.SizeB)
	d.open = false
	for off := int64(0); off < both; off += diffPiece {
		if d.ctx.Err() != nil {
			return nil // Diff returns this error
		}
		n := min(diffPiece, both-off)
		x, y := d.bufA[:n], d.bufB[:n]
		if k, err := d.a.ReadAt(v.ID, x, off); int64(k) < n {
			return err
		}
		if k, err := d.b.ReadAt(v.ID, y, off); int64(k) < n {
			return err
		}
		d.piece(v, x, y, off)
		if d.done += n; d.Progress != nil {
			d.Progress(d.done, d.total)
		}
	}
	d.close(v)
	return nil
}

// piece finds the ranges in which x and y differ. Both begin at byte base of the variable.
func (d *differ) piece(v *VarDiff, x, y []byte, base int64) {
	for i := 0; i < len(x); i += diffStep {
		n := min(diffStep, len(x)-i)
		if bytes.Equal(x[i:i+n], y[i:i+n]) {
			continue
		}
		for j := i; j < i+n; j++ {
			if x[j] == y[j] {
				continue
			}
			at := base + int64(j)
			v.Bytes++
			if d.open && at-d.end <= d.Gap {
				d.end = at + 1
				continue
			}
			d.close(v)
			d.open, d.off, d.end = true, at, at+1
		}
	}
}

func (d *differ) close(v *VarDiff) {
	if !d.open {
		return
	}
	d.open = false
	if len(v.Ranges) == maxRanges {
		v.More++
		return
	}
	v.Ranges = append(v.Ranges, Range{d.off, d.end - d.off})
}
