package ffplot

import (
	"math/bits"

	"blobio/ffformat"
)

// page is the file cut into lines.
type page struct {
	perLine int64 // bytes, a power of two
	width   float64
	lines   []line
}

// line is a line of the page.
type line struct {
	off, end int64
	runs     []run
	blocks   []run // where blocks begin and end: Extent.Block only
	meta     []run // metadata, which must be seen however few
}

// run is a part of a line, in points from its left.
type run struct {
	x0, x1 float64
	ext    ffformat.Extent
	// cut: the extent goes on before, or after the line.
	cutLeft, cutRight bool
}

const (
	maxLines  = 14
	perPoint  = 2 // columns in a point: what is narrower is merged with its neighbours
	maxMarks  = 4000
	leastMeta = 1.5 // points
)

// newPage cuts the file into at most maxLines lines that are width points wide.
func newPage(extents []ffformat.Extent, total int64, width float64) page {
	p := page{perLine: 64, width: width}
	if total > 64*maxLines {
		p.perLine = 1 << bits.Len64(uint64((total-1)/maxLines))
	}
	i := 0
	marks := 0
	for off := int64(0); off < total || off == 0; off += p.perLine {
		l := line{off: off, end: min(off+p.perLine, total)}
		for i > 0 && (i == len(extents) || extents[i].Off > off) {
			i--
		}
		first := i
		for i < len(extents) && extents[i].Off < l.end {
			i++
		}
		l.fill(extents[first:i], &p, &marks)
		p.lines = append(p.lines, l)
	}
	return p
}

// x is the place of a byte in its line.
func (p *page) x(l *line, off int64) float64 {
	off = min(max(off, l.off), l.end)
	return p.width * float64(off-l.off) / float64(p.perLine)
}

// fill makes the runs of a line. Each column shows what most of its bytes are.
func (l *line) fill(extents []ffformat.Extent, p *page, marks *int) {
	columns := int(p.width * perPoint)
	step := float64(p.perLine) / float64(columns)
	i := 0
	col := 0
	for col < columns {
		from, to := l.off+int64(float64(col)*step), l.off+int64(float64(col+1)*step)
		if from >= l.end {
			break
		}
		to = min(max(to, from+1), l.end)
		for i < len(extents) && extents[i].End() <= from {
			i++
		}
		if i == len(extents) {
			break
		}
		best, most, last := i, int64(0), i
		for k := i; k < len(extents) && extents[k].Off < to; k++ {
			if n := min(extents[k].End(), to) - max(extents[k].Off, from); n > most {
				best, most = k, n
			}
			last = k
		}
		e := extents[best]
		r := run{ext: e, cutLeft: e.Off < l.off, cutRight: e.End() > l.end}
		if last == i && e.End() > to { // as far as it goes
			r.x0, r.x1 = max(p.x(l, e.Off), float64(col)/perPoint), p.x(l, e.End())
			col = max(col+1, int(r.x1*perPoint))
			r.x0 = min(r.x0, float64(col)/perPoint)
		} else {
			r.x0, r.x1 = float64(col)/perPoint, min(float64(col+1)/perPoint, p.x(l, l.end))
			col++
		}
		if n := len(l.runs); n > 0 && l.runs[n-1].ext == e {
			l.runs[n-1].x1 = r.x1
		} else {
			if n > 0 {
				r.x0 = l.runs[n-1].x1
			}
			l.runs = append(l.runs, r)
		}
	}
	for _, e := range extents {
		if e.Kind == ffformat.ExtentMeta && e.Off >= l.off && *marks < maxMarks {
			*marks++
			x0, x1 := p.x(l, e.Off), p.x(l, e.End())
			x1 = max(x1, x0+leastMeta)
			if x1 > p.width {
				x0, x1 = p.width-leastMeta, p.width
			}
			l.meta = append(l.meta, run{x0: x0, x1: x1, ext: e})
		}
		if e.Kind == ffformat.ExtentMeta && e.Off < l.off {
			l.meta = append(l.meta, run{x0: 0, x1: max(p.x(l, e.End()), leastMeta), ext: e})
		}
		if e.Block < 0 || e.Kind == ffformat.ExtentOverlap {
			continue
		}
		x0, x1 := p.x(l, e.Off), p.x(l, e.End())
		if n := len(l.blocks); n > 0 && l.blocks[n-1].ext.Block == e.Block {
			l.blocks[n-1].x1 = x1
			l.blocks[n-1].cutRight = e.End() > l.end
		} else {
			l.blocks = append(l.blocks, run{x0: x0, x1: x1, ext: e, cutLeft: e.Off < l.off, cutRight: e.End() > l.end})
		}
	}
}
