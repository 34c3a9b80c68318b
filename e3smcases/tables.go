package e3smcases

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"blobio/cdf5"
)

// The tables are text, one item per line, fields separated by one tab. Empty
// lines and lines that begin with # are ignored. Text values may hold \n, \t
// and \\.
//
//	dim  NAME LENGTH                 LENGTH is a number, "unlimited", or OTHER+N
//	map  DIM DIM ...                 dimensions of D1, D2 ... in turn (each one field, separated by blanks)
//	let  NAME ATT ATT ...            a name for a series of attributes, used as $NAME
//	att  FILES ATT                   global attribute
//	var  FILES NAME TYPE MAP DIMS ATT ATT ...
//
// FILES selects the history files with the item: * means all, 0 or 1 only that one.
// TYPE is the type in the file, or DEFAULT/FLOAT if the float setting
// changes it. MAP is D1, D2 ... or -. DIMS is one field of names, or -.
// ATT is NAME=TEXT, or NAME:TYPE=NUMBERS (separated by blanks). TYPE "self" is the type
// of the variable; the value is the nearest float32, in either type.

//go:embed tables/*.tab
var files embed.FS

// table locates a case: the file, and its mark in the FILES field.
type table struct{ name, file, mark string }

var tables = []table{
	{"F_h0", "F", "0"}, {"F_h1", "F", "1"}, {"G", "G", "0"}, {"I_h0", "I", "0"}, {"I_h1", "I", "1"},
}

var loaders = func() map[string]func() (*Case, error) {
	m := make(map[string]func() (*Case, error), len(tables))
	for _, t := range tables {
		m[t.name] = sync.OnceValues(func() (*Case, error) {
			text, err := files.ReadFile("tables/" + t.file + ".tab")
			if err != nil {
				return nil, err
			}
			return parse(t, string(text))
		})
	}
	return m
}()

// Names returns the names of the cases: F_h0, F_h1, G, I_h0, I_h1.
func Names() []string {
	n := make([]string, len(tables))
	for i, t := range tables {
		n[i] = t.name
	}
	return n
}

// Load returns the named case. It parses the case on first use. The result is shared and must not be changed.
func Load(name string) (*Case, error) {
	l, ok := loaders[name]
	if !ok {
		return nil, fmt.Errorf("unknown case %q, want one of %s", name, strings.Join(Names(), ", "))
	}
	return l()
}

// parser holds the parsed content of the lines so far.
type parser struct {
	c    *Case
	mark string
	lets map[string][]string
}

func parse(t table, text string) (*Case, error) {
	p := parser{c: &Case{Name: t.name}, mark: t.mark, lets: map[string][]string{}}
	line := 0
	for l := range strings.Lines(text) {
		line++
		l = strings.TrimRight(l, "\r\n")
		if l == "" || l[0] == '#' {
			continue
		}
		if err := p.line(strings.Split(l, "\t")); err != nil {
			return nil, fmt.Errorf("tables/%s.tab:%d: %w", t.file, line, err)
		}
	}
	return p.c, nil
}

func (p *parser) line(f []string) error {
	want := map[string]int{"dim": 3, "map": 2, "let": 3, "att": 3, "var": 6}[f[0]]
	if want == 0 {
		return fmt.Errorf("unknown item %q", f[0])
	}
	if len(f) < want {
		return fmt.Errorf("%s has %d fields, want at least %d", f[0], len(f), want)
	}
	switch f[0] {
	case "dim":
		return p.dim(f[1], f[2])
	case "map":
		ids, err := p.dims(f[1])
		p.c.MapDims = append(p.c.MapDims, ids)
		return err
	case "let":
		p.lets[f[1]] = f[2:]
		return nil
	}
	switch f[1] {
	case "*", p.mark:
	case "0", "1":
		return nil
	default:
		return fmt.Errorf("files %q, want *, 0 or 1", f[1])
	}
	if f[0] == "att" {
		a, err := att(f[2], 0)
		p.c.Atts = append(p.c.Atts, a)
		return err
	}
	return p.variable(f[2:])
}

