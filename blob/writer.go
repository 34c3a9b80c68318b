package blob

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"blobio/comm"
	"blobio/decomp"
	"blobio/subfile"
)

// A Part is what one rank owns of one decomposition: its requests, in the
// order in which it will put the elements.
type Part struct {
	Decomp DecompID
	Runs   []decomp.Req // elements of the flattened decomposed dimensions
}

// A Writer is one rank's handle on a dataset that is being written. Its
// methods and Put are called by that rank's goroutine only.
type Writer struct {
	c, sub comm.Comm
	schema *Schema
	eng    *engine
	lead   bool // calls the engine for the ranks of this process
	local  int  // index of this rank among them
	base   string
	opt    Options
	info   datasetInfo

	counts  []int64 // elements this rank owns, by map from 0
	pending []pend
	parts   []part
	copied  int64 // bytes of pending that were reserved
	records int64 // one more than the highest record put
	first   int64 // records below are committed already
	limit   int64 // Options.Records
	closed  bool
	err     error // of an earlier collective: the writer is broken

	claimed   bool // world rank 0: the .manifest.next is ours
	files     filesState
	set       string // base name of the files of this session
	placed    bool   // process-centric: every blob has its place
	committed bool   // the prepared manifest may be on disk: nothing may be removed any more
}

// filesState says which subfiles of this session may be there.
type filesState uint8

const (
	filesNone filesState = iota
	filesSome            // being created, or a rank failed to
	filesAll
)

// datasetInfo is what the commit needs of the dataset as a whole.
type datasetInfo struct {
	ranks, subfiles int
	prints          []string          // fingerprints of the maps
	old             *subfile.Manifest // of the dataset that is appended to
	replace         bool
	foreign         bool // what is replaced has no manifest
	rename          bool // subfiles are written under partial names
}

// Create begins a dataset. Every rank of c calls it with the same name, schema and
// options, and its own parts; a decomposition without a part is empty on this
// rank. Subfiles are named name.0000 and so on. Nothing appears under a
// final name before Close. Collective.
func Create(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	w := &Writer{c: c, schema: s, base: name, opt: o.withDefaults()}
	runs, err := checkCreate(name, s, parts, o)
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, err
	}
	w.limit = w.opt.Records
	if w.opt.Layout == VariableCentric {
		w.limit, w.opt.Records = 0, 0
	}
	if err := sameOnAll(ctx, c, s, name, &w.opt); err != nil {
		return nil, err
	}
	if err := w.setup(ctx, runs); err != nil {
		return nil, err
	}
	return w, w.guard(ctx, w.create())
}

func checkCreate(name string, s *Schema, parts []Part, o *Options) ([][]decomp.Req, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, usageErr("empty name")
	}
	if s == nil {
		return nil, usageErr("no schema")
	}
	if s.err != nil {
		return nil, s.err
	}
	return checkParts(s, parts, o != nil && o.WideMaps)
}

// checkParts sorts the parts by decomposition and checks the ranges that the
// format sets; that requests lie in the array is checked by decomp.
func checkParts(s *Schema, parts []Part, wide bool) ([][]decomp.Req, error) {
	runs := make([][]decomp.Req, len(s.decomps))
	seen := make([]bool, len(s.decomps))
	for _, p := range parts {
		d := int(p.Decomp) - 1
		if d < 0 || d >= len(runs) {
			return nil, usageErr("part of decomposition D%d, want D1..D%d", p.Decomp, len(runs))
		}
		if seen[d] {
			return nil, usageErr("two parts of decomposition D%d", p.Decomp)
		}
		seen[d], runs[d] = true, p.Runs
		if len(p.Runs) > math.MaxInt32 {
			return nil, usageErr("decomposition D%d: %d requests of one rank, want at most 2^31-1", p.Decomp, len(p.Runs))
		}
		for k, r := range p.Runs {
			if r.Length > math.MaxInt32 {
				return nil, fmt.Errorf("blob: decomposition D%d: request %d has length %d, want at most 2^31-1: %w", p.Decomp, k, r.Length, ErrRange)
			}
			if r.Offset > math.MaxInt32 && !wide {
				return nil, fmt.Errorf("blob: decomposition D%d: request %d begins at element %d, but offsets are int in this format: want at most 2^31-1, or Options.WideMaps: %w", p.Decomp, k, r.Offset, ErrRange)
			}
		}
	}
	return runs, nil
}

