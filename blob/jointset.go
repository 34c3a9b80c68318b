package blob

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"math"

	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// jointSet is what one rank knows of a set that all read together. Each subfile has a keeper, which reads its header and table, and judges
// what is summed of it. Others get from it what they need to read some of its blobs.
type jointSet struct {
	s     *set
	home  *jointSet         // whose maps hold; itself as a rule
	kept  map[int]*filePart // by subfile: of which this rank is the keeper; loaded if place is not nil
	tapes map[int]*tape     // of their headers
	lead  *filePart         // with the header of a subfile, which is all that is the same in others; nil: all are missing
	first int               // the first subfile that can be read
	vars  []VarID           // by variable of the dataset: its id in this set, -1 if it is not there
	gone  []bool            // by subfile: missing, as it may be
	bad   []error           // by subfile, why it cannot be read though it must be there
	base  [][]int64         // by map from 0: elements of the subfiles before; one more at the end
	maps  []int64           // by map from 0: bytes of the lists of all blobs
	views map[DecompID]*jointView
}

// keeper is the rank that keeps subfile i.
func (k *Collective) keeper(s *set, i int) int {
	return int(int64(i) * int64(k.c.Size()) / int64(len(s.parts)))
}

// encode makes bytes of what ranks of one build tell each other.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // of types of this package only
	}
	return b.Bytes()
}

func decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// encodeList is encode for a list; nothing if it is empty.
func encodeList[T any](l []T) []byte {
	if len(l) == 0 {
		return nil
	}
	return encode(l)
}

// decodeLists joins what encodeList has made on several ranks.
func decodeLists[T any](msgs [][]byte) (all []T, err error) {
	for _, b := range msgs {
		var l []T
		if len(b) > 0 && err == nil {
			err = decode(b, &l)
		}
		all = append(all, l...)
	}
	return all, err
}

// news is what the keeper of a subfile tells all ranks.
type news struct {
	Part         int
	Err          []byte // of comm.EncodeError; empty if it can be read, or may be missing
	Missing      bool
	Blobs, Ranks int
	Elems, Maps  []int64 // by map from 0: elements, and bytes of its lists
}

// join loads a set, once. Collective.
func (k *Collective) join(ctx context.Context, s *set) (*jointSet, error) {
	if js := k.sets[s]; js != nil {
		return js, nil
	}
	js := &jointSet{s: s, kept: map[int]*filePart{}, tapes: map[int]*tape{}, gone: make([]bool, len(s.parts)), bad: make([]error, len(s.parts)), views: map[DecompID]*jointView{}}
	js.home = js
	if home := s.family.home; home != s {
		var err error
		if js.home, err = k.join(ctx, home); err != nil {
			return nil, err
		}
		if len(s.parts) != len(home.parts) { // all ranks see it
			return nil, fault.At(s.parts[0].wanted(), -1, "subfiles", ErrCorrupt, "%d, but %d in the first set", len(s.parts), len(home.parts))
		}
	}
	errs := make([]error, len(s.parts))
	var mine []int
	for i := range s.parts {
		if k.keeper(s, i) == k.c.Rank() {
			mine = append(mine, i)
		}
	}
	parts, tapes := make([]*filePart, len(mine)), make([]*tape, len(mine))
	par.Do(k.r.opt.Workers, len(mine), func(n int) {
		i := mine[n]
		parts[n], tapes[n], errs[i] = k.header(s.parts[i])
	})
	first := int64(math.MaxInt64)
	for n, i := range mine {
		js.kept[i], js.tapes[i] = parts[n], tapes[n]
		if parts[n].place != nil {
			first = min(first, int64(i))
		}
	}
	all, err := comm.AgreeMin(ctx, k.c, ctx.Err(), first)
	if err != nil {
		return nil, err
	}
	if all[0] != math.MaxInt64 {
		if err := k.follow(ctx, js, int(all[0])); err != nil {
			return nil, err
		}
	}
	par.Do(k.r.opt.Workers, len(mine), func(n int) {
		i := mine[n]
		if p := parts[n]; p.place != nil && errs[i] == nil {
			errs[i] = k.table(js, i)
		}
	})
	if err := k.tell(ctx, js, mine, errs); err != nil {
		return nil, err
	}
	k.sets[s] = js
	return js, nil
}

// header reads the header of a subfile that this rank keeps.
func (k *Collective) header(of *filePart) (*filePart, *tape, error) {
	p := &filePart{r: of.r, index: of.index, name: of.name, info: of.info, since: of.since, tape: &tape{}}
	if p.gone() {
		err := k.r.replaced(p.wanted())
		if err == nil && !k.r.opt.AllowMissing {
			err = fault.In(p.wanted(), "subfile", ErrMissing, "not there")
		}
		return p, nil, err
	}
	err := p.load()
	t := p.tape
	t.Size, p.tape = p.size, nil
	return p, t, err
}

