package read

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

const (
	ReadBatch = 4 << 20   // bytes per read
	sumStep   = 256 << 10 // checksums are computed for this many bytes at a time, so that the bytes are still in the cache for their next use
)

// Form describes in which form a read returns elements, and what the read checks.
type Form struct {
	Big  bool // byte order
	Zero bool // elements that no blob covers are zeros instead of fill values

	Known *Known // if not nil, every piece is compared with its checksum, unless it is in Known
	Later *Late  // if not nil, Settle compares the pieces that are read in part
	exact bool   // read only the wanted bytes, and for checksums the rest of their pieces
}

var HostForm = Form{Big: dataset.HostBig}

func (fm Form) fill(dst []byte, v *dataset.Variable) {
	if fm.Zero {
		clear(dst)
		return
	}
	cdf5.FillBytes(dst, v.Type, dataset.OrderOf(fm.Big), v.FillAtt())
}

// SetOf returns the set that holds a record, and the record's number in the set. A fixed variable is in the first set.
func (r *Data) SetOf(v dataset.VarID, rec int64) (*Set, int64) {
	if !r.Schema.Vars[v].Record {
		return r.Sets[0], 0
	}
	return r.setAt(rec)
}

// setAt returns the set that holds a record, and the record's number in the set.
func (r *Data) setAt(rec int64) (*Set, int64) {
	i := sort.Search(len(r.Sets), func(i int) bool { return r.Sets[i].First+r.Sets[i].Records > rec })
	return r.Sets[i], rec - r.Sets[i].First
}

// Want is a read of one record of a variable: elements [lo, hi) in canonical order, in the type of the file. Dst has room for
// hi-lo elements.
type Want struct {
	V      dataset.VarID
	Rec    int64
	lo, hi int64
	Dst    []byte
	Fm     Form
	runs   iter.Seq2[int64, int64] // if set, offsets and lengths of runs that are read one after the other, instead of lo to hi

	s    *Set // find sets this and the following fields
	id   dataset.VarID
	srec int64 // of the set
	sv   *dataset.Variable
	size int64 // size of an element
	m    *decomp.Map
	pf   *proof
	name string // for errors
}

// All yields the wanted runs.
func (w *Want) All() iter.Seq2[int64, int64] {
	if w.runs != nil {
		return w.runs
	}
	return func(yield func(int64, int64) bool) { yield(w.lo, w.hi-w.lo) }
}

// NewWant returns a want for elements lo to hi-1.
func NewWant(v dataset.VarID, rec, lo, hi int64, dst []byte, fm Form) Want {
	return Want{V: v, Rec: rec, lo: lo, hi: hi, Dst: dst, Fm: fm}
}

// ReadAll reads several wants. Contiguous values of a rank share a read.
func (r *Elems) ReadAll(ctx context.Context, wants []Want) error {
	wants, wins, err := r.windows(ctx, wants)
	if err != nil {
		return err
	}
	if err := r.readWhole(ctx, wants); err != nil {
		return err
	}
	for _, x := range wins {
		dst := x.Dst
		for off, n := range x.runs {
			dst = dst[copy(dst, x.win[(off-x.lo)*x.size:(off-x.lo+n)*x.size]):]
		}
	}
	return nil
}

// window is a contiguous read that contains the wanted runs.
type window struct {
	*Want
	win []byte
}

// windows returns the wants to read without runs. If a want has runs and the window around them is not much longer than the
// runs, plain has the window. The other wants with runs are read by looking up each element.
func (r *Elems) windows(ctx context.Context, wants []Want) (plain []Want, wins []window, err error) {
	if !slices.ContainsFunc(wants, func(w Want) bool { return w.runs != nil }) {
		return wants, nil, nil
	}
	for i := range wants {
		w := &wants[i]
		if w.runs == nil {
			plain = append(plain, *w)
			continue
		}
		lo, hi, count := int64(-1), int64(0), 0
		for off, n := range w.runs {
			if lo < 0 || off < lo {
				lo = off
			}
			hi = max(hi, off+n)
			count++
		}
		w.size = int64(r.Data.Schema.Vars[w.V].Type.Size())
		all := (hi - lo) * w.size
		x := Want{V: w.V, Rec: w.Rec, lo: lo, hi: hi, Dst: w.Dst, Fm: w.Fm}
		switch {
		case count == 0:
		case count == 1:
			plain = append(plain, x)
		case int64(len(w.Dst)) >= all/4 && all <= r.Files.Opt.Memory:
			x.Dst, w.lo = make([]byte, all), lo
			plain, wins = append(plain, x), append(wins, window{w, x.Dst})
		default:
			if err := r.RawRuns(ctx, w.V, w.Rec, w.runs, w.Dst, w.Fm); err != nil {
				return nil, nil, err
			}
		}
	}
	return plain, wins, nil
}

