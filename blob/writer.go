package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/reference"
	"blobio/subfile"
)

// A Part is what one rank owns of one decomposition: its requests, in the
// order in which it will put the elements. That an element is in it twice is ErrUsage, since two values for it are no data; with
// Options.Repeats the later one counts.
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
	base   string
	opt    settings
	info   datasetInfo

	counts  []int64 // elements this rank owns, by map from 0
	pending []pend
	parts   []part
	seen    []lonePut // what this rank was given and another of its subfile writes
	each    bool      // the first rank of each subfile has values of its own, see package reference
	copied  int64     // bytes of pending that were reserved
	flying  bool      // a flush may be under way in the background
	away    []pend    // the list that it has
	records int64     // one more than the highest record put
	first   int64     // records below were committed before this session
	sealed  int64     // records below are committed
	known   int64     // one more than the highest record that any rank knew of when they agreed last
	limit   int64     // Options.Records
	closed  bool
	err     error // of an earlier collective: the writer is broken

	inPlace     bool                              // an append to the last set of files, which grow
	going       bool                              // Commit was called: what is committed is not the end
	commits     int64                             // of this session
	due         bool                              // CommitAsync has been called, and no collective since
	held        *HeldBackError                    // of the last commit; nil: nothing was held back
	heldWritten *HeldBackError                    // what the files have of it
	heldLate    *HeldBackError                    // of a commit in the background, to be returned by a collective
	everPut     func(ctx context.Context) []int64 // not nil: of an append, on world rank 0, finds before
	before      []int64                           // 1 for each record variable that was put before this session
	uneven      bool                              // the last commit found variables that nobody has put, or held something back
	log         *subfile.Log                      // world rank 0: of the commits after the first
	atts        []subfile.AttInfo                 // to be committed; the same on all ranks
	attBytes    int64                             // of all attributes that were set
	sets        int                               // of the dataset, without the one that is being written
	ids         []int32                           // by variable: its id in the files that are being written, where they have record variables only

	ten       *tenure
	claimed   bool // world rank 0: the .manifest.next is ours
	files     filesState
	set       string // base name of the files of this session
	placed    bool   // process-centric: every blob has its place
	late      error  // world rank 0: of what is done behind the first commit, in the same step
	committed bool   // the prepared manifest may be on disk: nothing may be removed any more

	soft   bool  // a collective that lacks space is no end of the writer, see again
	lacked error // of the last one, if it did
	named  bool  // world rank 0: the files of a further set have, or get, their final names
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
	added           []string          // variables that it has not
	replace         bool
	replaced        *subfile.Manifest // of what is replaced, on world rank 0; nil if it has none
	foreign         bool              // what is replaced has no manifest
	blank           bool              // nothing of the name was there
	was             string            // ID of the record that was in force when the writer began, on world rank 0
	rename          bool              // subfiles are written under partial names
}

// Create begins a dataset. Every rank of c calls it with the same name, schema and
// options, and its own parts; a decomposition without a part is empty on this
// rank. Subfiles are named name.0000 and so on. Nothing appears under a
// final name before Close. Collective.
func Create(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options) (*Writer, error) {
	return createWith(ctx, c, name, s, parts, o.plain())
}

func createWith(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *settings) (*Writer, error) {
	ctx = comm.In(ctx, "Create")
	w := &Writer{c: c, schema: s, base: name, opt: o.withDefaults(), each: reference.In(ctx)}
	runs, err := checkCreate(name, s, parts, &o.Options)
	w.limit = w.opt.Records
	if w.opt.Layout.traits().Grows {
		w.limit, w.opt.Records = 0, 0
	}
	if err := sameOnAll(ctx, c, s, name, &w.opt.Options, err); err != nil {
		return nil, err
	}
	mine, err := w.setup(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err = w.create(ctx, mine); err != nil {
		w.fail(err)
	}
	return w, err
}

func checkCreate(name string, s *Schema, parts []Part, o *Options) ([][]decomp.Req, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.Compress.fits(o.Layout); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fault.Usage("empty name")
	}
	if err := checkNew(name); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fault.Usage("no schema")
	}
	if s.err != nil {
		return nil, s.err
	}
	if o.Layout.traits().ByRank {
		if err := s.canSum(o.Records); err != nil {
			return nil, err
		}
	}
	return checkOwn(s, parts, o.WideMaps, o.Repeats)
}