func (p *parser) dim(name, length string) error {
	d := cdf5.Dim{Name: name}
	if base, add, ok := strings.Cut(length, "+"); ok {
		n, err := strconv.ParseInt(add, 10, 64)
		b := p.c.DimIndex(base)
		if err != nil || b < 0 {
			return fmt.Errorf("dimension %s has invalid length %q", name, length)
		}
		d.Len = p.c.Dims[b].Len + n
		p.c.plus = append(p.c.plus, dimPlus{len(p.c.Dims), b, n})
	} else if length != "unlimited" {
		n, err := strconv.ParseInt(length, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("dimension %s has invalid length %q", name, length)
		}
		d.Len = n
	}
	p.c.Dims = append(p.c.Dims, d)
	return nil
}

func (p *parser) dims(names string) ([]int, error) {
	if names == "-" {
		return nil, nil
	}
	var ids []int
	for _, n := range strings.Fields(names) {
		id := p.c.DimIndex(n)
		if id < 0 {
			return nil, fmt.Errorf("unknown dimension %q", n)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// variable parses NAME TYPE MAP DIMS ATT ...
func (p *parser) variable(f []string) (err error) {
	v := Var{Name: f[0]}
	first, second, two := strings.Cut(f[1], "/")
	if v.Type, err = cdf5.ParseType(first); err != nil {
		return err
	}
	v.TypeFloat = v.Type
	if two {
		if v.TypeFloat, err = cdf5.ParseType(second); err != nil {
			return err
		}
	}
	if f[2] != "-" {
		if v.Map, err = strconv.Atoi(strings.TrimPrefix(f[2], "D")); err != nil || v.Map < 1 || v.Map > len(p.c.MapDims) {
			return fmt.Errorf("variable %s has invalid map %q", v.Name, f[2])
		}
	}
	if v.Dims, err = p.dims(f[3]); err != nil {
		return fmt.Errorf("variable %s: %w", v.Name, err)
	}
	v.Record = len(v.Dims) > 0 && p.c.Dims[v.Dims[0]].Len == 0
	if v.Atts, err = p.atts(f[4:], v.Type); err != nil {
		return fmt.Errorf("variable %s: %w", v.Name, err)
	}
	v.AttsFloat = v.Atts
	if v.TypeFloat != v.Type {
		if v.AttsFloat, err = p.atts(f[4:], v.TypeFloat); err != nil {
			return fmt.Errorf("variable %s: %w", v.Name, err)
		}
	}
	p.c.Vars = append(p.c.Vars, v)
	return nil
}

func (p *parser) atts(fields []string, self cdf5.Type) ([]cdf5.Att, error) {
	var list []cdf5.Att
	for _, s := range fields {
		part := []string{s}
		if strings.HasPrefix(s, "$") {
			var ok bool
			if part, ok = p.lets[s[1:]]; !ok {
				return nil, fmt.Errorf("unknown let %q", s[1:])
			}
		}
		for _, s := range part {
			a, err := att(s, self)
			if err != nil {
				return nil, err
			}
			list = append(list, a)
		}
	}
	return list, nil
}

var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)

// att parses NAME=TEXT or NAME:TYPE=NUMBERS.
func att(s string, self cdf5.Type) (a cdf5.Att, err error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return a, fmt.Errorf("attribute %q lacks =", s)
	}
	name, typ, numeric := strings.Cut(name, ":")
	if !numeric {
		return cdf5.Att{Name: name, Type: cdf5.Char, Value: unescape.Replace(value)}, nil
	}
	a.Name = name
	bits := 64
	if typ == "self" {
		a.Type, bits = self, 32
	} else if a.Type, err = cdf5.ParseType(typ); err != nil {
		return a, err
	}
	words := strings.Fields(value)
	switch a.Type {
	case cdf5.Int:
		a.Value, err = numbers(words, func(s string) (int32, error) {
			n, err := strconv.ParseInt(s, 10, 32)
			return int32(n), err
		})
	case cdf5.Float:
		a.Value, err = numbers(words, func(s string) (float32, error) {
			x, err := strconv.ParseFloat(s, 32)
			return float32(x), err
		})
	case cdf5.Double:
		a.Value, err = numbers(words, func(s string) (float64, error) { return strconv.ParseFloat(s, bits) })
	default:
		err = fmt.Errorf("type %v is not supported in the tables", a.Type)
	}
	if err != nil {
		return a, fmt.Errorf("attribute %s: %w", name, err)
	}
	return a, nil
}

func numbers[T any](words []string, parse func(string) (T, error)) ([]T, error) {
	list := make([]T, len(words))
	for i, w := range words {
		var err error
		if list[i], err = parse(w); err != nil {
			return nil, err
		}
	}
	return list, nil
}
