package versions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

// memberFinding is a fault of an array as a member of a hierarchy.
type memberFinding struct {
	Hierarchy string
	Level     int // -1: the array of the snapshots
	Array     string
	Absent    bool // the array is missing
	fault.Finding
}

// hierarchyView holds the parts of a hierarchy found in a store.
type hierarchyView struct {
	name   string
	levels map[int]*versioned.View // nil: cannot be opened
	global *versioned.View
	there  bool // the array of the snapshots exists
	known  int  // number of levels according to the snapshots; 0: unknown
	out    []memberFinding
}

// checkHierarchies finds faults that no array shows by itself: missing levels, missing snapshots, and versions that snapshots
// name but levels lack. It reads only metadata; versioned.View.Check reports unreadable arrays. Findings are ordered by hierarchy
// and level. In an encrypted store without its key, only the names of the arrays are known.
func checkHierarchies(ctx context.Context, dir string, fsys vfs.FS, key []byte) ([]memberFinding, error) {
	all := map[string]*hierarchyView{}
	var names []string
	list, err := arrays.List(dir, fsys)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		name, level := arrays.Member(n)
		if name == "" {
			continue
		}
		h := all[name]
		if h == nil {
			h = &hierarchyView{name: name, levels: map[int]*versioned.View{}}
			all[name], names = h, append(names, name)
		}
		v, err := versioned.OpenView(filepath.Join(dir, n), fsys, key)
		if err != nil {
			v = nil
		} else {
			defer v.Close()
		}
		if level < 0 {
			h.global, h.there = v, true
		} else {
			h.levels[level] = v
		}
	}
	slices.Sort(names)
	var out []memberFinding
	for _, n := range names {
		all[n].check(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, all[n].out...)
	}
	return out, nil
}

func (h *hierarchyView) finding(level int, absent bool, sev fault.Severity, format string, args ...any) memberFinding {
	array := h.name + ".global"
	if level >= 0 {
		array = fmt.Sprintf("%s.level%d", h.name, level)
	}
	return memberFinding{Hierarchy: h.name, Level: level, Array: array, Absent: absent, Finding: fault.Finding{Severity: sev, Offset: -1, Msg: fmt.Sprintf(format, args...)}}
}

func (h *hierarchyView) check(ctx context.Context) {
	if !h.there {
		h.withoutGlobal(ctx)
		return
	}
	named := map[int][]int64{} // by level: the snapshots that name a version of the level
	var gone []memberFinding
	if h.global != nil {
		for _, s := range h.global.Versions() {
			if s.Number == 0 {
				continue
			}
			snap, err := h.global.Snapshot(ctx, s.Number)
			if errors.Is(err, versioned.ErrNotFormat) {
				return // the array is not an array of snapshots
			}
			if err != nil {
				continue // either the check of the array reports err, or the key is unknown
			}
			h.known = max(h.known, len(snap.Versions))
			for l, n := range snap.Versions {
				named[l] = append(named[l], s.Number)
				if v := h.levels[l]; v != nil {
					if _, ok := slices.BinarySearchFunc(v.Versions(), n, func(x versioned.VersionInfo, n int64) int { return cmp.Compare(x.Number, n) }); !ok && !s.Tainted {
						gone = append(gone, h.finding(l, false, fault.Error, "version %d is missing, but snapshot %d needs it", n, s.Number))
					}
				}
			}
		}
	}
	last := h.known - 1
	for l := range h.levels {
		last = max(last, l)
	}
	for l := 0; l <= last; l++ {
		if _, ok := h.levels[l]; ok {
			continue
		}
		text := ""
		if n := len(named[l]); n > 0 {
			text = fmt.Sprintf("; the last of the snapshots that need it (%d) is %d", n, named[l][n-1])
		}
		h.out = append(h.out, h.finding(l, true, fault.Error, "the array is absent: level %d of hierarchy %s is lost%s", l, h.name, text))
	}
	h.out = append(h.out, gone...)
}

// withoutGlobal distinguishes levels without snapshots from other arrays with such names.
func (h *hierarchyView) withoutGlobal(ctx context.Context) {
	saved, begun := false, false
	for _, v := range h.levels {
		if v == nil || v.Spec().Type != elem.Uint8 || len(v.Spec().Shape) != 1 {
			continue
		}
		last := v.Versions()[len(v.Versions())-1].Number
		if last == 0 {
			begun = true
			continue
		}
		_, err := v.Table(ctx, last)
		saved = saved || !errors.Is(err, versioned.ErrNotFormat)
	}
	switch {
	case saved:
		h.out = append(h.out, h.finding(-1, true, fault.Error, "the array is absent: the snapshots of hierarchy %s are lost", h.name))
	case begun:
		h.out = append(h.out, h.finding(-1, true, fault.Note, "the array is absent, but no level was saved; creating the hierarchy makes the array again"))
	}
}
