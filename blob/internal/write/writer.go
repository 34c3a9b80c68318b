package write

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/reference"
	"blobio/subfile"
)

// Part is blob.Part.
type Part struct {
	Decomp dataset.DecompID
	Runs   []decomp.Req // elements of the flattened decomposed dimensions
}

// Writer is blob.Writer.
type Writer struct {
	C, sub comm.Comm
	Schema *dataset.Schema
	Eng    *Engine
	Lead   bool // calls the engine for the ranks of this process
	Base   string
	Opt    dataset.Settings
	Info   DatasetInfo

	counts  []int64 // elements this rank owns, by map from 0
	pending []Pend
	parts   []part
	seen    []lonePut // what this rank was given and another of its subfile writes
	each    bool      // the first rank of each subfile has values of its own, see package reference
	copied  int64     // bytes of pending that were reserved
	flying  bool      // a flush may be under way in the background
	away    []Pend    // the list that it has
	records int64     // one more than the highest record put
	First   int64     // records below were committed before this session
	Sealed  int64     // records below are committed
	Known   int64     // one more than the highest record that any rank knew of when they agreed last
	Limit   int64     // Options.Records
	closed  bool
	Err     error // of an earlier collective: the writer is broken

	InPlace     bool                              // an append to the last set of files, which grow
	going       bool                              // Commit was called: what is committed is not the end
	Commits     int64                             // of this session
	due         bool                              // CommitAsync has been called, and no collective since
	Held        *HeldBackError                    // of the last commit; nil: nothing was held back
	heldWritten *HeldBackError                    // what the files have of it
	heldLate    *HeldBackError                    // of a commit in the background, to be returned by a collective
	EverPut     func(ctx context.Context) []int64 // not nil: of an append, on world rank 0, finds before
	before      []int64                           // 1 for each record variable that was put before this session
	uneven      bool                              // the last commit found variables that nobody has put, or held something back
	log         *subfile.Log                      // world rank 0: of the commits after the first
	atts        []subfile.AttInfo                 // to be committed; the same on all ranks
	AttBytes    int64                             // of all attributes that were set
	Sets        int                               // of the dataset, without the one that is being written
	Ids         []int32                           // by variable: its id in the files that are being written, where they have record variables only

	Ten          *Tenure
	Claimed      bool // world rank 0: the .manifest.next is ours
	files        filesState
	set          string // base name of the files of this session
	placed       bool   // process-centric: every blob has its place
	late         error  // world rank 0: of what is done behind the first commit, in the same step
	MayBeInForce bool   // the prepared manifest may be on disk: nothing may be removed any more

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

// DatasetInfo is what the commit needs of the dataset as a whole.
type DatasetInfo struct {
	Ranks, Subfiles int
	Prints          []string          // fingerprints of the maps
	Old             *subfile.Manifest // of the dataset that is appended to
	Added           []string          // variables that it has not
	replace         bool
	replaced        *subfile.Manifest // of what is replaced, on world rank 0; nil if it has none
	Foreign         bool              // what is replaced has no manifest
	blank           bool              // nothing of the name was there
	Was             string            // ID of the record that was in force when the writer began, on world rank 0
	Rename          bool              // subfiles are written under partial names
}

// Create is blob.Create.
func Create(ctx context.Context, c comm.Comm, name string, s *dataset.Schema, parts []Part, o *dataset.Options) (*Writer, error) {
	return CreateWith(ctx, c, name, s, parts, o.Plain())
}

func CreateWith(ctx context.Context, c comm.Comm, name string, s *dataset.Schema, parts []Part, o *dataset.Settings) (*Writer, error) {
	ctx = comm.In(ctx, "Create")
	w := &Writer{C: c, Schema: s, Base: name, Opt: o.WithDefaults(), each: reference.In(ctx)}
	runs, err := checkCreate(name, s, parts, &o.Options)
	w.Limit = w.Opt.Records
	if w.Opt.Layout.Traits().Grows {
		w.Limit, w.Opt.Records = 0, 0
	}
	if err := sameOnAll(ctx, c, s, name, &w.Opt.Options, err); err != nil {
		return nil, err
	}
	mine, err := w.Setup(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err = w.create(ctx, mine); err != nil {
		w.Fail(err)
	}
	return w, err
}

func checkCreate(name string, s *dataset.Schema, parts []Part, o *dataset.Options) ([][]decomp.Req, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.Compress.Fits(o.Layout); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fault.Usage("empty name")
	}
	if err := CheckNew(name); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fault.Usage("no schema")
	}
	if s.Err != nil {
		return nil, s.Err
	}
	if o.Layout.Traits().ByRank {
		if err := s.CanSum(o.Records); err != nil {
			return nil, err
		}
	}
	return CheckOwn(s, parts, o.WideMaps, o.Repeats)
}

