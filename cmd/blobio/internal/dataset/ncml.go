package dataset

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"blobio/blob"
	"blobio/cdf5"
)

const ncmlSpace = "https://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"

// dumpXML prints a header as NcML, like ncdump -x.
func dumpXML(out io.Writer, location string, h *cdf5.Header, w *cdlWriter) error {
	fmt.Fprintln(out, `<?xml version="1.0" encoding="UTF-8"?>`)
	fmt.Fprintf(out, "<netcdf xmlns=%s location=%s>\n", quoteXML(ncmlSpace), quoteXML(location))
	for _, d := range h.Dims {
		n, unlimited := d.Len, ""
		if n == blob.Unlimited {
			n, unlimited = h.NumRecs, ` isUnlimited="true"`
		}
		fmt.Fprintf(out, "  <dimension name=%s length=\"%d\"%s />\n", quoteXML(d.Name), n, unlimited)
	}
	w.xmlAtts(out, "  ", h.Atts)
	for _, v := range h.Vars {
		shape := ""
		if len(v.Dims) > 0 {
			names := make([]string, len(v.Dims))
			for i, d := range v.Dims {
				names[i] = h.Dims[d].Name
			}
			shape = " shape=" + quoteXML(strings.Join(names, " "))
		}
		fmt.Fprintf(out, "  <variable name=%s%s type=\"%v\">\n", quoteXML(v.Name), shape, v.Type)
		w.xmlAtts(out, "    ", v.Atts)
		fmt.Fprintln(out, "  </variable>")
	}
	_, err := fmt.Fprintln(out, "</netcdf>")
	return err
}

func (w *cdlWriter) xmlAtts(out io.Writer, indent string, atts []cdf5.Att) {
	for i := range atts {
		a := &atts[i]
		if s, ok := a.Value.(string); ok {
			fmt.Fprintf(out, "%s<attribute name=%s value=%s />\n", indent, quoteXML(a.Name), quoteXML(strings.TrimRight(s, "\x00")))
			continue
		}
		var words []string
		v := reflect.ValueOf(a.Value)
		for k := range v.Len() {
			words = append(words, string(w.xmlNumber(v.Index(k).Interface())))
		}
		fmt.Fprintf(out, "%s<attribute name=%s type=\"%v\" value=\"%s\" />\n", indent, quoteXML(a.Name), a.Type, strings.Join(words, " "))
	}
}

// xmlNumber formats a number as in CDL, without the type suffix. NaN and infinities are in Java's format.
func (w *cdlWriter) xmlNumber(x any) []byte {
	switch y := x.(type) {
	case float32:
		return appendPoint(nil, float64(y), w.float)
	case float64:
		return appendPoint(nil, y, w.double)
	}
	return fmt.Append(nil, x)
}

// quoteXML quotes a text. Characters that XML cannot hold become the replacement character.
func quoteXML(s string) string {
	var b bytes.Buffer
	b.WriteByte('"')
	for _, c := range s {
		switch c {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '"':
			b.WriteString("&quot;")
		case '\n', '\t', '\r':
			fmt.Fprintf(&b, "&#x%X;", c)
		default:
			if c < ' ' || c == 0xfffe || c == 0xffff {
				c = utf8.RuneError
			}
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