// sameOnAll checks that all ranks pass the same schema, name and options. Ranks
// of one process that share the schema only compare the pointer.
func sameOnAll(ctx context.Context, c comm.Comm, s *Schema, name string, o *Options) error {
	vals, err := c.Share(ctx, s)
	if err != nil {
		return err
	}
	lead := leader(vals)
	var sum uint32
	if first := vals[lead].(*Schema); lead == c.Rank() || first != s {
		b, err := s.fingerprint()
		if err != nil {
			sum = 1 // reported by the layout of the header
		}
		sum = crc32.ChecksumIEEE(b)
	} else {
		sum = 0
	}
	opts := crc32.ChecksumIEEE(fmt.Appendf(nil, "%q %v %v %d %d %v %v %v %v %v", name, o.Layout, o.Grouping, o.Subfiles, o.Records, o.Retain, o.Durability, o.CommitMode, o.Force, o.WideMaps))
	// A rank that shares its schema with another has no say: it gives the neutral values.
	lo, hi := int64(sum), int64(sum)
	if lead != c.Rank() && vals[lead].(*Schema) == s {
		lo, hi = math.MaxInt64, -1
	}
	mins, err := c.AllreduceInt64(ctx, []int64{lo, int64(opts)}, comm.Min)
	if err != nil {
		return err
	}
	maxs, err := c.AllreduceInt64(ctx, []int64{hi, int64(opts)}, comm.Max)
	switch {
	case err != nil:
		return err
	case mins[0] != maxs[0]:
		return usageErr("the ranks pass different schemas")
	case mins[1] != maxs[1]:
		return usageErr("the ranks pass different names or options")
	}
	return nil
}

// fingerprint returns bytes that are equal for equal schemas.
func (s *Schema) fingerprint() ([]byte, error) {
	sh := &subShape{ranks: 1, subfiles: 1, nblobs: 1, nelems: make([]int64, len(s.decomps)), maxReqs: make([]int64, len(s.decomps))}
	return s.blobHeader(sh).AppendTo(nil, orderOf(false), true)
}

// leader returns the lowest rank whose value is there: of the ranks that share memory.
func leader(vals []any) int {
	for i, v := range vals {
		if v != nil {
			return i
		}
	}
	return -1
}

// setup deals ranks to subfiles and works out where everything lies. Collective.
func (w *Writer) setup(ctx context.Context, runs [][]decomp.Req) error {
	grp, err := subfile.Assign(ctx, w.c, w.opt.Grouping, w.opt.Subfiles)
	if err != nil {
		return err
	}
	w.sub = grp.Comm
	w.info.ranks, w.info.subfiles = w.c.Size(), grp.N
	nd := len(w.schema.decomps)
	w.counts = make([]int64, nd)
	nreqs := make([]int64, nd)
	for d, rr := range runs {
		nreqs[d] = int64(len(rr))
		for _, r := range rr {
			w.counts[d] += r.Length
		}
	}
	mine := append(append([]int64(nil), w.counts...), nreqs...)
	below, err := w.sub.ExscanInt64(ctx, mine, comm.Sum)
	if err != nil {
		return err
	}
	total, err := w.sub.AllreduceInt64(ctx, mine[:nd:nd], comm.Sum)
	if err != nil {
		return err
	}
	most, err := w.sub.AllreduceInt64(ctx, nreqs, comm.Max)
	if err != nil {
		return err
	}
	proc, err := shareOne(ctx, w.c, func() *process { return newProcess(&w.opt) })
	if err != nil {
		return err
	}
	sh := &subShape{ranks: w.c.Size(), subfiles: grp.N, nblobs: w.sub.Size(), nelems: total, maxReqs: most, wide: make([]bool, nd)}
	for d := range nd {
		sh.wide[d] = w.opt.WideMaps && product(w.schema.DecompDims(DecompID(d+1))) > math.MaxInt32
	}
	row := &rankRow{sub: w.sub.Rank(), runs: runs, counts: w.counts, nreqs: nreqs, below: below}
	vals, err := w.sub.Share(ctx, row)
	if err != nil {
		return err
	}
	// Only the leader walks over all ranks: with 21,600 of them a walk by each is
	// what takes the time.
	if w.lead = leader(vals) == w.sub.Rank(); w.lead {
		var rows []*rankRow
		for _, v := range vals {
			if v != nil {
				rows = append(rows, v.(*rankRow))
			}
		}
		if w.eng, err = newEngine(&w.opt, proc, w.schema, sh, rows); err == nil {
			w.eng.index = grp.Index
		}
	}
	if err := comm.Agree(ctx, w.c, err); err != nil {
		return err
	}
	engs, err := w.sub.Share(ctx, w.eng)
	if err != nil {
		return err
	}
	w.eng = engs[leader(engs)].(*engine)
	w.local, _ = slices.BinarySearch(w.eng.table.id, w.sub.Rank())
	return w.fingerprints(ctx)
}

