package kvtree

import (
	"bufio"
	"io"
)

// Print writes a tree as the reference programs do: one line per element, each level indented by two more spaces, the first level
// by indent + 2. With pairs, a key with exactly one value and nothing below it is printed as KEY = value. Keys are printed
// unchanged, including newlines. A tree that was Set as nil prints as NULL LIST, unless it belongs to the value of KEY = value.
// No tree read from a file prints this.
func Print(t *Tree, w io.Writer, indent int, pairs bool) error {
	p := printer{Writer: bufio.NewWriter(w), pairs: pairs}
	if t == nil {
		p.line(indent, "NULL LIST", "", "")
	}
	p.node(t, max(indent, 0))
	return p.Flush()
}

type printer struct {
	*bufio.Writer // keeps the first error
	pairs         bool
}

// spaces for indentation.
const spaces = "                                                                "

func (p *printer) line(indent int, a, b, c string) {
	for ; indent > len(spaces); indent -= len(spaces) {
		p.WriteString(spaces)
	}
	p.WriteString(spaces[:max(indent, 0)])
	p.WriteString(a)
	p.WriteString(b)
	p.WriteString(c)
	p.WriteByte('\n')
}

func (p *printer) node(t *Tree, indent int) {
	for key, sub := range t.All() {
		if p.pairs && sub.Len() == 1 {
			if val, leaf := sub.First(); leaf.Len() == 0 {
				p.line(indent+2, key, " = ", val)
				continue
			}
		}
		p.line(indent+2, key, "", "")
		if sub.null {
			p.line(indent+2, "NULL LIST", "", "")
			continue
		}
		p.node(sub, indent+2)
	}
}
