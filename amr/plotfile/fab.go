package plotfile

import (
	"fmt"
	"slices"

	"blobio/amr"
	"blobio/internal/elem"
)

// form is how the numbers of a FAB lie in the file.
type form struct {
	typ amr.Type
	big bool
}

// The descriptions of the floating-point numbers of IEEE 754, as FABs have them: bits, of the exponent, of the fraction, places of sign, exponent and fraction,
// whether the first bit of the fraction is implied, and the bias.
var formats = map[amr.Type][]int64{
	amr.Float32: {32, 8, 23, 0, 1, 9, 0, 127},
	amr.Float64: {64, 11, 52, 0, 1, 12, 0, 1023},
}

// form reads "((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))": the format, then the order of the bytes, of which 1 is the highest.
func (t *text) form(field string) *form {
	t.space()
	at := t.at
	t.mark(field, '(')
	format := t.array(field)
	t.mark(field, ',')
	order := t.array(field)
	t.mark(field, ')')
	if t.err != nil {
		return nil
	}
	for typ, f := range formats {
		up, down := make([]int64, typ.Size()), make([]int64, typ.Size())
		for i := range up {
			up[i], down[i] = int64(i+1), int64(len(up)-i)
		}
		switch {
		case !slices.Equal(format, f):
		case slices.Equal(order, up):
			return &form{typ, true}
		case slices.Equal(order, down):
			return &form{typ, false}
		}
	}
	t.fail(at, field, ErrUnsupported, "numbers of the format %v with the byte order %v, want float or double of IEEE 754", format, order)
	return nil
}

// array is "(n, (a b ...))".
func (t *text) array(field string) (out []int64) {
	t.mark(field, '(')
	n := t.integer(field, ",", 1, 16)
	t.mark(field, ',')
	t.mark(field, '(')
	for i := int64(0); i < n && t.err == nil; i++ {
		out = append(out, t.integer(field, ")", -1<<40, 1<<40))
	}
	t.mark(field, ')')
	t.mark(field, ')')
	return out
}

func (f form) text() string {
	s := fmt.Sprint(formats[f.typ])
	order := make([]int, f.typ.Size())
	for i := range order {
		if order[i] = len(order) - i; f.big {
			order[i] = i + 1
		}
	}
	o := fmt.Sprint(order)
	return fmt.Sprintf("((8, (%s)),(%d, (%s)))", s[1:len(s)-1], len(order), o[1:len(o)-1])
}

// maxFabHeader is how long the line before the data of a FAB may be.
const maxFabHeader = 1 << 10

// fabHeader is the line before the data of a FAB.
type fabHeader struct {
	form
	box    Box
	fields int
	len    int64 // bytes of the line
}

// parseFab reads the header of a FAB, from the bytes that begin there.
func parseFab(file string, off int64, b []byte, rank int) (*fabHeader, error) {
	end := lineEnd(b, 0)
	if end == len(b) {
		class := ErrCorrupt
		if len(b) < maxFabHeader {
			class = ErrTruncated
		}
		return nil, pkg.At(file, off, "FAB", class, "no header within %d bytes, want a line that begins with FAB", len(b))
	}
	t := &text{file: file, b: b[:end]}
	if w, _ := t.word("FAB", "(:"); t.err == nil && w != "FAB" {
		t.fail(0, "FAB", ErrCorrupt, "%s, want FAB", clip(w))
	}
	if t.next() == ':' {
		t.fail(t.at, "FAB", ErrUnsupported, "a FAB of the old form, want a description of its numbers")
	}
	h := &fabHeader{len: int64(end) + 1}
	if f := t.form("FAB: numbers"); f != nil {
		h.form = *f
	}
	h.box = t.box("FAB: box", rank)
	h.fields = t.int("FAB: number of fields", 0, maxFields)
	if t.err != nil {
		if fe, ok := t.err.(*FormatError); ok && fe.Offset >= 0 {
			fe.Offset += off
		}
		return nil, t.err
	}
	return h, nil
}

func encodeFab(f form, b Box, rank, fields int) []byte {
	return fmt.Appendf(nil, "FAB %s%s %d\n", f.text(), boxText(b, rank), fields)
}

// inner copies the cells of box that lie in a FAB of the box whole, x fastest.
func inner(b []byte, size int, whole, box Box) []byte {
	if whole == box {
		return b
	}
	from, to := whole.Len(), box.Len()
	out := make([]byte, 0, box.Cells()*int64(size))
	for z := range to[2] {
		for y := range to[1] {
			at := ((z+box.Lo[2]-whole.Lo[2])*from[1]+y+box.Lo[1]-whole.Lo[1])*from[0] + box.Lo[0] - whole.Lo[0]
			out = append(out, b[at*size:(at+to[0])*size]...)
		}
	}
	return out
}

// floats are the values of bytes in the order of the host.
func floats(t amr.Type, b []byte) []float64 {
	if t == amr.Float64 {
		return elem.View[float64](b)
	}
	x := elem.View[float32](b)
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
