package layout

import (
	"fmt"
	"io"
	"sync/atomic"

	"blobio/internal/base/fault"
	"blobio/internal/base/par"
)

// readTable finds the blobs one after the other, because the offset of a blob depends on the sizes of all earlier blobs. If the
// manifest lists the offsets, readTable reads several blobs at once. If a blob disagrees with the list, readTable reads all
// blobs one by one to find the fault.
func (l Process) readTable(pl *Place, f io.ReaderAt, name string, t *Ranks, listed Listed) error {
	nb, end := pl.Shape.Blobs, pl.DataOff+pl.DataLen
	if at := listed.Blobs; listed.Workers > 1 && nb > tableBatch && len(at) == nb+1 && at[0] == pl.DataOff && at[nb] == end {
		copy(t.Blob, at)
		var differs atomic.Bool
		par.Do(listed.Workers, (nb+tableBatch-1)/tableBatch, func(g int) {
			w := tableWalk{pl: pl, f: f, name: name, t: t}
			for j := g * tableBatch; j < min((g+1)*tableBatch, nb) && !differs.Load(); j++ {
				if next, err := w.blob(j); err != nil || next != at[j+1] {
					differs.Store(true)
				}
			}
		})
		if !differs.Load() {
			return nil
		}
	}
	w := tableWalk{pl: pl, f: f, name: name, t: t}
	off := pl.DataOff
	for j := range nb {
		t.Blob[j] = off
		var err error
		if off, err = w.blob(j); err != nil {
			return err
		}
	}
	if off != end {
		return fault.At(name, off, DataBlob, fault.ErrCorrupt, "%d bytes follow the last of %d blobs", end-off, nb)
	}
	return nil
}

const (
	tableBatch = 256     // blobs that one worker reads one after the other
	leastAhead = 512     // bytes read from a blob; these usually contain the numbers of all its maps
	mostAhead  = 4 << 10 // bytes read if the lists between the numbers are longer
)

// tableWalk reads the numbers of blobs, one blob after the other.
type tableWalk struct {
	pl       *Place
	f        io.ReaderAt
	name     string
	t        *Ranks
	ahead    []byte
	from, to int64 // file range that buf holds
}

// blob reads the numbers of blob j, whose offset is known, and returns its end.
func (w *tableWalk) blob(j int) (next int64, err error) {
	pl, t, order := w.pl, w.t, w.pl.Order()
	nd, off, end := pl.Header.Maps, w.t.Blob[j], pl.DataOff+pl.DataLen
	if w.ahead == nil {
		w.ahead = make([]byte, leastAhead, mostAhead)
	}
	for d := range nd {
		field := func(m int) string { return fmt.Sprintf("D%d.%s[%d]", d+1, MapVarDefs[m].Name, j) }
		at, _ := pl.MapPiece(d, MapNreqs, t, j)
		if at > end-20 {
			return 0, fault.At(w.name, at, field(MapNreqs), fault.ErrTruncated, "the map variables extend beyond the end of %s at %#x", DataBlob, end)
		}
		if at < w.from || at+20 > w.to {
			if d > 0 && at+20-off <= mostAhead { // the next blob probably has similar lists
				w.ahead = w.ahead[:max(int64(len(w.ahead)), (at+20-off+leastAhead-1)/leastAhead*leastAhead)]
			}
			w.from, w.to = at, max(at+20, min(at+int64(len(w.ahead)), end, pl.FileLen))
			if err := ReadFullOf(w.f, w.ahead[:w.to-w.from], at, w.name, func() string { return field(MapNreqs) }); err != nil {
				w.to = w.from
				return 0, err
			}
		}
		b := w.ahead[at-w.from:][:20]
		k := j*nd + d
		t.Nreqs[k] = int64(int32(order.Uint32(b[:])))
		t.Start[k] = int64(order.Uint64(b[4:]))
		t.Count[k] = int64(order.Uint64(b[12:]))
		// The next offset depends on these numbers, so a wrong number ends the walk.
		for _, m := range ranged {
			if err := pl.inRange(t, d, m, j, w.name); err != nil {
				return 0, err
			}
		}
	}
	size := pl.Blob.Size(t, j)
	if size > end-off {
		return 0, fault.At(w.name, off, fmt.Sprintf("%s of blob %d", DataBlob, j), fault.ErrTruncated, "the blob has %d bytes according to its map variables, but %s ends at %#x", size, DataBlob, end)
	}
	return off + size, nil
}
