package read

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/radix"
	"blobio/internal/comm/remote"
)

// directory gives the owner of each element in a range of a decomposed array.
type directory struct {
	shares       // division of the array
	lo     int64 // first element of this rank's range
	ix     *decomp.Index
	pos    []int64 // first element of the range for which the same entry of at applies
	at     []int64 // index of that element in the stored elements
	lost   error   // error that may be the reason why elements have no owner here
}

// extentSums are checksums of parts of a subfile's extents, which other ranks send to the keeper of the subfile.
type extentSums struct {
	part, ext int
	segs      []checksum.Seg
}

func (x *extentSums) addTo(s *checksum.Set, ext int64) {
	for _, g := range x.segs {
		s.Add(ext, g)
	}
}

// appendSums appends checksums to a message that continues with other contents.
func appendSums(b []byte, list []extentSums) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, x := range list {
		for _, n := range []int{x.part, x.ext, len(x.segs)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		for _, g := range x.segs {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(g.At)), uint64(g.N))
			b = binary.LittleEndian.AppendUint32(b, g.CRC)
		}
	}
	return b
}

// parseSums returns the checksums of a message of appendSums, and the rest of the message. An empty message has no checksums.
func parseSums(b []byte) (list []extentSums, rest []byte, err error) {
	next := func() int64 {
		n, w := binary.Uvarint(b)
		if w <= 0 || n > math.MaxInt64 {
			err = errMessage
			return 0
		}
		b = b[w:]
		return int64(n)
	}
	if len(b) == 0 {
		return nil, nil, nil
	}
	for range next() {
		x := extentSums{part: int(next()), ext: int(next())}
		for range next() {
			g := checksum.Seg{At: next(), N: next()}
			if len(b) < 4 {
				return nil, nil, errMessage
			}
			g.CRC, b = binary.LittleEndian.Uint32(b), b[4:]
			x.segs = append(x.segs, g)
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, x)
	}
	return list, b, err
}

var errMessage = fmt.Errorf("a message of another rank has wrong contents: %w", dataset.ErrBroken)

// partError is an error of reading the lists of a subfile. A checksum error may be the consequence of a read error.
type partError struct {
	Part int
	Sum  bool
	Err  []byte
}

// directory reads a map and makes its directory. Further calls return the same directory. Collective.
func (k *Collective) directory(ctx context.Context, key mapKey) (*directory, error) {
	if d := k.dirs[key]; d != nil {
		return d, nil
	}
	js, err := k.join(ctx, key.home)
	if err != nil {
		return nil, err
	}
	v, err := k.view(ctx, js, key.d)
	if err != nil {
		return nil, err
	}
	ranks := k.C.Size()
	dir := &directory{shares: sharesOf(dataset.Product(k.r.Data.Schema.DecompDims(key.d)), k.Span, ranks)}
	msgs, sums, bad := k.lists(ctx, js, v, key.d, dir)
	got, err := k.C.Alltoallv(ctx, msgs)
	if err != nil {
		return nil, err
	}
	runs := make([][]byte, len(got))
	for i, b := range got {
		told, rest, e := parseSums(b)
		if runs[i] = rest; err == nil {
			err = e
		}
		for _, x := range told {
			if sums[x.part] != nil {
				x.addTo(sums[x.part], int64(x.ext))
			} else if err == nil {
				err = errMessage
			}
		}
	}
	for part, s := range sums {
		if p := js.kept[part]; p != nil {
			if e := p.compareLists(int(key.d)-1, s); e != nil {
				bad = append(bad, partError{part, true, remote.Encode(e)})
			}
		}
	}
	said, e := k.C.Allgather(ctx, encodeList(bad))
	if e != nil {
		return nil, e
	}
	all, e := decodeLists[partError](said)
	if err == nil {
		err = e
	}
	wrong := slices.Clone(js.bad)
	for _, sum := range []bool{false, true} {
		for _, x := range all {
			if x.Sum == sum && wrong[x.Part] == nil {
				wrong[x.Part] = remote.Decode(x.Err)
			}
		}
	}
	for _, e := range wrong {
		if e != nil && dir.lost == nil {
			dir.lost = e
		}
	}
	if i := dir.part(k.C.Rank(), ranks); i >= 0 && err == nil {
		dir.lo = dir.from(i)
		err = dir.build(runs, dir.from(i+1)-dir.lo, func(at int64) bool {
			base := js.base[key.d-1]
			return wrong[sort.Search(len(base), func(i int) bool { return base[i] > at })-1] == nil
		})
	}
	if err == nil {
		err = ctx.Err()
	}
	if err := comm.Agree(ctx, k.C, err); err != nil {
		return nil, err
	}
	k.dirs[key] = dir
	return dir, nil
}

