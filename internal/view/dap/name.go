package dap

import "net/url"

// encode is encodeName for the client of a dataset. The netCDF library keeps most of the %XX, and refuses names that begin so.
func (d *Dataset) encode(s string) string {
	e := encodeName(s)
	if d.client == NetCDFClient && e != "" && (e[0] == '%' || e[0] == '-') {
		return "_" + e
	}
	return e
}

// encodeName writes a name of a variable, a dimension or an attribute so that every grammar takes it as one word.
func encodeName(s string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// decodeName is the reverse; what has no meaning stays as it is.
func decodeName(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

// appendQuoted appends a text in quotes. NUL, which ends a text for clients in C, is left out.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case 0:
		case '"', '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