// readWhole reads wants without runs.
func (r *Elems) readWhole(ctx context.Context, wants []Want) error {
	groups := map[*Set][]*Want{}
	for i := range wants {
		w := &wants[i]
		switch there, err := r.find(ctx, w); {
		case err != nil:
			return err
		case !there:
		case w.sv.Decomp != 0:
			groups[w.s] = append(groups[w.s], w)
		default:
			if err := r.flat(ctx, w.s.FirstPart(), w); err != nil {
				return err
			}
		}
	}
	for _, s := range r.Data.Sets { // in the order of sets, so that the error is the same each time
		if len(groups[s]) > 0 {
			if err := r.scatter(ctx, s, groups[s]); err != nil {
				return err
			}
		}
	}
	for i := range wants {
		if err := wants[i].pf.judge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// find completes a want. If all its elements are fill values, find writes these to dst and returns false.
func (r *Elems) find(ctx context.Context, w *Want) (there bool, err error) {
	w.s, w.srec = r.Data.SetOf(w.V, w.Rec)
	if err := w.s.LoadParts(ctx); err != nil {
		return false, err
	}
	w.sv = &r.Data.Schema.Vars[w.V]
	w.size = int64(w.sv.Type.Size())
	if w.id, err = w.s.Variable(w.V, w.sv); err != nil {
		return false, err
	}
	if w.id < 0 || w.sv.Decomp == 0 && w.s.FirstPart() == nil { // every subfile has a copy of a variable without a decomposition
		w.Fm.fill(w.Dst, w.sv)
		return false, nil
	}
	w.name = fmt.Sprintf("variable %q", w.sv.Name)
	w.pf = r.Prover.proof(w.s, w.id, w.srec, int64(len(w.Dst)), w.Fm)
	return true, nil
}

// flat reads a want of a variable without a decomposition from one part.
func (r *Elems) flat(ctx context.Context, p *FilePart, w *Want) error {
	off, _ := p.Place.Piece(w.id, w.srec, p.Table, 0)
	off += w.lo * w.size
	f, done, err := p.File()
	if err != nil {
		return err
	}
	defer done()
	for at := int64(0); at < int64(len(w.Dst)); at += ReadBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := w.Dst[at:min(at+ReadBatch, int64(len(w.Dst)))]
		if end := p.Place.FileLen - off - at; p.Place.Plain && end < int64(len(b)) {
			if last, stop := p.Place.Header.LastPiece(r.Data.Records); off-w.lo*w.size == last && p.Place.MayLack(stop-p.Place.FileLen) {
				clear(b[max(end, 0):]) // never written, see LastPiece
			} else if r.Files.Opt.AllowMissing {
				w.Fm.fill(b[max(end, 0):], w.sv)
			} else {
				end = int64(len(b))
			}
			if b = b[:max(end, 0)]; len(b) == 0 {
				continue
			}
		}
		if err := layout.ReadFull(f, b, off+at, p.Name, fmt.Sprintf("%s record %d", w.name, w.Rec)); err != nil {
			return err
		}
		w.pf.take(p, w.lo*w.size+at, b)
		if p.Place.Big != w.Fm.Big {
			elem.Swap(b, b, int(w.size))
		}
	}
	return nil
}

// Variable returns the id of variable v of the dataset in this set. It returns -1 if a later set added the variable, whose
// elements here are fill values.
func (s *Set) Variable(v dataset.VarID, sv *dataset.Variable) (dataset.VarID, error) {
	return s.lookUp(s.vars, v, sv)
}

// lookUp is Variable with the ids in vars.
func (s *Set) lookUp(vars []dataset.VarID, v dataset.VarID, sv *dataset.Variable) (dataset.VarID, error) {
	id := vars[v]
	if id < 0 && !s.isBefore(v) {
		return id, fault.At(s.Parts[0].Wanted(), -1, fmt.Sprintf("variable %q", sv.Name), dataset.ErrMissing, "this set of subfiles does not have the variable")
	}
	return id, nil
}

// isBefore reports whether a later set added variable v.
func (s *Set) isBefore(v dataset.VarID) bool {
	k := int(v) - (len(s.of.Schema.Vars) - len(s.of.since))
	return k >= 0 && s.First < s.of.since[k]
}

// incomplete reports whether a subfile of this set is missing. A map that comes from another set of the family does not show
// this.
func (s *Set) incomplete() bool {
	for _, p := range s.Parts {
		if p.Place == nil {
			return true
		}
	}
	return false
}

// FirstPart returns the first existing subfile, or nil.
func (s *Set) FirstPart() *FilePart {
	for _, p := range s.Parts {
		if p.Place != nil {
			return p
		}
	}
	return nil
}

// buffer returns memory to read into. It reuses memory of earlier reads.
func (r *Elems) buffer() *[]byte {
	if b, ok := r.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (r *Elems) giveBack(b *[]byte) { r.buffers.Put(b) }
