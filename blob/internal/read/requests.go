package read

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"

	"blobio/blob/internal/checksum"
	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// MapLists are the lists of requests of map d (counted from 0) for consecutive blobs of a table.
type MapLists struct {
	F       io.ReaderAt
	Pl      *dataset.Place
	T       *layout.Ranks
	Name    string // of the file
	D       int
	Workers int
	Report  func(error)   // if set, receives every fault, from several goroutines, and Read continues with the other blobs; if nil, Read ends at the first fault
	sums    *checksum.Set // if set, receives the read bytes of both lists, as extents MapOffsets and MapLengths
}

// readRequests reads the lists of map d of all blobs of a part, and compares them with their checksums.
func (p *FilePart) readRequests(ctx context.Context, d int, set func(j int, reqs []decomp.Req) error) error {
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	l := &MapLists{F: f, Pl: p.Place, T: p.Table, Name: p.Name, D: d, Workers: p.Files.Opt.Workers}
	if p.proven() {
		l.sums = checksum.New(0)
	}
	if err := l.Read(ctx, set); err != nil || l.sums == nil {
		return err
	}
	return p.compareLists(d, l.sums)
}

// compareLists compares both lists of map d with the manifest's checksums.
func (p *FilePart) compareLists(d int, sums *checksum.Set) error {
	for m := layout.MapOffsets; m <= layout.MapLengths; m++ {
		crc, _, n := sums.Joined(int64(m))
		if err := (VarExtent{p, d*layout.MapVars + m, 0}).compareWhole(n, crc); err != nil {
			return err
		}
	}
	return nil
}

const (
	rowBatch  = 4 << 20 // bytes of map rows per read
	listBatch = 256     // blobs per task of a worker, if each blob needs its own reads
)

// Read calls set for each blob, from several goroutines.
func (l *MapLists) Read(ctx context.Context, set func(j int, reqs []decomp.Req) error) error {
	if err := l.Pl.RoomForLists(l.T, l.D, l.Name); err != nil {
		return err
	}
	nb := len(l.T.ID)
	group := int(max(1, rowBatch/(l.width()*l.Pl.Shape.OffsetSize(l.D))))
	if !l.Pl.Rows() {
		group = min(group, listBatch)
	}
	return par.Each(ctx, l.Workers, (nb+group-1)/group, func(_ context.Context, g int) error {
		return l.group(g*group, min((g+1)*group, nb), set)
	})
}

// width returns the number of entries of a row.
func (l *MapLists) width() int64 { return max(l.Pl.Shape.MaxReqs[l.D], 1) }

func (l *MapLists) nreqs(j int) int64 { return l.T.Nreqs[j*l.Pl.Header.Maps+l.D] }

// group reads the lists of blobs lo to hi-1. If the lists are rows of equal width, it reads several rows at once.
func (l *MapLists) group(lo, hi int, set func(j int, reqs []decomp.Req) error) error {
	var offs, lens, room []byte
	var reqs []decomp.Req
	if l.Pl.Rows() {
		last := l.nreqs(hi - 1)
		if l.sums != nil {
			last = l.width() // the checksum also covers unused entries
		}
		var err error
		if offs, lens, err = l.lists(lo, int64(hi-lo-1)*l.width()+last, &room); err != nil {
			return l.tell(err)
		}
	}
	for j := lo; j < hi; j++ {
		o, n, err := offs, lens, error(nil)
		if l.Pl.Rows() {
			skip := int64(j-lo) * l.width()
			o, n = o[skip*l.Pl.Shape.OffsetSize(l.D):], n[skip*4:]
		} else {
			o, n, err = l.lists(j, l.nreqs(j), &room)
		}
		if err == nil {
			reqs, err = l.decode(reqs[:0], j, o, n)
		}
		if err == nil {
			if err = set(j, reqs); err != nil {
				at, _ := l.Pl.MapPiece(l.D, layout.MapOffsets, l.T, j)
				err = fault.At(l.Name, l.Pl.Shown(at), l.field(layout.MapOffsets, j), dataset.ErrCorrupt, "%v", err)
			}
		}
		if err = l.tell(err); err != nil {
			return err
		}
	}
	return nil
}

// tell passes a fault to Report. Without Report it returns the fault.
func (l *MapLists) tell(err error) error {
	if err == nil || l.Report == nil {
		return err
	}
	l.Report(err)
	return nil
}

func (l *MapLists) field(m, j int) string {
	return fmt.Sprintf("D%d.%s[%d]", l.D+1, layout.MapVarDefs[m].Name, l.T.ID[j])
}

// lists reads q entries of both lists from blob j on, in one read if the two lists of a blob are contiguous. The result is valid
// until the next call with the same room.
func (l *MapLists) lists(j int, q int64, room *[]byte) (offs, lens []byte, err error) {
	pl, size := l.Pl, l.Pl.Shape.OffsetSize(l.D)
	at, _ := pl.MapPiece(l.D, layout.MapOffsets, l.T, j)
	next, _ := pl.MapPiece(l.D, layout.MapLengths, l.T, j)
	n := (size + 4) * q
	if !pl.Rows() && pl.Packed == nil && next == at+size*q && pl.Backs(l.F, at, n, l.Name, "") == nil { // otherwise each list is read alone, so that an error names the list
		if int64(cap(*room)) < n {
			*room = make([]byte, 2*n)
		}
		both := (*room)[:n]
		err = layout.ReadFullOf(l.F, both, at, l.Name, func() string { return l.field(layout.MapOffsets, j) })
		offs, lens = both[:size*q], both[size*q:]
	} else if offs, err = l.list(layout.MapOffsets, j, size*q); err == nil {
		lens, err = l.list(layout.MapLengths, j, 4*q)
	}
	if err == nil && l.sums != nil {
		for m, b := range [][]byte{layout.MapOffsets: offs, layout.MapLengths: lens} {
			if b != nil {
				_, _, pos := pl.Spot(l.T, j, pl.Header.PendVar(l.D*layout.MapVars+m), 0)
				l.sums.Sum(int64(m), pos, b)
			}
		}
	}
	return offs, lens, err
}

