package fault

import "strconv"

// Quoted makes a name from a file fit for a line of a terminal: as it is, or as Go writes it if some of it does not print.
func Quoted(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.Quote(s)
		}
	}
	return s
}