// checkOwn is checkParts for parts of a rank that puts: what it would put of an element twice is, unless asked for, a mistake.
func checkOwn(s *Schema, parts []Part, wide, repeats bool) ([][]decomp.Req, error) {
	runs, err := checkParts(s, parts, wide)
	if err != nil || repeats {
		return runs, err
	}
	for d, own := range runs {
		if len(own) < 2 {
			continue
		}
		dims := s.DecompDims(DecompID(d + 1))
		if r := decomp.RepeatsOf(own, dims[len(dims)-1]); r.Again > 0 {
			return nil, fault.Usage("decomposition D%d: this rank holds %d elements again that it has already, the first is element %d; want each once, or Options.Repeats", d+1, r.Again, r.Off)
		}
	}
	return runs, nil
}

// checkName refuses names that the manifest, which is JSON, could not hold.
func checkName(base string) error {
	if n := filepath.Base(base); !utf8.ValidString(n) {
		return fault.Usage("name %q: it is no valid UTF-8, as which the manifest has it", n)
	}
	return nil
}

// checkNew refuses names that a new dataset must not have: its subfiles would be those of an appended set of another.
func checkNew(base string) error {
	if of := filepath.Base(subfile.Base(subfile.Name(base, 0))); of != filepath.Base(base) {
		return fault.Usage("name %q: it is that of a set appended to a dataset %s", filepath.Base(base), of)
	}
	return checkName(base)
}

