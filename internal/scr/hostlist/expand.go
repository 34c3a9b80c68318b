package hostlist

import (
	"blobio/internal/base/fault"
	"fmt"
	"strconv"
	"strings"
)

const (
	// MaxHosts is the maximum number of hosts in a list.
	MaxHosts = 1 << 20
	// maxDigits is the maximum number of digits of a number, so that it fits in an int64.
	maxDigits = 18
	// maxBytes limits the total length of all names, to limit memory.
	maxBytes = 1 << 28
)

// Expand returns the hosts of a compressed list and keeps order and duplicates. An empty string is an empty list. Errors are
// *SyntaxError.
func Expand(s string) ([]string, error) {
	var out []string
	bytes := 0
	p := &parser{text: s}
	for {
		p.skip(", \t\r\n")
		if p.done() {
			return out, nil
		}
		start := p.pos
		g, err := p.group()
		if err != nil {
			return nil, err
		}
		n := int64(1)
		for _, part := range g {
			if n *= part.count(); n > MaxHosts-int64(len(out)) {
				return nil, p.fail(start, fault.ErrTooLarge, "more than %d hosts", MaxHosts)
			}
		}
		for name := range g.all() {
			if bytes += len(name); bytes > maxBytes {
				return nil, p.fail(start, fault.ErrTooLarge, "the names together have more than %d bytes", maxBytes)
			}
			out = append(out, name)
		}
	}
}

// namePart is a part of a group: a text, or the numbers of one pair of brackets.
type namePart struct {
	text   string
	ranges []numbers
}

// numbers is the range lo..hi, printed with at least width digits.
type numbers struct {
	lo, hi int64
	width  int
}

func (p namePart) count() int64 {
	if p.ranges == nil {
		return 1
	}
	var n int64
	for _, r := range p.ranges {
		if n += r.hi - r.lo + 1; n > MaxHosts {
			return MaxHosts + 1 // return a number above the limit, so that sums do not overflow
		}
	}
	return n
}

type group []namePart

// all yields the hosts of a group. The last bracket varies fastest.
func (g group) all() func(yield func(string) bool) {
	return func(yield func(string) bool) { g.walk("", yield) }
}

func (g group) walk(head string, yield func(string) bool) bool {
	if len(g) == 0 {
		return yield(head)
	}
	if g[0].ranges == nil {
		return g[1:].walk(head+g[0].text, yield)
	}
	for _, r := range g[0].ranges {
		for n := r.lo; n <= r.hi; n++ {
			if !g[1:].walk(head+pad(n, r.width), yield) {
				return false
			}
		}
	}
	return true
}

// pad writes n with at least width digits.
func pad(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	if len(s) < width {
		s = strings.Repeat("0", width-len(s)) + s
	}
	return s
}

type parser struct {
	text string
	pos  int
}

func (p *parser) done() bool { return p.pos == len(p.text) }

func (p *parser) skip(set string) {
	for !p.done() && strings.IndexByte(set, p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *parser) fail(pos int, class error, format string, a ...any) error {
	return &SyntaxError{Text: p.text, Pos: pos, Msg: fmt.Sprintf(format, a...), Err: class}
}

// maxBrackets is the maximum number of brackets in a group. No host name needs more, and each bracket adds a level of
// recursion.
const maxBrackets = 8

// group parses a group. The group ends at a comma or blank outside brackets.
func (p *parser) group() (group, error) {
	var g group
	brackets := 0
	for !p.done() {
		start := p.pos
		switch c := p.text[p.pos]; c {
		case ',', ' ', '\t', '\r', '\n':
			return g, nil
		case ']':
			return nil, p.fail(start, fault.ErrUsage, "']' without '['")
		case '[':
			if brackets++; brackets > maxBrackets {
				return nil, p.fail(start, fault.ErrUsage, "more than %d brackets in one name", maxBrackets)
			}
			rs, err := p.brackets()
			if err != nil {
				return nil, err
			}
			g = append(g, namePart{ranges: rs})
		default:
			end := strings.IndexAny(p.text[start:], "[], \t\r\n")
			if end < 0 {
				end = len(p.text) - start
			}
			p.pos += end
			g = append(g, namePart{text: p.text[start:p.pos]})
		}
	}
	return g, nil
}

// brackets parses "[3,5-7]". The parser is at the '['.
func (p *parser) brackets() ([]numbers, error) {
	open := p.pos
	p.pos++
	var out []numbers
	for {
		r, err := p.numbers()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
		if p.done() {
			return nil, p.fail(open, fault.ErrUsage, "'[' is not closed")
		}
		c := p.text[p.pos]
		p.pos++
		switch c {
		case ']':
			return out, nil
		case ',':
		default:
			return nil, p.fail(p.pos-1, fault.ErrUsage, "%q in brackets, want ',' '-' ']' or a digit", c)
		}
	}
}

func (p *parser) numbers() (numbers, error) {
	start := p.pos
	lo, width, err := p.number()
	if err != nil {
		return numbers{}, err
	}
	r := numbers{lo: lo, hi: lo, width: width}
	if !p.done() && p.text[p.pos] == '-' {
		p.pos++
		hi, _, err := p.number()
		if err != nil {
			return numbers{}, err
		}
		if hi < lo {
			return numbers{}, p.fail(start, fault.ErrUsage, "range is %d-%d, want ascending numbers", lo, hi)
		}
		if hi-lo >= MaxHosts {
			return numbers{}, p.fail(start, fault.ErrTooLarge, "range of more than %d hosts", MaxHosts)
		}
		r.hi = hi
	}
	return r, nil
}

func (p *parser) number() (n int64, width int, err error) {
	start := p.pos
	for !p.done() && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
	d := p.text[start:p.pos]
	if d == "" {
		return 0, 0, p.fail(start, fault.ErrUsage, "want a number")
	}
	if len(d) > maxDigits {
		return 0, 0, p.fail(start, fault.ErrUsage, "number of more than %d digits", maxDigits)
	}
	n, err = strconv.ParseInt(d, 10, 64)
	return n, len(d), err
}
