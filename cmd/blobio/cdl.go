package main

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
)

// cdlWriter prints CDL as ncdump does, so that ncgen reads it.
type cdlWriter struct {
	e      *env
	float  int // significant digits of float values
	double int
}

// cdlName escapes what a name may hold but CDL gives a meaning.
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

// cdlTitle is the name of a dataset: its file name up to the last dot.
func cdlTitle(path string) string {
	s := filepath.Base(path)
	if i := strings.LastIndexByte(s, '.'); i > 0 {
		s = s[:i]
	}
	return cdlName(strings.Map(func(r rune) rune { // CDL has no way to write them
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return '_'
		}
		return r
	}, s))
}

// header prints everything before the data.
func (w *cdlWriter) header(r *blob.Reader) {
	s, out := r.Schema(), w.e.out
	fmt.Fprintf(out, "netcdf %s {\n", cdlTitle(r.Base()))
	dims := s.Dims()
	if len(dims) > 0 {
		fmt.Fprintln(out, "dimensions:")
	}
	for _, d := range dims {
		if d.Len == blob.Unlimited {
			fmt.Fprintf(out, "\t%s = UNLIMITED ; // (%d currently)\n", cdlName(d.Name), r.Records())
		} else {
			fmt.Fprintf(out, "\t%s = %d ;\n", cdlName(d.Name), d.Len)
		}
	}
	if len(s.Vars()) > 0 {
		fmt.Fprintln(out, "variables:")
	}
	for _, v := range s.Vars() {
		fmt.Fprintf(out, "\t%v %s", v.Type, cdlName(v.Name))
		for i, id := range v.Dims {
			sep := ", "
			if i == 0 {
				sep = "("
			}
			fmt.Fprint(out, sep, cdlName(dims[id].Name))
		}
		if len(v.Dims) > 0 {
			fmt.Fprint(out, ")")
		}
		fmt.Fprintln(out, " ;")
		for i := range v.Atts {
			w.att(cdlName(v.Name), &v.Atts[i])
		}
	}
	if atts := s.Attributes(); len(atts) > 0 {
		fmt.Fprintln(out, "\n// global attributes:")
		for i := range atts {
			w.att("", &atts[i])
		}
	}
}

func (w *cdlWriter) att(owner string, a *cdf5.Att) {
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
	w.e.out.Write(append(b, " ;\n"...))
}

// appendAttValue writes a number so that its type shows.
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

// appendPoint writes a number with a decimal point in any case.
func appendPoint(b []byte, x float64, digits int) []byte {
	n := len(b)
	b = appendFloat(b, x, digits)
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

func appendFloat(b []byte, x float64, digits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, "NaN"...)
	case math.IsInf(x, 1):
		return append(b, "Infinity"...)
	case math.IsInf(x, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, x, 'g', digits, 64)
}

// appendText writes a string of CDL; a line feed ends a piece, the next one
// follows after a comma and newline.
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
