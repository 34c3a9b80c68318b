package read

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"math"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/comm/remote"
)

// jointSet is one rank's knowledge of a set in collective reads. Each subfile has a keeper, which reads its header and table and
// compares its checksums. Other ranks receive from the keeper the parts of header and table that they need to read some blobs.
type jointSet struct {
	s     *Set
	home  *jointSet         // the set whose maps are used; usually this set
	kept  map[int]*FilePart // the subfiles that this rank keeps; a subfile is loaded if its Place is not nil
	tapes map[int]*tape     // recorded reads of their headers
	lead  *FilePart         // a subfile with its header, used for everything that all subfiles share; nil if all subfiles are missing
	first int               // number of the first readable subfile
	vars  []dataset.VarID   // by variable of the dataset: its id in this set, or -1
	gone  []bool            // by subfile: the file is missing, and the options allow this
	bad   []error           // by subfile: why it cannot be read
	base  [][]int64         // by map: number of elements in earlier subfiles; the last entry is the total
	maps  []int64           // by map: bytes of the lists of all blobs
	views map[dataset.DecompID]*jointView
}

// Keeper returns the rank that keeps subfile i.
func (k *Collective) Keeper(s *Set, i int) int {
	return int(int64(i) * int64(k.C.Size()) / int64(len(s.Parts)))
}

// encode encodes a message. All ranks run the same build.
func encode(v any) []byte {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(v); err != nil {
		panic(err) // impossible for the types of this package
	}
	return b.Bytes()
}

func decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// encodeList is encode for a list. An empty list becomes no bytes.
func encodeList[T any](l []T) []byte {
	if len(l) == 0 {
		return nil
	}
	return encode(l)
}

// decodeLists decodes the lists of several ranks and joins them.
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

// news is the message of a subfile's keeper to all ranks.
type news struct {
	Part         int
	Err          []byte // bytes of remote.Encode; empty if the subfile can be read, or may be missing
	Missing      bool
	Blobs, Ranks int
	Elems, Maps  []int64 // by map: elements, and bytes of the lists
}

// join loads a set. Further calls return the same result. Collective.
func (k *Collective) join(ctx context.Context, s *Set) (*jointSet, error) {
	if js := k.sets[s]; js != nil {
		return js, nil
	}
	js := &jointSet{s: s, kept: map[int]*FilePart{}, tapes: map[int]*tape{}, gone: make([]bool, len(s.Parts)), bad: make([]error, len(s.Parts)), views: map[dataset.DecompID]*jointView{}}
	js.home = js
	if home := s.family.Home; home != s {
		var err error
		if js.home, err = k.join(ctx, home); err != nil {
			return nil, err
		}
		if len(s.Parts) != len(home.Parts) { // all ranks find the same error
			return nil, fault.At(s.Parts[0].Wanted(), -1, "subfiles", dataset.ErrCorrupt, "this set has %d subfiles, but the first set has %d", len(s.Parts), len(home.Parts))
		}
	}
	errs := make([]error, len(s.Parts))
	var mine []int
	for i := range s.Parts {
		if k.Keeper(s, i) == k.C.Rank() {
			mine = append(mine, i)
		}
	}
	parts, tapes := make([]*FilePart, len(mine)), make([]*tape, len(mine))
	par.Do(k.r.Files.Opt.Workers, len(mine), func(n int) {
		i := mine[n]
		parts[n], tapes[n], errs[i] = k.header(s.Parts[i])
	})
	first := int64(math.MaxInt64)
	for n, i := range mine {
		js.kept[i], js.tapes[i] = parts[n], tapes[n]
		if parts[n].Place != nil {
			first = min(first, int64(i))
		}
	}
	known, lead := int64(0), s.Parts[0].headed()
	if lead != nil && lead.Info != nil { // the keeper has compared the header's checksum, too
		known = 1
	}
	all, err := comm.AgreeMin(ctx, k.C, ctx.Err(), first, known)
	if err != nil {
		return nil, err
	}
	if all[0] != math.MaxInt64 {
		if all[0] == 0 && all[1] == 1 {
			js.lead = lead
		}
		if err := k.follow(ctx, js, int(all[0])); err != nil {
			return nil, err
		}
	}
	par.Do(k.r.Files.Opt.Workers, len(mine), func(n int) {
		i := mine[n]
		if p := parts[n]; p.Place != nil && errs[i] == nil {
			errs[i] = k.table(js, i)
		}
	})
	if err := k.tell(ctx, js, mine, errs); err != nil {
		return nil, err
	}
	k.sets[s] = js
	return js, nil
}

func (k *Collective) header(of *FilePart) (*FilePart, *tape, error) {
	p := of.unread()
	p.tape = &tape{}
	if p.Gone() {
		err := k.r.Files.Replaced(p.Wanted())
		if err == nil && !k.r.Files.Opt.AllowMissing {
			err = fault.In(p.Wanted(), "subfile", dataset.ErrMissing, "missing")
		}
		return p, nil, err
	}
	err := p.Load()
	t := p.tape
	t.Size, p.tape = p.Size, nil
	return p, t, err
}

