package ffplot

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"io"
	"slices"
	"strings"

	"blobio/ffformat"
	"blobio/internal/chart"
)

// A Plot is the picture of a file's map, ready to be written. It is immutable.
type Plot struct {
	title, subtitle string
	width, height   float64 // points
	page            page
	vars            []*variable // in order of first appearance
	shown           []*variable // with a line in the lower part
	usage           map[ffformat.ExtentKind]int64
	total           int64 // bytes that the map covers
	byID            map[int32]*variable
	empty           map[at]bool  // containers without content
	number          map[at]int32 // containerID by block and place in it
}

// variable is what the picture says of one variable.
type variable struct {
	id         int32
	color      color.RGBA
	size, room int64 // bytes of chunks, and of containers
	parts      []part
}

// at is a place of a container: its block, and in it.
type at struct{ block, container int }

// part is one container of a variable.
type part struct {
	block       int
	chunk, room int64
}

// Places, in points.
const (
	margin     = 28.0
	offsetLead = 62.0 // column of offsets
	varLead    = 62.0
	varTail    = 172.0 // column of sizes
	rowPitch   = 31.0
	barHeight  = 18.0
	varPitch   = 22.0
	varBar     = 14.0
)

// Draw makes the picture of a file's map; f may be damaged. Errors are of the
// class ErrUsage.
func Draw(f *ffformat.File, o *Options) (*Plot, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o == nil {
		o = new(Options)
	}
	p := &Plot{title: o.Title, width: float64(o.Width)}
	if o.Width == 0 {
		p.width = defaultWidth
	}
	extents := f.Extents()
	p.usage = ffformat.Usage(extents)
	if n := len(extents); n > 0 {
		p.total = extents[n-1].End()
	}
	p.collect(f)
	most := o.Vars
	if most == 0 {
		most = defaultVars
	}
	p.choose(max(most, 0))
	p.subtitle = describe(f, p.usage)
	p.page = newPage(extents, p.total, p.width-2*margin-offsetLead)
	p.height = p.draw(chart.Measure())
	return p, nil
}

// collect gathers the variables.
func (p *Plot) collect(f *ffformat.File) {
	p.byID, p.number, p.empty = map[int32]*variable{}, map[at]int32{}, map[at]bool{}
	for i := range f.Blocks {
		for j := range f.Blocks[i].Containers {
			c := &f.Blocks[i].Containers[j]
			v := p.byID[c.ID]
			if v == nil {
				v = &variable{id: c.ID}
				p.byID[c.ID] = v
				p.vars = append(p.vars, v)
			}
			p.number[at{i, j}] = c.ContainerID
			t := part{block: i, room: min(max(c.ContainerSize, 0), p.total)}
			if c.HasContent {
				t.chunk = min(max(c.ChunkSize, 0), t.room)
			}
			p.empty[at{i, j}] = t.chunk == 0
			v.size, v.room = v.size+t.chunk, v.room+t.room
			v.parts = append(v.parts, t)
		}
	}
	for i, c := range palette(len(p.vars)) {
		p.vars[i].color = c
	}
}

// choose takes the variables that have a line, in their order.
func (p *Plot) choose(most int) {
	p.shown = slices.Clone(p.vars)
	if len(p.shown) > most {
		slices.SortStableFunc(p.shown, func(a, b *variable) int { return cmp.Compare(b.room, a.room) })
		large := p.shown[:most]
		p.shown = slices.DeleteFunc(slices.Clone(p.vars), func(v *variable) bool { return !slices.Contains(large, v) })
	}
}

// describe says what a file is in a line.
func describe(f *ffformat.File, usage map[ffformat.ExtentKind]int64) string {
	s := []string{fmt.Sprintf("FTI-FF layout %v", f.Layout)}
	if f.Hash == ffformat.Fast {
		s = append(s, "XXH3-128: FTI refuses it")
	}
	if f.Parity {
		return strings.Join(append(s, "parity of level 3", bytesText(f.Size)), ", ")
	}
	n := 0
	ids := map[int32]bool{}
	for i := range f.Blocks {
		n += len(f.Blocks[i].Containers)
		for j := range f.Blocks[i].Containers {
			ids[f.Blocks[i].Containers[j].ID] = true
		}
	}
	if f.FB.CkptID != 0 {
		s = append(s, fmt.Sprintf("checkpoint %d", f.FB.CkptID))
	}
	s = append(s, bytesText(f.Size), plural(len(ids), "variable")+" in "+plural(n, "container")+" of "+plural(len(f.Blocks), "block"))
	if dead := usage[ffformat.ExtentEmpty] + usage[ffformat.ExtentGap]; dead > 0 {
		s = append(s, fmt.Sprintf("%s (%s) dead space", bytesText(dead), percent(dead, f.Size)))
	} else {
		s = append(s, "no dead space")
	}
	return strings.Join(s, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// bytesText writes a size as people read it.
func bytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if x /= 1024; x < 1000 || unit == "EiB" {
			digits := 0
			if x < 10 {
				digits = 2
			} else if x < 100 {
				digits = 1
			}
			s := fmt.Sprintf("%.*f", digits, x)
			if digits > 0 {
				s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
			}
			return s + " " + unit
		}
	}
	return ""
}

func percent(n, of int64) string {
	if of == 0 {
		return "0 %"
	}
	switch v := 100 * float64(n) / float64(of); {
	case v == 0:
		return "0 %"
	case v < 0.1:
		return "under 0.1 %"
	case v < 10:
		return fmt.Sprintf("%.1f %%", v)
	default:
		return fmt.Sprintf("%.0f %%", v)
	}
}

// Size returns the size in points; a PNG has twice as many pixels each way.
func (p *Plot) Size() (width, height int) { return int(p.width), int(p.height) }

// Image returns the picture as pixels.
func (p *Plot) Image() image.Image { return p.picture().Image() }

// PNG writes the picture as PNG.
func (p *Plot) PNG(w io.Writer) error { return p.picture().PNG(w) }

// SVG writes the picture as SVG, all of it vectors.
func (p *Plot) SVG(w io.Writer) error { return p.picture().SVG(w) }

func (p *Plot) picture() *chart.Page {
	return &chart.Page{Owner: "ffplot", Width: p.width, Height: p.height, Draw: func(d *chart.Pen) { p.draw(d) }}
}
