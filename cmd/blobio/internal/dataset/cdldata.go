package dataset

import (
	"bytes"
	"context"
	"fmt"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/cli"
	"blobio/internal/view/cf"
	"blobio/internal/view/cftime"
)

// A source is a dataset, or a part of one, to print.
type source interface {
	cf.Source
	ReadRuns(ctx context.Context, name string, rec int64, runs []decomp.Req, dst any) error
}

// dumpWindow is the number of elements of a variable in memory at once.
const dumpWindow = 1 << 20

// elements calls f with the elements of a variable in canonical order, window by window. A window holds whole rows of row
// elements, unless a row is longer than a window. Text always comes in whole rows.
func elements(ctx context.Context, r source, v int, row int64, f func(data any) error) error {
	sv := &r.Schema().Vars()[v]
	n := r.Schema().Elems(blob.VarID(v))
	recs := int64(1)
	if sv.Record {
		recs = r.Records()
	}
	step := int64(dumpWindow)
	if row = max(row, 1); row < step || sv.Type == cdf5.Char {
		step = max(1, step/row) * row
	}
	if sv.Record && len(sv.Dims) == 1 { // the only row of the variable has one element per record
		if sv.Type == cdf5.Char {
			step = max(1, recs)
		}
		for lo := int64(0); lo < recs; lo += step {
			data := cdf5.NewSlice(sv.Type, int(min(step, recs-lo)))
			if err := r.Read(ctx, sv.Name, []int64{lo}, []int64{min(step, recs-lo)}, data); err != nil {
				return err
			}
			if err := f(data); err != nil {
				return err
			}
		}
		return nil
	}
	for rec := range recs {
		for lo := int64(0); lo < n; lo += step {
			data := cdf5.NewSlice(sv.Type, int(min(step, n-lo)))
			if err := r.ReadRuns(ctx, sv.Name, rec, []decomp.Req{{Offset: lo, Length: min(step, n-lo)}}, data); err != nil {
				return err
			}
			if err := f(data); err != nil {
				return err
			}
		}
	}
	return nil
}

// lineWidth is the maximum length of ncdump's lines.
const lineWidth = 78

// data prints the values of one variable.
func (w *cdlWriter) data(ctx context.Context, r source, v int, progress func(n int64)) error {
	sv := &r.Schema().Vars()[v]
	total := r.Schema().Elems(blob.VarID(v))
	if sv.Record {
		total *= r.Records()
	}
	if total == 0 {
		return nil
	}
	row, times := rowOf(r, sv), w.times(r, sv)
	out := w.e.Out
	name := cdlName(sv.Name)
	col := len(name) + 4
	if len(sv.Dims) > 1 {
		fmt.Fprintf(out, "\n %s =\n  ", name)
		col = 2
	} else {
		fmt.Fprintf(out, "\n %s = ", name)
	}
	fill, mean := fillOf(sv), cf.MeaningOf(sv)
	var b []byte
	done := int64(0)
	err := elements(ctx, r, v, row, func(data any) error {
		n, _, _ := cdf5.SliceLen(data)
		if text, ok := data.([]byte); ok && sv.Type == cdf5.Char {
			for len(text) > 0 {
				b = w.appendRow(b[:0], text[:row])
				text = text[row:]
				if done += row; done < total {
					b = append(b, ",\n  "...)
				}
				if _, err := out.Write(b); err != nil {
					return err
				}
			}
			progress(int64(n))
			return nil
		}
		var dates []float64
		if times != nil {
			dates = make([]float64, n) // decoded from the stored values, which are printed too
			mean.Decode(dates, data)
		}
		for i := range n {
			b = w.appendTime(b[:0], data, i, fill, times, dates)
			done++
			rowEnd := done%row == 0
			if !rowEnd {
				b = append(b, ", "...)
			}
			if col+len(b) > lineWidth && len(b) > 2 {
				if _, err := out.WriteString("\n    "); err != nil {
					return err
				}
				col = 4
			}
			col += len(b)
			if rowEnd && done < total {
				b = append(b, ",\n  "...)
				col = 2
			}
			if _, err := out.Write(b); err != nil {
				return err
			}
		}
		progress(int64(n))
		return nil
	})
	if err != nil {
		return err
	}
	_, err = out.WriteString(" ;\n")
	return err
}

