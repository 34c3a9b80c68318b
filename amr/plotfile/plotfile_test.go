package plotfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"blobio/amr"
	"blobio/internal/elem"
	"blobio/internal/fault"
)

const realFile = "../../testdata/plotfile/plt00002"

// TestReal: a plotfile of AMReX is good, and what is read of it is what its own extrema say.
func TestReal(t *testing.T) {
	if list := findings(t, realFile); len(list) > 0 {
		t.Fatal(list)
	}
	p := opened(t, realFile)
	if p.Rank != 2 || len(p.Levels) != 2 || p.Levels[0].Ratio != [3]int{2, 2, 1} || len(p.Kinds) != 1 || p.Kinds[0].Count != 256 || p.Levels[1].Step != 4 {
		t.Fatalf("%+v", p.Header)
	}
	for l := range p.Levels {
		for i := range p.Levels[l].Grids {
			typ, b, err := p.Read(t.Context(), l, i, 0)
			if err != nil {
				t.Fatal(err)
			}
			v := floats(typ, b)
			if int64(len(v)) != p.Levels[l].Grids[i].Cells() || slices.Min(v) != p.Levels[l].cells.min[i][0] || slices.Max(v) != p.Levels[l].cells.max[i][0] {
				t.Errorf("grid %d of level %d: %d values from %v to %v", i, l, len(v), slices.Min(v), slices.Max(v))
			}
		}
	}
}

// shape is a plotfile that forge makes.
type shape struct {
	rank    int
	ratios  [][3]int
	typ     amr.Type
	big     bool
	ghosts  [3]int
	version int
	low     int // the first cell of the domain
}

// value is what a cell of a level has: the field and the place, exact in both types.
func value(level int, c [3]int, field int) float64 {
	return float64(field*100000+level*10000) + float64(c[0]+17*c[1]+311*c[2])
}

// forge writes a plotfile as AMReX would, of two grids a level in two files: one that ours never writes.
func forge(t *testing.T, s shape) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plt")
	h := &Header{Fields: []string{"rho", "p r"}, Rank: s.rank, Time: 1.5, Lower: [3]float64{0, 0, 0}, Upper: [3]float64{1, 1, 1}}
	n := [3]int{1, 1, 1}
	low := [3]int{}
	for a := range s.rank {
		n[a], low[a] = 8, s.low
	}
	for l := range len(s.ratios) + 1 {
		x := Level{Ratio: [3]int{1, 1, 1}, Width: [3]float64{1, 1, 1}, Path: fmt.Sprintf("Level_%d/Cell", l)}
		if l > 0 {
			for a := range s.rank {
				n[a] *= s.ratios[l-1][a]
				low[a] *= s.ratios[l-1][a]
			}
		}
		if l < len(s.ratios) {
			x.Ratio = s.ratios[l]
		}
		x.Domain = moved(Box{Hi: n}, low)
		b := Box{Hi: n}
		if l > 0 { // the middle half along x
			b.Lo[0], b.Hi[0] = n[0]/4, n[0]*3/4
		}
		one, two := b, b
		one.Hi[0], two.Lo[0] = (b.Lo[0]+b.Hi[0])/2, (b.Lo[0]+b.Hi[0])/2
		for a := range s.rank {
			x.Width[a] = 1 / float64(n[a])
		}
		x.Grids = []Grid{{Box: moved(one, low), File: "Cell_D_00000"}, {Box: moved(two, low), File: "Cell_D_00001"}}
		h.Levels = append(h.Levels, x)
		must(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("Level_%d", l)), 0o755))
		var lo, hi [][]float64
		for i := range x.Grids {
			whole := x.Grids[i].Grow(s.ghosts)
			var out []byte
			if s.version == cellsV1 {
				out = encodeFab(form{s.typ, s.big}, whole, s.rank, 2)
			}
			least, most := []float64{}, []float64{}
			for f := range 2 {
				var v []float64
				for z := whole.Lo[2]; z < whole.Hi[2]; z++ {
					for y := whole.Lo[1]; y < whole.Hi[1]; y++ {
						for xx := whole.Lo[0]; xx < whole.Hi[0]; xx++ {
							v = append(v, value(l, [3]int{xx, y, z}, f))
						}
					}
				}
				g := x.Grids[i].Box
				least, most = append(least, value(l, g.Lo, f)), append(most, value(l, [3]int{g.Hi[0] - 1, g.Hi[1] - 1, g.Hi[2] - 1}, f))
				b := make([]byte, len(v)*s.typ.Size())
				elem.Store(b, s.big, elem.Parse(s.typ.String()), v)
				out = append(out, b...)
			}
			lo, hi = append(lo, least), append(hi, most)
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("Level_%d", l), x.Grids[i].File), out, 0o644))
		}
		text := encodeCells(x.Grids, s.rank, 2, lo, hi)
		lines := bytes.SplitN(text, []byte("\n"), 5)
		lines[0] = fmt.Append(nil, s.version)
		if lines[3] = []byte("0"); s.ghosts != [3]int{} {
			lines[3] = []byte(vector(s.ghosts, s.rank))
		}
		text = bytes.Join(lines, []byte("\n"))
		if s.version == cellsNoHeader || s.version == cellsAll { // no table of extrema
			text = text[:bytes.Index(text, fmt.Appendf(nil, "\n\n%d,%d\n", 2, 2))+1]
		}
		if s.version == cellsAll {
			text = append(text, "0,0,\n9,9,\n"...)
		}
		if s.version != cellsV1 {
			text = append(append(text, form{s.typ, s.big}.text()...), '\n')
		}
		must(t, os.WriteFile(filepath.Join(dir, x.Path+"_H"), text, 0o644))
	}
	must(t, os.WriteFile(filepath.Join(dir, HeaderName), h.encode(), 0o644))
	return dir
}