// adopt makes a part of what another rank has read of its header. Of a netCDF-4 file it reads it itself, as it does the places of chunks.
func (k *Collective) adopt(of *filePart, t *tape) (*filePart, error) {
	p := &filePart{r: of.r, index: of.index, name: of.name, info: of.info, since: of.since, size: t.Size}
	pl, records, err := decodePlace(t, t.Size, p.name, k.r.opt.MaxHeader)
	if err != nil {
		return p, p.load()
	}
	p.place, p.records, p.loaded = pl, records, true
	p.decoded.Store(true)
	return p, nil
}

// follow gives all ranks the header of the first subfile that can be read. Collective.
func (k *Collective) follow(ctx context.Context, js *jointSet, lead int) error {
	var b []byte
	root := k.keeper(js.s, lead)
	if root == k.c.Rank() {
		b = encode(js.tapes[lead])
	}
	b, err := k.c.Bcast(ctx, root, b)
	if err != nil {
		return err
	}
	var t tape
	if err = decode(b, &t); err == nil {
		js.lead, err = k.adopt(js.s.parts[lead], &t)
	}
	if err == nil && js.lead.place.layout != k.r.layout {
		err = fault.At(js.lead.name, js.lead.place.HeaderOff, "header", ErrCorrupt, "%v, the dataset is %v", js.lead.place.layout, k.r.layout)
	}
	if err == nil {
		js.vars, err = k.r.varsIn(js.lead.name, js.lead.place)
	}
	return comm.Agree(ctx, k.c, err)
}

// table reads the table of a subfile that this rank keeps, and compares header and table with others of the dataset.
func (k *Collective) table(js *jointSet, i int) error {
	p := js.kept[i]
	if err := p.agrees(js.lead); err != nil {
		return err
	}
	if err := p.place.Holds(p.name, p.records, max(js.s.places, js.s.records)); err != nil {
		return err
	}
	if p.place.Plain {
		return nil
	}
	if err := p.loadTable(js.s.records); err != nil {
		return err
	}
	if q := js.home.kept[i]; q != p && q.table != nil {
		return p.sameBlobs(q)
	}
	return nil
}

// tell gives all ranks the news of all keepers. Collective.
func (k *Collective) tell(ctx context.Context, js *jointSet, mine []int, errs []error) error {
	nd := k.r.schema.NumDecomps()
	var list []news
	for _, i := range mine {
		p := js.kept[i]
		n := news{Part: i, Missing: p.place == nil && errs[i] == nil}
		switch {
		case errs[i] != nil:
			n.Err = comm.EncodeError(errs[i])
			p.place, p.table = nil, nil
		case p.table != nil:
			n.Blobs, n.Ranks = p.place.Shape.Blobs, p.place.Shape.Ranks
			for d := range min(nd, p.place.NumMaps()) {
				last, lists := len(p.table.ID)-1, d*layout.MapVars+layout.MapOffsets
				n.Elems = append(n.Elems, p.table.Start[last*nd+d]+p.table.Count[last*nd+d])
				n.Maps = append(n.Maps, p.place.ExtentBytes(lists, p.table)+p.place.ExtentBytes(lists+1, p.table))
			}
		}
		list = append(list, n)
	}
	said, err := k.c.Allgather(ctx, encodeList(list))
	if err != nil {
		return err
	}
	all, err := decodeLists[news](said)
	heard := make([]news, len(js.s.parts))
	for _, n := range all {
		heard[n.Part] = n
	}
	if err == nil {
		err = k.count(js, heard)
	}
	return comm.Agree(ctx, k.c, err)
}

// count adds up what is in all subfiles, as every rank does.
func (k *Collective) count(js *jointSet, heard []news) error {
	nd, n := k.r.schema.NumDecomps(), len(heard)
	js.base, js.maps = make([][]int64, nd), make([]int64, nd)
	for d := range nd {
		js.base[d] = make([]int64, n+1)
	}
	var first error
	here, blobs, missing, ranks := 0, 0, false, 0
	js.first = -1
	for i, x := range heard {
		for d := range nd {
			js.base[d][i+1] = js.base[d][i]
			if d < len(x.Elems) {
				js.base[d][i+1] += x.Elems[d]
				js.maps[d] += x.Maps[d]
			}
		}
		switch {
		case len(x.Err) > 0:
			js.bad[i] = comm.DecodeError(x.Err)
			if first == nil {
				first = js.bad[i]
			}
			if errors.Is(js.bad[i], ErrBroken) { // another dataset by now
				return js.bad[i]
			}
		case x.Missing:
			js.gone[i], missing = true, true
		default:
			if here++; here == 1 {
				js.first = i
			}
			blobs, ranks = blobs+x.Blobs, max(ranks, x.Ranks)
		}
	}
	if here == 0 && first != nil {
		return first
	}
	pl := js.lead
	if pl == nil || pl.place.Plain {
		return nil
	}
	if first == nil && !missing && blobs != ranks && !k.r.opt.AllowMissing {
		return fault.At(pl.name, pl.place.Locate().GlobalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, but the subfiles hold %d blobs", ranks, blobs)
	}
	for d := range nd {
		if k.r.manifest == nil {
			if err := dense(pl.place, pl.name, d, js.base[d][n]/int64(max(here, 1))*int64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}
