package plotfile

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// text is a text file that is read from its begin on. The first error stays; what is asked for after it is zero.
type text struct {
	file string
	b    []byte
	at   int
	err  error
}

func (t *text) fail(at int, field string, class error, format string, args ...any) {
	if t.err == nil {
		t.err = pkg.At(t.file, int64(at), field, class, format, args...)
	}
}

// space passes over white space, and says whether there is anything behind it.
func (t *text) space() bool {
	for t.at < len(t.b) && strings.IndexByte(" \t\r\n", t.b[t.at]) >= 0 {
		t.at++
	}
	return t.at < len(t.b)
}

// line is the rest of the line.
func (t *text) line(field string) string {
	if t.err != nil {
		return ""
	}
	if t.at >= len(t.b) {
		t.fail(t.at, field, ErrTruncated, "the file ends, want a line")
		return ""
	}
	rest, _, _ := bytes.Cut(t.b[t.at:], []byte{'\n'})
	t.at = min(t.at+len(rest)+1, len(t.b))
	return strings.TrimRight(string(rest), "\r")
}

// word is what is up to the next white space, or one of stops.
func (t *text) word(field, stops string) (word string, at int) {
	if t.err != nil {
		return "", t.at
	}
	if !t.space() {
		t.fail(t.at, field, ErrTruncated, "the file ends, want a value")
		return "", t.at
	}
	at = t.at
	for t.at < len(t.b) && strings.IndexByte(" \t\r\n", t.b[t.at]) < 0 && strings.IndexByte(stops, t.b[t.at]) < 0 {
		t.at++
	}
	return string(t.b[at:t.at]), at
}

// integer is a number from lo to hi.
func (t *text) integer(field, stops string, lo, hi int64) int64 {
	w, at := t.word(field, stops)
	if t.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < lo || n > hi {
		t.fail(at, field, ErrCorrupt, "%s, want a number from %d to %d", clip(w), lo, hi)
		return 0
	}
	return n
}

func (t *text) int(field string, lo, hi int) int {
	return int(t.integer(field, "", int64(lo), int64(hi)))
}

// float is any number, NaN and infinities too.
func (t *text) float(field, stops string) float64 {
	w, at := t.word(field, stops)
	if t.err != nil {
		return 0
	}
	x, err := strconv.ParseFloat(w, 64)
	if err != nil && !math.IsInf(x, 0) {
		t.fail(at, field, ErrCorrupt, "%s, want a number", clip(w))
	}
	return x
}

// finite is a number that is neither NaN nor infinite.
func (t *text) finite(field string) float64 {
	t.space()
	at := t.at
	x := t.float(field, "")
	if t.err == nil && x-x != 0 {
		t.fail(at, field, ErrCorrupt, "%v, want a finite number", x)
	}
	return x
}

// mark passes over one character, with white space before it.
func (t *text) mark(field string, c byte) {
	if t.err != nil {
		return
	}
	if !t.space() {
		t.fail(t.at, field, ErrTruncated, "the file ends, want %q", c)
		return
	}
	if t.b[t.at] != c {
		t.fail(t.at, field, ErrCorrupt, "%q, want %q", t.b[t.at], c)
		return
	}
	t.at++
}

// next is the character behind white space, 0 at the end.
func (t *text) next() byte {
	if t.err != nil || !t.space() {
		return 0
	}
	return t.b[t.at]
}

// maxCell bounds the numbers of cells, so that sums and products of two of them fit.
const maxCell = 1 << 29

// vector is "(a,b,c)", of as many numbers as there are dimensions.
func (t *text) vector(field string, rank int, lo, hi int) (v [3]int) {
	t.mark(field, '(')
	for a := range rank {
		if a > 0 {
			t.mark(field, ',')
		}
		v[a] = int(t.integer(field, ",)", int64(lo), int64(hi)))
	}
	t.mark(field, ')')
	return v
}

// box is "((lo) (hi) (type))", of cells; hi is the last cell. What is returned ends behind it.
func (t *text) box(field string, rank int) (b Box) {
	t.space()
	at := t.at
	t.mark(field, '(')
	b.Lo = t.vector(field, rank, -maxCell, maxCell)
	b.Hi = t.vector(field, rank, -maxCell, maxCell)
	kind := t.vector(field, rank, 0, 1)
	t.mark(field, ')')
	if t.err != nil {
		return Box{}
	}
	for a := range 3 {
		b.Hi[a]++
		if a >= rank {
			b.Lo[a], b.Hi[a] = 0, 1
		}
		if b.Lo[a] >= b.Hi[a] {
			t.fail(at, field, ErrCorrupt, "cells %d to %d on axis %d, want one at least", b.Lo[a], b.Hi[a]-1, a)
		}
	}
	if kind != [3]int{} {
		t.fail(at, field, ErrUnsupported, "a box of nodes or faces, want one of cells")
	}
	return b
}

// clip makes a word of a file fit for a message.
func clip(s string) string {
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	return strconv.Quote(s)
}
