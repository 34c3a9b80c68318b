package write

import (
	"blobio/blob/internal/dataset"
	"blobio/cdf5"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"context"
	"fmt"
	"slices"
)

// land waits for the background flush of this process. Only the leader waits and returns the error, so that one rank
// reports it.
func (ps *puts) land(ctx context.Context) error {
	if !ps.flying || ps.job.Eng == nil || !ps.job.Lead {
		return nil
	}
	return ps.job.Eng.background.land(ctx)
}

// landed drops the list of the background flush when all ranks have agreed that the flush is written.
func (ps *puts) landed() {
	ps.flying = false
	clear(ps.away)
	ps.away = ps.away[:0]
}

// handoff holds the puts of ranks since the last flush.
type handoff struct {
	lists  [][]Pend // puts by local rank
	parts  []part
	copied int64 // number of bytes reserved for copies in lists
}

// collect passes the puts of the ranks of this process to their leader.
func (ps *puts) collect(ctx context.Context) (*handoff, error) {
	h := &handoff{[][]Pend{ps.list}, ps.parts, ps.copied}
	if ps.job.apart() {
		return h, nil
	}
	vals, err := ps.job.sub.Share(ctx, h)
	if err != nil || !ps.job.Lead {
		return nil, err
	}
	h = &handoff{}
	for _, v := range vals {
		if v != nil {
			o := v.(*handoff)
			h.lists = append(h.lists, o.lists...)
			h.parts = append(h.parts, o.parts...)
			h.copied += o.copied
		}
	}
	return h, nil
}

// settle drops the flushed puts.
func (ps *puts) settle() {
	if !ps.job.keepsCopies() { // otherwise keptPuts.add has adjusted the reservation
		ps.job.Eng.Proc.Release(ps.copied)
	}
	ps.copied = 0
	clear(ps.list)
	ps.list = ps.list[:0]
}

// Pend is one put that is not in the file yet. It holds the bytes of the caller's slice in host order, without an interface
// value, so that a Put allocates memory only for the list.
type Pend struct {
	Raw []byte    // elements of type Mem; nil stands for fill values
	Rec int64     // 0 for a fixed variable
	V   int32     // number of the variable; negative for variable m of map d: -1-(d*layout.MapVars+m)
	Mem cdf5.Type // type of Raw
}

// part is a put of some elements of a variable without a decomposition.
type part struct {
	Pend
	start, count []int64 // canonical, without the record dimension; flat: offset and number of elements in the flattened variable, for parts that ranks have exchanged
	flat         bool    // see start
}

// MaxRecordGap limits how far a new record may lie beyond the records put so far.
const MaxRecordGap = 1 << 20

// Put is blob.Put.
func Put[T dataset.Number](w *Writer, v dataset.VarID, rec int64, data []T) error {
	return put(w, v, rec, nil, nil, data)
}

// PutAt is blob.PutAt.
func PutAt[T dataset.Number](w *Writer, v dataset.VarID, rec int64, start, count []int64, data []T) error {
	if start == nil { // a scalar
		start = []int64{}
	}
	return put(w, v, rec, start, count, data)
}

// put implements Put if start is nil, otherwise PutAt.
func put[T dataset.Number](w *Writer, v dataset.VarID, rec int64, start, count []int64, data []T) error {
	if err := w.checkPut(v, rec); err != nil {
		return err
	}
	sv, n := &w.Job.Schema.Vars[v], w.Job.putLen(v)
	if start != nil {
		if sv.Decomp != 0 {
			return fault.Usage("put of %q: start and count are set, but the variable has decomposition D%d", sv.Name, sv.Decomp)
		}
		if err := dataset.CheckSlab(w.Job.Schema.Shape(v), start, count); err != nil {
			return fault.Usage("put of %q, record %d: %v", sv.Name, rec, err)
		}
		n = dataset.Product(count)
	}
	if int64(len(data)) != n {
		return fault.Usage("put of %q, record %d: %d elements, want %d", sv.Name, rec, len(data), n)
	}
	if err := convertible(sv, rec, data); err != nil {
		return err
	}
	mem, raw, elsewhere := dataset.MemType[T](), elem.Bytes(data), sv.Decomp == 0 && w.Job.sub.Rank() != 0
	if none := start != nil && n == 0; none || elsewhere {
		if w.Puts.sawRecord(sv, rec); none {
			return nil
		}
		return w.Puts.keepUndivided(sv, part{Pend: Pend{Raw: raw, Rec: rec, V: w.Puts.id(v), Mem: mem}, start: start, count: count})
	}
	p, err := w.Puts.hold(sv, rec, mem, raw)
	if err != nil {
		return err
	}
	w.Puts.sawRecord(sv, rec)
	p.V = w.Puts.id(v)
	if start != nil {
		w.Puts.parts = append(w.Puts.parts, part{Pend: p, start: slices.Clone(start), count: slices.Clone(count)})
		return nil
	}
	w.Puts.list = append(w.Puts.list, p)
	if sv.Decomp == 0 && len(w.Puts.parts) > 0 { // a put of the whole variable replaces earlier parts
		w.Puts.parts = slices.DeleteFunc(w.Puts.parts, func(q part) bool { return q.V == p.V && q.Rec == p.Rec })
	}
	return nil
}

