package blob

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"

	"blobio/blob/internal/layout"
	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/fault"
)

const (
	readBatch = 4 << 20   // bytes read at once
	sumStep   = 256 << 10 // bytes that are summed at a time, so that they are still in the cache when they are used
)

// form says how elements are wanted.
type form struct {
	big  bool // byte order
	zero bool // what no blob covers becomes zeros, not fill values

	known *known // not nil: every piece is compared with its checksum, but for those that are known
	later *late  // not nil: those that are read in part are compared when it is settled
	exact bool   // nothing is read but what is wanted, and what its checksums need
}

var hostForm = form{big: hostBig}

func (fm form) fill(dst []byte, v *Variable) {
	if fm.zero {
		clear(dst)
		return
	}
	cdf5.FillBytes(dst, v.Type, orderOf(fm.big), v.fillAtt())
}

// setOf returns the set that holds a record and the record's number in it. A
// fixed variable is in the first set.
func (r *Reader) setOf(v VarID, rec int64) (*set, int64) {
	if !r.schema.vars[v].Record {
		return r.sets[0], 0
	}
	return r.setAt(rec)
}

// setAt returns the set that holds a record, and the record's number in it.
func (r *Reader) setAt(rec int64) (*set, int64) {
	i := sort.Search(len(r.sets), func(i int) bool { return r.sets[i].first+r.sets[i].records > rec })
	return r.sets[i], rec - r.sets[i].first
}

// want is what is read of one record of a variable: elements [lo, hi) in canonical order, in the type of the file, into dst, which is
// (hi-lo) elements long.
type want struct {
	v      VarID
	rec    int64
	lo, hi int64
	dst    []byte
	fm     form
	runs   iter.Seq2[int64, int64] // not nil: these, offset and length, one after the other, instead of lo to hi

	s    *set // what find finds
	id   VarID
	srec int64 // of the set
	sv   *Variable
	size int64 // of an element
	m    *decomp.Map
	pf   *proof
	name string // in errors
}

// all are the runs that are wanted.
func (w *want) all() iter.Seq2[int64, int64] {
	if w.runs != nil {
		return w.runs
	}
	return func(yield func(int64, int64) bool) { yield(w.lo, w.hi-w.lo) }
}

// raw reads one want.
func (r *Reader) raw(ctx context.Context, v VarID, rec, lo, hi int64, dst []byte, fm form) error {
	return r.readAll(ctx, []want{{v: v, rec: rec, lo: lo, hi: hi, dst: dst, fm: fm}})
}

// readAll reads several wants. What a rank has of them is read at once where it lies together.
func (r *Reader) readAll(ctx context.Context, wants []want) error {
	wants, wins, err := r.windows(ctx, wants)
	if err != nil {
		return err
	}
	if err := r.readWhole(ctx, wants); err != nil {
		return err
	}
	for _, x := range wins {
		dst := x.dst
		for off, n := range x.runs {
			dst = dst[copy(dst, x.win[(off-x.lo)*x.size:(off-x.lo+n)*x.size]):]
		}
	}
	return nil
}

// window is what is read around runs that are wanted.
type window struct {
	*want
	win []byte
}

// windows makes wants without runs of those that have some: of the whole window around them where that is not much more than they are. Others
// are read, each element looked up.
func (r *Reader) windows(ctx context.Context, wants []want) (plain []want, wins []window, err error) {
	if !slices.ContainsFunc(wants, func(w want) bool { return w.runs != nil }) {
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
		w.size = int64(r.schema.vars[w.v].Type.Size())
		all := (hi - lo) * w.size
		x := want{v: w.v, rec: w.rec, lo: lo, hi: hi, dst: w.dst, fm: w.fm}
		switch {
		case count == 0:
		case count == 1:
			plain = append(plain, x)
		case int64(len(w.dst)) >= all/4 && all <= r.opt.Memory:
			x.dst, w.lo = make([]byte, all), lo
			plain, wins = append(plain, x), append(wins, window{w, x.dst})
		default:
			if err := r.rawRuns(ctx, w.v, w.rec, w.runs, w.dst, w.fm); err != nil {
				return nil, nil, err
			}
		}
	}
	return plain, wins, nil
}

