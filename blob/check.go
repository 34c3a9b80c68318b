package blob

import (
	"blobio/blob/internal/check"
	"blobio/blob/internal/resume"
	"blobio/vfs"
	"context"
	"iter"
)

// CheckOptions are the options of Check. With the zero value, or nil, Check examines everything.
type CheckOptions struct {
	Quick    bool                    // check structure and maps only, without reading data or comparing checksums
	Workers  int                     // default GOMAXPROCS
	MaxOpen  int                     // maximum number of open files; default 256
	Progress func(done, total int64) // in bytes; called often, by several goroutines
	FS       vfs.FS                  // file system of the files; nil: the operating system's
}

// DiffOptions are the options of Diff. With the zero value, or nil, Diff compares everything exactly.
type DiffOptions struct {
	Vars      []string                // variables to compare; nil: all
	ValueOnly bool                    // do not compare attributes of dimensions and variables
	Order     bool                    // compare the order of dimensions, variables and attributes too
	AbsTol    float64                 // values are equal if they differ by at most AbsTol
	RelTol    float64                 // values are equal if they differ by at most RelTol times the larger magnitude
	Progress  func(done, total int64) // in bytes of the first dataset's elements
}

// RecoverOptions are the options of Recover. With the zero value, or nil, both options are off.
type RecoverOptions struct {
	DryRun bool // list the steps and change nothing
	// Force rebuilds the manifest if damage has made commits unreadable, from the headers and data of all sets. Such damage
	// affects both copies in the manifest, or both the manifest and the log. Without Force it is an error, and Recover changes
	// nothing. The new manifest keeps all checksums, attributes and record numbers that can be read from the old manifest and the
	// log. Data without such a checksum are not verified (Manifest.Unverified). Records that neither the headers nor the log count
	// are lost.
	Force bool
}

// A Step is one action of Recover. With DryRun the action is only planned.
type Step = resume.Step

// Check looks for faults of a dataset of any layout. It examines the state on disk, the structure and size of every file, and
// the maps (ranges, sums, coverage, overlaps). It compares the subfiles with each other, and compares sizes and checksums with
// the manifest, if there is one. Check continues after a fault and changes nothing. If path cannot be examined at all, the only
// finding has Err set.
func Check(ctx context.Context, path string, o *CheckOptions) iter.Seq[Finding] {
	return check.Check(ctx, path, (*check.CheckOptions)(o))
}

// Diff compares two datasets of any layouts: first the metadata, then the values in canonical order. Each difference in
// metadata is one finding. Each variable with different values is one finding, with the number of differences and the first of
// them. NaN equals NaN. Finding.Numbers holds the numbers in a finding's message. Diff verifies all values against their
// checksums before it compares them (see Verification). If an error ends Diff, the last finding has Err set.
func Diff(ctx context.Context, a, b *Reader, o *DiffOptions) iter.Seq[Finding] {
	return check.Diff(ctx, a.inner(), b.inner(), (*check.DiffOptions)(o))
}

// Recover finishes the work of a dead writer of the dataset base, and returns its steps. It completes the renames of an
// interrupted commit, and moves commits from the log to the manifest. It removes files that belong to no committed state,
// including an unfinished conversion to this name. Committed data stay unchanged. If the writer is alive, the error is
// ErrInUse. A dataset that another program wrote without a manifest needs no recovery.
//
// base may also be the name of a subfile of the dataset. If a dataset or an unfinished output has exactly this name, Recover
// takes that one: with a dataset "F.0001" and a dataset "F", Recover of "F.0001" leaves "F" alone. If F.0001 is a file but not
// a subfile, Recover does nothing.
//
// With DryRun, Recover changes nothing. It then lists the files of a live writer too, as if the writer were dead.
func Recover(ctx context.Context, base string, o *RecoverOptions) ([]Step, error) {
	return resume.Recover(ctx, base, (*resume.RecoverOptions)(o))
}
