package read

import (
	"context"
	"encoding/binary"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/internal/base/fault"
)

// jointView is what one rank reads from a set with one map: a share of all stored elements, and the lists of the blobs that begin
// in this share.
type jointView struct {
	shares
	me    int64             // the share of this rank, or -1
	files map[int]*viewPart // by subfile
}

// viewPart is a subfile with a table of its known blobs, which may not be all. This rank reads the lists of blobs from to to-1 of the
// table.
type viewPart struct {
	*FilePart
	from, to int
}

// lentPart is a keeper's message about a subfile.
type lentPart struct {
	Part     int
	Tape     *tape // nil: the header of jointSet.lead, which all ranks have
	First    int   // number of the first blob in the message
	From, To int   // range of blobs in the table whose lists the receiver reads
	Nreqs    []int64
	Start    []int64
	Count    []int64
	Reqs     []int64
	Blob     []int64
	Piece    int64 // length of a piece of an extent in bytes
}

// lend makes the message about blobs [lo, hi) of a subfile that this rank keeps. For a compressed subfile the message has all
// blobs, because the index covers all blobs.
func (k *Collective) lend(js *jointSet, part, lo, hi, from, to int) lentPart {
	p := js.kept[part]
	if p.Place.Packed != nil {
		lo, hi = 0, len(p.Table.ID)
	}
	t, nd := p.Table, p.Place.Header.Maps
	l := lentPart{Part: part, First: lo, From: from - lo, To: to - lo}
	if part != js.lead.Index || p.Place.Packed != nil { // a rank completes the Place of a compressed subfile
		l.Tape = js.tapes[part]
	}
	l.Nreqs, l.Start, l.Count, l.Reqs = t.Nreqs[lo*nd:hi*nd], t.Start[lo*nd:hi*nd], t.Count[lo*nd:hi*nd], t.Reqs[lo*nd:hi*nd]
	l.Blob = t.Blob[lo:hi]
	if p.Fine != nil {
		l.Piece = p.Fine.Size
	}
	return l
}

// borrow makes a part from the message of a keeper.
func (k *Collective) borrow(js *jointSet, l *lentPart) (*viewPart, error) {
	p := js.lead.headed()
	if l.Tape != nil {
		var err error
		if p, err = k.adopt(js.s.Parts[l.Part], l.Tape); err != nil {
			return nil, err
		}
	}
	if len(l.Blob) == 0 { // the file is an ordinary netCDF file
		return &viewPart{p, 0, 0}, nil
	}
	t := layout.NewRanks(len(l.Blob), p.Place.Header.Maps)
	for i := range t.ID {
		t.ID[i] = l.First + i
	}
	copy(t.Nreqs, l.Nreqs)
	copy(t.Start, l.Start)
	copy(t.Count, l.Count)
	copy(t.Reqs, l.Reqs)
	copy(t.Blob, l.Blob)
	if p.Table = t; p.Place.Packed != nil {
		x, err := layout.NewIndex(&p.Place.Place, t, p.Place.Packed.Chunk)
		if err != nil {
			return nil, fault.At(p.Name, -1, layout.IndexPacked, dataset.ErrCorrupt, "%v", err)
		}
		last := len(t.ID) - 1
		p.Place.DataLen = t.Blob[last] + p.Place.Blob.Size(t, last) - p.Place.DataOff
		p.Place.Packed.Index = x
	}
	p.Unpack()
	if l.Piece > 0 {
		p.Fine = &layout.PieceIndex{Size: l.Piece}
	}
	return &viewPart{p, l.From, l.To}, nil
}

// view computes which part of a set with map d each rank reads. Further calls return the same result. Collective.
func (k *Collective) view(ctx context.Context, js *jointSet, d dataset.DecompID) (*jointView, error) {
	if v := js.views[d]; v != nil {
		return v, nil
	}
	ranks, me := k.C.Size(), k.C.Rank()
	base := js.home.base[d-1]
	total := base[len(base)-1]
	v := &jointView{shares: k.shares(total, max(total*4, js.home.maps[d-1])), files: map[int]*viewPart{}}
	v.me = v.part(me, ranks)
	tell := map[int][]lentPart{}
	for part, p := range js.kept {
		if p.Table == nil {
			continue
		}
		lo, hi := base[part], base[part+1]
		if lo == hi {
			continue // this subfile has no elements of the map
		}
		for i := v.of(lo); i < v.parts && v.from(i) < hi; i++ {
			x0, x1 := max(v.from(i), lo)-lo, min(v.from(i+1), hi)-lo
			first, from, to := blobsIn(p.Table, p.Place.Header.Maps, int(d)-1, x0, x1)
			if x1 == hi-lo {
				to = len(p.Table.ID) // include the following blobs, which have no elements
			}
			if dst := v.rank(i, ranks); dst == me {
				v.files[part] = &viewPart{p, from, to}
			} else {
				tell[dst] = append(tell[dst], k.lend(js, part, min(first, from), to, from, to))
			}
		}
	}
	var msgs [][]byte
	if len(tell) > 0 {
		msgs = make([][]byte, ranks)
		for i, l := range tell {
			msgs[i] = encode(l)
		}
	}
	got, err := k.C.Alltoallv(ctx, msgs)
	if err != nil {
		return nil, err
	}
	lent, err := decodeLists[lentPart](got)
	for i := range lent {
		if err == nil {
			v.files[lent[i].Part], err = k.borrow(js, &lent[i])
		}
	}
	if err := comm.Agree(ctx, k.C, err); err != nil {
		return nil, err
	}
	js.views[d] = v
	return v, nil
}

