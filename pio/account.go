package pio

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"blobio/cdf5"
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
						say("variable %q, record %d: elements %d to %d by a decomposition of %d of them (%x), fill %x", v.name, rec, w.off, w.off+w.n, w.d.total, w.d.key[0], w.fill)
					} else {
						say("variable %q, record %d: a part of %d elements", v.name, rec, w.part.Elems())
					}
				}
			}
		}
		say("nothing more")
	}
}

// digest is a hash of everything in account.
func digest(f *definitions, l *log) int64 {
	h := hash(1)
	for _, d := range f.dims {
		h.text(d.name)
		h.numbers(d.n)
	}
	h.atts(f.atts)
	for _, v := range f.vars {
		h.text(v.name)
		h.numbers(int64(v.t), int64(len(v.dims)))
		for _, d := range v.dims {
			h.numbers(int64(d))
		}
		h.atts(v.atts)
	}
	for i, v := range f.vars {
		for _, rec := range l.records(v) {
			for _, w := range l.of[v][rec] {
				h.numbers(int64(i), rec)
				if w.d != nil {
					h.numbers(w.off, w.n, w.d.total, int64(w.d.key[0]))
					h.text(string(w.fill))
				} else {
					h.numbers(w.part.Elems())
				}
			}
		}
	}
	return int64(h >> 1)
}

// hash is a running hash of numbers and texts.
type hash uint64

func (h *hash) numbers(n ...int64) {
	for _, x := range n {
		*h = hash(mix(uint64(*h)+uint64(x)) + 0x9e3779b97f4a7c15)
	}
}

func (h *hash) text(s string) {
	h.numbers(int64(len(s)))
	for len(s) >= 8 {
		h.numbers(int64(binary.LittleEndian.Uint64([]byte(s[:8]))))
		s = s[8:]
	}
	for i := range len(s) {
		h.numbers(int64(s[i]))
	}
}

func (h *hash) atts(list []cdf5.Att) {
	h.numbers(int64(len(list)))
	for _, a := range list {
		h.text(a.Name)
		h.numbers(int64(a.Type))
		if text, ok := a.Value.(string); ok {
			h.text(text)
		} else {
			h.text(fmt.Sprint(a.Value))
		}
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
func (tx *transaction) same(ctx context.Context) error {
	sum := digest(tx.defs, &tx.log)
	got, err := agreeMin(ctx, tx.s.c, nil, sum, ^sum)
	if err != nil || got[0] == ^got[1] {
		return err
	}
	var text []byte
	root := tx.s.root()
	if tx.s.c.Rank() == root {
		for line := range account(tx.defs, &tx.log) {
			text = append(text, line+"\n"...)
		}
	}
	if text, err = tx.s.c.Bcast(ctx, root, text); err != nil {
		return err
	}
	there := strings.Split(string(text), "\n")
	i := 0
	for line := range account(tx.defs, &tx.log) {
		if err == nil && (i >= len(there) || there[i] != line) {
			err = failed(EINVAL, "%s: ranks differ: on rank %d %s, on rank %d %s", tx.defs.path, tx.s.c.Rank(), line, root, there[min(i, len(there)-1)])
		}
		i++
	}
	return agree(ctx, tx.s.c, err)
}