// rowOf returns the length of a variable's last dimension.
func rowOf(r source, sv *blob.Variable) int64 {
	k := len(sv.Dims)
	if k == 0 {
		return 1
	}
	if n := r.Schema().Dims()[sv.Dims[k-1]].Len; n != blob.Unlimited {
		return n
	}
	return r.Records()
}

// times returns the time units of a variable if dates are to be printed, or nil.
func (w *cdlWriter) times(r source, sv *blob.Variable) *cftime.Units {
	if !w.dates {
		return nil
	}
	u, err := cf.TimeOf(r.Schema(), sv)
	if err != nil && !w.noted[sv.Name] {
		w.noted[sv.Name] = true
		fmt.Fprintf(w.e.Stderr, "blobio: note: %s is printed as numbers: %s\n", sv.Name, cli.ErrorText(err))
	}
	return u
}

// appendTime appends element i as a date if u is not nil, and as a number otherwise. dates holds the decoded times of data.
func (w *cdlWriter) appendTime(b []byte, data any, i int, fill any, u *cftime.Units, dates []float64) []byte {
	if u != nil && !isFill(data, i, fill) {
		if b, ok := appendDate(b, u, dates[i]); ok {
			return b
		}
	}
	return w.appendValue(b, data, i, fill)
}

func (w *cdlWriter) appendRow(b, text []byte) []byte {
	for len(text) > 0 && text[len(text)-1] == 0 {
		text = text[:len(text)-1]
	}
	return appendText(b, string(text), "\n    ")
}

// fillOf returns the value that prints as _, in a slice of one element, or nil. Bytes have no such value unless an attribute
// defines it.
func fillOf(v *blob.Variable) any {
	if a := cdf5.FindAtt(v.Atts, "_FillValue"); a != nil && a.Type == v.Type && a.Len() == 1 {
		return a.Value
	}
	switch v.Type {
	case cdf5.Byte, cdf5.UByte, cdf5.Char:
		return nil
	}
	one := cdf5.NewSlice(v.Type, 1)
	var raw [8]byte
	cdf5.FillBytes(raw[:v.Type.Size()], v.Type, nil, nil)
	if cdf5.FromFile(one, raw[:v.Type.Size()], true, v.Type) != nil {
		return nil
	}
	return one
}

// same reports whether x[i] is the fill value. Two NaNs are the same.
func same[T float32 | float64](x []T, i int, fill any) bool {
	f, ok := fill.([]T)
	return ok && (f[0] == x[i] || f[0] != f[0] && x[i] != x[i])
}

// appendValue appends element i of data, or _ for the fill value.
func (w *cdlWriter) appendValue(b []byte, data any, i int, fill any) []byte {
	if isFill(data, i, fill) {
		return append(b, '_')
	}
	switch x := data.(type) {
	case []float32:
		if b = cli.AppendFloat(b, float64(x[i]), w.float); x[i] != x[i] || x[i]-x[i] != 0 {
			b = append(b, 'f')
		}
		return b
	case []float64:
		return cli.AppendFloat(b, x[i], w.double)
	}
	return appendInteger(b, data, i)
}

// isFill reports whether element i of data is the fill value.
func isFill(data any, i int, fill any) bool {
	switch x := data.(type) {
	case []float32:
		return same(x, i, fill)
	case []float64:
		return same(x, i, fill)
	}
	t, value := element(data, i)
	of, want, _ := elem.Of(fill)
	return t == of && bytes.Equal(value, want)
}

// element returns the bytes of an element in host byte order.
func element(data any, i int) (elem.Type, []byte) {
	t, b, _ := elem.Of(data)
	n := t.Size()
	return t, b[i*n : (i+1)*n]
}

func appendInteger(b []byte, data any, i int) []byte {
	t, value := element(data, i)
	return t.AppendText(b, value, elem.HostOrder())
}