// lists reads the lists of this rank's share of a map. It returns messages that bring elements to the ranks of the directory, and
// checksums to the keepers. sums has, by subfile, the checksums for which this rank is the keeper.
func (k *Collective) lists(ctx context.Context, js *jointSet, v *jointView, d dataset.DecompID, dir *directory) (msgs [][]byte, sums map[int]*checksum.Set, bad []partError) {
	ranks, nd := k.C.Size(), k.r.Data.Schema.NumDecomps()
	base := js.base[d-1]
	runs := make([]coder, dir.parts)
	told := make([][]extentSums, ranks)
	sums = map[int]*checksum.Set{}
	for part, p := range js.kept {
		if p.Table != nil && p.proven() && base[part] < base[part+1] {
			sums[part] = checksum.New(0)
		}
	}
	var mu sync.Mutex
	for part, p := range v.files {
		l := &MapLists{Pl: p.Place, T: p.Table.Some(p.from, p.to, nd), Name: p.Name, D: int(d) - 1, Workers: k.r.Files.Opt.Workers}
		if p.proven() {
			l.sums = checksum.New(0)
		}
		f, done, err := p.File()
		if err == nil {
			l.F = f
			err = l.Read(ctx, func(j int, reqs []decomp.Req) error {
				mu.Lock()
				defer mu.Unlock()
				at := base[part] + l.T.Start[j*nd+int(d)-1]
				for _, q := range reqs {
					for off := q.Offset; off < q.End(); {
						i := dir.of(off)
						n := min(q.End(), dir.from(i+1)) - off
						runs[i].add(stored{off, n, at})
						off, at = off+n, at+n
					}
				}
				return nil
			})
			done()
		}
		if err != nil {
			bad = append(bad, partError{part, false, remote.Encode(err)})
			continue
		}
		for m := layout.MapOffsets; m <= layout.MapLengths && l.sums != nil; m++ {
			x := extentSums{part, m, l.sums.Ext[int64(m)]}
			if sums[part] != nil {
				x.addTo(sums[part], int64(m))
			} else {
				to := k.Keeper(js.s, part)
				told[to] = append(told[to], x)
			}
		}
	}
	to := map[int]*coder{}
	for i := range runs {
		if len(runs[i].b) > 0 {
			to[dir.rank(int64(i), ranks)] = &runs[i]
		}
	}
	for rank, l := range told {
		b := appendSums(nil, l)
		if to[rank] != nil {
			b = append(b, to[rank].b...)
		} else if len(l) == 0 {
			continue
		}
		to[rank] = &coder{b: b}
	}
	return messages(to, ranks), sums, bad
}

// build makes the directory of a range of n elements from the messages of all ranks. It leaves out entries for which good returns
// false.
func (d *directory) build(msgs [][]byte, n int64, good func(at int64) bool) error {
	var list []stored
	for _, b := range msgs {
		decodeStored(b, func(s stored) {
			if good(s.at) {
				list = append(list, s)
			}
		})
	}
	// The index finds the last of several entries with the same element. This order makes it the entry with the highest at.
	radix.Sort(list, func(s *stored) int64 { return s.at })
	reqs, pos, next := make([]decomp.Req, 0, len(list)), int64(0), int64(-1)
	for _, s := range list {
		if s.at != next {
			d.pos, d.at = append(d.pos, pos), append(d.at, s.at)
		}
		reqs = append(reqs, decomp.Req{Offset: s.off - d.lo, Length: s.n})
		pos, next = pos+s.n, s.at+s.n
	}
	b := decomp.NewBuilder([]int64{n}, 1)
	if err := b.Set(0, reqs); err != nil {
		return err
	}
	m, err := b.Map()
	if err == nil {
		d.ix, err = m.Index()
	}
	return err
}

// find appends the owners of elements [off, off+n), which must lie in the range of this rank.
func (d *directory) find(c *coder, off, n int64) {
	for o := range d.ix.Range(off-d.lo, off+n-d.lo) {
		i := sort.Search(len(d.pos), func(i int) bool { return d.pos[i] > o.Pos }) - 1
		for o.Len > 0 {
			k := o.Len
			if i+1 < len(d.pos) {
				k = min(k, d.pos[i+1]-o.Pos)
			}
			c.add(stored{d.lo + o.Off, k, d.at[i] + o.Pos - d.pos[i]})
			o.Off, o.Pos, o.Len = o.Off+k, o.Pos+k, o.Len-k
			i++
		}
	}
}
