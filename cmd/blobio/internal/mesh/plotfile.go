package mesh

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"blobio/amr"
	"blobio/amr/plotfile"
	"blobio/internal/amr/grids"
	"blobio/internal/cli"
)

const formPlotfile = "plotfile" // of AMReX

// KnowsPlotfile says that a path is a plotfile of AMReX: its directory, or the file Header in it.
func KnowsPlotfile(path string) bool { return plotfile.Is(plotDir(path)) }

// plotDir is the directory of a path that is one or the file Header in it.
func plotDir(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() && filepath.Base(path) == plotfile.HeaderName {
		return filepath.Dir(path)
	}
	return path
}

// openPlotTree opens a plotfile as blocks of a tree.
func openPlotTree(ctx context.Context, path string, t amrTrust) (*amrMesh, error) {
	p, err := plotfile.Open(ctx, plotDir(path), &plotfile.OpenOptions{NoVerify: t.noVerify})
	if err != nil {
		return nil, err
	}
	m := &amrMesh{path: p.Dir, form: formPlotfile, plot: p}
	tree, err := p.Tree(ctx)
	if err != nil {
		p.Close()
		return nil, err
	}
	m.meta, m.src = tree.Meta(), tree
	files, err := p.Files()
	if err != nil {
		p.Close()
		return nil, err
	}
	for _, f := range files {
		m.files = append(m.files, amrFile{f.Name, f.Bytes})
	}
	var bytes int64
	for i := range m.meta.Fields {
		bytes += m.meta.FieldBytes(&m.meta.Fields[i], false)
	}
	index, leaf := tree.Blocks()
	for i, x := range index {
		m.blocks = append(m.blocks, amrBlock{index: x, file: -1, leaf: leaf[i], bytes: bytes})
	}
	return m, nil
}

// Descriptions of a plotfile, as JSON has them.
type (
	plotDesc struct {
		Path      string         `json:"path"`
		Form      string         `json:"form"`
		Rank      int            `json:"rank"`
		Time      cli.JSONFloat  `json:"time"`
		Coord     string         `json:"coordinates"`
		Lower     []float64      `json:"lower"`
		Upper     []float64      `json:"upper"`
		Bytes     int64          `json:"bytes"`
		Sums      bool           `json:"checksums"`
		Fields    []amrField     `json:"fields"`
		Particles []amrParticles `json:"particles"`
		Levels    []plotLevel    `json:"levels"`
		Files     []plotFile     `json:"files"`
		grids     int
	}
	plotLevel struct {
		Level int     `json:"level"`
		Grids int     `json:"grids"`
		Cells int64   `json:"cells"`
		Share float64 `json:"share"` // of the domain that the grids cover
		Ratio []int   `json:"ratio"` // to the next finer level; none of the finest
		Size  []int   `json:"domain_cells"`
		Step  int64   `json:"step"`
	}
	plotFile struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
		Level int    `json:"level"`
		Grids int    `json:"grids"`
	}
)

var coords = [...]string{"cartesian", "cylindrical", "spherical"}

// describePlot collects what the headers tell.
func describePlot(ctx context.Context, path string, t amrTrust) (*plotDesc, error) {
	p, err := plotfile.Open(ctx, plotDir(path), &plotfile.OpenOptions{NoVerify: t.noVerify})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	m, err := grids.OfPlotfile(p)
	if err != nil {
		return nil, err
	}
	d := &plotDesc{Path: p.Dir, Form: formPlotfile, Rank: p.Rank, Time: cli.JSONFloat(p.Time), Coord: coords[p.Coord], Lower: p.Lower[:p.Rank], Upper: p.Upper[:p.Rank],
		Sums: p.HasSums(), Fields: []amrField{}, Particles: []amrParticles{}, Files: []plotFile{}}
	for _, f := range m.Fields {
		d.Fields = append(d.Fields, amrField{Name: f.Name, Type: f.Type, Shape: []int{}})
	}
	for i := range p.Kinds {
		x := amrParticles{Name: p.Kinds[i].Name, Count: p.Kinds[i].Count}
		x.Attrs = names2(p.Kinds[i].Columns(p.Rank), func(a amr.AttrSpec) string { return a.Name })
		d.Particles = append(d.Particles, x)
	}
	for l := range p.Levels {
		x := &p.Levels[l]
		size := x.Domain.Len()
		y := plotLevel{Level: l, Grids: len(x.Grids), Step: x.Step, Size: size[:p.Rank], Ratio: []int{}}
		for i := range x.Grids {
			y.Cells += x.Grids[i].Cells()
		}
		y.Share = float64(y.Cells) / float64(x.Domain.Cells())
		if l+1 < len(p.Levels) {
			y.Ratio = x.Ratio[:p.Rank]
		}
		d.grids += y.Grids
		d.Levels = append(d.Levels, y)
	}
	files, err := p.Files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		d.Files = append(d.Files, plotFile{f.Name, f.Bytes, f.Level, f.Grids})
		d.Bytes += f.Bytes
	}
	return d, nil
}

func (d *plotDesc) print(e *cli.Env) {
	fmt.Fprintf(e.Out, "%s: plotfile of AMReX, %d-D, %s on %s, %s, %s\n", d.Path, d.Rank, cli.Plural(d.grids, "grid"), cli.Plural(len(d.Levels), "level"), cli.Plural(len(d.Files), "file"), cli.HumanBytes(d.Bytes))
	fmt.Fprintf(e.Out, "time %.6g, step %d, %s\n", float64(d.Time), d.Levels[0].Step, map[bool]string{true: "with checksums", false: "no checksums"}[d.Sums])
	var axes, fields []string
	for a := range d.Rank {
		name := "xyz"[a : a+1]
		if d.Coord != coords[0] {
			name = [...][3]string{{}, {"r", "z", ""}, {"r", "theta", "phi"}}[slices.Index(coords[:], d.Coord)][a]
		}
		axes = append(axes, fmt.Sprintf("%s %.6g to %.6g", name, d.Lower[a], d.Upper[a]))
	}
	fmt.Fprintf(e.Out, "domain: %s\n", strings.Join(axes, ", "))
	for _, f := range d.Fields {
		fields = append(fields, cli.Plain(f.Name)+" "+f.Type)
	}
	fmt.Fprintf(e.Out, "fields: %s\n", orNone(fields))
	for _, p := range d.Particles {
		fmt.Fprintf(e.Out, "particles: %d %s (%s)\n", p.Count, cli.Plain(p.Name), cli.Plain(orNone(p.Attrs)))
	}
	fmt.Fprintln(e.Out)
	t := e.NewTable("", ">LEVEL", ">GRIDS", ">CELLS", ">OF THE DOMAIN", "DOMAIN", "REFINED BY")
	for _, l := range d.Levels {
		t.Row(l.Level, l.Grids, l.Cells, fmt.Sprintf("%.1f %%", 100*l.Share), times(l.Size), map[bool]string{true: times(l.Ratio), false: "-"}[len(l.Ratio) > 0])
	}
	t.Flush()
	const most = 64
	if len(d.Files) <= most {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", "FILE", ">GRIDS", ">SIZE")
		for _, f := range d.Files {
			t.Row(cli.Plain(f.Name), f.Grids, cli.HumanBytes(f.Bytes))
		}
		t.Flush()
	}
}
