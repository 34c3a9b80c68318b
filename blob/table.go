package blob

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"blobio/decomp"
)

// readFull reads len(b) bytes, or says where the file ends.
func readFull(f io.ReaderAt, b []byte, off int64, name, field string) error {
	if off < 0 || off > math.MaxInt64-int64(len(b)) {
		return formatErr(name, -1, field, ErrCorrupt, "its place, %d, cannot be in a file", off)
	}
	n, err := f.ReadAt(b, off)
	switch {
	case n == len(b):
		return nil
	case err == nil || err == io.EOF:
		return formatErr(name, off+int64(n), field, ErrTruncated, "the file ends, %d of %d bytes read", n, len(b))
	}
	return fmt.Errorf("blob: %s: %#x: %s: %w", name, off, field, err)
}

// loadTable reads what the file says of each of its blobs: number of requests,
// first element, number of elements; and for the process-centric layout where each blob lies.
// Every number is checked against the ones that it must agree with.
func (p *filePart) loadTable() error {
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	t, err := readTable(f, p.place, p.name, nil)
	p.table = t
	return err
}

// maxBarren is the most blobs of a subfile without maps, of which only the
// first holds anything.
const maxBarren = 1 << 22

// readTable does the work of loadTable. report, if it is not nil, is called
// with every fault found and reading goes on as far as that makes sense;
// otherwise the first fault is returned.
func readTable(f io.ReaderAt, pl *place, name string, report func(error)) (*ranks, error) {
	var first error
	fault := func(off int64, field string, class error, format string, args ...any) bool {
		err := formatErr(name, off, field, class, format, args...)
		if report != nil {
			report(err)
			return false
		}
		first = err
		return true
	}
	// Each blob needs 20 bytes per map in the file, so a table that does not
	// fit the file is not allocated. Without maps blobs need no bytes.
	nd, nb := pl.nd(), pl.shape.nblobs
	most := pl.fileLen / 20
	if nd == 0 {
		most = maxBarren
	} else {
		most /= int64(nd)
	}
	if int64(nb) > most {
		return nil, formatErr(name, pl.blobsAt(), "dimension "+dimBlobs, ErrTruncated, "%d, but a file of %d bytes has room for the maps of %d blobs", nb, pl.fileLen, most)
	}
	t := newRanks(nb, nd)
	for j := range nb {
		t.id[j] = j
	}
	var err error
	if pl.layout == VariableCentric {
		err = readVarTable(f, pl, name, t)
	} else {
		err = walkBlobs(f, pl, name, t)
	}
	if err != nil {
		return nil, err
	}
	for d := range nd {
		start, reqs := int64(0), int64(0)
		for j := range nb {
			k := j*nd + d
			at := func(m int) int64 { off, _ := pl.mapPiece(d, m, t, j); return off }
			field := func(m int) string { return fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j) }
			if n := t.nreqs[k]; n < 0 || n > pl.shape.maxReqs[d] {
				if fault(at(mapNreqs), field(mapNreqs), ErrCorrupt, "%d, want 0..%d (D%d.max_nreqs)", n, pl.shape.maxReqs[d], d+1) {
					return nil, first
				}
				t.nreqs[k] = min(max(n, 0), pl.shape.maxReqs[d])
			}
			if n := t.count[k]; n < 0 || n > pl.shape.nelems[d] {
				if fault(at(mapCount), field(mapCount), ErrCorrupt, "%d, want 0..%d (D%d.nelems)", n, pl.shape.nelems[d], d+1) {
					return nil, first
				}
				t.count[k] = min(max(n, 0), pl.shape.nelems[d])
			}
			if t.start[k] != start {
				if fault(at(mapStart), field(mapStart), ErrCorrupt, "%d, want %d, the sum of the counts before", t.start[k], start) {
					return nil, first
				}
				t.start[k] = start
			}
			if n := t.count[k]; n > pl.shape.nelems[d]-start {
				if fault(at(mapCount), field(mapCount), ErrCorrupt, "%d, want at most %d: D%d.nelems is %d", n, pl.shape.nelems[d]-start, d+1, pl.shape.nelems[d]) {
					return nil, first
				}
				t.count[k] = pl.shape.nelems[d] - start
			}
			t.reqs[k] = reqs
			start += t.count[k]
			reqs += t.nreqs[k]
		}
		if n := pl.shape.nelems[d]; start != n && !(start == 0 && n <= 1) {
			if fault(pl.nelemsAt(d), fmt.Sprintf("D%d.nelems", d+1), ErrCorrupt, "%d, but the blobs hold %d elements", n, start) {
				return nil, first
			}
		}
	}
	return t, nil
}

