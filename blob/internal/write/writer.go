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
	Job     *Job
	Puts    *puts
	Claim   *claim
	Files   *files
	Held    *heldBack
	Commits *commits
	State   *state
}

// NewWriter makes the parts of a writer of the dataset base.
func NewWriter(job *Job) *Writer {
	ps, cl, h := &puts{job: job}, &claim{job: job}, &heldBack{job: job}
	fs := &files{job: job, claim: cl}
	cs := &commits{job: job, claim: cl, held: h}
	return &Writer{Job: job, Puts: ps, Claim: cl, Files: fs, Held: h, Commits: cs, State: &state{job: job, puts: ps, claim: cl, files: fs, commits: cs}}
}

// Job is what a rank has to write, and with whom.
type Job struct {
	C, sub          comm.Comm
	Schema          *dataset.Schema
	Eng             *Engine
	Lead            bool // calls the engine for the ranks of this process
	Base            string
	Opt             dataset.Settings
	Ranks, Subfiles int
	Ten             *Tenure
	Limit           int64   // Options.Records
	counts          []int64 // elements this rank owns, by map from 0
}

// puts are what this rank was given and the files do not have yet.
type puts struct {
	job     *Job
	list    []Pend
	parts   []part
	seen    []lonePut // what this rank was given and another of its subfile writes
	each    bool      // the first rank of each subfile has values of its own, see package reference
	copied  int64     // bytes of list that were reserved
	flying  bool      // a flush may be under way in the background
	away    []Pend    // the list that it has
	records int64     // one more than the highest record put
	First   int64     // records below were committed before this session
	Ids     []int32   // by variable: its id in the files that are being written, where they have record variables only
}

// claim is the right to the name of the dataset, and what was found there.
type claim struct {
	job      *Job
	Claimed  bool // world rank 0: the .manifest.next is ours
	replace  bool
	replaced *subfile.Manifest // of what is replaced, on world rank 0; nil if it has none
	Foreign  bool              // what is replaced has no manifest
	blank    bool              // nothing of the name was there
	Was      string            // ID of the record that was in force when the writer began, on world rank 0
	Rename   bool              // subfiles are written under partial names
}

// files are the subfiles of the set that is being written.
type files struct {
	job    *Job
	claim  *claim
	set    string // base name
	made   filesState
	placed bool // process-centric: every blob has its place
	named  bool // world rank 0: the files of a further set have, or get, their final names
}

// filesState says which subfiles of this session may be there.
type filesState uint8

const (
	filesNone filesState = iota
	filesSome            // being created, or a rank failed to
	filesAll
)

// heldBack is what commits have held back.
type heldBack struct {
	job     *Job
	Last    *HeldBackError                    // of the last commit; nil: nothing was held back
	written *HeldBackError                    // what the files have of it
	late    *HeldBackError                    // of a commit in the background, to be returned by a collective
	EverPut func(ctx context.Context) []int64 // not nil: of an append, on world rank 0, finds before
	before  []int64                           // 1 for each record variable that was put before this session
	uneven  bool                              // the last commit found variables that nobody has put, or held something back
}

// commits are the states of the dataset that are in force, and the one on its way.
type commits struct {
	job          *Job
	claim        *claim
	held         *heldBack
	Count        int64             // of this session
	Sets         int               // of the dataset, without the one that is being written
	Sealed       int64             // records below are committed
	Known        int64             // one more than the highest record that any rank knew of when they agreed last
	Old          *subfile.Manifest // of the dataset that is appended to
	Added        []string          // variables that it has not
	MapPrints    []string          // fingerprints of the maps
	InPlace      bool              // an append to the last set of files, which grow
	going        bool              // Commit was called: what is committed is not the end
	due          bool              // CommitAsync has been called, and no collective since
	log          *subfile.Log      // world rank 0: of the commits after the first
	atts         []subfile.AttInfo // to be committed; the same on all ranks
	AttBytes     int64             // of all attributes that were set
	MayBeInForce bool              // the prepared manifest may be on disk: nothing may be removed any more
	late         error             // world rank 0: of what is done behind the first commit, in the same step
	soft         bool              // a collective that lacks space is no end of the writer, see again
}

// state says whether the writer can go on.
type state struct {
	job     *Job
	puts    *puts
	claim   *claim
	files   *files
	commits *commits
	Err     error // of an earlier collective: the writer is broken
	closed  bool
	lacked  error // of the last collective, if it lacked space
}

// Create is blob.Create.
func Create(ctx context.Context, c comm.Comm, name string, s *dataset.Schema, parts []Part, o *dataset.Options) (*Writer, error) {
	return CreateWith(ctx, c, name, s, parts, o.Plain())
}

