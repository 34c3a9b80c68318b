package dap

import "net/url"

// encode is encodeName for the client. The netCDF library keeps most %XX, and rejects names that begin with %XX.
func (d *Dataset) encode(s string) string {
	e := encodeName(s)
	if d.client == NetCDFClient && e != "" && (e[0] == '%' || e[0] == '-') {
		return "_" + e
	}
	return e
}

// encodeName encodes the name of a variable, a dimension or an attribute so that every grammar reads it as one word.
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

// decodeName is the reverse of encodeName. Invalid sequences stay unchanged.
func decodeName(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return out
	}
	return s
}

// appendQuoted appends a quoted text. It drops NULs, because clients in C would end the text there.
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