func moved(b Box, by [3]int) Box {
	for a := range 3 {
		b.Lo[a] += by[a]
		b.Hi[a] += by[a]
	}
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, dir string) *Plotfile {
	t.Helper()
	p, err := Open(t.Context(), dir, nil)
	must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

func findings(t *testing.T, dir string) (out []string) {
	t.Helper()
	for f := range Check(t.Context(), dir, nil) {
		out = append(out, f.String())
	}
	return out
}

// TestForms: what real codes write is read, value by value: dimensions, types, byte orders, ghost cells, ratios, versions of Cell_H, domains that begin
// anywhere.
func TestForms(t *testing.T) {
	list := []shape{
		{rank: 1, typ: amr.Float64, version: cellsV1},
		{rank: 2, ratios: [][3]int{{2, 2, 1}, {4, 4, 1}}, typ: amr.Float32, big: true, version: cellsV1, low: -4},
		{rank: 3, ratios: [][3]int{{2, 2, 1}}, typ: amr.Float64, ghosts: [3]int{2, 1, 0}, version: cellsV1},
		{rank: 3, ratios: [][3]int{{2, 2, 2}}, typ: amr.Float32, ghosts: [3]int{1, 1, 1}, version: cellsMinMax, low: 8},
		{rank: 2, ratios: [][3]int{{2, 2, 1}}, typ: amr.Float64, big: true, version: cellsNoHeader},
		{rank: 2, ratios: [][3]int{{4, 4, 1}}, typ: amr.Float32, version: cellsAll},
	}
	for _, s := range list {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			dir := forge(t, s)
			if !Is(dir) {
				t.Error("not known as a plotfile")
			}
			if list := findings(t, dir); len(list) > 0 {
				t.Fatal(list)
			}
			p := opened(t, dir)
			for l := range p.Levels {
				for i := range p.Levels[l].Grids {
					for f := range p.Fields {
						typ, b, err := p.Read(t.Context(), l, i, f)
						must(t, err)
						g, k := p.Levels[l].Grids[i].Box, 0
						v := floats(typ, b)
						for z := g.Lo[2]; z < g.Hi[2]; z++ {
							for y := g.Lo[1]; y < g.Hi[1]; y++ {
								for x := g.Lo[0]; x < g.Hi[0]; x++ {
									if want := value(l, [3]int{x, y, z}, f); v[k] != want {
										t.Fatalf("grid %d of level %d, field %d, cell %v: %v, want %v", i, l, f, [3]int{x, y, z}, v[k], want)
									}
									k++
								}
							}
						}
					}
				}
			}
			tree, err := p.Tree(t.Context())
			if even := len(s.ratios) == 0 || s.ratios[0][0] == s.ratios[0][min(1, s.rank-1)] && s.ratios[0][0] == s.ratios[0][s.rank-1]; !even {
				if !errors.Is(err, ErrUnsupported) {
					t.Errorf("a tree of it: %v", err)
				}
				return
			}
			must(t, err)
			blocks, err := tree.Range(t.Context(), 0, tree.Len())
			must(t, err)
			for _, b := range blocks {
				if tree.of[b.Index.Level()] < 0 {
					continue
				}
				c := b.Index.Coord()
				var at [3]int
				for a := range s.rank {
					at[a] = c[a]*tree.meta.Block[a] + p.Levels[tree.of[b.Index.Level()]].Domain.Lo[a]
				}
				if got, want := floats(tree.typ, b.Fields[1].Data)[0], value(tree.of[b.Index.Level()], at, 1); got != want {
					t.Fatalf("block %v: %v, want %v", b.Index, got, want)
				}
			}
		})
	}
}

