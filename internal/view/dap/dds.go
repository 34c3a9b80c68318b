package dap

import (
	"strconv"
	"strings"
)

// AppendDDS appends the declarations of the requested variables.
func (q *Request) AppendDDS(b []byte) []byte {
	b = append(b, "Dataset {\n"...)
	for _, x := range q.items {
		switch x.form {
		case alone:
			b = x.parts[0].declare(b, 1)
			continue
		case grid:
			b = append(b, "    Grid {\n      Array:\n"...)
			b = x.parts[0].declare(b, 2)
			b = append(b, "      Maps:\n"...)
			for i := range x.parts[1:] {
				b = x.parts[i+1].declare(b, 2)
			}
		case structure:
			b = append(b, "    Structure {\n"...)
			for i := range x.parts {
				b = x.parts[i].declare(b, 2)
			}
		}
		b = append(b, "    } "...)
		b = append(append(b, x.of.name...), ";\n"...)
	}
	b = append(b, "} "...)
	return append(append(b, encodeFile(q.d.name)...), ";\n"...)
}

// encodeFile is encodeName with dots, which the name of a dataset may have.
func encodeFile(s string) string { return strings.ReplaceAll(encodeName(s), "%2E", ".") }

func (p *part) declare(b []byte, depth int) []byte {
	b = append(b, strings.Repeat("    ", depth)...)
	b = append(append(b, p.v.kind.String()...), ' ')
	b = append(b, p.v.name...)
	for i, s := range p.at {
		b = append(b, '[')
		b = append(b, p.v.dims[i].name...)
		b = append(b, " = "...)
		b = strconv.AppendInt(b, s.count, 10)
		b = append(b, ']')
	}
	return append(b, ";\n"...)
}
