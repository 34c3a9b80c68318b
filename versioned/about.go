package versioned

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"blobio/ffformat"
	"blobio/internal/base/fault"
)

// aboutID is the variable of a data file that says what the file is of; others are less.
const aboutID = math.MaxInt32

// maxAbout is how many bytes it may have.
const maxAbout = 64 << 20

// about is what a data file knows of its array, so that a record that is lost can be made anew: see Rebuild.
type about struct {
	Seq   int64  `json:"seq"`  // of the commit
	Node  int    `json:"node"` // that wrote the file
	Spec  spec   `json:"array"`
	Order string `json:"byte_order"`
	Key   string `json:"key,omitempty"`

	Generations []geometry `json:"generations"` // of Versions
	// Versions are the one that the file was written for, which is the last, and others that no other file may tell of: those that have none, and, where
	// files go with this version, all that stay.
	Versions []verInfo `json:"versions"`
}

// aboutOf is what a file of a version says. dead says that files go with it.
func aboutOf(rec *record, node int, v verInfo, keep []int64, dead bool) *about {
	x := &about{Seq: rec.Seq, Node: node, Spec: rec.Spec, Order: rec.Order, Key: rec.Key}
	for _, o := range rec.Versions {
		if _, stays := slices.BinarySearch(keep, o.Number); stays && (dead || o.Changed == 0) {
			x.Versions = append(x.Versions, o)
		}
	}
	x.Versions = append(x.Versions, v)
	for _, g := range rec.Generations {
		if slices.ContainsFunc(x.Versions, func(v verInfo) bool { return v.Generation == g.ID }) {
			x.Generations = append(x.Generations, g)
		}
	}
	return x
}

// readAbout is nil for files that were written without it.
func readAbout(ctx context.Context, r *ffformat.Reader, name string) (*about, error) {
	if !slices.ContainsFunc(r.File().Vars(), func(v ffformat.VarInfo) bool { return v.ID == aboutID }) {
		return nil, nil
	}
	n, err := r.VarSize(aboutID)
	if err != nil {
		return nil, err
	}
	if n > min(maxAbout, r.File().Size) {
		return nil, fault.At(name, -1, "about", fault.ErrTooLarge, "%d bytes", n)
	}
	b := make([]byte, n)
	if err := r.ReadVar(ctx, aboutID, b); err != nil {
		return nil, err
	}
	x := &about{}
	if err := json.Unmarshal(b, x); err != nil || len(x.Versions) == 0 {
		return nil, fault.At(name, -1, "about", ErrCorrupt, "%d versions: %v", len(x.Versions), err)
	}
	return x, nil
}