func readVarTable(f io.ReaderAt, pl *place, name string, t *ranks) error {
	nd, nb := pl.nd(), pl.shape.nblobs
	buf := make([]byte, 8*min(nb, 1<<16))
	for d := range nd {
		for m, col := range [][]int64{mapNreqs: t.nreqs, mapStart: t.start, mapCount: t.count} {
			width := mapVarDefs[m].typ.Size()
			off, _ := pl.at.Extent(d*mapVars+m, 0)
			for j := 0; j < nb; {
				b := buf[:width*min(nb-j, 1<<16)]
				if err := readFull(f, b, off+int64(j*width), name, fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j)); err != nil {
					return err
				}
				for ; len(b) > 0; b, j = b[width:], j+1 {
					if width == 4 {
						col[j*nd+d] = int64(int32(binary.BigEndian.Uint32(b)))
					} else {
						col[j*nd+d] = int64(binary.BigEndian.Uint64(b))
					}
				}
			}
		}
	}
	return nil
}

// walkBlobs finds the blobs of a process-centric subfile one after the other:
// the place of each follows only from the sizes of those before.
func walkBlobs(f io.ReaderAt, pl *place, name string, t *ranks) error {
	order := orderOf(pl.big)
	nd, nb := pl.nd(), pl.shape.nblobs
	off, end := pl.dataOff, pl.dataOff+pl.dataLen
	var b [20]byte
	for j := range nb {
		t.blob[j] = off
		for d := range nd {
			field := func(m int) string { return fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j) }
			at, _ := pl.mapPiece(d, mapNreqs, t, j)
			if at > end-20 {
				return formatErr(name, at, field(mapNreqs), ErrTruncated, "the map variables go beyond the end of %s at %#x", dataBlob, end)
			}
			if err := readFull(f, b[:], at, name, field(mapNreqs)); err != nil {
				return err
			}
			k := j*nd + d
			t.nreqs[k] = int64(int32(order.Uint32(b[:])))
			t.start[k] = int64(order.Uint64(b[4:]))
			t.count[k] = int64(order.Uint64(b[12:]))
			// The next place depends on these, so a wrong one ends the walk.
			if n := t.nreqs[k]; n < 0 || n > pl.shape.maxReqs[d] {
				return formatErr(name, at, field(mapNreqs), ErrCorrupt, "%d, want 0..%d (D%d.max_nreqs)", n, pl.shape.maxReqs[d], d+1)
			}
			if n := t.count[k]; n < 0 || n > pl.shape.nelems[d] {
				return formatErr(name, at+12, field(mapCount), ErrCorrupt, "%d, want 0..%d (D%d.nelems)", n, pl.shape.nelems[d], d+1)
			}
		}
		size := pl.blobSize(t, j)
		if size > end-off {
			return formatErr(name, off, fmt.Sprintf("%s of blob %d", dataBlob, j), ErrTruncated, "%d bytes by its own map variables, but %s ends at %#x", size, dataBlob, end)
		}
		off += size
	}
	if off != end {
		return formatErr(name, off, dataBlob, ErrCorrupt, "%d bytes behind the last of %d blobs", end-off, nb)
	}
	return nil
}

