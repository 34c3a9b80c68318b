package pio

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
)

// account yields, line by line, the definitions and writes that must be equal on all ranks for a commit.
func account(f *definitions, l *log) iter.Seq[string] {
	return func(yield func(string) bool) {
		ok := true
		say := func(format string, args ...any) { ok = ok && yield(fmt.Sprintf(format, args...)) }
		for i, d := range f.dims {
			say("dimension %d is %q of length %d", i, d.name, d.n)
		}
		for _, a := range f.atts {
			say("attribute %q of the file is %v %s", a.Name, a.Type, shown(a.Value))
		}
		for i, v := range f.vars {
			say("variable %d is %v %q of dimensions %v", i, v.t, v.name, v.dims)
			for _, a := range v.atts {
				say("attribute %q of variable %q is %v %s", a.Name, v.name, a.Type, shown(a.Value))
			}
		}
		for _, v := range f.vars {
			for _, rec := range l.records(v) {
				for _, w := range l.of[v][rec] {
					if w.d != nil {
						say("variable %q record %d: elements %d to %d by a decomposition of %d of them (%x), fill %x", v.name, rec, w.off, w.off+w.n, w.d.total, w.d.key[0], w.fill)
					} else {
						say("variable %q record %d: a part of %d elements", v.name, rec, w.part.Elems())
					}
				}
			}
		}
		say("nothing more")
	}
}

// shown returns the value of an attribute on one line.
func shown(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}

// same returns an error with the first difference if ranks have different definitions or writes. Collective.
func (f *File) same(ctx context.Context) error {
	h := fnv.New64a()
	for line := range account(&f.definitions, &f.log) {
		_, _ = h.Write([]byte(line + "\n")) // never fails
	}
	sum := int64(h.Sum64() >> 1)
	got, err := agreeMin(ctx, f.s.c, nil, sum, ^sum)
	if err != nil || got[0] == ^got[1] {
		return err
	}
	var text []byte
	root := f.s.root()
	if f.s.c.Rank() == root {
		for line := range account(&f.definitions, &f.log) {
			text = append(text, line+"\n"...)
		}
	}
	if text, err = f.s.c.Bcast(ctx, root, text); err != nil {
		return err
	}
	there := strings.Split(string(text), "\n")
	i := 0
	for line := range account(&f.definitions, &f.log) {
		if err == nil && (i >= len(there) || there[i] != line) {
			err = failed(EINVAL, "%s: ranks differ: on rank %d %s, on rank %d %s", f.path, f.s.c.Rank(), line, root, there[min(i, len(there)-1)])
		}
		i++
	}
	return agree(ctx, f.s.c, err)
}
