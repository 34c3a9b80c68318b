package layout

import (
	"errors"
	"fmt"
	"io"
	"math"

	"blobio/internal/base/fault"
)

// ReadFull reads len(b) bytes. If the file is too short, the error says where the file ends.
func ReadFull(f io.ReaderAt, b []byte, off int64, name, field string) error {
	return ReadFullOf(f, b, off, name, func() string { return field })
}

// ReadFullOf is ReadFull, but computes the name of the field only for an error.
func ReadFullOf(f io.ReaderAt, b []byte, off int64, name string, field func() string) error {
	if off < 0 || off > math.MaxInt64-int64(len(b)) {
		return fault.At(name, -1, field(), fault.ErrCorrupt, "offset %d is not valid in a file", off)
	}
	n, err := f.ReadAt(b, off)
	var bad *fault.FormatError
	switch {
	case n == len(b):
		return nil
	case errors.As(err, &bad): // an error in a compressed file
		return err
	case err == nil || err == io.EOF:
		return fault.At(name, off+int64(n), field(), fault.ErrTruncated, "the file ends after %d of %d bytes", n, len(b))
	}
	return fmt.Errorf("%s: %#x: %s: %w", name, off, field(), err)
}

// Ranks has the numbers of all or some blobs of a subfile. Entry i belongs to sub rank ID[i]. Its value for map d is at index
// i*nd+d.
type Ranks struct {
	ID    []int   // sub rank, which is the number of the blob
	Nreqs []int64 // requests
	Start []int64 // index of the blob's first element in the elements of the subfile
	Count []int64 // elements
	Reqs  []int64 // total requests of all lower sub ranks
	Blob  []int64 // with ByRank: file offset of the blob
}

// NewRanks makes a table of n blobs with nd maps.
func NewRanks(n, nd int) *Ranks {
	all := make([]int64, 4*n*nd+n)
	return &Ranks{ID: make([]int, n), Nreqs: all[:n*nd], Start: all[n*nd : 2*n*nd], Count: all[2*n*nd : 3*n*nd], Reqs: all[3*n*nd : 4*n*nd], Blob: all[4*n*nd:]}
}

// Some returns entries lo to hi-1 of a table with nd maps.
func (r *Ranks) Some(lo, hi, nd int) *Ranks {
	return &Ranks{r.ID[lo:hi], r.Nreqs[lo*nd : hi*nd], r.Start[lo*nd : hi*nd], r.Count[lo*nd : hi*nd], r.Reqs[lo*nd : hi*nd], r.Blob[lo:hi]}
}

// maxBarren is the maximum number of blobs of a subfile without maps. Only the first of these blobs can have data.
const maxBarren = 1 << 22

// Listed is what the manifest says about the blobs of a subfile. With it, several blobs can be read at once. ReadTable compares it
// with the file.
type Listed struct {
	Blobs   []int64 // file offset of each blob, and the end of the last blob; nil if unknown
	Workers int     // number of concurrent reads
}

// ReadTable reads the table of a subfile's blobs. If report is not nil, it receives every fault, and ReadTable continues as far as
// possible. Otherwise ReadTable returns the first fault.
func ReadTable(f io.ReaderAt, pl *Place, name string, l Listed, report func(error)) (*Ranks, error) {
	// wrong passes a fault to report. Without report it returns the fault.
	wrong := func(err error) error {
		if err == nil || report == nil {
			return err
		}
		report(err)
		return nil
	}
	// Each blob has 20 bytes per map in the file, so a table that cannot fit into the file is not allocated. Without maps, blobs
	// need no bytes.
	nd, nb := pl.Header.Maps, pl.Shape.Blobs
	most := pl.FileLen / 20
	if nd == 0 {
		most = maxBarren
	} else {
		most /= int64(nd)
	}
	if int64(nb) > most {
		return nil, fault.At(name, pl.Header.blobsAt(), "dimension "+DimBlobs, fault.ErrTruncated, "%d blobs, but a file of %d bytes can hold the maps of at most %d blobs", nb, pl.FileLen, most)
	}
	t := NewRanks(nb, nd)
	for j := range nb {
		t.ID[j] = j
	}
	if err := pl.how.readTable(pl, f, name, t, l); err != nil {
		return nil, err
	}
	for d := range nd {
		start, reqs := int64(0), int64(0)
		for j := range nb {
			k := j*nd + d
			for _, m := range ranged {
				if err := wrong(pl.inRange(t, d, m, j, name)); err != nil {
					return nil, err
				}
			}
			t.Nreqs[k], t.Count[k] = min(max(t.Nreqs[k], 0), pl.Shape.MaxReqs[d]), min(max(t.Count[k], 0), pl.Shape.Elems[d])
			if n := t.Start[k]; n != start {
				if err := wrong(pl.tableFault(cell{t, d, MapStart, j}, name, "%d, want %d, the sum of the previous counts", n, start)); err != nil {
					return nil, err
				}
				t.Start[k] = start
			}
			if n := t.Count[k]; n > pl.Shape.Elems[d]-start {
				if err := wrong(pl.tableFault(cell{t, d, MapCount, j}, name, "%d, want at most %d: D%d.nelems is %d", n, pl.Shape.Elems[d]-start, d+1, pl.Shape.Elems[d])); err != nil {
					return nil, err
				}
				t.Count[k] = pl.Shape.Elems[d] - start
			}
			t.Reqs[k] = reqs
			start += t.Count[k]
			reqs += t.Nreqs[k]
		}
		if n := pl.Shape.Elems[d]; start != n && !(start == 0 && n <= 1) {
			if err := wrong(fault.At(name, pl.Header.NelemsAt(d), fmt.Sprintf("D%d.nelems", d+1), fault.ErrCorrupt, "the value is %d, but the blobs hold %d elements", n, start)); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// ranged are the variables of a map whose numbers inRange checks.
var ranged = [...]int{MapNreqs, MapCount}

// inRange checks the number in the table for blob j: variable m of map d.
func (p *Place) inRange(t *Ranks, d, m, j int, name string) error {
	n, most, dim := t.Nreqs[j*p.Header.Maps+d], p.Shape.MaxReqs[d], "max_nreqs"
	if m == MapCount {
		n, most, dim = t.Count[j*p.Header.Maps+d], p.Shape.Elems[d], "nelems"
	}
	if n < 0 || n > most {
		return p.tableFault(cell{t, d, m, j}, name, "%d, want 0..%d (D%d.%s)", n, most, d+1, dim)
	}
	return nil
}

// cell identifies a number in the table: variable m of map d of blob j.
type cell struct {
	t       *Ranks
	d, m, j int
}

// tableFault returns an error about a number of the table.
func (p *Place) tableFault(c cell, name, format string, args ...any) error {
	return fault.At(name, p.how.tableAt(p, c.d, c.m, c.t, c.j), fmt.Sprintf("D%d.%s[%d]", c.d+1, MapVarDefs[c.m].Name, c.j), fault.ErrCorrupt, format, args...)
}