// badRequest says what is wrong with the requests of blob j of map d, and at
// which byte, nil if nothing is.
func badRequest(pl *place, t *ranks, name string, d, j int, reqs []decomp.Req, sum int64) error {
	elems := product(pl.schema.DecompDims(DecompID(d + 1)))
	entry := func(m, k int, size int64) (int64, string) {
		at, _ := pl.mapPiece(d, m, t, j)
		return at + int64(k)*size, fmt.Sprintf("D%d.%s[%d][%d]", d+1, mapVarDefs[m].name, j, k)
	}
	for k, q := range reqs {
		switch {
		case q.Length < 0 || q.Length > elems:
			at, field := entry(mapLengths, k, 4)
			return formatErr(name, at, field, ErrCorrupt, "%d, want 0..%d", q.Length, elems)
		case q.Offset < 0 || q.Offset > elems-q.Length:
			at, field := entry(mapOffsets, k, pl.offsetSize(d))
			return formatErr(name, at, field, ErrCorrupt, "%d, want 0..%d for a request of %d elements", q.Offset, elems-q.Length, q.Length)
		}
	}
	if want := t.count[j*pl.nd()+d]; sum != want {
		at, _ := pl.mapPiece(d, mapLengths, t, j)
		return formatErr(name, at, fmt.Sprintf("D%d.lengths[%d]", d+1, j), ErrCorrupt, "they sum to %d, blob_count is %d", sum, want)
	}
	return nil
}

// loadSet reads the headers and tables of all subfiles of a set, once.
func (r *Reader) loadSet(ctx context.Context, s *set) error {
	s.once.Do(func() { s.err = r.readSet(ctx, s) })
	return s.err
}

