package blob

import (
	"context"
	"fmt"
	"io"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/layout"
	"blobio/decomp"
	"blobio/internal/fault"
	"blobio/internal/par"
)

// badRequest says what is wrong with the requests of blob j of map d, and at
// which byte, nil if nothing is.
func badRequest(pl *place, t *layout.Ranks, name string, d, j int, reqs []decomp.Req, sum int64) error {
	elems := product(pl.schema.DecompDims(DecompID(d + 1)))
	entry := func(m, k int, size int64) (int64, string) {
		at, _ := pl.MapPiece(d, m, t, j)
		return pl.Shown(at + int64(k)*size), fmt.Sprintf("D%d.%s[%d][%d]", d+1, layout.MapVarDefs[m].Name, t.ID[j], k)
	}
	for k, q := range reqs {
		switch {
		case q.Length < 0 || q.Length > elems:
			at, field := entry(layout.MapLengths, k, 4)
			return fault.At(name, at, field, ErrCorrupt, "%d, want 0..%d", q.Length, elems)
		case q.Offset < 0 || q.Offset > elems-q.Length:
			at, field := entry(layout.MapOffsets, k, pl.OffsetSize(d))
			return fault.At(name, at, field, ErrCorrupt, "%d, want 0..%d for a request of %d elements", q.Offset, elems-q.Length, q.Length)
		}
	}
	if want := t.Count[j*pl.NumMaps()+d]; sum != want {
		at, _ := pl.MapPiece(d, layout.MapLengths, t, j)
		return fault.At(name, pl.Shown(at), fmt.Sprintf("D%d.lengths[%d]", d+1, t.ID[j]), ErrCorrupt, "they sum to %d, blob_count is %d", sum, want)
	}
	return nil
}

// readRequests reads the lists of map d of all blobs of a part and calls set
// for each, from several goroutines. Rows are read a few MiB at a time.
func (p *filePart) readRequests(ctx context.Context, d, workers int, set func(j int, reqs []decomp.Req) error) error {
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	var s *checksum.Set
	if p.proven() {
		s = checksum.New(0)
	}
	if err := readRequests(ctx, f, p.place, p.table, p.name, d, workers, set, nil, s); err != nil || s == nil {
		return err
	}
	for m := layout.MapOffsets; m <= layout.MapLengths; m++ {
		crc, _, n := s.Joined(int64(m))
		if err := (extent{p, d*layout.MapVars + m, 0}).compareWhole(n, crc); err != nil {
			return err
		}
	}
	return nil
}

// rowBatch is how many bytes of rows of a map are read at once.
const rowBatch = 4 << 20

// listBatch is how many blobs one worker takes in turn where each blob's lists are read alone.
const listBatch = 256