// rankRow is what one rank tells the leader of its process.
type rankRow struct {
	sub    int // sub rank
	runs   [][]decomp.Req
	counts []int64
	nreqs  []int64
	below  []int64 // counts, then nreqs, summed over the lower sub ranks
}

// shareOne makes a value on the lowest rank of each process and returns it on all.
func shareOne[T any](ctx context.Context, c comm.Comm, make func() *T) (*T, error) {
	here, err := c.Share(ctx, true)
	if err != nil {
		return nil, err
	}
	lead := leader(here)
	var v *T
	if lead == c.Rank() {
		v = make()
	}
	all, err := c.Share(ctx, v)
	if err != nil {
		return nil, err
	}
	return all[lead].(*T), nil
}

func newEngine(o *Options, proc *process, s *Schema, sh *subShape, rows []*rankRow) (*engine, error) {
	nd := len(s.decomps)
	e := &engine{opt: *o, proc: proc, schema: s, table: newRanks(len(rows), nd)}
	for i, r := range rows {
		e.table.id[i] = r.sub
		copy(e.table.count[i*nd:], r.counts)
		copy(e.table.nreqs[i*nd:], r.nreqs)
		copy(e.table.start[i*nd:(i+1)*nd], r.below[:nd])
		copy(e.table.reqs[i*nd:(i+1)*nd], r.below[nd:])
	}
	for d := range nd {
		b := decomp.NewBuilder(s.DecompDims(DecompID(d+1)), len(rows))
		for i, r := range rows {
			if err := b.Set(i, r.runs[d]); err != nil {
				return nil, fmt.Errorf("blob: decomposition D%d of sub rank %d: %w", d+1, r.sub, err)
			}
		}
		m, err := b.Map()
		if err != nil {
			return nil, fmt.Errorf("blob: decomposition D%d: %w", d+1, err)
		}
		e.maps = append(e.maps, m)
	}
	hdr := s.blobHeader(sh)
	if err := hdr.Layout(nil); err != nil {
		return nil, err
	}
	e.place = &place{layout: o.Layout, schema: s, hdr: hdr, shape: sh, hdrLen: hdr.EncodedLen()}
	if e.place.big = o.Layout == VariableCentric; e.place.big {
		e.place.at = hdr.Places()
	}
	e.init()
	return e, nil
}

// fingerprints gathers one fingerprint per map, so that an append can tell
// whether it is given the same maps. They are sums over ranks of a hash of each
// rank's requests and number, so the ranks need not meet in one place.
func (w *Writer) fingerprints(ctx context.Context) error {
	nd := len(w.schema.decomps)
	part := make([]int64, nd)
	if w.lead {
		// The leader sums for all local ranks; world ranks are not known here, so
		// the key is (subfile, sub rank), which an append has as well.
		for d := range nd {
			part[d] = mapPrint(w.eng.maps[d], w.eng.table, w.eng.index)
		}
	}
	all, err := w.c.AllreduceInt64(ctx, part, comm.Sum)
	for _, v := range all {
		w.info.prints = append(w.info.prints, fmt.Sprintf("%016x", uint64(v)))
	}
	return err
}

func mapPrint(m *decomp.Map, t *ranks, index int) int64 {
	var sum uint64
	for i, id := range t.id {
		h := uint64(index)<<32 ^ uint64(id) ^ 0x9e3779b97f4a7c15
		for q := range m.Reqs(i) {
			h = mix(h ^ uint64(q.Offset))
			h = mix(h ^ uint64(q.Length))
		}
		sum += mix(h)
	}
	return int64(sum)
}

