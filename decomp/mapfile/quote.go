package mapfile

import "strconv"

// quote returns s followed by the quoted bytes, for errors.
func quote(s string, b []byte) string { return s + strconv.QuoteToASCII(string(b)) }
