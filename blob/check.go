package blob

import (
	"blobio/blob/internal/check"
	"blobio/blob/internal/resume"
	"blobio/vfs"
	"context"
	"iter"
)

// CheckOptions of Check. The zero value, or nil, checks everything.
type CheckOptions struct {
	Quick    bool                    // structure and maps only: data are not read, checksums not compared
	Workers  int                     // default GOMAXPROCS
	MaxOpen  int                     // default 256
	Progress func(done, total int64) // bytes; called often, by several goroutines
	FS       vfs.FS                  // that the files are in; nil: the operating system's
}

// DiffOptions of Diff. The zero value, or nil, compares everything exactly.
type DiffOptions struct {
	Vars      []string                // compare these only; nil: all
	ValueOnly bool                    // do not compare dimensions' and variables' attributes
	Order     bool                    // the order of dimensions, variables and attributes counts
	AbsTol    float64                 // values that differ by at most this are equal
	RelTol    float64                 // values that differ by at most this times the larger magnitude are equal
	Progress  func(done, total int64) // elements' bytes of the first dataset
}

// RecoverOptions of Recover. The zero value, or nil, means the defaults.
type RecoverOptions struct {
	DryRun bool // say what is to be done, and change nothing
	// Force makes the manifest anew from the headers and data of all sets where damage has made commits unreadable, in both copies or all that there is of
	// manifest and log; otherwise that is an error, and nothing is changed. Whatever the manifest and the log still say is kept: checksums, attributes, the number of
	// records. Other data have been compared with no checksum (Manifest.Unverified). Records that neither the headers nor the log count are given up.
	Force bool
}

// A Step is one thing that Recover does, or would do.
type Step = resume.Step

// Check looks for everything that is wrong with a dataset of any layout: its
// state on disk, the structure of every file, sizes, the maps (ranges, sums,
// coverage, overlaps), agreement between subfiles, and, where there is a manifest,
// sizes and checksums. It reports all it finds and never stops at the
// first. It changes nothing. If path cannot be looked at at all, the one finding's Err says why.
func Check(ctx context.Context, path string, o *CheckOptions) iter.Seq[Finding] {
	return check.Check(ctx, path, (*check.CheckOptions)(o))
}

// Diff compares two datasets of any layouts: metadata, then values in
// canonical order. It reports one finding per difference in metadata, and one
// per variable with different values, which counts them and names the first.
// NaN equals NaN. Finding.Numbers has the numbers of a finding's message. All values are compared with their checksums first (see Verification). An error that ends it is a finding with Err set.
func Diff(ctx context.Context, a, b *Reader, o *DiffOptions) iter.Seq[Finding] {
	return check.Diff(ctx, a.inner(), b.inner(), (*check.DiffOptions)(o))
}

// Recover finishes what a dead writer of the dataset base left: it carries out the renames of a commit that was cut short, makes the commits of a
// writer that did not come to Close the manifest's, and removes files that belong to no committed state, also an unfinished output of this name. Committed data
// stay as they are. It returns what it did. A dataset that somebody is writing is ErrInUse, and one that another program wrote
// without a manifest has nothing to finish.
//
// The name of a subfile means its dataset. But what lies under exactly the name that is given goes first: a dataset or an
// unfinished output "F.0001" is recovered, and not a dataset "F" beside it; and a file F.0001 that is no subfile has nothing to finish.
//
// With DryRun nothing is changed, and what a writer at work has is listed as if it were dead.
func Recover(ctx context.Context, base string, o *RecoverOptions) ([]Step, error) {
	return resume.Recover(ctx, base, (*resume.RecoverOptions)(o))
}