// mix is a bijective scrambler of 64 bits (xor shifts and odd multipliers).
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	return x ^ x>>32
}

// guard ends a collective: all ranks learn of any rank's error, and a writer
// that failed stays failed.
func (w *Writer) guard(ctx context.Context, err error) error {
	if err = comm.Agree(ctx, w.c, err); err != nil {
		w.fail(err)
	}
	return err
}

// fail ends the writer. If the communication broke, the leader may still be
// reading what this rank has lent; it is waited for.
func (w *Writer) fail(err error) {
	w.eng.stop()
	w.pending, w.parts = nil, nil
	w.err = fmt.Errorf("blob: %s: an earlier call failed: %w", w.base, errors.Join(ErrBroken, err))
	w.abandon()
}

// Schema returns the schema of the dataset; after Append it is the one in the files.
func (w *Writer) Schema() *Schema { return w.schema }

// Records returns the number of records that this rank knows of: those
// committed before, and those put by this rank.
func (w *Writer) Records() int64 { return max(w.records, w.first) }

// Count returns how many elements of decomposition d this rank owns: the
// length of the slice that Put wants.
func (w *Writer) Count(d DecompID) int64 { return w.counts[d-1] }

// Flush writes everything that was put; when it returns, data lent until
// Flush may be used again. A process-centric writer that does not know the
// number of records copies what was put instead, and writes it at Close.
// It may be called at any time, by all ranks. Collective.
func (w *Writer) Flush(ctx context.Context) error {
	if w.closed {
		return usageErr("flush after Close")
	}
	err := w.err
	if err == nil {
		err = ctx.Err()
	}
	if err = comm.Agree(ctx, w.c, err); err != nil {
		return err
	}
	lists, parts, err := w.collect(ctx)
	if err == nil && w.lead {
		err = w.eng.alone(func() error { return w.eng.flush(ctx, lists, parts) })
	}
	if err = w.guard(ctx, err); err != nil {
		return err
	}
	w.settle()
	return nil
}

// handoff is what a rank has posted since the last flush.
type handoff struct {
	pending []pend
	parts   []part
}

// collect hands the puts of the ranks of this process to their leader.
func (w *Writer) collect(ctx context.Context) ([][]pend, []part, error) {
	vals, err := w.sub.Share(ctx, &handoff{w.pending, w.parts})
	if err != nil || !w.lead {
		return nil, nil, err
	}
	var lists [][]pend
	var parts []part
	for _, v := range vals {
		if v != nil {
			o := v.(*handoff)
			lists = append(lists, o.pending)
			parts = append(parts, o.parts...)
		}
	}
	return lists, parts, nil
}

// settle forgets what was flushed.
func (w *Writer) settle() {
	if !(w.opt.Layout == ProcessCentric && w.opt.Records == 0 && w.opt.Retain == CopyOnPut) {
		w.eng.proc.release(w.copied)
		w.copied = 0
	}
	clear(w.pending)
	w.pending, w.parts = w.pending[:0], nil
}

// Close writes what is left, fills what was never put with fill values, and
// commits the dataset. If it fails, or ctx is done, nothing appears under a final
// name. Collective.
func (w *Writer) Close(ctx context.Context) error {
	if w.closed {
		return usageErr("close after Close")
	}
	err := w.Flush(ctx)
	w.closed = true
	if err != nil {
		w.abandon()
		return err
	}
	most, err := w.c.AllreduceInt64(ctx, []int64{w.Records()}, comm.Max)
	if err != nil {
		w.abandon()
		return err
	}
	records := max(most[0], w.limit)
	if w.info.old != nil && records == w.first {
		w.abandon() // nothing to add: the dataset stays as it is
		return w.c.Barrier(ctx)
	}
	if err := w.guard(ctx, w.place(ctx, records)); err != nil {
		return err
	}
	if w.lead {
		err = w.eng.alone(func() error { return w.eng.finish(ctx, records) })
	}
	if err := w.guard(ctx, err); err != nil {
		return err
	}
	err = w.commit(ctx, records)
	if w.lead {
		w.eng.proc.pool.Close()
	}
	return err
}

// Abort gives up: nothing of the dataset, or of what was appended, stays. It
// is not collective, and may be called after an error, by any rank.
func (w *Writer) Abort() {
	w.closed = true
	w.abandon()
}