// checkParts sorts the parts by decomposition and checks the ranges that the
// format sets; that requests lie in the array is checked by decomp.
func checkParts(s *Schema, parts []Part, wide bool) ([][]decomp.Req, error) {
	runs := make([][]decomp.Req, len(s.decomps))
	seen := make([]bool, len(s.decomps))
	for _, p := range parts {
		d := int(p.Decomp) - 1
		if d < 0 || d >= len(runs) {
			return nil, fault.Usage("part of decomposition D%d, want D1..D%d", p.Decomp, len(runs))
		}
		if seen[d] {
			return nil, fault.Usage("two parts of decomposition D%d", p.Decomp)
		}
		seen[d], runs[d] = true, p.Runs
		if len(p.Runs) > math.MaxInt32 {
			return nil, fault.Usage("decomposition D%d: %d requests of one rank, want at most 2^31-1", p.Decomp, len(p.Runs))
		}
		for k, r := range p.Runs {
			if r.Length > math.MaxInt32 {
				return nil, fmt.Errorf("decomposition D%d: request %d has length %d, want at most 2^31-1: %w", p.Decomp, k, r.Length, ErrRange)
			}
			if r.Offset > math.MaxInt32 && !wide {
				return nil, fmt.Errorf("decomposition D%d: request %d begins at element %d, but offsets are int in this format: want at most 2^31-1, or Options.WideMaps: %w", p.Decomp, k, r.Offset, ErrRange)
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
		sum = s.digest()
		not = ^sum
	}
	opts := o.hash(name)
	mins, err := comm.AgreeMin(ctx, c, err, sum, not, opts, ^opts)
	switch {
	case err != nil:
		return err
	case mins[0] != ^mins[1] && mins[0] != math.MaxInt64:
		return fault.Usage("the ranks pass different schemas")
	case mins[2] != ^mins[3]:
		return fault.Usage("the ranks pass different names or options")
	}
	return nil
}

// guard ends a collective: all ranks learn of any rank's error, and a writer
// that failed stays failed.
func (w *Writer) guard(ctx context.Context, err error) error {
	if err = comm.Agree(ctx, w.c, w.ten.explain(err)); err != nil {
		w.fail(err)
	}
	return err
}

// fail ends the writer, unless it can go on, see goesOn. If the communication broke, the leader may still be
// reading what this rank has lent; it is waited for.
func (w *Writer) fail(err error) {
	if w.goesOn(err) {
		return
	}
	if w.eng != nil {
		w.eng.stop()
	}
	w.pending, w.parts, w.seen = nil, nil, nil
	w.flying, w.away = false, nil
	earlier := func(err error) error {
		if errors.Is(err, ErrBroken) {
			return fmt.Errorf("%s: %w", w.base, err)
		}
		return fmt.Errorf("%s: %w: %w", w.base, ErrBroken, err)
	}
	if re, ok := err.(*comm.RankError); ok { // all ranks have it, so it stays that one's when the next call agrees on it
		w.err = comm.MetBy(w.c, re.Rank, earlier(re.Err))
	} else {
		w.err = earlier(err)
	}
	w.abandon()
}

// Schema returns the schema of the dataset; after Append it is the one in the files.
func (w *Writer) Schema() *Schema { return w.schema }

// Records returns the number of records that this rank knows of: those
// committed before this session, and those put by this rank.
func (w *Writer) Records() int64 { return max(w.records, w.first) }

// Count returns how many elements of decomposition d this rank owns: the
// length of the slice that Put wants.
func (w *Writer) Count(d DecompID) int64 { return w.counts[d-1] }

// Copies returns how many bytes the ranks of this process keep in copies of what was put to this
// dataset, and how many they may: Options.Memory. Not collective.
func (w *Writer) Copies() (bytes, limit int64) {
	if w.eng == nil {
		return 0, w.opt.Memory
	}
	p := w.eng.proc
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used, p.max
}

// Close writes what is left, fills what was never put with fill values, and
// commits the dataset. If it fails, or ctx is done, nothing appears under a final
// name. Collective.
func (w *Writer) Close(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Close")
	if w.closed {
		return fault.Usage("close after Close")
	}
	if w.lacked != nil { // it is not what the program wanted to have there, unless it tries again
		w.fail(w.lacked)
	}
	records, err := w.post(ctx, false)
	w.closed = true
	if err != nil {
		w.abandon()
		return err
	}
	records, w.held = max(records, w.limit), nil
	if w.commits > 0 {
		return w.end(ctx, records)
	}
	w.going = false
	if records == w.first { // added variables come with their first record
		w.atts = slices.DeleteFunc(w.atts, func(a subfile.AttInfo) bool { return slices.Contains(w.info.added, a.Var) })
	}
	if w.info.old != nil && records == w.first && len(w.atts) > 0 {
		return w.closeWithAtts(ctx, records)
	}
	if w.info.old != nil && records == w.first {
		w.abandon() // nothing to add: the dataset stays as it is
		return w.c.Barrier(ctx)
	}
	if err := w.complete(ctx, records); err != nil {
		return err
	}
	_, err = w.commit(ctx, records)
	if w.lead {
		w.eng.proc.pool.Close()
	}
	_ = w.ten.release() // a lease that could not be removed ends with the process
	return err
}

// complete writes what was kept, and what was never put. Collective.
func (w *Writer) complete(ctx context.Context, records int64) error {
	e := w.eng
	err := w.place(records)
	var lists [][]pend
	if w.lead {
		if e.known = w.known; w.soft && e.opt.keeps() {
			e.remember()
		}
		lists = e.missing(records)
	}
	b := flushing{alike: allAlike}
	switch {
	case !w.apart():
	case e.opt.keeps():
		b.keys = e.allKeys(records) // everything that there is
	default:
		b.keys = e.keysOf(lists[0], nil, nil)
		idle := int64(1)
		if len(lists[0]) > 0 || !e.mapsOut {
			idle = 0
		}
		v, err := comm.AgreeMin(ctx, w.c, err, append(e.hashKeys(b.keys, e.loneKeys(b.keys)), idle)...)
		if err != nil {
			w.fail(err)
			return err
		}
		if v[hashWords] == 1 {
			return nil
		}
		b.alike = alikeOf(v)
	}
	if w.lead {
		err = e.alone(func() error {
			_, err := e.write(ctx, lists, b, nil, err)
			return err
		})
		if e.proc.release(e.freed); e.wasKept == nil {
			e.freed = 0
		}
	}
	err = comm.Agree(ctx, w.c, w.ten.explain(err))
	if err != nil && w.lead && !e.opt.keeps() {
		e.unnote(lists)
	}
	if err != nil {
		w.fail(err)
	}
	return err
}

// Abort gives up: nothing of the dataset, or of what was appended, stays, but for what Commit has committed. It
// is not collective, and may be called after an error, by any rank.
func (w *Writer) Abort() {
	w.closed = true
	w.abandon()
}