// CheckOwn is checkParts for parts of a rank that puts: what it would put of an element twice is, unless asked for, a mistake.
func CheckOwn(s *dataset.Schema, parts []Part, wide, repeats bool) ([][]decomp.Req, error) {
	runs, err := CheckParts(s, parts, wide)
	if err != nil || repeats {
		return runs, err
	}
	for d, own := range runs {
		if len(own) < 2 {
			continue
		}
		dims := s.DecompDims(dataset.DecompID(d + 1))
		if r := decomp.RepeatsOf(own, dims[len(dims)-1]); r.Again > 0 {
			return nil, fault.Usage("decomposition D%d: this rank holds %d elements again that it has already, the first is element %d; want each once, or Options.Repeats", d+1, r.Again, r.Off)
		}
	}
	return runs, nil
}

// CheckName refuses names that the manifest, which is JSON, could not hold.
func CheckName(base string) error {
	if n := filepath.Base(base); !utf8.ValidString(n) {
		return fault.Usage("name %q: it is no valid UTF-8, as which the manifest has it", n)
	}
	return nil
}

// CheckNew refuses names that a new dataset must not have: its subfiles would be those of an appended set of another.
func CheckNew(base string) error {
	if of := filepath.Base(subfile.Base(subfile.Name(base, 0))); of != filepath.Base(base) {
		return fault.Usage("name %q: it is that of a set appended to a dataset %s", filepath.Base(base), of)
	}
	return CheckName(base)
}

// CheckParts sorts the parts by decomposition and checks the ranges that the
// format sets; that requests lie in the array is checked by decomp.
func CheckParts(s *dataset.Schema, parts []Part, wide bool) ([][]decomp.Req, error) {
	runs := make([][]decomp.Req, len(s.Decomps))
	seen := make([]bool, len(s.Decomps))
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
				return nil, fmt.Errorf("decomposition D%d: request %d has length %d, want at most 2^31-1: %w", p.Decomp, k, r.Length, dataset.ErrRange)
			}
			if r.Offset > math.MaxInt32 && !wide {
				return nil, fmt.Errorf("decomposition D%d: request %d begins at element %d, but offsets are int in this format: want at most 2^31-1, or Options.WideMaps: %w", p.Decomp, k, r.Offset, dataset.ErrRange)
			}
		}
	}
	return runs, nil
}

// sameOnAll agrees on err, and checks that all ranks pass the same schema, name and
// options. Ranks of one process that share the schema only compare the pointer.
func sameOnAll(ctx context.Context, c comm.Comm, s *dataset.Schema, name string, o *dataset.Options, err error) error {
	lead, first := c.Rank(), s
	if !comm.Apart(c) {
		vals, err := c.Share(ctx, s)
		if err != nil {
			return err
		}
		lead = dataset.Leader(vals)
		first = vals[lead].(*dataset.Schema)
	}
	// A rank that shares its schema with another has no say: it gives the neutral values.
	sum, not := int64(math.MaxInt64), int64(math.MaxInt64)
	if err == nil && (lead == c.Rank() || first != s) {
		sum = s.Digest()
		not = ^sum
	}
	opts := o.Hash(name)
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
	if err = comm.Agree(ctx, w.C, w.Ten.Explain(err)); err != nil {
		w.Fail(err)
	}
	return err
}

