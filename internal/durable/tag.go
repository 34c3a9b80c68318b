package durable

import "strings"

// tagDigits is how many digits of an ID a tag has.
const tagDigits = 8

// TagOf returns the part of an ID that stands in file names: a w and 8 hexadecimal digits, so that no tag is a
// number. An ID that is too short gives "".
func TagOf(id string) string {
	if len(id) < tagDigits {
		return ""
	}
	return "w" + id[:tagDigits]
}

// IsTag says whether s has the form of a tag.
func IsTag(s string) bool {
	return len(s) == 1+tagDigits && s[0] == 'w' && strings.Trim(s[1:], "0123456789abcdef") == ""
}
