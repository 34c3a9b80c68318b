package redset

import (
	"errors"
	"fmt"
	"strings"

	"blobio/internal/base/fault"
)

// Classes of errors for errors.Is, in addition to the classes of package kvtree. Every *LostError wraps kvtree.ErrMissing.
// kvtree.ErrCorrupt means that headers of one set contradict each other, or that a rebuilt file does not match. A fault of a
// redundancy file is a *kvtree.FormatError.
var (
	ErrUsage   = fault.ErrUsage   // an invalid argument: an option out of range, or too few failure groups
	ErrChanged = fault.ErrChanged // a file changed during Encode
)

// ErrNone means that no rank has redundancy files with this prefix.
var ErrNone = errors.New("no redundancy files")

// GroupsError means that a set has fewer members than the scheme needs, because there are too few failure groups. Its class is
// ErrUsage.
type GroupsError struct {
	Scheme Scheme
	Rank   int // a rank of this set in the Comm given to New
	Have   int // number of members of the set
	Need   int // number of members that the scheme needs
}

// Error implements error.
func (e *GroupsError) Error() string {
	return fmt.Sprintf("%v needs sets of at least %d failure groups, but the set of rank %d has %d", e.Scheme, e.Need, e.Rank, e.Have)
}

// Unwrap returns ErrUsage.
func (e *GroupsError) Unwrap() error { return fault.ErrUsage }

// LostError means that more is lost than the scheme can rebuild. No file was changed. Its class is ErrMissing.
type LostError struct {
	Scheme    Scheme
	Set       int    // number of the set, from 0; -1 if unknown
	Ranks     []int  // world ranks with losses
	Tolerates int    // number of losses per stripe that the scheme can rebuild
	Detail    string // the parts that could not be rebuilt
}

// Error implements error.
func (e *LostError) Error() string {
	var b strings.Builder
	b.WriteString("lost beyond repair")
	if e.Set >= 0 {
		fmt.Fprintf(&b, ": %v set %d tolerates %d", e.Scheme, e.Set, e.Tolerates)
	}
	if len(e.Ranks) > 0 {
		fmt.Fprintf(&b, ", lost of ranks %v", e.Ranks)
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

// Unwrap returns ErrMissing.
func (e *LostError) Unwrap() error { return fault.ErrMissing }

// DoubtError means that files without checksums disagree with their redundancy. The original SCR writes no checksums. Some bytes
// have changed, but it is unknown in which member. No file was changed. Its class is ErrCorrupt.
type DoubtError struct {
	Scheme Scheme
	Set    int    // number of the set, from 0
	Ranks  []int  // world ranks; one of them has the wrong bytes
	Detail string // the parts that disagree
}

// Error implements error.
func (e *DoubtError) Error() string {
	return fmt.Sprintf("%v set %d: silent corruption at one of ranks %v: %s", e.Scheme, e.Set, e.Ranks, e.Detail)
}

// Unwrap returns ErrCorrupt.
func (e *DoubtError) Unwrap() error { return fault.ErrCorrupt }

func formatErr(file string, off int64, field, msg string, class error) error {
	return fault.At(file, off, field, class, "%s", msg)
}
