package redset

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
)

// newCurrentTree makes CURRENT of generation A and B: the world rank and the files, with the meta
// record that the caller has of each.
func (p *place) newCurrentTree(files []file, meta func(name string) *tree) *tree {
	t := newTree()
	put(t, p.world, "RANK")
	put(t, len(files), "FILES")
	touch(t, "FILE")
	kind := "USER"
	if p.gen == GenA {
		kind = "FULL"
	}
	for i, f := range files {
		m := newTree()
		if meta != nil {
			for k, v := range meta(f.name).All() {
				attach(m, v, k)
			}
		}
		put(m, filepath.Base(f.name), "FILE")
		put(m, f.meta.Size, "SIZE")
		if child(m, "TYPE") == nil {
			put(m, kind, "TYPE")
		}
		if child(m, "COMPLETE") == nil {
			put(m, 1, "COMPLETE")
		}
		attach(t, m, "FILE", strconv.Itoa(i))
	}
	return t
}

// newExtraTree makes what else is in the header of generation A and B.
func newExtraTree(worlds int, dataset *tree) *tree {
	t := newTree()
	put(t, worlds, "RANKS")
	if dataset != nil {
		attach(t, dataset, "DSET")
	}
	return t
}

// parseAB reads CURRENT, PARTNER and the rest. The set and the place in it are in the name.
func (h *header) parseAB(t *tree, named place) error {
	r := reader{t: t}
	worlds := r.int("RANKS", 1, math.MaxInt32)
	if r.err != nil {
		return r.err
	}
	h.extra = newTree()
	for _, key := range []string{"RANKS", "DSET"} {
		if v := child(t, key); v != nil {
			attach(h.extra, v, key)
		}
	}
	h.rank = named.rank
	for key, rank := range map[string]int{"CURRENT": named.rank, "PARTNER": (named.rank + named.n - 1) % named.n} {
		p := named
		p.rank, p.worlds = rank, worlds
		d, err := parseCurrent(child(t, key), p)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		h.descs[rank] = d
	}
	return nil
}

// parseCurrent reads CURRENT or PARTNER of the member at a place, of which the world rank is in the record.
func parseCurrent(t *tree, p place) (*desc, error) {
	if t == nil {
		return nil, errors.New("missing")
	}
	d := &desc{place: p, tree: t}
	r := reader{t: t}
	if d.world = r.int("RANK", 0, d.worlds-1); r.err != nil {
		return nil, r.err
	}
	list := child(t, "FILE")
	var err error
	d.files, err = parseFiles(t, func(i int) (file, error) {
		mt := child(list, strconv.Itoa(i))
		r := reader{t: mt}
		f := file{meta: Meta{Size: r.int64("SIZE", 0, maxBytes)}}
		var err error
		if f.name, err = text(mt, "FILE"); err == nil {
			err = r.err
		}
		return f, err
	})
	if err == nil {
		err = d.check()
	}
	return d, err
}
