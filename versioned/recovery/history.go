package recovery

import (
	"context"
	"math"
	"slices"

	"blobio/versioned"
)

// history holds the levels of a run and the versions to which they can return.
type history struct {
	h       *versioned.Hierarchy
	planner Planner
	dt      float64         // length of a coarse step
	at      []int64         // by level: version of the last save or restore
	dirty   []bool          // by level: changed since the last save or restore
	begin   map[stamp]int64 // version of a level at the beginning of one of its steps
}

// stamp is the beginning of a step of a level.
type stamp struct {
	coarse int64
	step   versioned.Step
}

// versions lists the versions to which the levels of a plan return, or false if one is unknown.
func (hs *history) versions(p Plan) (out []int64, ok bool) {
	for l := p.From.Level; l < hs.planner.Levels; l++ {
		v, ok := hs.begin[stamp{p.Coarse, versioned.Step{Level: l, Index: p.From.Index * hs.planner.Steps(l-p.From.Level)}}]
		if !ok || !slices.ContainsFunc(hs.h.Array(l).Versions(), func(x versioned.VersionInfo) bool { return x.Number == v && !x.Tainted }) {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// forget drops the entries of steps whose versions are gone.
func (hs *history) forget(coarse int64) {
	there := make([][]int64, hs.planner.Levels)
	for l := range there {
		for _, v := range hs.h.Array(l).Versions() {
			there[l] = append(there[l], v.Number)
		}
	}
	for s, v := range hs.begin {
		if _, ok := slices.BinarySearch(there[s.step.Level], v); !ok && s.coarse < coarse {
			delete(hs.begin, s)
		}
	}
}

// taint taints the versions made after the plan's versions, for a late error. It taints snapshots first, so that a kill in
// between leaves no untainted snapshot with the error.
func (hs *history) taint(ctx context.Context, p Plan) error {
	var snaps []int64
	for _, s := range hs.h.Snapshots() {
		if s.Tainted {
			continue
		}
		if time, ok := hs.h.SnapshotTime(s.Number); ok && math.Round(time/hs.dt) > float64(p.Coarse) {
			snaps = append(snaps, s.Number)
		}
	}
	if err := hs.h.Taint(ctx, -1, snaps...); err != nil {
		return err
	}
	first := p.From.Level
	versions, ok := hs.versions(p)
	if !ok { // all levels return to a snapshot
		first, versions = 0, hs.newestSnapshot()
	}
	for i, newest := range versions {
		var later []int64
		for _, v := range hs.h.Array(first + i).Versions() {
			if v.Number > newest && !v.Tainted {
				later = append(later, v.Number)
			}
		}
		if err := hs.h.Taint(ctx, first+i, later...); err != nil {
			return err
		}
	}
	return nil
}

// newestSnapshot lists the versions of all levels in the newest untainted snapshot, or none.
func (hs *history) newestSnapshot() (versions []int64) {
	for _, s := range slices.Backward(hs.h.Snapshots()) {
		parts, err := hs.h.Parts(s.Number)
		if s.Tainted || err != nil { // all ranks take this branch
			continue
		}
		for _, p := range parts[:hs.planner.Levels] {
			versions = append(versions, p.Version)
		}
		break
	}
	return versions
}
