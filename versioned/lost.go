package versioned

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// MemberFinding is what is wrong with an array as a member of a hierarchy.
type MemberFinding struct {
	Hierarchy string
	Level     int // -1: the array of the snapshots
	Array     string
	Absent    bool // the array is not there
	Finding
}

var memberRE = regexp.MustCompile(`^(.+)\.(?:level(\d{1,2})|(global))$`)

// MemberOf takes the name of an array of a hierarchy apart: its name and the level, or -1 for the snapshots; "" for other names.
func MemberOf(array string) (hierarchy string, level int) {
	m := memberRE.FindStringSubmatch(array)
	switch {
	case m == nil:
		return "", 0
	case m[3] != "":
		return m[1], -1
	}
	n, _ := strconv.Atoi(m[2])
	return m[1], n
}

// hierarchyView is what a store has of a hierarchy.
type hierarchyView struct {
	name   string
	levels map[int]*View // nil: it cannot be opened
	global *View
	there  bool // the array of the snapshots
	known  int  // levels that there have to be, by the snapshots; 0: not known
	out    []MemberFinding
}

// CheckHierarchies looks for what the arrays of a store, each by itself, cannot tell: levels that are absent, snapshots
// that are, and versions that snapshots name and levels do not have. Only metadata are read; arrays that cannot be read
// are left to View.Check. Findings come by hierarchy and level. Of an encrypted store without its key only what the
// names of the arrays tell is known.
func CheckHierarchies(ctx context.Context, dir string, fsys vfs.FS, key []byte) ([]MemberFinding, error) {
	all := map[string]*hierarchyView{}
	var names []string
	list, err := List(dir, fsys)
	if err != nil {
		return nil, err
	}
	for _, n := range list {
		name, level := MemberOf(n)
		if name == "" {
			continue
		}
		h := all[name]
		if h == nil {
			h = &hierarchyView{name: name, levels: map[int]*View{}}
			all[name], names = h, append(names, name)
		}
		v, err := OpenView(filepath.Join(dir, n), fsys, key)
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
	var out []MemberFinding
	for _, n := range names {
		all[n].check(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, all[n].out...)
	}
	return out, nil
}

func (h *hierarchyView) finding(level int, absent bool, sev fault.Severity, format string, args ...any) MemberFinding {
	array := h.name + ".global"
	if level >= 0 {
		array = fmt.Sprintf("%s.level%d", h.name, level)
	}
	return MemberFinding{Hierarchy: h.name, Level: level, Array: array, Absent: absent, Finding: Finding{Severity: sev, Offset: -1, Msg: fmt.Sprintf(format, args...)}}
}

func (h *hierarchyView) check(ctx context.Context) {
	if !h.there {
		h.withoutGlobal(ctx)
		return
	}
	named := map[int][]int64{} // by level: snapshots that name a version of it
	var gone []MemberFinding
	if h.global != nil {
		for _, s := range h.global.Versions() {
			if s.Number == 0 {
				continue
			}
			snap, err := h.global.Snapshot(ctx, s.Number)
			if errors.Is(err, ErrNotFormat) {
				return // it only has the name
			}
			if err != nil {
				continue // said of the array, or the key is not known
			}
			h.known = max(h.known, len(snap.Versions))
			for l, n := range snap.Versions {
				named[l] = append(named[l], s.Number)
				if v := h.levels[l]; v != nil {
					if _, ok := v.rec.version(n); !ok && !s.Tainted {
						gone = append(gone, h.finding(l, false, fault.Error, "version %d, which snapshot %d names, is not there", n, s.Number))
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

// withoutGlobal tells levels without snapshots from arrays that only have such a name.
func (h *hierarchyView) withoutGlobal(ctx context.Context) {
	saved, begun := false, false
	for _, v := range h.levels {
		if v == nil || v.spec.Type != elem.Uint8 || len(v.spec.Shape) != 1 {
			continue
		}
		last := v.rec.Versions[len(v.rec.Versions)-1].Number
		if last == 0 {
			begun = true
			continue
		}
		_, err := v.Table(ctx, last)
		saved = saved || !errors.Is(err, ErrNotFormat)
	}
	switch {
	case saved:
		h.out = append(h.out, h.finding(-1, true, fault.Error, "the array is absent: the snapshots of hierarchy %s are lost", h.name))
	case begun:
		h.out = append(h.out, h.finding(-1, true, fault.Note, "the array is absent; no level was saved: creating the hierarchy makes it again"))
	}
}