func (w *Writer) checkPut(v dataset.VarID, rec int64) error {
	switch {
	case w.State.Err != nil:
		return w.State.Err
	case w.State.closed:
		return fault.Usage("put after Close")
	case v < 0 || int(v) >= len(w.Job.Schema.Vars):
		return fault.Usage("put of variable id %d, want %s", v, fault.Below(len(w.Job.Schema.Vars), "variables"))
	}
	sv := &w.Job.Schema.Vars[v]
	switch {
	case !sv.Record && rec != 0:
		return fault.Usage("put of %q: record %d of a variable without records, want 0", sv.Name, rec)
	case !sv.Record && w.Commits.Count > 0:
		return fault.Usage("put of fixed variable %q: the first Commit has already committed all fixed variables", sv.Name)
	case !sv.Record && w.Commits.Old != nil:
		return fault.Usage("put of %q: an append adds only records, but the variable is fixed", sv.Name)
	case sv.Record && rec-w.Puts.Records() > MaxRecordGap:
		return fault.Usage("put of %q: record %d, but only %d records exist, want at most %d records beyond them", sv.Name, rec, w.Puts.Records(), MaxRecordGap)
	case rec < 0 || sv.Record && rec < w.Commits.Sealed:
		if rec >= w.Puts.First {
			return fault.Usage("put of %q: record %d is already committed, want >= %d", sv.Name, rec, w.Commits.Sealed)
		}
		return fault.Usage("put of %q: record %d, want >= %d", sv.Name, rec, w.Commits.Sealed)
	case sv.Record && w.Job.Limit > 0 && rec >= w.Job.Limit:
		return fault.Usage("put of %q: record %d, but Options.Records fixes %d records", sv.Name, rec, w.Job.Limit)
	}
	return nil
}

// id returns the number that a variable of the schema has in the files being written.
func (ps *puts) id(v dataset.VarID) int32 {
	if ps.Ids != nil {
		return ps.Ids[v]
	}
	return int32(v)
}

func (ps *puts) sawRecord(sv *dataset.Variable, rec int64) {
	if sv.Record {
		ps.records = max(ps.records, rec+1)
	}
}

// convertible returns an error if a value does not fit the type in the file.
func convertible[T dataset.Number](sv *dataset.Variable, rec int64, data []T) error {
	mem := dataset.MemType[T]()
	if dataset.SameType(mem, sv.Type) {
		return nil
	}
	var err error
	if sv.Type == cdf5.Char {
		err = fault.Usage("%v put to a char variable, want bytes", mem)
	} else {
		err = cdf5.CheckRange(sv.Type, data)
	}
	if err != nil {
		return fmt.Errorf("put of %q, record %d: %w", sv.Name, rec, err)
	}
	return nil
}

// hold returns the values as a Pend: a copy, unless the caller lends the values.
func (ps *puts) hold(sv *dataset.Variable, rec int64, mem cdf5.Type, raw []byte) (Pend, error) {
	if raw == nil {
		raw = []byte{}
	}
	if ps.job.Eng.opt.Retain == dataset.CopyOnPut {
		if err := ps.job.Eng.Proc.Await(int64(len(raw))); err != nil {
			return Pend{}, fmt.Errorf("put of %q, record %d: %w", sv.Name, rec, err)
		}
		ps.copied += int64(len(raw))
		raw = append([]byte(nil), raw...)
	}
	if !sv.Record {
		rec = 0
	}
	return Pend{Raw: raw, Rec: rec, Mem: mem}, nil
}

// dropCommitted drops puts of records that a background commit has committed in the meantime.
func (ps *puts) dropCommitted(sealed int64) (err error) {
	past := func(p *Pend) bool {
		if p.V == noVariable {
			err = fault.Usage("put of a fixed variable: CommitAsync has already committed all fixed variables, so this put is discarded")
			return true
		}
		sv := &ps.job.Eng.Layout.Schema.Vars[p.V]
		if sv.Record && p.Rec >= sealed {
			return false
		}
		err = fault.Usage("put of %q, record %d: CommitAsync has already committed the record, so this put is discarded", sv.Name, p.Rec)
		return true
	}
	ps.list = slices.DeleteFunc(ps.list, func(p Pend) bool { return past(&p) })
	ps.parts = slices.DeleteFunc(ps.parts, func(p part) bool { return past(&p.Pend) })
	ps.dropSeen(past)
	return err
}

// puts are the values that this rank has put and that are not in the files yet.
type puts struct {
	job     *Job
	list    []Pend
	parts   []part
	seen    []undividedPut // puts of this rank that the first rank of its subfile writes
	each    bool           // the first rank of each subfile writes its own values, see package reference
	copied  int64          // number of bytes reserved for copies in list
	flying  bool           // a background flush may be in progress
	away    []Pend         // the list that the background flush writes
	records int64          // one more than the highest record put
	First   int64          // records with lower numbers were committed before this session
	Ids     []int32        // the id of each variable in the files being written; set if these have only record variables
}

// Records is blob.Writer.Records.
func (ps *puts) Records() int64 { return max(ps.records, ps.First) }
