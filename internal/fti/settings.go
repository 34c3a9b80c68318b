package fti

import (
	"bytes"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
)

// setting is a line "key = value" of an ini file.
type setting struct {
	section, key, value string
	from, to            int // range of the value in the text, with its blanks
}

// settings calls f for each "key = value" line of an ini file. Sections and keys are in lower case. A # or ; outside quotes
// begins a comment.
func settings(text []byte, f func(s setting)) {
	off, section := 0, ""
	for line := range bytes.Lines(text) {
		at := off
		off += len(line)
		s := string(bytes.TrimRight(line, "\r\n"))
		t := strings.TrimSpace(s)
		if t == "" || t[0] == '#' || t[0] == ';' {
			continue
		}
		if t[0] == '[' {
			name, _, _ := strings.Cut(t[1:], "]")
			section = strings.ToLower(strings.TrimSpace(name))
			continue
		}
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			continue
		}
		from := at + len(key) + 1
		end := len(value)
		if v := strings.TrimSpace(value); len(v) > 1 && (v[0] == '"' || v[0] == '\'') && strings.IndexByte(v[1:], v[0]) >= 0 {
			start := strings.IndexByte(value, v[0])
			end = start + 2 + strings.IndexByte(value[start+1:], v[0])
			value = value[start+1 : end-1]
		} else {
			if i := strings.IndexAny(value, "#;"); i >= 0 {
				end = i
			}
			value = strings.TrimSpace(value[:end])
		}
		f(setting{section, strings.ToLower(strings.TrimSpace(key)), value, from, from + end})
	}
}

// fields reads typed values and keeps the first error.
type fields struct {
	name     string
	values   map[string]string // by section and key
	err      error
	warnings []error
}

func (f *fields) fail(key string, class error, format string, args ...any) {
	if f.err == nil {
		f.err = fault.At(f.name, -1, key, class, format, args...)
	}
}

func (f *fields) warn(key string, format string, args ...any) {
	f.warnings = append(f.warnings, fault.At(f.name, -1, key, fault.ErrUsage, format, args...))
}

// whole returns an integer, or none if the key is absent. An empty value is 0, as for FTI.
func (f *fields) whole(key string, none int64) int64 {
	text, ok := f.values[key]
	switch {
	case !ok:
		return none
	case text == "":
		return 0
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		f.fail(key, fault.ErrUsage, "%.80q, want a whole number", text)
	}
	return n
}

// between returns an integer from low to high, or none if the key is absent. If none is outside this range, the key is required.
func (f *fields) between(key string, none, low, high int64) int64 {
	n := f.whole(key, none)
	_, ok := f.values[key]
	switch {
	case !ok && (n < low || n > high):
		f.fail(key, fault.ErrUsage, "absent, want %d to %d", low, high)
	case n < low || n > high:
		f.fail(key, fault.ErrUsage, "%d, want %d to %d", n, low, high)
	}
	return n
}

// yes returns a switch, which is off by default.
func (f *fields) yes(key string) bool {
	text := f.values[key]
	switch {
	case text == "" || strings.ContainsAny(text[:1], "0nNfF"):
	case strings.ContainsAny(text[:1], "1yYtT"):
		return true
	default:
		f.fail(key, fault.ErrUsage, "%.80q, want 0 or 1", text)
	}
	return false
}

// dir returns the name of a directory.
func (f *fields) dir(key string) string {
	if f.values[key] == "" {
		f.fail(key, fault.ErrUsage, "absent, want a directory")
	}
	return f.values[key]
}

// without refuses a setting, if it is used, because only FTI supports it.
func (f *fields) without(key string, used bool, want string) {
	if used {
		f.fail(key, fault.ErrUnsupported, "%.80s: %s", f.values[key], want)
	}
}
