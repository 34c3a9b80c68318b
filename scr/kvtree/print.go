package kvtree

import (
	"bufio"
	"io"
)

// Print writes a tree as the programs of SCR do. Each element is a line. The first level is indented by indent + 2 spaces, and
// each further level by two more. If pairs is set, a key with exactly one value that has nothing below it is printed as KEY =
// value. Keys are printed unchanged, including newlines. A tree that was Set as nil is printed as NULL LIST, unless it is below
// the value of KEY = value. Trees that were read from a file never contain NULL LIST.
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