func (r *Reader) readSet(ctx context.Context, s *set) error {
	var lead *filePart
	errs := make([]error, len(s.parts))
	r.parallel(len(s.parts), func(i int) {
		p := s.parts[i]
		if p.gone() {
			if !r.opt.AllowMissing {
				errs[i] = fmt.Errorf("blob: %s: %w", p.wanted(), ErrMissing)
			}
			return
		}
		errs[i] = p.load()
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	// Headers come before tables: what is wrong with a table follows, as a
	// rule, from a header that is of another dataset.
	absent := s.blobsOfMissing()
	for _, p := range s.parts {
		p.first = s.blobs
		if p.place == nil {
			s.blobs += absent[p] // 0 if it is not known
			continue
		}
		if lead == nil {
			lead = p
		} else if err := sameDataset(lead.place, p.place, r.manifest != nil); err != nil {
			return formatErr(p.name, p.place.hdrOff, "header", ErrCorrupt, "not of the same dataset as %s: %v", lead.name, err)
		}
		if p.place.layout != r.layout {
			return formatErr(p.name, p.place.hdrOff, "header", ErrCorrupt, "%v, the dataset is %v", p.place.layout, r.layout)
		}
		if err := p.place.holds(p.name, p.records, s.records); err != nil {
			return err
		}
		s.blobs += p.place.shape.nblobs
	}
	r.parallel(len(s.parts), func(i int) {
		if p := s.parts[i]; p.place != nil && p.place.layout != Canonical {
			errs[i] = p.loadTable()
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if err := r.alignSet(ctx, s); err != nil {
		return err
	}
	if lead != nil && r.layout != Canonical && s.blobs != lead.place.shape.ranks && !r.opt.AllowMissing {
		return formatErr(lead.name, lead.place.locate().globalAtt(attNprocs), "attribute "+attNprocs, ErrCorrupt, "%d, but the subfiles hold %d blobs", lead.place.shape.ranks, s.blobs)
	}
	if s.schema == nil && lead != nil {
		if err := r.schema.canFollow(lead.place.schema); err != nil {
			return formatErr(lead.name, lead.place.hdrOff, "header", ErrCorrupt, "not of the same dataset as %s: %v", r.sets[0].parts[0].wanted(), err)
		}
		if err := r.sameBlobs(ctx, s); err != nil {
			return err
		}
		s.schema = lead.place.schema
		s.vars = make([]VarID, len(r.schema.vars))
		for v := range r.schema.vars {
			s.vars[v] = -1
			if id, ok := s.schema.VarID(r.schema.vars[v].Name); ok {
				s.vars[v] = id
			}
		}
	}
	return nil
}

// blobsOfMissing tells how many blobs the subfiles hold that are not there, so
// that the others keep their numbers: from the manifest, or, if one only is
// missing, from what the others leave of the ranks. Where neither tells, the
// blobs that are there are numbered on.
func (s *set) blobsOfMissing() map[*filePart]int {
	known := map[*filePart]int{}
	left := -1
	var unknown []*filePart
	for _, p := range s.parts {
		switch {
		case p.place != nil:
			if left < 0 {
				left = p.place.shape.ranks
			}
		case p.info != nil && len(p.info.Blobs) > 1:
			known[p] = len(p.info.Blobs) - 1
		default:
			unknown = append(unknown, p)
		}
	}
	for _, p := range s.parts {
		if p.place != nil {
			left -= p.place.shape.nblobs
		} else {
			left -= known[p]
		}
	}
	if len(unknown) == 1 && left > 0 {
		known[unknown[0]] = left
	}
	return known
}

// sameBlobs checks that an appended set has the blobs of the first one, for
// its maps are those that are used.
func (r *Reader) sameBlobs(ctx context.Context, s *set) error {
	first := r.sets[0]
	if err := r.loadSet(ctx, first); err != nil {
		return err
	}
	if len(s.parts) != len(first.parts) {
		return formatErr(s.parts[0].wanted(), -1, "subfiles", ErrCorrupt, "%d, but %d in the first set", len(s.parts), len(first.parts))
	}
	for i, p := range s.parts {
		q := first.parts[i]
		if p.table == nil || q.table == nil {
			continue
		}
		if !slices.Equal(p.table.count, q.table.count) || !slices.Equal(p.table.nreqs, q.table.nreqs) {
			return formatErr(p.name, p.place.dataOff, "maps", ErrMapMismatch, "requests or elements of the blobs are not those of %s", q.name)
		}
	}
	return nil
}

// holds says whether a subfile can hold as many records as its set has; have is
// what its header says. The exact end is looked at when it is read.
func (p *place) holds(name string, have, want int64) error {
	if p.layout == ProcessCentric {
		if have != want {
			return formatErr(name, p.hdrOff+numrecsAt, "numrecs", ErrCorrupt, "%d, want %d", have, want)
		}
		return nil
	}
	if size := p.at.RecSize(); have != want && size > 0 && want > (p.fileLen+3)/size {
		return formatErr(name, numrecsAt, "numrecs", ErrTruncated, "%d records of %d bytes, but the file ends at %d", want, size, p.fileLen)
	}
	return nil
}

// alignSet numbers the blobs of an appended set as those of the first set,
// whose maps hold for all. If subfiles may be missing, one that is missing in
// the first set has no maps, so its part of an appended set is of no use either.
func (r *Reader) alignSet(ctx context.Context, s *set) error {
	first := r.sets[0]
	if s == first {
		return nil
	}
	if err := r.loadSet(ctx, first); err != nil {
		return err
	}
	for i, p := range s.parts {
		if i >= len(first.parts) {
			return formatErr(p.wanted(), -1, "subfile", ErrCorrupt, "number %d, but the first set has %d", i, len(first.parts))
		}
		q := first.parts[i]
		p.first = q.first
		switch {
		case p.place == nil:
		case q.place == nil:
			p.mu.Lock()
			p.place = nil
			p.mu.Unlock()
		case p.place.shape.nblobs != q.place.shape.nblobs:
			return formatErr(p.name, p.place.hdrOff, "dimension "+dimBlobs, ErrCorrupt, "%d, but %s has %d", p.place.shape.nblobs, q.name, q.place.shape.nblobs)
		}
	}
	return nil
}

// parallel calls f(0..n-1) from the reader's workers and waits for all.
func (r *Reader) parallel(n int, f func(i int)) { inParallel(r.opt.Workers, n, f) }

func inParallel(workers, n int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
}

// lazyMap is one decomposition map of the dataset, all blobs of all subfiles.
type lazyMap struct {
	mu    sync.Mutex // of the three below
	read  bool
	m     *decomp.Map
	err   error
	cover sync.Once
	c     decomp.Coverage
	ixOn  sync.Once
	ix    *decomp.Index
	ixErr error
}

// Map returns decomposition d of all ranks: blob j of subfile k is rank
// j + the blobs of all subfiles before. It is read once and kept.
func (r *Reader) Map(ctx context.Context, d DecompID) (*decomp.Map, error) {
	if d < 1 || int(d) > len(r.maps) {
		return nil, usageErr("decomposition D%d, want D1..D%d", d, len(r.maps))
	}
	l := &r.maps[d-1]
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		m, err := r.loadMap(ctx, int(d)-1)
		if err != nil && ctx.Err() != nil {
			return nil, err // of this caller only: the next one reads it
		}
		l.read, l.m, l.err = true, m, err
	}
	return l.m, l.err
}

// Coverage says how many elements of decomposition d no rank owns, or several do.
func (r *Reader) Coverage(ctx context.Context, d DecompID) (decomp.Coverage, error) {
	ix, err := r.mapIndex(ctx, d)
	if err != nil {
		return decomp.Coverage{}, err
	}
	l := &r.maps[d-1]
	l.cover.Do(func() { l.c = ix.Coverage() })
	return l.c, nil
}

func (r *Reader) mapIndex(ctx context.Context, d DecompID) (*decomp.Index, error) {
	m, err := r.Map(ctx, d)
	if err != nil {
		return nil, err
	}
	l := &r.maps[d-1]
	l.ixOn.Do(func() { l.ix, l.ixErr = m.Index() })
	return l.ix, l.ixErr
}

func (r *Reader) loadMap(ctx context.Context, d int) (*decomp.Map, error) {
	s := r.sets[0]
	if err := r.loadSet(ctx, s); err != nil {
		return nil, err
	}
	b := decomp.NewBuilder(r.schema.DecompDims(DecompID(d+1)), s.blobs)
	for _, p := range s.parts {
		if p.place == nil {
			continue
		}
		if err := p.readRequests(ctx, d, r.opt.Workers, func(j int, reqs []decomp.Req) error {
			return b.Set(p.first+j, reqs)
		}); err != nil {
			return nil, err
		}
	}
	return b.Map()
}

// readRequests reads the lists of map d of all blobs of a part and calls set
// for each, from several goroutines. Rows are read a few MiB at a time.
func (p *filePart) readRequests(ctx context.Context, d, workers int, set func(j int, reqs []decomp.Req) error) error {
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	return readRequests(ctx, f, p.place, p.table, p.name, d, workers, set, nil)
}

// rowBatch is how many bytes of rows of a map are read at once.
const rowBatch = 4 << 20

// readRequests does the work. report, if it is not nil, is called with every fault, from
// several goroutines, and the other blobs are still read; otherwise the first
// fault is returned.
func readRequests(ctx context.Context, f io.ReaderAt, pl *place, t *ranks, name string, d, workers int, set func(j int, reqs []decomp.Req) error, report func(error)) error {
	nb, nd := pl.shape.nblobs, pl.nd()
	width := max(pl.shape.maxReqs[d], 1)
	group := int(max(1, rowBatch/(width*pl.offsetSize(d))))
	n := (nb + group - 1) / group
	errs := make([]error, n)
	order := orderOf(pl.big)
	inParallel(workers, n, func(g int) {
		if errs[g] = ctx.Err(); errs[g] != nil {
			return
		}
		lo, hi := g*group, min((g+1)*group, nb)
		var offs, lens []byte
		read := func(m, j int, n int64) ([]byte, error) {
			at, _ := pl.mapPiece(d, m, t, j)
			field := fmt.Sprintf("D%d.%s[%d]", d+1, mapVarDefs[m].name, j)
			if at < 0 || n > pl.fileLen-at {
				return nil, formatErr(name, at, field, ErrTruncated, "%d bytes, but the file ends at %d", n, pl.fileLen)
			}
			b := make([]byte, n)
			return b, readFull(f, b, at, name, field)
		}
		osz := pl.offsetSize(d)
		var err error
		if pl.layout == VariableCentric { // rows of equal width, one after the other
			rows := int64(hi - lo)
			last := t.nreqs[(hi-1)*nd+d]
			if offs, err = read(mapOffsets, lo, osz*((rows-1)*width+last)); err == nil {
				lens, err = read(mapLengths, lo, 4*((rows-1)*width+last))
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
			q := t.nreqs[j*nd+d]
			o, l := offs, lens
			if pl.layout == VariableCentric {
				o, l = offs[int64(j-lo)*width*osz:], lens[int64(j-lo)*width*4:]
			} else if o, err = read(mapOffsets, j, osz*q); err == nil {
				l, err = read(mapLengths, j, 4*q)
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
					at, _ := pl.mapPiece(d, mapOffsets, t, j)
					bad = formatErr(name, at, fmt.Sprintf("D%d.offsets[%d]", d+1, j), ErrCorrupt, "%v", err)
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