// TestBetween: a level between two that a plotfile has is the mean of the finer one.
func TestBetween(t *testing.T) {
	p := opened(t, forge(t, shape{rank: 1, ratios: [][3]int{{4, 1, 1}}, typ: amr.Float64, version: cellsV1}))
	tree, err := p.Tree(t.Context())
	must(t, err)
	list, err := tree.Range(t.Context(), 0, tree.Len())
	must(t, err)
	n := 0
	for _, b := range list {
		if b.Index.Level() == 1 {
			n++
			cell := b.Index.Coord()[0] * tree.meta.Block[0] * 2
			want := (value(1, [3]int{cell, 0, 0}, 0) + value(1, [3]int{cell + 1, 0, 0}, 0)) / 2
			if got := floats(tree.typ, b.Fields[0].Data)[0]; got != want || b.Leaf {
				t.Errorf("block %v: %v, want %v, leaf %v", b.Index, got, want, b.Leaf)
			}
		}
	}
	if n == 0 {
		t.Error("there is no level between")
	}
}

// constant gives what forge would.
type constant struct{ d *Description }

func (c constant) Fields(_ context.Context, level, grid int) (out [][]byte, err error) {
	g := c.d.Levels[level].Grids[grid].Box
	for f := range c.d.Fields {
		var v []float64
		for z := g.Lo[2]; z < g.Hi[2]; z++ {
			for y := g.Lo[1]; y < g.Hi[1]; y++ {
				for x := g.Lo[0]; x < g.Hi[0]; x++ {
					v = append(v, value(level, [3]int{x, y, z}, f))
				}
			}
		}
		out = append(out, elem.Bytes(v))
	}
	return out, nil
}

func (c constant) Particles(_ context.Context, level, grid, _ int) ([][]float64, [][]int32, error) {
	lo, _ := c.d.edges(level, c.d.Levels[level].Grids[grid].Box)
	return [][]float64{{lo[0], lo[0]}, {lo[1], lo[1]}, {1, math.Pi}}, [][]int32{{1, 2}, {0, 0}, {7, -7}}, nil
}

// written makes a plotfile with our writer.
func written(t *testing.T) string {
	t.Helper()
	p := opened(t, forge(t, shape{rank: 2, ratios: [][3]int{{2, 2, 1}}, typ: amr.Float64, version: cellsV1}))
	d := &Description{Header: p.Header, Type: amr.Float64, Kinds: []NewKind{{Name: "tracer", Type: amr.Float64, Reals: []string{"mass"}, Ints: []string{"kind"}}}}
	dir := filepath.Join(t.TempDir(), "out")
	must(t, Write(t.Context(), dir, d, constant{d}, &WriteOptions{Files: 2, NoSync: true}))
	return dir
}

// TestWrite: what is written is read again, and its name is not taken twice.
func TestWrite(t *testing.T) {
	dir := written(t)
	if list := findings(t, dir); len(list) > 0 {
		t.Fatal(list)
	}
	p := opened(t, dir)
	cols, err := p.Particles(t.Context(), 0, 1)
	must(t, err)
	if got := floats(amr.Float64, cols[2]); !slices.Equal(got, []float64{1, math.Pi}) || !p.HasSums() || p.Kinds[0].Count != 8 {
		t.Errorf("%v, %+v", got, p.Kinds)
	}
	if err := Write(t.Context(), dir, &Description{Header: p.Header, Type: amr.Float64}, nil, nil); !errors.Is(err, ErrExist) {
		t.Errorf("written twice: %v", err)
	}
}

// copied copies a plotfile.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

func dataFiles(t *testing.T, dir string) (out []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return err
	}))
	return out
}

// drain reads all of a plotfile, and says whether something was wrong.
func drain(ctx context.Context, dir string) error {
	p, err := Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	for l := range p.Levels {
		for i := range p.Levels[l].Grids {
			for f := range p.Fields {
				if _, _, e := p.Read(ctx, l, i, f); err == nil {
					err = e
				}
			}
		}
	}
	for k := range p.Kinds {
		for i := range p.Kinds[k].Parts() {
			if _, e := p.Particles(ctx, k, i); err == nil {
				err = e
			}
		}
	}
	if tree, e := p.Tree(ctx); e == nil {
		_, e = tree.Range(ctx, 0, tree.Len())
		err = errors.Join(err, e)
	}
	return err
}