// blobsIn returns which blobs have elements [x0, x1) of map d: first to end-1. The blobs from to end-1 also begin there.
func blobsIn(t *layout.Ranks, nd, d int, x0, x1 int64) (first, from, end int) {
	n := len(t.ID)
	first = sort.Search(n, func(j int) bool { return t.Start[j*nd+d]+t.Count[j*nd+d] > x0 })
	from = sort.Search(n, func(j int) bool { return t.Start[j*nd+d] >= x0 })
	end = sort.Search(n, func(j int) bool { return t.Start[j*nd+d] >= x1 })
	return first, from, end
}

// flatView is view for variables without a map. Such variables are in the first blob of every subfile, so all ranks learn about
// one subfile. If the subfile is compressed, only its keeper knows and reads it. Collective.
func (k *Collective) flatView(ctx context.Context, js *jointSet, _ dataset.DecompID) (*jointView, error) {
	if v := js.views[0]; v != nil {
		return v, nil
	}
	v := &jointView{files: map[int]*viewPart{}}
	root := k.Keeper(js.s, js.first)
	var b []byte
	if js.packed() {
		if p := js.kept[js.first]; p != nil {
			v.files[js.first] = &viewPart{p, 0, 0}
		}
		js.views[0] = v
		return v, nil
	}
	if root == k.C.Rank() {
		p := js.kept[js.first]
		l := lentPart{Part: js.first, Tape: js.tapes[js.first]}
		if p.Table != nil {
			l = k.lend(js, js.first, 0, 1, 0, 0)
		}
		b = encode(l)
	}
	b, err := k.C.Bcast(ctx, root, b)
	if err != nil {
		return nil, err
	}
	p := js.kept[js.first]
	if p != nil {
		v.files[js.first] = &viewPart{p, 0, 0}
	} else {
		var l lentPart
		if err = decode(b, &l); err == nil {
			v.files[js.first], err = k.borrow(js, &l)
		}
	}
	if err := comm.Agree(ctx, k.C, err); err != nil {
		return nil, err
	}
	js.views[0] = v
	return v, nil
}

func (js *jointSet) packed() bool { return js.lead != nil && js.lead.Place.Packed != nil }

// stored is elements [off, off+n) of the canonical array. at is their index in the sequence of all stored elements, which has the
// subfiles in order, in each subfile the blobs, and in each blob the order of its map. If several requests contain an element,
// the entry with the largest at counts.
type stored struct{ off, n, at int64 }

// coder encodes lists in which most entries continue the previous entry.
type coder struct {
	b       []byte
	off, at int64 // end of the previous entry
}

func (c *coder) add(s stored) {
	c.b = binary.AppendVarint(c.b, s.off-c.off)
	c.b = binary.AppendUvarint(c.b, uint64(s.n))
	c.b = binary.AppendVarint(c.b, s.at-c.at)
	c.off, c.at = s.off+s.n, s.at+s.n
}

// decodeStored calls f for each encoded entry.
func decodeStored(b []byte, f func(stored)) {
	var c coder
	for len(b) > 0 {
		off, i := binary.Varint(b)
		n, j := binary.Uvarint(b[max(i, 0):])
		at, k := binary.Varint(b[max(i, 0)+max(j, 0):])
		if i <= 0 || j <= 0 || k <= 0 {
			return // the sender runs another build; ranks that want these elements will report them as missing
		}
		b = b[i+j+k:]
		s := stored{c.off + off, int64(n), c.at + at}
		c.off, c.at = s.off+s.n, s.at+s.n
		f(s)
	}
}

// shares divides n elements into parts whose sizes differ by at most 1.
type shares struct{ n, parts int64 }

// few is a number of readers that a file system serves at once even if each reads little.
const few = 16

// shares divides n elements among the ranks, so that each reads enough of their bytes at once. A few ranks may read less: that
// is faster than one rank that reads, compares and sends everything.
func (k *Collective) shares(n, bytes int64) shares {
	parts := max(bytes/k.Share, min(few-1, bytes/max(k.Share/few, 1))) + 1
	return sharesOf(n, (n+parts-1)/parts, k.C.Size())
}

// sharesOf divides n elements among the ranks. If there are too few elements for least elements per rank, some ranks get none.
func sharesOf(n, least int64, ranks int) shares {
	return shares{n, max(1, min(int64(ranks), (n+least-1)/max(least, 1)))}
}

// from returns the first element of part i. If i is the number of parts, it returns n.
func (s shares) from(i int64) int64 { return s.n/s.parts*i + min(i, s.n%s.parts) }

// of returns the part that contains element x.
func (s shares) of(x int64) int64 {
	q, rest := s.n/s.parts, s.n%s.parts
	if x < rest*(q+1) {
		return x / (q + 1)
	}
	return rest + (x-rest*(q+1))/max(q, 1)
}

// rank returns the rank that has part i. Parts are spread over all ranks, and thus over the nodes.
func (s shares) rank(i int64, ranks int) int { return int(i * int64(ranks) / s.parts) }

// part returns the part of a rank, or -1.
func (s shares) part(rank, ranks int) int64 {
	i := (int64(rank)*s.parts + int64(ranks) - 1) / int64(ranks)
	if i < s.parts && s.rank(i, ranks) == rank {
		return i
	}
	return -1
}
