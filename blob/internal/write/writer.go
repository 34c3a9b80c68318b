package write

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"unicode/utf8"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/reference"
	"blobio/internal/subfile"
)

// create makes the files, unless a rank has already failed. World rank 0 takes the lease of the dataset, examines existing files,
// and announces the writer by an unprepared manifest. Then the first rank of each subfile makes its file, and all ranks agree on
// the result.
func (w *Writer) create(ctx context.Context, err error) error {
	replace := int64(0)
	if w.Job.C.Rank() == 0 && err == nil {
		if err = w.Job.Acquire(ctx, w.Job.Base); err == nil {
			err = w.Claim.Take()
		}
		if err == nil {
			if w.Claim.replace {
				replace = -1
			}
			if w.Claim.Rename = w.Claim.Renames(); !w.Claim.Rename {
				err = w.Job.Share()
			}
		}
		if err == nil {
			err = w.Claim.Announce(0)
		}
	}
	ctx = context.Background() // these steps are short, and the next collective notices that ctx is cancelled
	v, err := comm.AgreeMin(ctx, w.Job.C, w.Job.Ten.Explain(err), append(w.Job.Ten.Words(), replace)...)
	if err != nil {
		return err
	}
	w.Job.Serve(v)
	w.Claim.replace = v[2] != 0
	w.Claim.Rename = w.Claim.Renames()
	return w.Files.Make(ctx, w.Job.Base, nil)
}

// Part is blob.Part.
type Part struct {
	Decomp dataset.DecompID
	Runs   []decomp.Req // runs in the flattened array of the decomposed dimensions
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

// heldBack holds the records that commits have held back.
type heldBack struct {
	job     *Job
	Last    *HeldBackError                    // error of the last commit; nil if it held back no record
	written *HeldBackError                    // the state that the files record
	late    *HeldBackError                    // error of a background commit, which the next collective returns
	EverPut func(ctx context.Context) []int64 // set on world rank 0 for an append: computes before
	before  []int64                           // 1 for each record variable that was put before this session
	uneven  bool                              // in the last commit, no rank had put some variable, or a record was held back
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
		return nil, fault.Usage("the dataset name is empty")
	}
	if err := CheckNew(name); err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fault.Usage("the schema is nil")
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

// CheckOwn checks the parts of a rank that puts, as CheckParts does. It also rejects an element that appears twice, unless
// repeats are allowed.
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
			return nil, fault.Usage("decomposition D%d: this rank repeats %d elements, the first is element %d; want each element once, unless Options.Repeats is set", d+1, r.Again, r.Off)
		}
	}
	return runs, nil
}

// CheckName rejects names that a JSON manifest cannot hold.
func CheckName(base string) error {
	if n := filepath.Base(base); !utf8.ValidString(n) {
		return fault.Usage("name %q is not valid UTF-8, which the manifest requires", n)
	}
	return nil
}

// CheckNew rejects names whose subfiles would belong to an appended set of another dataset.
func CheckNew(base string) error {
	if of := filepath.Base(subfile.Base(subfile.Name(base, 0))); of != filepath.Base(base) {
		return fault.Usage("name %q is reserved for a set appended to dataset %s", filepath.Base(base), of)
	}
	return CheckName(base)
}

// CheckParts sorts the parts by decomposition and checks the limits of the format. Package decomp checks that requests lie inside
// the array.
func CheckParts(s *dataset.Schema, parts []Part, wide bool) ([][]decomp.Req, error) {
	runs := make([][]decomp.Req, len(s.Decomps))
	seen := make([]bool, len(s.Decomps))
	for _, p := range parts {
		d := int(p.Decomp) - 1
		if d < 0 || d >= len(runs) {
			return nil, fault.Usage("part of decomposition D%d, want D1..D%d", p.Decomp, len(runs))
		}
		if seen[d] {
			return nil, fault.Usage("decomposition D%d has two parts, want at most one", p.Decomp)
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
				return nil, fmt.Errorf("decomposition D%d: request %d begins at element %d, want at most 2^31-1, or Options.WideMaps for larger offsets: %w", p.Decomp, k, r.Offset, dataset.ErrRange)
			}
		}
	}
	return runs, nil
}

// sameOnAll returns an error on all ranks if err is not nil on any rank, or if the ranks pass different schemas, names or options.
// Ranks of one process that share the schema compare only the pointer.
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
	// If several ranks share a schema, only the lowest of them gives its digest.
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
