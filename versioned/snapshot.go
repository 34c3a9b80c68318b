package versioned

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
)

// ErrNotSynchronised means that the levels are not at the same time.
var ErrNotSynchronised = errors.New("levels are not synchronised")

// Snapshot is a consistent state of all levels, stored as a version of the global array.
type Snapshot struct {
	Spec     HierarchySpec
	Snapshot int64   // number of the snapshot
	Versions []int64 // version of each level
	Time     float64
}

// readAll reads all snapshots, stores the level versions that each uses, and returns the snapshot want. Other snapshots may be
// damaged. It is collective.
func (s *snapshots) readAll(ctx context.Context, want int64) (*Snapshot, error) {
	var found *Snapshot
	for _, v := range s.Versions() {
		if (v.Number == 0 || v.Tainted) && v.Number != want { // the version is empty or tainted
			continue
		}
		g, err := s.read(ctx, v.Number)
		kind := btoi(err != nil)
		if err != nil && !unreadable(err) {
			kind = 2 // a later attempt may succeed
		}
		all, err := comm.AgreeMin(ctx, s.c, err, -kind)
		if err != nil && (all == nil || all[0] == -2 || v.Number == want) {
			return nil, err
		}
		if err == nil {
			s.named[v.Number], s.times[v.Number] = g.Versions, g.Time
		}
		if v.Number == want {
			found = g
		}
	}
	if found == nil { // all ranks take this branch
		return nil, comm.Agree(ctx, s.c, fmt.Errorf("array %s: snapshot %d: %w", s.spec.Name, want, ErrNoVersion))
	}
	return found, nil
}

// pin protects exactly the level versions of untainted snapshots from retention.
func (h *Hierarchy) pin() {
	for n := range h.global.named {
		if _, ok := h.global.cat.record().version(n); !ok {
			delete(h.global.named, n)
			delete(h.global.times, n)
		}
	}
	marks := h.marks()
	for l, a := range h.levels {
		a.pins = nil
		for n, v := range h.global.named {
			if h.global.clean(n, marks) {
				a.pins = append(a.pins, v[l])
			}
		}
		slices.Sort(a.pins)
	}
}

func (h *Hierarchy) marks() (out []*record) {
	for _, a := range h.levels {
		out = append(out, a.cat.record())
	}
	return out
}

// clean reports whether a snapshot and all versions that it uses are untainted. marks are the records of the levels.
func (s *snapshots) clean(snapshot int64, marks []*record) bool {
	g, ok := s.cat.record().version(snapshot)
	if !ok || g.Tainted {
		return false
	}
	for l, n := range s.named[snapshot] {
		if l >= len(marks) || marks[l] == nil {
			continue // opening the snapshot will report the missing version
		}
		if v, ok := marks[l].version(n); ok && v.Tainted {
			return false
		}
	}
	return true
}

// read decodes a version of the global array and verifies all its bytes.
func (s *snapshots) read(ctx context.Context, version int64) (*Snapshot, error) {
	v, err := s.cat.record().find(version)
	if err != nil {
		return nil, err
	}
	n := v.Shape[0]
	if n == 0 {
		return nil, fmt.Errorf("array %s: no snapshot was taken: %w", s.spec.Name, ErrNoVersion)
	}
	if n > durable.MaxSeal {
		return nil, fault.At(s.spec.Name, 0, "global", fault.ErrTooLarge, "%d bytes", n)
	}
	b := make([]byte, n)
	cat := s.cat
	if err := cat.get(ctx, cat.record(), version, []int64{0}, []int64{n}, b); err != nil {
		return nil, err
	}
	return decodeGlobal(b, s.spec.Name)
}

func decodeGlobal(b []byte, name string) (*Snapshot, error) {
	var g Snapshot
	if err := json.Unmarshal(b, &g); err != nil {
		return nil, fault.At(name, 0, "global", ErrCorrupt, "%v", err)
	}
	if err := g.Spec.Subcycling.Validate(); err != nil || len(g.Versions) != g.Spec.Subcycling.Levels {
		return nil, fault.At(name, 0, "global", ErrCorrupt, "%d versions, %+v", len(g.Versions), g.Spec.Subcycling)
	}
	return &g, nil
}

