package plotfile

import (
	"bytes"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"

	"blobio/internal/amr/boxes"
)

// HeaderName is the file that a plotfile begins with.
const HeaderName = "Header"

// version is the first line of what is written; AMReX's own begin in the same way, other programs write their own name.
const version = "HyperCLaw-V1.1"

// Caps of what a Header may say.
const (
	maxFields = 1 << 14
	maxLevels = 32
	maxText   = 1 << 28 // bytes of a text file
)

// Box is cells from Lo to below Hi; axes beyond the rank have the one cell 0.
type Box = boxes.Box

// Header is the file Header. Axes are x, y, z; those beyond Rank are 0 to 1, with one cell.
type Header struct {
	Version      string
	Fields       []string
	Rank         int
	Time         float64
	Lower, Upper [3]float64
	Coord        int // 0 Cartesian, 1 cylindrical (r, z), 2 spherical
	Levels       []Level
}

// Level is one level, coarsest first.
type Level struct {
	Domain Box
	Ratio  [3]int // to the next finer level; 1 of the finest
	Width  [3]float64
	Step   int64
	Time   float64
	Bounds [][2][3]float64 // of the grids
	Path   string          // of Cell_H without "_H", such as Level_0/Cell
	pathAt int
	Grids  []Grid
	cells  cellHeader
}

// Grid is a box with data.
type Grid struct {
	Box
	File   string // in the directory of the level
	Offset int64
}

// parseHeader reads the file Header.
func parseHeader(b []byte) (*Header, error) {
	t := &text{file: HeaderName, b: b}
	h := &Header{Version: t.line("version"), Upper: [3]float64{1, 1, 1}}
	if t.err == nil && (h.Version == "" || len(h.Version) > 256 || strings.ContainsFunc(h.Version, func(r rune) bool { return r < ' ' || r > '~' })) {
		return nil, pkg.At(t.file, 0, "version", ErrNotFormat, "%s, want the name of a format such as %s", clip(h.Version), version)
	}
	n := t.int("number of fields", 0, maxFields)
	t.line("number of fields")
	for i := 0; i < n && t.err == nil; i++ {
		at := t.at
		name := strings.TrimSpace(t.line(fmt.Sprintf("field %d", i)))
		if name == "" || len(name) > 1024 {
			t.fail(at, fmt.Sprintf("field %d", i), ErrCorrupt, "%s, want a name", clip(name))
		}
		h.Fields = append(h.Fields, name)
	}
	h.Rank = t.int("dimensions", 1, 3)
	h.Time = t.float("time", "")
	levels := t.int("finest level", 0, maxLevels-1) + 1
	for a := range h.Rank {
		h.Lower[a] = t.finite("lower corner")
	}
	for a := range h.Rank {
		at := t.at
		if h.Upper[a] = t.finite("upper corner"); t.err == nil && h.Upper[a] <= h.Lower[a] {
			t.fail(at, "upper corner", ErrCorrupt, "%v on axis %d, want more than %v", h.Upper[a], a, h.Lower[a])
		}
	}
	t.line("upper corner")
	if t.err != nil {
		return nil, t.err
	}
	h.Levels = make([]Level, levels)
	ratios := &text{file: t.file, b: t.b[:lineEnd(t.b, t.at)], at: t.at}
	var said [][3]int // some programs leave them out, some say one for each axis; the first counts
	for ratios.err == nil && ratios.next() != 0 {
		var v [3]int
		if ratios.next() == '(' {
			v = ratios.vector("ratio", h.Rank, 1, 1<<10)
		} else {
			v[0] = ratios.int("ratio", 1, 1<<10)
		}
		said = append(said, v)
	}
	if ratios.err != nil {
		return nil, ratios.err
	}
	at := t.at
	t.line("ratios")
	h.domains(t)
	h.ratios(t, at, said)
	for l := range h.Levels {
		h.Levels[l].Step = t.integer("step", "", math.MinInt64, math.MaxInt64)
	}
	for l := range h.Levels {
		h.Levels[l].Width = [3]float64{1, 1, 1}
		for a := range h.Rank {
			at := t.at
			if h.Levels[l].Width[a] = t.finite("cell size"); t.err == nil && h.Levels[l].Width[a] <= 0 {
				t.fail(at, "cell size", ErrCorrupt, "%v, want a positive number", h.Levels[l].Width[a])
			}
		}
	}
	h.Coord = t.int("coordinates", 0, 2)
	t.int("width of the border", 0, 1<<20)
	for l := 0; l < levels && t.err == nil; l++ {
		h.level(t, l)
	}
	return h, t.err
}

func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(b)
}

// domains reads the boxes of the levels.
func (h *Header) domains(t *text) {
	for l := range h.Levels {
		h.Levels[l].Domain = t.box(fmt.Sprintf("domain of level %d", l), h.Rank)
	}
}