// readRequests does the work for the blobs of a table, which may be some of the file's, one after the other. report, if it is not nil, is called with every fault, from
// several goroutines, and the other blobs are still read; otherwise the first
// fault is returned. sums gets what was read of the two lists, as extents mapOffsets and mapLengths; it may be nil.
func readRequests(ctx context.Context, f io.ReaderAt, pl *place, t *layout.Ranks, name string, d, workers int, set func(j int, reqs []decomp.Req) error, report func(error), sums *checksum.Set) error {
	if err := pl.RoomForLists(t, d, name); err != nil {
		return err
	}
	nb, nd := len(t.ID), pl.NumMaps()
	width := max(pl.Shape.MaxReqs[d], 1)
	group := int(max(1, rowBatch/(width*pl.OffsetSize(d))))
	if !pl.Rows() {
		group = min(group, listBatch)
	}
	n := (nb + group - 1) / group
	errs := make([]error, n)
	order := orderOf(pl.Big)
	par.Do(workers, n, func(g int) {
		if errs[g] = ctx.Err(); errs[g] != nil {
			return
		}
		lo, hi := g*group, min((g+1)*group, nb)
		var offs, lens, room []byte
		took := func(m, j int, b []byte) {
			if sums != nil {
				_, _, pos := pl.Spot(t, j, int32(-1-(d*layout.MapVars+m)), 0)
				sums.Sum(int64(m), pos, b)
			}
		}
		read := func(m, j int, n int64) ([]byte, error) {
			at, _ := pl.MapPiece(d, m, t, j)
			field := fmt.Sprintf("D%d.%s[%d]", d+1, layout.MapVarDefs[m].Name, t.ID[j])
			if err := pl.backs(f, at, n, name, field); err != nil {
				return nil, err
			}
			b := make([]byte, n)
			if err := layout.ReadFull(f, b, at, name, field); err != nil {
				return nil, err
			}
			took(m, j, b)
			return b, nil
		}
		osz := pl.OffsetSize(d)
		// lists reads both lists of a blob, at once if they lie together. They last until the next call.
		lists := func(j int, q int64) (o, l []byte, err error) {
			at, _ := pl.MapPiece(d, layout.MapOffsets, t, j)
			next, _ := pl.MapPiece(d, layout.MapLengths, t, j)
			if next == at+osz*q && pl.Packed == nil && pl.backs(f, at, (osz+4)*q, name, "") == nil { // else the error is of one list
				if int64(cap(room)) < (osz+4)*q {
					room = make([]byte, 2*(osz+4)*q)
				}
				both := room[:(osz+4)*q]
				if err := layout.ReadFullOf(f, both, at, name, func() string {
					return fmt.Sprintf("D%d.%s[%d]", d+1, layout.MapVarDefs[layout.MapOffsets].Name, t.ID[j])
				}); err != nil {
					return nil, nil, err
				}
				o, l = both[:osz*q], both[osz*q:]
				took(layout.MapOffsets, j, o)
				took(layout.MapLengths, j, l)
				return o, l, nil
			}
			if o, err = read(layout.MapOffsets, j, osz*q); err == nil {
				l, err = read(layout.MapLengths, j, 4*q)
			}
			return o, l, err
		}
		var err error
		if pl.Rows() { // rows of equal width, one after the other
			rows := int64(hi - lo)
			last := t.Nreqs[(hi-1)*nd+d]
			if sums != nil {
				last = width // what is not used is in the sum
			}
			if offs, err = read(layout.MapOffsets, lo, osz*((rows-1)*width+last)); err == nil {
				lens, err = read(layout.MapLengths, lo, 4*((rows-1)*width+last))
			}
			if err != nil {
				if report != nil {
					report(err)
				} else {
					errs[g] = err
				}
				return
			}
		}
		var reqs []decomp.Req
		for j := lo; j < hi; j++ {
			q := t.Nreqs[j*nd+d]
			o, l := offs, lens
			if pl.Rows() {
				o, l = offs[int64(j-lo)*width*osz:], lens[int64(j-lo)*width*4:]
			} else {
				o, l, err = lists(j, q)
			}
			if err != nil {
				if report != nil {
					report(err)
					err = nil
					continue
				}
				errs[g] = err
				return
			}
			reqs = reqs[:0]
			sum := int64(0)
			for k := range q {
				r := decomp.Req{Length: int64(int32(order.Uint32(l[4*k:])))}
				if osz == 8 {
					r.Offset = int64(order.Uint64(o[8*k:]))
				} else {
					r.Offset = int64(int32(order.Uint32(o[4*k:])))
				}
				sum += r.Length
				reqs = append(reqs, r)
			}
			bad := badRequest(pl, t, name, d, j, reqs, sum)
			if bad == nil {
				if err := set(j, reqs); err != nil {
					at, _ := pl.MapPiece(d, layout.MapOffsets, t, j)
					bad = fault.At(name, pl.Shown(at), fmt.Sprintf("D%d.offsets[%d]", d+1, t.ID[j]), ErrCorrupt, "%v", err)
				}
			}
			if bad != nil && report == nil {
				errs[g] = bad
				return
			}
			if bad != nil {
				report(bad)
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