// together reports whether the level's time equals time, except for the rounding errors of a sum of its steps.
func (l *LevelInfo) together(time float64) bool {
	return l.Time == time || math.Abs(l.Time-time) <= min(1e-6*math.Abs(l.Dt), 1e-9*math.Abs(time))
}

// Snapshot makes a snapshot of the versions to which the levels were last saved or restored. All levels with boxes must be at
// the same time, the end of a coarse step, and must be saved with their current boxes. Otherwise Snapshot returns
// ErrNotSynchronised. If a level has lost its boxes, Snapshot saves the level first.
func (h *Hierarchy) Snapshot(ctx context.Context) (int64, error) {
	g := Snapshot{Spec: h.spec, Time: h.now[0].Time, Snapshot: h.global.cat.record().top() + 1}
	var bad error
	for l := range h.now {
		x, at := &h.now[l], h.saved[l]
		if _, there := h.levels[l].cat.record().version(at.version); !there {
			bad = fmt.Errorf("hierarchy %s: level %d was restored to version %d, which was dropped since: %w", h.spec.Name, l, at.version, ErrNoVersion)
		} else if len(x.Boxes) > 0 && at.epoch != x.Epoch {
			bad = fmt.Errorf("hierarchy %s: level %d was not saved since its boxes changed: %w", h.spec.Name, l, ErrNotSynchronised)
		} else if len(x.Boxes) > 0 && !x.together(g.Time) {
			bad = fmt.Errorf("hierarchy %s: level %d is at %v, level 0 at %v: %w", h.spec.Name, l, x.Time, g.Time, ErrNotSynchronised)
		}
	}
	for l := range h.now { // all ranks come to the same result
		if len(h.now[l].Boxes) == 0 && h.saved[l].epoch != h.now[l].Epoch && bad == nil {
			if _, err := h.Save(ctx, l, g.Time, 0, h.now[0].Step, nil); err != nil {
				return 0, err
			}
		}
		g.Versions = append(g.Versions, h.saved[l].version)
	}
	if bad == nil { // all ranks take this branch
		if err := h.flush(ctx); err != nil {
			return 0, err
		}
	}
	b, err := json.Marshal(&g)
	if bad == nil {
		bad = err
	}
	if _, err := h.global.reserve(ctx, int64(len(b)), bad); err != nil {
		return 0, err
	}
	if h.c.Rank() == 0 {
		bad = h.global.putBytes(ctx, []int64{0}, []int64{int64(len(b))}, b)
	}
	n, err := h.global.inc(ctx, 1, fmt.Sprintf("time %v", g.Time), bad)
	if err != nil {
		return 0, err
	}
	h.global.named[n], h.global.times[n] = g.Versions, g.Time
	h.pin()
	return n, nil
}

// RestoreSnapshot makes a snapshot the current state. It restores each level to the snapshot's version, even if there are newer
// versions.
func (h *Hierarchy) RestoreSnapshot(ctx context.Context, snapshot int64) error {
	g, err := h.global.read(ctx, snapshot)
	if err := comm.Agree(ctx, h.c, err); err != nil {
		return err
	}
	for l, v := range g.Versions {
		if err := h.RestoreLevel(ctx, l, v); err != nil {
			return err
		}
	}
	return nil
}

// Snapshots lists the snapshots, oldest first.
func (h *Hierarchy) Snapshots() []VersionInfo {
	return slices.DeleteFunc(h.global.Versions(), func(v VersionInfo) bool { return v.Number == 0 }) // version 0 is empty
}

// Part is one version of an array.
type Part struct {
	Array   *Array
	Version int64
}

// Parts returns the parts of a snapshot, for Levels.Commit: the arrays of the levels at the snapshot's versions, and the array
// of the snapshots.
func (h *Hierarchy) Parts(snapshot int64) ([]Part, error) {
	named, ok := h.global.named[snapshot]
	if !ok {
		return nil, fmt.Errorf("hierarchy %s: snapshot %d: %w", h.spec.Name, snapshot, ErrNoVersion)
	}
	var out []Part
	for l, a := range h.levels {
		out = append(out, Part{a, named[l]})
	}
	return append(out, Part{h.global.Array, snapshot}), nil
}
