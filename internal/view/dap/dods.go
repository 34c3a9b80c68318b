package dap

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"blobio/internal/base/fault"
)

// dataMark separates declarations and values.
const dataMark = "\nData:\n"

// Size returns the length of the output of WriteDODS. ok is false if the length is unknown because texts may be shorter than
// their dimension. A variable with too many elements for clients is an error.
func (q *Request) Size() (n int64, ok bool, err error) {
	n, ok = int64(len(q.head())), true
	for _, x := range q.items {
		for i := range x.parts {
			p := &x.parts[i]
			elems, err := p.elems()
			if err != nil {
				return 0, false, err
			}
			if p.v.kind == dapString {
				ok = false
				continue
			}
			if len(p.at) > 0 {
				n += 8
			}
			n += pad4(elems * p.v.kind.wire())
		}
	}
	return n, ok, nil
}

func pad4(n int64) int64 { return (n + 3) &^ 3 }

// head returns the declarations and the mark before the values.
func (q *Request) head() []byte {
	b := q.AppendDDS(nil)
	return append(b[:len(b)-1], dataMark...)
}

// WriteDODS writes the declarations and the values, in pieces of bounded size.
func (q *Request) WriteDODS(ctx context.Context, w io.Writer) error {
	if _, _, err := q.Size(); err != nil {
		return err
	}
	if _, err := w.Write(q.head()); err != nil {
		return err
	}
	var buf, out []byte
	for _, x := range q.items {
		for i := range x.parts {
			if err := q.d.send(ctx, w, &x.parts[i], &buf, &out); err != nil {
				return err
			}
		}
	}
	return nil
}

// send writes the values of one variable. An array begins with the number of its elements, twice: once for the array and once for
// the XDR list. An array of texts has the number once, and each text has a length.
func (d *Dataset) send(ctx context.Context, w io.Writer, p *part, buf, out *[]byte) error {
	n, err := p.elems()
	if err != nil {
		return err
	}
	b := (*out)[:0]
	if len(p.at) > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
		if p.v.kind != dapString {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	if p.v.kind == dapString {
		return d.sendTexts(ctx, w, p, n, buf, out)
	}
	fill, sent := d.fill(p.v), int64(0)
	err = d.each(ctx, p, buf, func(src []byte) error {
		b, bad := appendXDR((*out)[:0], p.v.Type, src, fill)
		if p.v.kind == dapByte && len(p.at) == 0 { // a single byte is sent as a 32-bit number
			b = append(make([]byte, 3), src...)
		}
		*out = b
		if bad >= 0 {
			return fmt.Errorf("%s: requested element %d is %s, which no DAP2 type can hold, want less than 2^53",
				p.v.name, sent+int64(bad), elems[p.v.Type].AppendText(nil, src[bad*8:], binary.BigEndian))
		}
		sent += int64(len(src) / p.v.Type.Size())
		_, err := w.Write(b)
		return err
	})
	if err == nil && p.v.kind == dapByte && len(p.at) > 0 {
		_, err = w.Write(make([]byte, pad4(n)-n))
	}
	return err
}

// sendTexts writes texts, each with its length. Trailing NULs are dropped if a text is read at once.
func (d *Dataset) sendTexts(ctx context.Context, w io.Writer, p *part, n int64, buf, out *[]byte) error {
	row := p.v.row
	if row == 0 { // empty texts: nothing to read
		_, err := w.Write(make([]byte, 4*n))
		return err
	}
	if row > d.window { // with trailing NULs
		return d.sendLong(ctx, w, p, buf)
	}
	return d.each(ctx, p, buf, func(src []byte) error {
		b := (*out)[:0]
		for ; len(src) > 0; src = src[row:] {
			text := bytes.TrimRight(src[:row], "\x00")
			if d.client == NetCDFClient {
				text = bytes.ReplaceAll(text, []byte{'\\'}, []byte{'\\', '\\'})
			}
			b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
			b = append(b, text...)
			b = append(b, make([]byte, pad4(int64(len(text)))-int64(len(text)))...)
		}
		*out = b
		_, err := w.Write(b)
		return err
	})
}

// sendLong writes texts that are read in several pieces.
func (d *Dataset) sendLong(ctx context.Context, w io.Writer, p *part, buf *[]byte) error {
	if p.v.row > maxElems {
		return fault.Class(fault.ErrTooLarge, "%s: strings of %d bytes, want at most %d", p.v.name, p.v.row, maxElems)
	}
	left := int64(0) // rest of the text
	return d.each(ctx, p, buf, func(src []byte) error {
		if left == 0 {
			left = p.v.row
			if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(left))); err != nil {
				return err
			}
		}
		if _, err := w.Write(src); err != nil {
			return err
		}
		if left -= int64(len(src)); left == 0 {
			_, err := w.Write(make([]byte, pad4(p.v.row)-p.v.row))
			return err
		}
		return nil
	})
}