// list reads n bytes of one list, from the list of blob j on.
func (l *MapLists) list(m, j int, n int64) ([]byte, error) {
	at, _ := l.Pl.MapPiece(l.D, m, l.T, j)
	if err := l.Pl.Backs(l.F, at, n, l.Name, l.field(m, j)); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, layout.ReadFull(l.F, b, at, l.Name, l.field(m, j))
}

// decode appends the requests of blob j to reqs. An error names the fault and its offset.
func (l *MapLists) decode(reqs []decomp.Req, j int, offs, lens []byte) ([]decomp.Req, error) {
	pl, size, order := l.Pl, l.Pl.Shape.OffsetSize(l.D), dataset.OrderOf(l.Pl.Big)
	elems := dataset.Product(pl.Schema.DecompDims(dataset.DecompID(l.D + 1)))
	bad := func(m int, k, size int64, format string, args ...any) error {
		at, _ := pl.MapPiece(l.D, m, l.T, j)
		return fault.At(l.Name, pl.Shown(at+k*size), fmt.Sprintf("%s[%d]", l.field(m, j), k), dataset.ErrCorrupt, format, args...)
	}
	sum := int64(0)
	for k := range l.nreqs(j) {
		q := decomp.Req{Length: int64(int32(order.Uint32(lens[4*k:])))}
		if size == 8 {
			q.Offset = int64(order.Uint64(offs[8*k:]))
		} else {
			q.Offset = int64(int32(order.Uint32(offs[4*k:])))
		}
		switch {
		case q.Length < 0 || q.Length > elems:
			return reqs, bad(layout.MapLengths, k, 4, "%d, want 0..%d", q.Length, elems)
		case q.Offset < 0 || q.Offset > elems-q.Length:
			return reqs, bad(layout.MapOffsets, k, size, "%d, want 0..%d for a request of %d elements", q.Offset, elems-q.Length, q.Length)
		}
		sum += q.Length
		reqs = append(reqs, q)
	}
	if want := l.T.Count[j*pl.Header.Maps+l.D]; sum != want {
		at, _ := pl.MapPiece(l.D, layout.MapLengths, l.T, j)
		return reqs, fault.At(l.Name, pl.Shown(at), l.field(layout.MapLengths, j), dataset.ErrCorrupt, "the lengths sum to %d, but blob_count is %d", sum, want)
	}
	return reqs, nil
}

// loadTable reads the table of all blobs: the number of requests, the first element and the number of elements, and with the
// process-centric layout also the offset of each blob. It checks every number against related numbers and the manifest's
// checksums. records is the number of records of the set.
func (p *FilePart) loadTable(records int64) error {
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	listed := layout.Listed{Workers: p.Files.Opt.Workers}
	if p.Info != nil {
		listed.Blobs = p.Info.Blobs
	}
	if p.Table, err = layout.ReadTable(f, &p.Place.Place, p.Name, listed, nil); err != nil {
		return err
	}
	p.Unpack()
	p.Order = p.Place.Header.ExtentOrder()
	if err := p.IndexPieces(records); err != nil || !p.proven() {
		return err
	}
	return p.proveTable()
}

// proveTable compares the checksums of the bytes that layout.ReadTable has read. It recomputes these bytes from the numbers.
func (p *FilePart) proveTable() error {
	t, order := p.Table, dataset.OrderOf(p.Place.Big)
	for d := range p.Place.Header.Maps {
		for m, col := range [][]int64{layout.MapNreqs: t.Nreqs, layout.MapStart: t.Start, layout.MapCount: t.Count} {
			size := int64(layout.MapVarDefs[m].Type.Size())
			b := make([]byte, int64(len(t.ID))*size)
			for j := range t.ID {
				dataset.PutInt(b[int64(j)*size:], order, size, col[j*p.Place.Header.Maps+d])
			}
			if err := (VarExtent{p, d*layout.MapVars + m, 0}).compareWhole(int64(len(b)), crc32.ChecksumIEEE(b)); err != nil {
				return err
			}
		}
	}
	return nil
}

// IndexPieces indexes the manifest's checksums of pieces, for a set with this number of records.
func (p *FilePart) IndexPieces(records int64) error {
	if p.Info == nil || p.Un != nil || p.Table == nil || len(p.Info.Pieces) == 0 {
		return nil
	}
	x := layout.NewPieceIndex(&p.Place.Place, p.Table, p.Files.Manifest.Piece)
	if n := x.Total(records); n != int64(len(p.Info.Pieces)) {
		return fault.At(p.Name, -1, "pieces", dataset.ErrCorrupt, "the manifest has %d checksums of pieces of %d bytes, want %d", len(p.Info.Pieces), x.Size, n)
	}
	p.Fine = x
	return nil
}
