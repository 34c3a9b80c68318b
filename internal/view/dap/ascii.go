package dap

import (
	"context"
	"encoding/binary"
	"io"
	"strconv"

	"blobio/cdf5"
	"blobio/internal/base/fault"
)

// WriteASCII writes the declarations and then the values as text. Each variable has its name, then a line for each row: the
// indices within the request, then the values along the last dimension. Numbers have the type in the file and are written
// with all significant digits, so 64-bit integers are exact.
func (q *Request) WriteASCII(ctx context.Context, w io.Writer) error {
	if _, _, err := q.Size(); err != nil {
		return err
	}
	b := append(q.AppendDDS(nil), "---------------------------------------------\n"...)
	if _, err := w.Write(b); err != nil {
		return err
	}
	var buf []byte
	for _, x := range q.items {
		for i := range x.parts {
			if err := q.d.print(ctx, w, x, &x.parts[i], &buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// print writes the values of one variable.
func (d *Dataset) print(ctx context.Context, w io.Writer, x *item, p *part, buf *[]byte) error {
	var b []byte
	if x.form != alone {
		b = append(append(b, x.of.name...), '.')
	}
	b = append(b, p.v.name...)
	for _, s := range p.at {
		b = append(strconv.AppendInt(append(b, '['), s.count, 10), ']')
	}
	b = append(b, '\n')
	if p.v.kind == dapString && p.v.row > d.window {
		return fault.Class(fault.ErrTooLarge, "%s: texts of %d bytes are too long", p.v.name, p.v.row)
	}
	t, size := elems[p.v.Type], max(1, p.v.row)
	if p.v.Type != cdf5.Char {
		size = int64(t.Size())
	}
	width := int64(1) // elements per line
	if n := len(p.at); n > 0 {
		width = p.at[n-1].count
	}
	next := int64(0)
	err := d.each(ctx, p, buf, func(src []byte) error {
		for ; len(src) > 0; src, next = src[size:], next+1 {
			if next%width != 0 {
				b = append(b, ", "...)
			} else {
				if next > 0 {
					b = append(b, '\n')
				}
				b = p.appendIndex(b, next)
			}
			if p.v.kind == dapString {
				b = appendQuoted(b, string(src[:size]))
			} else {
				b = t.AppendText(b, src, binary.BigEndian)
			}
			if len(b) > defaultGap {
				if _, err := w.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, "\n\n"...))
	return err
}

// appendIndex appends the indices of the row that begins with the element elem, except for the last index.
func (p *part) appendIndex(b []byte, elem int64) []byte {
	n := len(p.at) - 1
	if n < 1 {
		return b
	}
	idx := make([]int64, n+1)
	for i := n; i >= 0; i-- {
		idx[i], elem = elem%p.at[i].count, elem/p.at[i].count
	}
	for _, x := range idx[:n] {
		b = append(strconv.AppendInt(append(b, '['), x, 10), ']')
	}
	return append(b, ", "...)
}
