package redset

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"blobio/scr/kvtree"
)

// newCurrentTree makes CURRENT of generations A and B. It contains the world rank and the files, each with the record
// that meta returns.
func (p *position) newCurrentTree(files []file, meta func(name string) *kvtree.Tree) *kvtree.Tree {
	t := kvtree.New()
	put(t, p.world, "RANK")
	put(t, len(files), "FILES")
	t.Touch("FILE")
	kind := "USER"
	if p.gen == GenA {
		kind = "FULL"
	}
	for i, f := range files {
		m := kvtree.New()
		if meta != nil {
			m = meta(f.name).Clone()
		}
		put(m, filepath.Base(f.name), "FILE")
		put(m, f.meta.Size, "SIZE")
		if m.At("TYPE") == nil {
			put(m, kind, "TYPE")
		}
		if m.At("COMPLETE") == nil {
			put(m, 1, "COMPLETE")
		}
		t.SetAt(m, "FILE", strconv.Itoa(i))
	}
	return t
}

// newExtraTree makes the other keys in the header of generations A and B.
func newExtraTree(worlds int, dataset *kvtree.Tree) *kvtree.Tree {
	t := kvtree.New()
	put(t, worlds, "RANKS")
	if dataset != nil {
		t.SetAt(dataset.Clone(), "DSET")
	}
	return t
}

// parseAB parses CURRENT, PARTNER and the other keys. The set and the rank in the set are in the file name.
func (h *header) parseAB(t *kvtree.Tree, named position) error {
	r := reader{t: t}
	worlds := r.int("RANKS", 1, math.MaxInt32)
	if r.err != nil {
		return r.err
	}
	h.extra = kvtree.New()
	for _, key := range []string{"RANKS", "DSET"} {
		if v := t.At(key); v != nil {
			h.extra.SetAt(v, key)
		}
	}
	h.rank = named.rank
	for key, rank := range map[string]int{"CURRENT": named.rank, "PARTNER": (named.rank + named.n - 1) % named.n} {
		p := named
		p.rank, p.worlds = rank, worlds
		d, err := parseCurrent(t.At(key), p)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		h.descs[rank] = d
	}
	return nil
}

// parseCurrent parses CURRENT or PARTNER of the member at position p. The world rank is in the record.
func parseCurrent(t *kvtree.Tree, p position) (*desc, error) {
	if t == nil {
		return nil, errors.New("missing")
	}
	d := &desc{position: p, tree: t}
	r := reader{t: t}
	if d.world = r.int("RANK", 0, d.worlds-1); r.err != nil {
		return nil, r.err
	}
	list := t.At("FILE")
	var err error
	d.files, err = parseFiles(t, func(i int) (file, error) {
		mt := list.At(strconv.Itoa(i))
		r := reader{t: mt}
		f := file{meta: Meta{Size: r.int64("SIZE", 0, maxBytes)}}
		var err error
		if f.name, err = mt.Value("FILE").Str(); err == nil {
			err = r.err
		}
		return f, err
	})
	if err == nil {
		err = d.check()
	}
	return d, err
}
