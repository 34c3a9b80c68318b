package edge

import (
	"math"

	"blobio/decomp"
)

// Dof is a decomposition in PIO's form. It has, for each element of a rank's array in memory, the element's position in the
// canonical array, counted from 1. The position is 0 for a hole: an element outside the file, such as a halo, or land in an
// ocean grid. The elements are in the order of the memory, not of the file.
type Dof struct {
	Runs  []decomp.Req // elements that are in the file, in memory order
	Elems int64        // number of elements in memory, including holes
	Kept  int64        // number of elements in the file
	spans []span       // spans of memory that are in the file; nil if there are no holes
}

// span is n elements of memory, starting at at.
type span struct{ at, n int64 }

// maxRun limits the lengths of runs to the int32 of the file format.
const maxRun = math.MaxInt32

// NewDof makes a Dof from compdof, which it does not retain. elems is the number of elements of the decomposed array. With row >
// 0, no run extends beyond the end of a row, as readers of the format expect. With row 0, runs are as long as possible.
func NewDof(compdof []int64, elems, row int64) (*Dof, error) {
	d := &Dof{Elems: int64(len(compdof))}
	var last span
	for i, c := range compdof {
		switch {
		case c < 0 || c > elems:
			return nil, Usage("compdof[%d] is %d, want 1..%d, or 0 for a hole", i, c, elems)
		case c == 0:
			continue
		}
		d.Kept++
		if k := len(d.Runs) - 1; k >= 0 && d.Runs[k].End() == c-1 && d.Runs[k].Length < maxRun && (row == 0 || (c-1)%row != 0) {
			d.Runs[k].Length++
		} else {
			d.Runs = append(d.Runs, decomp.Req{Offset: c - 1, Length: 1})
		}
		if last.n > 0 && last.at+last.n == int64(i) {
			last.n++
			continue
		}
		if last.n > 0 {
			d.spans = append(d.spans, last)
		}
		last = span{int64(i), 1}
	}
	if last.n > 0 {
		d.spans = append(d.spans, last)
	}
	if d.Kept == d.Elems {
		d.spans = nil
	}
	return d, nil
}

// Holes reports whether some elements in memory are not in the file.
func (d *Dof) Holes() bool { return d.Kept != d.Elems }

// Pack copies those elements that are in the file from memory to dst. An element has size bytes.
func (d *Dof) Pack(dst, memory []byte, size int) {
	for _, s := range d.spans {
		dst = dst[copy(dst, memory[s.at*int64(size):(s.at+s.n)*int64(size)]):]
	}
}

// Unpack copies elements from src to their places in memory. Holes stay unchanged.
func (d *Dof) Unpack(memory, src []byte, size int) {
	for _, s := range d.spans {
		src = src[copy(memory[s.at*int64(size):(s.at+s.n)*int64(size)], src):]
	}
}
