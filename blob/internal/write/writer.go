package write

import (
	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/reference"
	"context"
)

// create makes the files, if no rank has met an error yet. World rank 0 takes the lease of the dataset, looks at what is there, and announces
// the writer by an unprepared manifest; then the first rank of each subfile
// makes its file. The result is agreed.
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
	ctx = context.Background() // the steps are short; a cancelled caller is seen by Agree of the next collective
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