// ratios finds those between levels, from the domains: the Header has one for all axes.
func (h *Header) ratios(t *text, at int, said [][3]int) {
	for l := range h.Levels {
		h.Levels[l].Ratio = [3]int{1, 1, 1}
		if l+1 >= len(h.Levels) || t.err != nil {
			continue
		}
		fine, coarse := h.Levels[l+1].Domain, h.Levels[l].Domain
		for a := range h.Rank {
			r := fine.Len()[a] / coarse.Len()[a]
			if r < 1 || coarse.Lo[a]*r != fine.Lo[a] || coarse.Hi[a]*r != fine.Hi[a] {
				t.fail(at, fmt.Sprintf("domain of level %d", l+1), ErrCorrupt, "cells %d to %d on axis %d, want a multiple of the %d to %d of level %d", fine.Lo[a], fine.Hi[a]-1, a, coarse.Lo[a], coarse.Hi[a]-1, l)
				return
			}
			h.Levels[l].Ratio[a] = r
		}
		if l < len(said) && said[l][0] != h.Levels[l].Ratio[0] {
			t.fail(at, fmt.Sprintf("ratio of level %d", l), ErrCorrupt, "%d, the domains of the levels want %d", said[l][0], h.Levels[l].Ratio[0])
		}
	}
}

// level reads what the Header has of the grids of a level.
func (h *Header) level(t *text, l int) {
	x := &h.Levels[l]
	field := fmt.Sprintf("level %d", l)
	t.int(field, l, l)
	grids := t.int(field+": number of grids", 0, len(t.b)) // each takes some bytes
	x.Time = t.float(field+": time", "")
	t.integer(field+": step", "", math.MinInt64, math.MaxInt64)
	for i := 0; i < grids && t.err == nil; i++ {
		b := [2][3]float64{{}, {1, 1, 1}}
		for a := range h.Rank {
			b[0][a] = t.finite(field + ": grid")
			b[1][a] = t.finite(field + ": grid")
		}
		x.Bounds = append(x.Bounds, b)
	}
	t.space()
	x.pathAt = t.at
	x.Path = strings.TrimSpace(t.line(field + ": path"))
	if t.err == nil && !localName(x.Path) {
		t.fail(x.pathAt, field+": path", ErrCorrupt, "%s, want a name below the directory", clip(x.Path))
	}
}

// localName says whether a name stays in the directory.
func localName(name string) bool {
	return len(name) <= 1024 && name != "" && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '\\' })
}

// number writes a number as AMReX does, with all its digits.
func number(x float64) string { return fmt.Sprintf("%.17g", x) }

func vector(v [3]int, rank int) string {
	s := make([]string, rank)
	for a := range s {
		s[a] = fmt.Sprint(v[a])
	}
	return "(" + strings.Join(s, ",") + ")"
}

// boxText is "((lo) (hi) (type))".
func boxText(b Box, rank int) string {
	last := b.Hi
	for a := range last {
		last[a]--
	}
	return "(" + vector(b.Lo, rank) + " " + vector(last, rank) + " " + vector([3]int{}, rank) + ")"
}

// encode is the file Header.
func (h *Header) encode() []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "%s\n%d\n", version, len(h.Fields))
	for _, f := range h.Fields {
		fmt.Fprintln(&w, f)
	}
	fmt.Fprintf(&w, "%d\n%s\n%d\n", h.Rank, number(h.Time), len(h.Levels)-1)
	for _, v := range [][3]float64{h.Lower, h.Upper} {
		for a := range h.Rank {
			fmt.Fprintf(&w, "%s ", number(v[a]))
		}
		fmt.Fprintln(&w)
	}
	for l := range len(h.Levels) - 1 {
		fmt.Fprintf(&w, "%d ", h.Levels[l].Ratio[0])
	}
	fmt.Fprintln(&w)
	for l := range h.Levels {
		fmt.Fprintf(&w, "%s ", boxText(h.Levels[l].Domain, h.Rank))
	}
	fmt.Fprintln(&w)
	for l := range h.Levels {
		fmt.Fprintf(&w, "%d ", h.Levels[l].Step)
	}
	fmt.Fprintln(&w)
	for l := range h.Levels {
		for a := range h.Rank {
			fmt.Fprintf(&w, "%s ", number(h.Levels[l].Width[a]))
		}
		fmt.Fprintln(&w)
	}
	fmt.Fprintf(&w, "%d\n0\n", h.Coord)
	for l := range h.Levels {
		x := &h.Levels[l]
		fmt.Fprintf(&w, "%d %d %s\n%d\n", l, len(x.Grids), number(h.Time), x.Step)
		for i := range x.Grids {
			lo, hi := h.edges(l, x.Grids[i].Box)
			for a := range h.Rank {
				fmt.Fprintf(&w, "%s %s\n", number(lo[a]), number(hi[a]))
			}
		}
		fmt.Fprintln(&w, x.Path)
	}
	return w.Bytes()
}

// edges are the sides of a box as AMReX computes them.
func (h *Header) edges(level int, b Box) (lo, hi [3]float64) {
	x := &h.Levels[level]
	for a := range 3 {
		lo[a] = h.Lower[a] + x.Width[a]*float64(b.Lo[a]-x.Domain.Lo[a])
		hi[a] = h.Lower[a] + x.Width[a]*float64(b.Hi[a]-x.Domain.Lo[a])
	}
	return lo, hi
}
