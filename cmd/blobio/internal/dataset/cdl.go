package dataset

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/cli"
	"blobio/internal/view/cf"
	"blobio/internal/view/cftime"
)

// cdlWriter prints CDL in the format of ncdump, so that ncgen can read it.
type cdlWriter struct {
	e      *cli.Env
	float  int // significant digits of float values
	double int
	dates  bool            // print times as dates
	noted  map[string]bool // variables with unknown units of time, already reported
}

// cdlName escapes characters of a name that have a meaning in CDL.
func cdlName(s string) string {
	var b strings.Builder
	for i, c := range s {
		if strings.ContainsRune(" !\"#$%&'()*,:;<=>?[]\\^`{|}~", c) || i == 0 && c >= '0' && c <= '9' {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// cdlTitle returns the name of a dataset: its file name up to the last dot.
func cdlTitle(path string) string {
	s := filepath.Base(path)
	if i := strings.LastIndexByte(s, '.'); i > 0 {
		s = s[:i]
	}
	return cdlName(strings.Map(func(r rune) rune { // CDL cannot represent unprintable characters
		if !cli.Printable(r) {
			return '_'
		}
		return r
	}, s))
}

// header prints everything before the data. times returns the time units of a variable, or nil if its numbers are not dates.
func (w *cdlWriter) header(title string, h *cdf5.Header, times func(v int) *cftime.Units) {
	out := w.e.Out
	fmt.Fprintf(out, "netcdf %s {\n", title)
	if len(h.Dims) > 0 {
		fmt.Fprintln(out, "dimensions:")
	}
	for _, d := range h.Dims {
		if d.Len == blob.Unlimited {
			fmt.Fprintf(out, "\t%s = UNLIMITED ; // (%d currently)\n", cdlName(d.Name), h.NumRecs)
		} else {
			fmt.Fprintf(out, "\t%s = %d ;\n", cdlName(d.Name), d.Len)
		}
	}
	if len(h.Vars) > 0 {
		fmt.Fprintln(out, "variables:")
	}
	for k, v := range h.Vars {
		fmt.Fprintf(out, "\t%v %s", v.Type, cdlName(v.Name))
		for i, id := range v.Dims {
			sep := ", "
			if i == 0 {
				sep = "("
			}
			fmt.Fprint(out, sep, cdlName(h.Dims[id].Name))
		}
		if len(v.Dims) > 0 {
			fmt.Fprint(out, ")")
		}
		fmt.Fprintln(out, " ;")
		var u *cftime.Units
		if w.dates && times != nil && cf.Text(v.Atts, "units") != "" {
			u = times(k)
		}
		for i := range v.Atts {
			w.att(cdlName(v.Name), &v.Atts[i], u)
		}
	}
	if len(h.Atts) > 0 {
		fmt.Fprintln(out, "\n// global attributes:")
		for i := range h.Atts {
			w.att("", &h.Atts[i], nil)
		}
	}
}

// att prints an attribute. u are the units if its numbers are times.
func (w *cdlWriter) att(owner string, a *cdf5.Att, u *cftime.Units) {
	b := []byte("\t\t" + owner + ":" + cdlName(a.Name) + " = ")
	if s, ok := a.Value.(string); ok {
		b = appendText(b, strings.TrimRight(s, "\x00"), "\n\t\t\t")
	} else {
		v := reflect.ValueOf(a.Value)
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = w.appendAttValue(b, v.Index(i).Interface())
		}
	}
	b = append(b, " ;"...)
	if u != nil && a.Type != cdf5.Char {
		for i, x := range floats(a.Value) {
			lead := ", "
			if i == 0 {
				lead = " // "
			}
			b = append(b, lead...)
			var ok bool
			if b, ok = appendDate(b, u, x); !ok {
				b = w.appendValue(b, a.Value, i, nil)
			}
		}
	}
	w.e.Out.Write(append(b, '\n'))
}

// appendAttValue appends a number in a form that shows its type.
func (w *cdlWriter) appendAttValue(b []byte, x any) []byte {
	switch x := x.(type) {
	case int8:
		return append(strconv.AppendInt(b, int64(x), 10), 'b')
	case int16:
		return append(strconv.AppendInt(b, int64(x), 10), 's')
	case int32:
		return strconv.AppendInt(b, int64(x), 10)
	case int64:
		return append(strconv.AppendInt(b, x, 10), "LL"...)
	case uint8:
		return append(strconv.AppendUint(b, uint64(x), 10), "UB"...)
	case uint16:
		return append(strconv.AppendUint(b, uint64(x), 10), "US"...)
	case uint32:
		return append(strconv.AppendUint(b, uint64(x), 10), 'U')
	case uint64:
		return append(strconv.AppendUint(b, x, 10), "ULL"...)
	case float32:
		return append(appendPoint(b, float64(x), w.float), 'f')
	case float64:
		return appendPoint(b, x, w.double)
	}
	return fmt.Append(b, x)
}

// appendDate appends the date of a time, in quotes. It returns false if the number is not a valid time.
func appendDate(b []byte, u *cftime.Units, x float64) ([]byte, bool) {
	d, ok := u.Date(x)
	if !ok {
		return b, false
	}
	return append(append(append(b, '"'), d.Text(" ")...), '"'), true
}

// floats converts a slice of numbers to float64.
func floats(data any) []float64 {
	_, raw, _ := elem.Of(data)
	n, _, _ := cdf5.SliceLen(data)
	if n == 0 || len(raw) == 0 {
		return nil
	}
	out := make([]float64, n)
	elem.Store(elem.Bytes(out), elem.HostBig, elem.Float64, data) // every value fits
	return out
}

// appendPoint appends a number, always with a decimal point.
func appendPoint(b []byte, x float64, digits int) []byte {
	n := len(b)
	b = cli.AppendFloat(b, x, digits)
	s := b[n:]
	if math.IsNaN(x) || math.IsInf(x, 0) || bytes.IndexByte(s, '.') >= 0 {
		return b
	}
	if i := bytes.IndexByte(s, 'e'); i >= 0 {
		exp := string(s[i:])
		return append(append(b[:n+i], '.'), exp...)
	}
	return append(b, '.')
}

// appendText appends a CDL string. It starts a new piece after each line feed; a comma and newline separate the pieces.
func appendText(b []byte, s, newline string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '\n':
			b = append(b, `\n",`...)
			b = append(append(b, newline...), '"')
		default:
			b = appendEscaped(b, c)
		}
	}
	return append(b, '"')
}

func appendEscaped(b []byte, c byte) []byte {
	const plain, letters = "\b\f\n\r\t\v\\'\"", `bfnrtv\'"`
	if i := strings.IndexByte(plain, c); i >= 0 {
		return append(b, '\\', letters[i])
	}
	if c < ' ' || c == 0x7f {
		return fmt.Appendf(b, "\\%03o", c)
	}
	return append(b, c)
}