// TestDamage: a plotfile with checksums in which any byte is changed, or that ends anywhere, has an error; one of AMReX, which has none, is at worst read
// as what the bytes say. Nothing panics or hangs.
func TestDamage(t *testing.T) {
	for _, from := range []string{written(t), realFile} {
		dir := copied(t, from)
		sums := from != realFile
		for _, name := range dataFiles(t, dir) {
			good, err := os.ReadFile(name)
			must(t, err)
			step := max(len(good)/31, 1)
			if os.Getenv("BLOBIO_LONG") != "" {
				step = 1
			}
			for i := 0; i < len(good); i += step {
				for _, bad := range [][]byte{flipped(good, i), good[:i]} {
					must(t, os.WriteFile(name, bad, 0o644))
					errs := 0
					for f := range Check(t.Context(), dir, nil) {
						if f.Severity == fault.Error {
							errs++
						}
					}
					rerr := drain(t.Context(), dir)
					if cut := len(bad) < len(good); sums && errs == 0 || sums && rerr == nil && filepath.Base(name) != "Particle_H" && filepath.Base(filepath.Dir(name)) != "tracer" && !inFabHeader(good, i, cut) {
						t.Errorf("%s, byte %d of %d, cut %v: %d errors of check, reading: %v", filepath.Base(name), i, len(good), cut, errs, rerr)
					}
				}
			}
			must(t, os.WriteFile(name, good, 0o644))
		}
	}
}

// inFabHeader says whether a byte is in the header of a FAB, whose description of the numbers has parts that change nothing.
func inFabHeader(b []byte, i int, cut bool) bool {
	if cut || !bytes.HasPrefix(b, []byte("FAB ")) {
		return false
	}
	start := bytes.LastIndex(b[:min(i+4, len(b))], []byte("FAB "))
	end := bytes.IndexByte(b[max(start, 0):], '\n')
	return start >= 0 && i <= start+end
}

func flipped(b []byte, i int) []byte {
	b = slices.Clone(b)
	b[i] ^= 0x10
	return b
}

// TestLinks: neither names nor links lead out of the directory, and a pipe is not waited for.
func TestLinks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, bytes.Repeat([]byte("x"), 1<<12), 0o644))
	for _, c := range []struct {
		name string
		do   func(dir string) error
	}{
		{"link", func(dir string) error {
			f := filepath.Join(dir, "Level_0", "Cell_D_00000")
			return errors.Join(os.Remove(f), os.Symlink(secret, f))
		}},
		{"header", func(dir string) error {
			f := filepath.Join(dir, "Level_0", "Cell_H")
			return errors.Join(os.Remove(f), os.Symlink(secret, f))
		}},
		{"name", func(dir string) error {
			f := filepath.Join(dir, "Level_0", "Cell_H")
			b, err := os.ReadFile(f)
			return errors.Join(err, os.WriteFile(f, bytes.ReplaceAll(b, []byte("Cell_D_00000"), []byte("../../x")), 0o644))
		}},
		{"path", func(dir string) error {
			f := filepath.Join(dir, HeaderName)
			b, err := os.ReadFile(f)
			return errors.Join(err, os.WriteFile(f, bytes.ReplaceAll(b, []byte("Level_0/Cell"), []byte("/etc/passwd")), 0o644))
		}},
	} {
		dir := copied(t, realFile)
		must(t, c.do(dir))
		if err := drain(t.Context(), dir); err == nil {
			t.Errorf("%s: read", c.name)
		}
		if len(findings(t, dir)) == 0 {
			t.Errorf("%s: no finding", c.name)
		}
	}
}

// FuzzText: no text makes a reader panic, or ask for more memory than there is text.
func FuzzText(f *testing.F) {
	for _, name := range []string{HeaderName, "Level_0/Cell_H", "particles/Header"} {
		b, err := os.ReadFile(filepath.Join(realFile, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("FAB ((8, (64 11 52 0 1 12 0 1023)),(8, (8 7 6 5 4 3 2 1)))((0,0) (7,7) (0,0)) 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseHeader(b)
		for rank := 1; rank <= 3; rank++ {
			_, _, _ = parseCells("Cell_H", b, rank)
			_, _ = parseKind("Header", b, rank)
			_, _ = parseFab("Cell_D", 0, b, rank)
		}
	})
}