func CreateWith(ctx context.Context, c comm.Comm, name string, s *dataset.Schema, parts []Part, o *dataset.Settings) (*Writer, error) {
	ctx = comm.In(ctx, "Create")
	w := NewWriter(&Job{C: c, Schema: s, Base: name, Opt: o.WithDefaults()})
	w.Puts.each = reference.In(ctx)
	runs, err := checkCreate(name, s, parts, &o.Options)
	w.Job.Limit = w.Job.Opt.Records
	if w.Job.Opt.Layout.Traits().Grows {
		w.Job.Limit, w.Job.Opt.Records = 0, 0
	}
	if err := sameOnAll(ctx, c, s, name, &w.Job.Opt.Options, err); err != nil {
		return nil, err
	}
	mine, err := w.Job.Setup(ctx, runs)
	if err != nil {
		return nil, err
	}
	if err = w.create(ctx, mine); err != nil {
		w.State.Fail(err)
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
func (s *state) guard(ctx context.Context, err error) error {
	if err = comm.Agree(ctx, s.job.C, s.job.Ten.Explain(err)); err != nil {
		s.Fail(err)
	}
	return err
}

// Fail ends the writer, unless it can go on, see goesOn. If the communication broke, the leader may still be
// reading what this rank has lent; it is waited for.
func (s *state) Fail(err error) {
	if s.goesOn(err) {
		return
	}
	if s.job.Eng != nil {
		s.job.Eng.background.stop()
	}
	s.puts.list, s.puts.parts, s.puts.seen = nil, nil, nil
	s.puts.flying, s.puts.away = false, nil
	earlier := func(err error) error {
		if errors.Is(err, dataset.ErrBroken) {
			return fmt.Errorf("%s: %w", s.job.Base, err)
		}
		return fmt.Errorf("%s: %w: %w", s.job.Base, dataset.ErrBroken, err)
	}
	if re, ok := err.(*comm.RankError); ok { // all ranks have it, so it stays that one's when the next call agrees on it
		s.Err = comm.MetBy(s.job.C, re.Rank, earlier(re.Err))
	} else {
		s.Err = earlier(err)
	}
	s.abandon()
}

// Records is blob.Writer.Records.
func (ps *puts) Records() int64 { return max(ps.records, ps.First) }

// Count is blob.Writer.Count.
func (job *Job) Count(d dataset.DecompID) int64 { return job.counts[d-1] }

// Copies is blob.Writer.Copies.
func (job *Job) Copies() (bytes, limit int64) {
	if job.Eng == nil {
		return 0, job.Opt.Memory
	}
	p := job.Eng.Proc
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Used, p.max
}

// Close is blob.Writer.Close.
func (w *Writer) Close(ctx context.Context) error {
	ctx = comm.In(ctx, "Writer.Close")
	if w.State.closed {
		return fault.Usage("close after Close")
	}
	if w.State.lacked != nil { // it is not what the program wanted to have there, unless it tries again
		w.State.Fail(w.State.lacked)
	}
	records, err := w.post(ctx, false)
	w.State.closed = true
	if err != nil {
		w.State.abandon()
		return err
	}
	records, w.Held.Last = max(records, w.Job.Limit), nil
	if w.Commits.Count > 0 {
		return w.end(ctx, records)
	}
	w.Commits.going = false
	if records == w.Puts.First { // added variables come with their first record
		w.Commits.atts = slices.DeleteFunc(w.Commits.atts, func(a subfile.AttInfo) bool { return slices.Contains(w.Commits.Added, a.Var) })
	}
	if w.Commits.Old != nil && records == w.Puts.First && len(w.Commits.atts) > 0 {
		return w.closeWithAtts(ctx, records)
	}
	if w.Commits.Old != nil && records == w.Puts.First {
		w.State.abandon() // nothing to add: the dataset stays as it is
		return w.Job.C.Barrier(ctx)
	}
	if err := w.complete(ctx, records); err != nil {
		return err
	}
	_, err = w.commit(ctx, records)
	if w.Job.Lead {
		w.Job.Eng.Proc.Pool.Close()
	}
	_ = w.Job.Ten.Release() // a lease that could not be removed ends with the process
	return err
}

// complete writes what was kept, and what was never put. Collective.
func (w *Writer) complete(ctx context.Context, records int64) error {
	e := w.Job.Eng
	err := w.Files.place(records)
	var lists [][]Pend
	if w.Job.Lead {
		if e.Seal.known = w.Commits.Known; w.Commits.soft && e.opt.Keeps() {
			e.Kept.remember()
		}
		lists = e.Kept.Missing(records)
	}
	b := Flushing{alike: allAlike}
	switch {
	case !w.Job.apart():
	case e.opt.Keeps():
		b.keys = e.Layout.allKeys(records) // everything that there is
	default:
		b.keys = e.Layout.keysOf(lists[0], nil, nil)
		idle := int64(1)
		if len(lists[0]) > 0 || !e.Layout.MapsOut {
			idle = 0
		}
		v, err := comm.AgreeMin(ctx, w.Job.C, err, append(e.hashKeys(b.keys, e.Layout.wholeKeyWords(b.keys)), idle)...)
		if err != nil {
			w.State.Fail(err)
			return err
		}
		if v[hashWords] == 1 {
			return nil
		}
		b.alike = alikeOf(v)
	}
	if w.Job.Lead {
		err = e.background.alone(func() error {
			_, err := e.Write(ctx, lists, b, nil, err)
			return err
		})
		if e.Proc.release(e.Kept.freed); e.Kept.before == nil {
			e.Kept.freed = 0
		}
	}
	err = comm.Agree(ctx, w.Job.C, w.Job.Ten.Explain(err))
	if err != nil && w.Job.Lead && !e.opt.Keeps() {
		e.Tally.unnote(lists)
	}
	if err != nil {
		w.State.Fail(err)
	}
	return err
}

// Abort is blob.Writer.Abort.
func (w *Writer) Abort() {
	w.State.closed = true
	w.State.abandon()
}
