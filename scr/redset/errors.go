package redset

import (
	"errors"
	"fmt"
	"strings"

	"blobio/internal/base/fault"
)

// Classes of errors, for errors.Is, beside those of package kvtree: kvtree.ErrMissing is in the chain of every *LostError, kvtree.ErrCorrupt
// says that headers of one set contradict each other, or that a rebuilt file does not match. What is wrong with a redundancy file is a
// *kvtree.FormatError.
var (
	ErrUsage   = fault.ErrUsage   // a wrong argument: an option out of range, too few failure groups
	ErrChanged = fault.ErrChanged // a file was changed while it was being encoded
)

// ErrNone: there are no redundancy files of this prefix, on any rank.
var ErrNone = errors.New("no redundancy files")

// GroupsError says that a scheme needs more members than some set has, because
// there are too few failure groups. Its class is ErrUsage.
type GroupsError struct {
	Scheme Scheme
	Rank   int // a rank of that set, in the Comm given to New
	Have   int // members of its set
	Need   int // members that the scheme needs
}

// Error implements error.
func (e *GroupsError) Error() string {
	return fmt.Sprintf("%v needs sets of at least %d failure groups, the set of rank %d has %d", e.Scheme, e.Need, e.Rank, e.Have)
}

// Unwrap returns ErrUsage.
func (e *GroupsError) Unwrap() error { return fault.ErrUsage }

// LostError says that more is lost than the scheme can rebuild. Nothing was
// changed. Its class is ErrMissing.
type LostError struct {
	Scheme    Scheme
	Set       int    // the set, from 0; -1 if unknown
	Ranks     []int  // world ranks that lost something
	Tolerates int    // losses per stripe that the scheme can rebuild
	Detail    string // what could not be rebuilt
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

// DoubtError says that files without checksums, as the reference makes them, and their redundancy do not agree: bytes
// of one of them changed, and the member is not known. Nothing was changed. Its class is ErrCorrupt.
type DoubtError struct {
	Scheme Scheme
	Set    int    // the set, from 0
	Ranks  []int  // world ranks; one of them has the wrong bytes
	Detail string // what does not agree
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
