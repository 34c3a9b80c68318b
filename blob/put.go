package blob

import (
	"fmt"
	"slices"

	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// pend is one put that is not in the file yet. It holds the bytes of the
// caller's slice, in host order, without an interface value: a Put allocates nothing
// beyond the list.
type pend struct {
	raw []byte    // elements of type mem; nil: fill values
	rec int64     // 0 for a fixed variable
	v   int32     // variable; negative: -1-(d*mapVars+m), a variable of a map
	mem cdf5.Type // of raw
}

// part is a put of some elements of a variable that is not decomposed.
type part struct {
	pend
	start, count []int64 // canonical, without the record dimension; of what ranks have exchanged elements of the whole
	flat         bool    // which
}

// maxRecordGap is how far beyond the records put so far a record may lie.
const maxRecordGap = 1 << 20

// Put gives this rank's elements of one record of a decomposed variable, in
// map order; a variable that is not decomposed is given whole, by any rank, by some or by
// all. Those that give it between two flushes give the same bytes: two values are an error of the flush, which
// names both ranks; of later flushes the last one counts. rec is 0 for a
// fixed variable. T may differ from the type in the file; a value that does not
// fit it is an error that names the element, and nothing of this put is kept.
// Put is not collective.
//
// Put copies data, which may be used again at once. Options.Retain asks to lend them instead: then they
// must stay as they are for as long as it says.
//
// A copy that would exceed Options.Memory waits for a flush in the background. If none is under way Put fails with
// ErrTooLarge: nothing of it is kept, and the same Put is in order after a Flush. Where one process puts more than that
// between two flushes, lend, flush more often, or raise Options.Memory. In the process-centric layout Flush
// makes room only if Options.Records is set.
func Put[T Number](w *Writer, v VarID, rec int64, data []T) error {
	return put(w, v, rec, nil, nil, data)
}

// PutAt gives elements of one record of a variable that is not decomposed:
// count[i] elements from start[i] on along each dimension but the record
// dimension, rows in canonical order. Otherwise it is like Put.
func PutAt[T Number](w *Writer, v VarID, rec int64, start, count []int64, data []T) error {
	if start == nil { // of a scalar
		start = []int64{}
	}
	return put(w, v, rec, start, count, data)
}

// put is Put if start is nil, otherwise PutAt.
func put[T Number](w *Writer, v VarID, rec int64, start, count []int64, data []T) error {
	if err := w.checkPut(v, rec); err != nil {
		return err
	}
	sv, n := &w.schema.vars[v], w.putLen(v)
	if start != nil {
		if sv.Decomp != 0 {
			return fault.Usage("put of %q: start and count given, but it is decomposed by D%d", sv.Name, sv.Decomp)
		}
		if err := checkSlab(w.schema.Shape(v), start, count); err != nil {
			return fault.Usage("put of %q record %d: %v", sv.Name, rec, err)
		}
		n = product(count)
	}
	if int64(len(data)) != n {
		return fault.Usage("put of %q record %d: %d elements, want %d", sv.Name, rec, len(data), n)
	}
	if err := convertible(sv, rec, data); err != nil {
		return err
	}
	mem, raw, lone := memType[T](), elem.Bytes(data), sv.Decomp == 0 && w.sub.Rank() != 0
	if none := start != nil && n == 0; none || lone {
		if w.sawRecord(sv, rec); none {
			return nil
		}
		return w.keepLone(v, sv, rec, start, count, mem, raw)
	}
	p, err := w.hold(sv, rec, mem, raw)
	if err != nil {
		return err
	}
	w.sawRecord(sv, rec)
	p.v = w.id(v)
	if start != nil {
		w.parts = append(w.parts, part{pend: p, start: slices.Clone(start), count: slices.Clone(count)})
		return nil
	}
	w.pending = append(w.pending, p)
	if sv.Decomp == 0 && len(w.parts) > 0 { // parts are laid over it: those before are past
		w.parts = slices.DeleteFunc(w.parts, func(q part) bool { return q.v == p.v && q.rec == p.rec })
	}
	return nil
}

func (w *Writer) checkPut(v VarID, rec int64) error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return fault.Usage("put after Close")
	case v < 0 || int(v) >= len(w.schema.vars):
		return fault.Usage("put of variable id %d, want 0..%d", v, len(w.schema.vars)-1)
	}
	sv := &w.schema.vars[v]
	switch {
	case !sv.Record && rec != 0:
		return fault.Usage("put of %q: record %d, but it has no record dimension: want 0", sv.Name, rec)
	case !sv.Record && w.commits > 0:
		return fault.Usage("put of %q: it is fixed, and was committed with the first Commit", sv.Name)
	case !sv.Record && w.info.old != nil:
		return fault.Usage("put of %q: it is fixed, and an append adds records only", sv.Name)
	case sv.Record && rec-w.Records() > maxRecordGap:
		return fault.Usage("put of %q: record %d, but only %d are there: the records between would all be fill values (want at most %d beyond)", sv.Name, rec, w.Records(), maxRecordGap)
	case rec < 0 || sv.Record && rec < w.sealed:
		if rec >= w.first {
			return fault.Usage("put of %q: record %d, but it is committed: want >= %d", sv.Name, rec, w.sealed)
		}
		return fault.Usage("put of %q: record %d, want >= %d", sv.Name, rec, w.sealed)
	case sv.Record && w.limit > 0 && rec >= w.limit:
		return fault.Usage("put of %q: record %d, but Options.Records fixes %d records", sv.Name, rec, w.limit)
	}
	return nil
}

// id is the number that a variable of the schema has in the files that are being written.
func (w *Writer) id(v VarID) int32 {
	if w.ids != nil {
		return w.ids[v]
	}
	return int32(v)
}

func (w *Writer) sawRecord(sv *Variable, rec int64) {
	if sv.Record {
		w.records = max(w.records, rec+1)
	}
}

// putLen is how many elements this rank puts of a variable's record.
func (w *Writer) putLen(v VarID) int64 {
	if d := w.schema.vars[v].Decomp; d != 0 {
		return w.counts[d-1]
	}
	return w.schema.Elems(v)
}

// convertible says whether every value fits the type of the file.
func convertible[T Number](sv *Variable, rec int64, data []T) error {
	mem := memType[T]()
	if sameType(mem, sv.Type) {
		return nil
	}
	var err error
	if sv.Type == cdf5.Char {
		err = fault.Usage("%v put to a char variable, want bytes", mem)
	} else {
		err = cdf5.CheckRange(sv.Type, data)
	}
	if err != nil {
		return fmt.Errorf("put of %q record %d: %w", sv.Name, rec, err)
	}
	return nil
}

// hold takes the values into the list, as a copy unless the caller lends them.
func (w *Writer) hold(sv *Variable, rec int64, mem cdf5.Type, raw []byte) (pend, error) {
	if raw == nil {
		raw = []byte{}
	}
	if w.eng.opt.Retain == CopyOnPut {
		if err := w.eng.proc.await(int64(len(raw))); err != nil {
			return pend{}, fmt.Errorf("put of %q record %d: %w", sv.Name, rec, err)
		}
		w.copied += int64(len(raw))
		raw = append([]byte(nil), raw...)
	}
	if !sv.Record {
		rec = 0
	}
	return pend{raw: raw, rec: rec, mem: mem}, nil
}
