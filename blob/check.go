package blob

import (
	"blobio/blob/internal/check"
	"blobio/blob/internal/resume"
	"blobio/vfs"
	"context"
	"iter"
)

// CheckOptions are the options of Check. The zero value, or nil, checks everything.
type CheckOptions struct {
	Quick    bool                    // check structure and maps only; do not read data or compare checksums
	Workers  int                     // default GOMAXPROCS
	MaxOpen  int                     // maximum number of open files; default 256
	Progress func(done, total int64) // in bytes; called often, by several goroutines
	FS       vfs.FS                  // holds the files; nil: the operating system's
}

// DiffOptions are the options of Diff. The zero value, or nil, compares everything exactly.
type DiffOptions struct {
	Vars      []string                // variables to compare; nil: all
	ValueOnly bool                    // do not compare attributes of dimensions and variables
	Order     bool                    // the order of dimensions, variables and attributes matters
	AbsTol    float64                 // values that differ by at most this are equal
	RelTol    float64                 // values that differ by at most this times the larger magnitude are equal
	Progress  func(done, total int64) // in bytes of elements of the first dataset
}

// RecoverOptions are the options of Recover. The zero value, or nil, means the defaults.
type RecoverOptions struct {
	DryRun bool // list the steps and change nothing
	// Force rebuilds the manifest from the headers and data of all sets if damage has made commits unreadable: in both copies, or in
	// manifest and log together. Without Force such damage is an error, and nothing is changed. The new manifest keeps all readable
	// checksums, attributes and record numbers of the old one and the log. Other data are not checked against a checksum
	// (Manifest.Unverified). Records that neither headers nor log count are lost.
	Force bool
}

// A Step is one action of Recover, done or, with DryRun, planned.
type Step = resume.Step

// Check looks for all faults of a dataset of any layout: its state on disk, the structure and size of every file, and the maps
// (ranges, sums, coverage, overlaps). It also compares subfiles with each other and, if there is a manifest, sizes and checksums.
// Check reports every fault, does not stop at the first, and changes nothing. If path cannot be examined at all, the only finding
// has Err set.
func Check(ctx context.Context, path string, o *CheckOptions) iter.Seq[Finding] {
	return check.Check(ctx, path, (*check.CheckOptions)(o))
}

// Diff compares two datasets of any layouts: metadata, then values in canonical order. It reports one finding per difference in
// metadata. It reports one finding per variable with different values, with their count and the first of them. NaN equals NaN.
// Finding.Numbers holds the numbers of a finding's message. Diff first verifies all values against their checksums (see
// Verification). If an error ends Diff, the last finding has Err set.
func Diff(ctx context.Context, a, b *Reader, o *DiffOptions) iter.Seq[Finding] {
	return check.Diff(ctx, a.inner(), b.inner(), (*check.DiffOptions)(o))
}

// Recover finishes the work of a dead writer of the dataset base. It completes the renames of an interrupted commit and moves
// commits from the log to the manifest. It removes files that belong to no committed state, including an unfinished output of
// this name. Committed data stay unchanged. Recover returns its steps. A dataset with a live writer is ErrInUse. A dataset that
// another program wrote without a manifest needs no recovery.
//
// The name of a subfile stands for its dataset, but an exact match of the name comes first. If "F.0001" is itself a dataset or an
// unfinished output, Recover recovers "F.0001" and not a dataset "F". If the file F.0001 is not a subfile, Recover does nothing.
//
// With DryRun Recover changes nothing and lists the files of a live writer as if it were dead.
func Recover(ctx context.Context, base string, o *RecoverOptions) ([]Step, error) {
	return resume.Recover(ctx, base, (*resume.RecoverOptions)(o))
}