// adopt makes a part from a header that another rank has read. But it reads the header of a netCDF-4 file from the file, because
// it also needs the offsets of chunks.
func (k *Collective) adopt(of *FilePart, t *tape) (*FilePart, error) {
	p := of.unread()
	p.Size = t.Size
	pl, records, err := dataset.DecodePlace(t, t.Size, p.Name, k.r.Files.Opt.MaxHeader)
	if err != nil {
		return p, p.Load()
	}
	p.Place, p.Records, p.loaded = pl, records, true
	p.decoded.Store(true)
	return p, nil
}

// follow gives all ranks the header of the first readable subfile, if they do not know it. Collective.
func (k *Collective) follow(ctx context.Context, js *jointSet, lead int) (err error) {
	if js.lead == nil {
		var b []byte
		root := k.Keeper(js.s, lead)
		if root == k.C.Rank() {
			b = encode(js.tapes[lead])
		}
		if b, err = k.C.Bcast(ctx, root, b); err != nil {
			return err
		}
		var t tape
		if err = decode(b, &t); err == nil {
			js.lead, err = k.adopt(js.s.Parts[lead], &t)
		}
	}
	if err == nil && js.lead.Place.Layout != k.r.Data.Layout {
		err = fault.At(js.lead.Name, js.lead.Place.Header.Off, "header", dataset.ErrCorrupt, "the subfile is %v, but the dataset is %v", js.lead.Place.Layout, k.r.Data.Layout)
	}
	if err == nil {
		js.vars, err = k.r.Data.varsIn(js.lead.Name, js.lead.Place)
	}
	return comm.Agree(ctx, k.C, err)
}

// table reads the table of a subfile that this rank keeps, and checks that header and table match the other subfiles.
func (k *Collective) table(js *jointSet, i int) error {
	p := js.kept[i]
	if err := p.agrees(js.lead); err != nil {
		return err
	}
	if err := p.Place.Holds(p.Name, p.Records, max(js.s.places, js.s.Records)); err != nil {
		return err
	}
	if p.Place.Plain {
		return nil
	}
	if err := p.loadTable(js.s.Records); err != nil {
		return err
	}
	if q := js.home.kept[i]; q != p && q.Table != nil {
		return p.sameBlobs(q)
	}
	return nil
}

// tell exchanges the news of all keepers. Collective.
func (k *Collective) tell(ctx context.Context, js *jointSet, mine []int, errs []error) error {
	nd := k.r.Data.Schema.NumDecomps()
	var list []news
	for _, i := range mine {
		p := js.kept[i]
		n := news{Part: i, Missing: p.Place == nil && errs[i] == nil}
		switch {
		case errs[i] != nil:
			n.Err = remote.Encode(errs[i])
			p.Place, p.Table = nil, nil
		case p.Table != nil:
			n.Blobs, n.Ranks = p.Place.Shape.Blobs, p.Place.Shape.Ranks
			for d := range min(nd, p.Place.Header.Maps) {
				last, lists := len(p.Table.ID)-1, d*layout.MapVars+layout.MapOffsets
				n.Elems = append(n.Elems, p.Table.Start[last*nd+d]+p.Table.Count[last*nd+d])
				n.Maps = append(n.Maps, p.Place.ExtentBytes(lists, p.Table)+p.Place.ExtentBytes(lists+1, p.Table))
			}
		}
		list = append(list, n)
	}
	said, err := k.C.Allgather(ctx, encodeList(list))
	if err != nil {
		return err
	}
	all, err := decodeLists[news](said)
	heard := make([]news, len(js.s.Parts))
	for _, n := range all {
		heard[n.Part] = n
	}
	if err == nil {
		err = k.count(js, heard)
	}
	return comm.Agree(ctx, k.C, err)
}

// count sums up the contents of all subfiles. Its results are the same on every rank.
func (k *Collective) count(js *jointSet, heard []news) error {
	nd, n := k.r.Data.Schema.NumDecomps(), len(heard)
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
			js.bad[i] = remote.Decode(x.Err)
			if first == nil {
				first = js.bad[i]
			}
			if errors.Is(js.bad[i], dataset.ErrBroken) { // the dataset was replaced
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
	if pl == nil || pl.Place.Plain {
		return nil
	}
	if first == nil && !missing && blobs != ranks && !k.r.Files.Opt.AllowMissing {
		return fault.At(pl.Name, pl.Place.Header.Locate().GlobalAtt(dataset.AttNprocs), "attribute "+dataset.AttNprocs, dataset.ErrCorrupt, "the value is %d, but the subfiles hold %d blobs", ranks, blobs)
	}
	for d := range nd {
		if k.r.Files.Manifest == nil {
			if err := dense(pl.Place, pl.Name, d, js.base[d][n]/int64(max(here, 1))*int64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}