// Fail ends the writer, unless it can go on, see goesOn. If the communication broke, the leader may still be
// reading what this rank has lent; it is waited for.
func (w *Writer) Fail(err error) {
	if w.goesOn(err) {
		return
	}
	if w.Eng != nil {
		w.Eng.background.stop()
	}
	w.pending, w.parts, w.seen = nil, nil, nil
	w.flying, w.away = false, nil
	earlier := func(err error) error {
		if errors.Is(err, dataset.ErrBroken) {
			return fmt.Errorf("%s: %w", w.Base, err)
		}
		return fmt.Errorf("%s: %w: %w", w.Base, dataset.ErrBroken, err)
	}
	if re, ok := err.(*comm.RankError); ok { // all ranks have it, so it stays that one's when the next call agrees on it
		w.Err = comm.MetBy(w.C, re.Rank, earlier(re.Err))
	} else {
		w.Err = earlier(err)
	}
	w.abandon()
}

// Records is blob.Writer.Records.
func (w *Writer) Records() int64 { return max(w.records, w.First) }

// Count is blob.Writer.Count.
func (w *Writer) Count(d dataset.DecompID) int64 { return w.counts[d-1] }

// Copies is blob.Writer.Copies.
func (w *Writer) Copies() (bytes, limit int64) {
	if w.Eng == nil {
		return 0, w.Opt.Memory
	}
	p := w.Eng.Proc
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Used, p.max
}

// Close is blob.Writer.Close.
func (w *Writer) Close(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Close")
	if w.closed {
		return fault.Usage("close after Close")
	}
	if w.lacked != nil { // it is not what the program wanted to have there, unless it tries again
		w.Fail(w.lacked)
	}
	records, err := w.post(ctx, false)
	w.closed = true
	if err != nil {
		w.abandon()
		return err
	}
	records, w.Held = max(records, w.Limit), nil
	if w.Commits > 0 {
		return w.end(ctx, records)
	}
	w.going = false
	if records == w.First { // added variables come with their first record
		w.atts = slices.DeleteFunc(w.atts, func(a subfile.AttInfo) bool { return slices.Contains(w.Info.Added, a.Var) })
	}
	if w.Info.Old != nil && records == w.First && len(w.atts) > 0 {
		return w.closeWithAtts(ctx, records)
	}
	if w.Info.Old != nil && records == w.First {
		w.abandon() // nothing to add: the dataset stays as it is
		return w.C.Barrier(ctx)
	}
	if err := w.complete(ctx, records); err != nil {
		return err
	}
	_, err = w.commit(ctx, records)
	if w.Lead {
		w.Eng.Proc.Pool.Close()
	}
	_ = w.Ten.Release() // a lease that could not be removed ends with the process
	return err
}

// complete writes what was kept, and what was never put. Collective.
func (w *Writer) complete(ctx context.Context, records int64) error {
	e := w.Eng
	err := w.place(records)
	var lists [][]Pend
	if w.Lead {
		if e.Seal.known = w.Known; w.soft && e.opt.Keeps() {
			e.Kept.remember()
		}
		lists = e.Kept.Missing(records)
	}
	b := Flushing{alike: allAlike}
	switch {
	case !w.apart():
	case e.opt.Keeps():
		b.keys = e.Layout.allKeys(records) // everything that there is
	default:
		b.keys = e.Layout.keysOf(lists[0], nil, nil)
		idle := int64(1)
		if len(lists[0]) > 0 || !e.Layout.MapsOut {
			idle = 0
		}
		v, err := comm.AgreeMin(ctx, w.C, err, append(e.hashKeys(b.keys, e.Layout.wholeKeyWords(b.keys)), idle)...)
		if err != nil {
			w.Fail(err)
			return err
		}
		if v[hashWords] == 1 {
			return nil
		}
		b.alike = alikeOf(v)
	}
	if w.Lead {
		err = e.background.alone(func() error {
			_, err := e.Write(ctx, lists, b, nil, err)
			return err
		})
		if e.Proc.release(e.Kept.freed); e.Kept.before == nil {
			e.Kept.freed = 0
		}
	}
	err = comm.Agree(ctx, w.C, w.Ten.Explain(err))
	if err != nil && w.Lead && !e.opt.Keeps() {
		e.Tally.unnote(lists)
	}
	if err != nil {
		w.Fail(err)
	}
	return err
}

// Abort is blob.Writer.Abort.
func (w *Writer) Abort() {
	w.closed = true
	w.abandon()
}
