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
	seen    []pend // what this rank was given and another of its subfile writes; without data
	copied  int64  // bytes of pending that were reserved
	flying  bool   // a flush may be under way in the background
	away    []pend // the list that it has
	records int64  // one more than the highest record put
	first   int64  // records below are committed already
	limit   int64  // Options.Records
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
	w.limit = w.opt.Records
	if w.opt.Layout == VariableCentric {
		w.limit, w.opt.Records = 0, 0
	}
	if err := sameOnAll(ctx, c, s, name, &w.opt, err); err != nil {
		return nil, err
	}
	broken, err := w.setup(ctx, runs)
	if broken != nil {
		return nil, broken
	}
	if err = w.create(err); err != nil {
		w.fail(err)
	}
	return w, err
}

func checkCreate(name string, s *Schema, parts []Part, o *Options) ([][]decomp.Req, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o != nil {
		if err := o.Compress.fits(o.Layout); err != nil {
			return nil, err
		}
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

// sameOnAll agrees on err, and checks that all ranks pass the same schema, name and
// options. Ranks of one process that share the schema only compare the pointer.
func sameOnAll(ctx context.Context, c comm.Comm, s *Schema, name string, o *Options, err error) error {
	lead, first := c.Rank(), s
	if !comm.Apart(c) {
		vals, err := c.Share(ctx, s)
		if err != nil {
			return err
		}
		lead = leader(vals)
		first = vals[lead].(*Schema)
	}
	// A rank that shares its schema with another has no say: it gives the neutral values.
	sum, not := int64(math.MaxInt64), int64(math.MaxInt64)
	if err == nil && (lead == c.Rank() || first != s) {
		b, err := s.fingerprint()
		if err != nil {
			b = nil // reported by the layout of the header
		}
		sum = int64(crc32.ChecksumIEEE(b))
		not = ^sum
	}
	opts := int64(crc32.ChecksumIEEE(fmt.Appendf(nil, "%q %v %v %d %d %v %v %v %v %v %d %d %v %d %v %v %d", name, o.Layout, o.Grouping, o.Subfiles, o.Records, o.Retain,
		o.Durability, o.CommitMode, o.Force, o.WideMaps, o.Buffer, o.Aggregators, o.Stripe, o.ownMin, o.messages, o.Compress, o.chunk)))
	mins, err := comm.AgreeMin(ctx, c, err, sum, not, opts, ^opts)
	switch {
	case err != nil:
		return err
	case mins[0] != ^mins[1] && mins[0] != math.MaxInt64:
		return usageErr("the ranks pass different schemas")
	case mins[2] != ^mins[3]:
		return usageErr("the ranks pass different names or options")
	}
	return nil
}

// fingerprint returns bytes that are equal for equal schemas.
func (s *Schema) fingerprint() ([]byte, error) {
	sh := &subShape{ranks: 1, subfiles: 1, nblobs: 1, nelems: make([]int64, len(s.decomps)), maxReqs: make([]int64, len(s.decomps))}
	h := s.blobHeader(sh)
	return h.AppendTo(make([]byte, 0, h.EncodedLen()), orderOf(false), true)
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

// setup deals ranks to subfiles and works out where everything lies. Collective: broken
// is an error of the communication, err may be one of this rank alone.
func (w *Writer) setup(ctx context.Context, runs [][]decomp.Req) (broken, err error) {
	grp, err := subfile.Assign(ctx, w.c, w.opt.Grouping, w.opt.Subfiles)
	if err != nil {
		return err, nil
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
	row := &rankRow{sub: w.sub.Rank(), runs: runs, counts: w.counts, nreqs: nreqs}
	if comm.Apart(w.c) {
		return w.setupApart(ctx, grp, row)
	}
	mine := append(append([]int64(nil), w.counts...), nreqs...)
	if row.below, err = w.sub.ExscanInt64(ctx, mine, comm.Sum); err != nil {
		return err, nil
	}
	total, err := w.sub.AllreduceInt64(ctx, mine[:nd:nd], comm.Sum)
	if err != nil {
		return err, nil
	}
	most, err := w.sub.AllreduceInt64(ctx, nreqs, comm.Max)
	if err != nil {
		return err, nil
	}
	proc, err := shareOne(ctx, w.c, func() *process { return newProcess(&w.opt) })
	if err != nil {
		return err, nil
	}
	vals, err := w.sub.Share(ctx, row)
	if err != nil {
		return err, nil
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
		if w.eng, err = newEngine(&w.opt, proc, w.schema, w.shape(grp, total, most), rows); err == nil {
			w.eng.index = grp.Index
		}
	}
	if err := comm.Agree(ctx, w.c, err); err != nil {
		return err, nil
	}
	engs, err := w.sub.Share(ctx, w.eng)
	if err != nil {
		return err, nil
	}
	w.eng = engs[leader(engs)].(*engine)
	w.local, _ = slices.BinarySearch(w.eng.table.id, w.sub.Rank())
	return nil, nil
}

// shape says what the header of this rank's subfile does.
func (w *Writer) shape(grp subfile.Group, total, most []int64) *subShape {
	nd := len(total)
	sh := &subShape{ranks: w.c.Size(), subfiles: grp.N, nblobs: w.sub.Size(), nelems: total, maxReqs: most, wide: make([]bool, nd)}
	for d := range nd {
		sh.wide[d] = w.opt.WideMaps && product(w.schema.DecompDims(DecompID(d+1))) > math.MaxInt32
	}
	return sh
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
	if e.pack = newPacker(o, s); e.pack != nil {
		sh.chunk = o.chunk
	}
	hdr := s.blobHeader(sh)
	if err := hdr.Layout(nil); err != nil {
		return nil, err
	}
	e.place = &place{layout: o.Layout, schema: s, hdr: hdr, shape: sh, hdrLen: hdr.EncodedLen()}
	if e.place.big = o.Layout == VariableCentric; e.place.big {
		e.place.at = hdr.Places()
	}
	if e.pack != nil {
		e.place.packed = &packed{chunk: o.chunk}
	}
	e.init()
	return e, nil
}

// prints are this process's part of the fingerprints of the maps, by which an append can tell
// whether it is given the same ones. They are sums over ranks of a hash of each
// rank's requests and number, so the ranks need not meet in one place. World ranks are not known
// here, so the key is (subfile, sub rank), which an append has as well.
func (w *Writer) prints() []int64 {
	sums := make([]int64, len(w.schema.decomps))
	if w.lead {
		for d := range sums {
			sums[d] = mapPrint(w.eng.maps[d], w.eng.table, w.eng.index)
		}
	}
	return sums
}

func printTexts(sums []int64) (texts []string) {
	for _, v := range sums {
		texts = append(texts, fmt.Sprintf("%016x", uint64(v)))
	}
	return texts
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
	if w.eng != nil {
		w.eng.stop()
	}
	w.pending, w.parts = nil, nil
	w.flying, w.away = false, nil
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

// Flush writes everything that was put, after what FlushAsync has under way; when it returns, data lent until
// Flush may be used again. A process-centric writer that does not know the
// number of records copies what was put instead, and writes it at Close.
// It may be called at any time, by all ranks. Collective.
func (w *Writer) Flush(ctx context.Context) error {
	if w.closed {
		return usageErr("flush after Close")
	}
	_, err := w.flush(ctx)
	return err
}

// flushing is what all ranks agreed on at the beginning of a flush.
type flushing struct {
	records int64    // the most that any rank knows of
	idle    bool     // nobody has anything
	keys    []varRec // without a common heap: what this rank puts
	alike   alike    // what others put
}

// begin waits for a flush in the background, and agrees on what there is to do. Collective.
func (w *Writer) begin(ctx context.Context) (b flushing, err error) {
	if err = w.err; err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = w.land(ctx)
	}
	idle := int64(1)
	if len(w.pending) > 0 || len(w.parts) > 0 {
		idle = 0
	}
	if w.apart() && err == nil {
		b.keys = w.eng.keysOf(w.pending, w.parts, w.seen)
	}
	v, err := comm.AgreeMin(ctx, w.c, err, append(w.eng.hashKeys(b.keys), idle, ^w.Records())...)
	if err != nil {
		return b, w.crash(err)
	}
	w.landed()
	b.alike, b.idle, b.records = alikeOf(v), v[4] == 1, ^v[5]
	if b.idle {
		w.seen = w.seen[:0]
	}
	return b, nil
}

// flush returns the most records that any rank knows of.
func (w *Writer) flush(ctx context.Context) (records int64, err error) {
	b, err := w.begin(ctx)
	if err != nil || b.idle {
		return b.records, err
	}
	switch {
	case w.apart():
		err = w.eng.alone(func() error { return w.eng.flushTeam(ctx, w.pending, w.parts, b.keys, b.alike) })
	default:
		var h *handoffs
		h, err = w.collect(ctx)
		if err == nil && w.lead {
			err = w.eng.alone(func() error { return w.eng.flush(ctx, h.lists, h.parts) })
		}
	}
	if err = w.guard(ctx, err); err != nil {
		return 0, err
	}
	w.settle()
	return b.records, nil
}

// apart says whether no ranks share a heap: each has its own engine, which works with others in a team.
func (w *Writer) apart() bool { return w.eng != nil && w.eng.team != nil }

// handoff is what a rank has posted since the last flush.
type handoff struct {
	pending []pend
	parts   []part
	copied  int64 // bytes of it that were reserved
}

// handoffs is what the ranks of a process have.
type handoffs struct {
	lists  [][]pend // by local rank
	parts  []part
	copied int64
}

// collect hands the puts of the ranks of this process to their leader.
func (w *Writer) collect(ctx context.Context) (*handoffs, error) {
	vals, err := w.sub.Share(ctx, &handoff{w.pending, w.parts, w.copied})
	if err != nil || !w.lead {
		return nil, err
	}
	h := &handoffs{}
	for _, v := range vals {
		if v != nil {
			o := v.(*handoff)
			h.lists = append(h.lists, o.pending)
			h.parts = append(h.parts, o.parts...)
			h.copied += o.copied
		}
	}
	return h, nil
}

// keepsCopies says that copies of puts live until Close.
func (w *Writer) keepsCopies() bool {
	return w.opt.Layout == ProcessCentric && w.opt.Records == 0 && w.opt.Retain == CopyOnPut
}

// settle forgets what was flushed.
func (w *Writer) settle() {
	if !w.keepsCopies() {
		w.eng.proc.release(w.copied)
		w.copied = 0
	}
	clear(w.pending)
	w.pending, w.parts, w.seen = w.pending[:0], nil, w.seen[:0]
}

// Close writes what is left, fills what was never put with fill values, and
// commits the dataset. If it fails, or ctx is done, nothing appears under a final
// name. Collective.
func (w *Writer) Close(ctx context.Context) error {
	if w.closed {
		return usageErr("close after Close")
	}
	records, err := w.flush(ctx)
	w.closed = true
	if err != nil {
		w.abandon()
		return err
	}
	records = max(records, w.limit)
	if w.info.old != nil && records == w.first {
		w.abandon() // nothing to add: the dataset stays as it is
		return w.c.Barrier(ctx)
	}
	if err := w.complete(ctx, records); err != nil {
		return err
	}
	err = w.commit(ctx, records)
	if w.lead {
		w.eng.proc.pool.Close()
	}
	return err
}

// complete writes what was kept, and what was never put. Collective.
func (w *Writer) complete(ctx context.Context, records int64) error {
	if !w.apart() {
		var err error
		if w.opt.Layout == ProcessCentric {
			if err = w.guard(ctx, w.place(ctx, records)); err != nil {
				return err
			}
		}
		if w.lead {
			err = w.eng.alone(func() error { return w.eng.finish(ctx, records) })
		}
		return w.guard(ctx, err)
	}
	e := w.eng
	perr := w.placeApart(records)
	kept := e.place.layout == ProcessCentric && e.opt.Records == 0
	list := e.missing(records)[0]
	keys, alike := []varRec(nil), allAlike
	if kept {
		keys = e.allKeys(records) // everything that there is
	} else {
		keys = e.keysOf(list, nil, nil)
		idle := int64(1)
		if len(list) > 0 || !e.mapsOut {
			idle = 0
		}
		v, err := comm.AgreeMin(ctx, w.c, perr, append(e.hashKeys(keys), idle)...)
		if err != nil {
			w.fail(err)
			return err
		}
		if v[4] == 1 {
			return nil
		}
		alike = alikeOf(v)
	}
	err := e.alone(func() error { return e.writeTeam(ctx, list, keys, alike, perr) })
	return w.guard(ctx, err)
}

// Abort gives up: nothing of the dataset, or of what was appended, stays. It
// is not collective, and may be called after an error, by any rank.
func (w *Writer) Abort() {
	w.closed = true
	w.abandon()
}
