package dap

import (
	"strconv"
	"strings"

	"blobio/internal/base/fault"
)

// projection is one part of a constraint: a path of names, and a slice for each dimension or none.
type projection struct {
	path string
	at   []slice
}

// slice is a part of a dimension: count indices from start, with distance stride.
type slice struct{ start, stride, count int64 }

// parseConstraint parses a constraint expression:
//
//	constraint = [ projection { "," projection } ] [ "&" selection ... ]
//	projection = path { "[" start [ ":" [ stride ":" ] stop ] "]" }
//	path       = name [ "." name ]
//
// A selection chooses rows of a sequence, and datasets here have no sequences. Functions are not supported.
func parseConstraint(s string) ([]projection, error) {
	s, sel, has := strings.Cut(s, "&")
	if has && strings.Trim(sel, "&") != "" {
		return nil, fault.Class(fault.ErrUnsupported, "constraint %s: selections apply to sequences, but the dataset has none", fault.Quoted("&"+sel))
	}
	if s == "" {
		return nil, nil
	}
	var out []projection
	for p := range strings.SplitSeq(s, ",") {
		x, err := parseProjection(p)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func parseProjection(s string) (projection, error) {
	path, rest := s, ""
	if i := strings.IndexByte(s, '['); i >= 0 {
		path, rest = s[:i], s[i:]
	}
	if strings.ContainsAny(path, "()") {
		return projection{}, fault.Class(fault.ErrUnsupported, "constraint %s: functions are not supported", fault.Quoted(s))
	}
	if path == "" || strings.ContainsAny(path, "]") {
		return projection{}, fault.Usage("constraint: %q, want a name before '['", s)
	}
	p := projection{path: path}
	for rest != "" {
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return projection{}, fault.Usage("constraint %s: %q, want [start:stride:stop]", fault.Quoted(s), rest)
		}
		x, err := parseSlice(rest[1:end])
		if err != nil {
			return projection{}, err
		}
		p.at, rest = append(p.at, x), rest[end+1:]
	}
	return p, nil
}

// parseSlice parses the text in brackets: an index, start:stop or start:stride:stop, where stop is inclusive.
func parseSlice(s string) (slice, error) {
	var n [3]int64
	words := strings.Split(s, ":")
	if len(words) > 3 {
		return slice{}, fault.Usage("constraint: [%s], want [start:stride:stop]", s)
	}
	for i, w := range words {
		// Only digits: no sign, no space.
		x, err := strconv.ParseUint(w, 10, 62)
		if err != nil {
			return slice{}, fault.Usage("constraint: [%s], want integers >= 0", s)
		}
		n[i] = int64(x)
	}
	out := slice{start: n[0], stride: 1}
	stop := n[0]
	switch len(words) {
	case 2:
		stop = n[1]
	case 3:
		out.stride, stop = n[1], n[2]
	}
	if out.stride == 0 || stop < out.start {
		return slice{}, fault.Usage("constraint: [%s], want a stride >= 1 and a stop >= the start", s)
	}
	out.count = (stop-out.start)/out.stride + 1
	return out, nil
}

func (s slice) last() int64 { return s.start + (s.count-1)*s.stride }

// dense returns the number of elements from the first to the last.
func (s slice) dense() int64 {
	if s.count == 0 {
		return 0
	}
	return (s.count-1)*s.stride + 1
}