// readWhole reads wants without runs.
func (r *Reader) readWhole(ctx context.Context, wants []want) error {
	groups := map[*set][]*want{}
	for i := range wants {
		w := &wants[i]
		switch there, err := r.find(ctx, w); {
		case err != nil:
			return err
		case !there:
		case w.sv.Decomp != 0:
			groups[w.s] = append(groups[w.s], w)
		default:
			if err := r.flat(ctx, w.s.firstPart(), w); err != nil {
				return err
			}
		}
	}
	for _, s := range r.sets { // in order, so that the error is the same each time
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

// find finds out where what is wanted lies. Without an error it is not there if all of it is fill values, which are in dst then.
func (r *Reader) find(ctx context.Context, w *want) (there bool, err error) {
	w.s, w.srec = r.setOf(w.v, w.rec)
	if err := r.loadParts(ctx, w.s); err != nil {
		return false, err
	}
	w.sv = &r.schema.vars[w.v]
	w.size = int64(w.sv.Type.Size())
	if w.id, err = w.s.variable(w.v, w.sv); err != nil {
		return false, err
	}
	if w.id < 0 || w.sv.Decomp == 0 && w.s.firstPart() == nil { // of a variable that is not decomposed every subfile has a copy
		w.fm.fill(w.dst, w.sv)
		return false, nil
	}
	w.name = fmt.Sprintf("variable %q", w.sv.Name)
	w.pf = r.proof(w.s, w.id, w.srec, int64(len(w.dst)), w.fm)
	return true, nil
}

// flat reads a want of a variable that is not decomposed from a part.
func (r *Reader) flat(ctx context.Context, p *filePart, w *want) error {
	off, _ := p.place.piece(w.id, w.srec, p.table, 0)
	off += w.lo * w.size
	f, done, err := p.file()
	if err != nil {
		return err
	}
	defer done()
	for at := int64(0); at < int64(len(w.dst)); at += readBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := w.dst[at:min(at+readBatch, int64(len(w.dst)))]
		if end := p.place.FileLen - off - at; p.place.Plain && end < int64(len(b)) {
			if last, stop := p.place.LastPiece(r.records); off-w.lo*w.size == last && p.place.MayLack(stop-p.place.FileLen) {
				clear(b[max(end, 0):]) // never written, see lastPiece
			} else if r.opt.AllowMissing {
				w.fm.fill(b[max(end, 0):], w.sv)
			} else {
				end = int64(len(b))
			}
			if b = b[:max(end, 0)]; len(b) == 0 {
				continue
			}
		}
		if err := layout.ReadFull(f, b, off+at, p.name, fmt.Sprintf("%s record %d", w.name, w.rec)); err != nil {
			return err
		}
		w.pf.take(p, w.lo*w.size+at, b)
		if p.place.Big != w.fm.big {
			cdf5.Swap(b, b, int(w.size))
		}
	}
	return nil
}

// variable returns the id that variable v of the dataset has in this set; -1: it was added later, and everything of it is fill values.
func (s *set) variable(v VarID, sv *Variable) (VarID, error) { return s.lookUp(s.vars, v, sv) }

// lookUp is variable by a list of the ids.
func (s *set) lookUp(vars []VarID, v VarID, sv *Variable) (VarID, error) {
	id := vars[v]
	if id < 0 && !s.isBefore(v) {
		return id, fault.At(s.parts[0].wanted(), -1, fmt.Sprintf("variable %q", sv.Name), ErrMissing, "not in this set of subfiles")
	}
	return id, nil
}

// isBefore says whether variable v was added behind this set.
func (s *set) isBefore(v VarID) bool {
	r := s.parts[0].r
	k := int(v) - (len(r.schema.vars) - len(r.since))
	return k >= 0 && s.first < r.since[k]
}

// incomplete says whether a subfile of this set is missing. The map, which is
// that of the first set of its family, does not tell if it is one of another set.
func (s *set) incomplete() bool {
	for _, p := range s.parts {
		if p.place == nil {
			return true
		}
	}
	return false
}

// firstPart returns the first subfile that is there, nil if all are missing.
func (s *set) firstPart() *filePart {
	for _, p := range s.parts {
		if p.place != nil {
			return p
		}
	}
	return nil
}

// buffer returns memory to read into, that of an earlier read if there is any.
func (r *Reader) buffer() *[]byte {
	if b, ok := r.buffers.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

func (r *Reader) giveBack(b *[]byte) { r.buffers.Put(b) }
