package e3smcases

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/decomp"
)

var update = flag.Bool("update", false, "write bench/results/maps.md anew")

const pageHead = `# Generated decompositions beside captured ones

` + "`e3smcases`" + ` makes decomposition maps of the F, G and I cases at any size. This page compares these
maps with maps captured from E3SM runs of the same sizes and ranks. The page is written by

    go test ./e3smcases -run TestMapsPage -update

(with the captured maps in ` + "`../shared/maps`" + `). The same test checks the page without ` + "`-update`" + `.
Each rank's list is sorted and merged before its requests are counted, because E3SM-IO writes merged requests.

## What is exact and what is only similar

| case | maps | |
|---|---|---|
| F | D1 | **exact**, request for request: ne = 4 with 16 ranks, and ne = 30 with 512 ranks |
| F | D2 | **exact**, request for request and in the same order: both sizes |
| F | D3 | **exact** in the same order at ne = 4 with 16 ranks; D3 at ne = 30 was not captured |
| I | D1 to D5 | **exact** with the captured land mask; similar with the built-in coarse Earth |
| G | D1 to D6 | only similar: the mesh is another one with the same number of cells, and the partitioner differs |

- F. Elements are numbered and divided among ranks as in HOMME. Columns are dealt as in CAM's phys_grid (phys_loadbalance 2, no
  twins, 16 columns per chunk, one thread per rank). Other settings of E3SM give other D2 and D3.
- I. Land cells are dealt as in ELM (40 segments per rank, round robin). The built-in coast is drawn by hand with about 400 corners,
  so the number of land cells differs by a few percent.
- G. The captured mesh is an MPAS mesh without the land. The generated mesh is a geodesic mesh, cut at a coarse coast so that
  it has exactly the wanted number of cells; its numbers of edges and vertices differ by a few percent. METIS divides the
  captured cells among ranks. Recursive bisection divides the generated cells; the parts differ by one cell at most. In both
  meshes, higher cell numbers form longer runs of neighbours, and edges and vertices are numbered along with cells.

## Figures

A cell such as 2 / 2.9 / 4 has the minimum, mean and maximum over the ranks. "Run" is the mean number of elements of a request. "Covered" is the share of the elements that some rank owns.

`

// mapsPage returns the text of bench/results/maps.md.
func mapsPage(t *testing.T) string {
	var w strings.Builder
	w.WriteString(pageHead)
	w.WriteString("| map | | dims | requests per rank | run | elements per rank | covered |\n|---|---|---|---|---|---|---|\n")
	row := func(name, what string, m *decomp.Map) {
		s := m.Stats()
		covered := m.Total() // exact, because generated maps have no overlaps (TestGeneratedMapsCover)
		if m.Elems() < 1_000_000 {
			c, err := m.Coverage()
			if err != nil {
				t.Fatal(err)
			}
			covered = c.Covered
		}
		var dims []string
		for _, d := range m.Dims() {
			dims = append(dims, fmt.Sprint(d))
		}
		fmt.Fprintf(&w, "| %s | %s | %s | %d / %.1f / %d | %.2f | %d / %.1f / %d | %.1f %% |\n", name, what, strings.Join(dims, " x "),
			s.MinReqs, s.MeanReqs, s.MaxReqs, s.MeanRun, s.MinElems, s.MeanElems, s.MaxElems, 100*float64(covered)/float64(m.Elems()))
	}
	compare := func(title, file string, dims [][]int64, made []*decomp.Map, old bool) {
		for k, m := range made {
			name := fmt.Sprintf("%s D%d", title, k+1)
			var lists [][]decomp.Req
			if old {
				lists = oldLists(t, fmt.Sprintf(file, k+1), m.Ranks())
			} else {
				lists = capturedLists(t, file, k+1)
			}
			captured := mapOf(t, dims[k], lists, true)
			row(name, "captured", captured)
			what := "generated"
			if m.Equal(captured) {
				what = "generated, equal"
			}
			row(name, what, m)
		}
	}
	must := func(m []*decomp.Map, err error) []*decomp.Map {
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	compare("F ne4, 16 ranks,", "map_f_case_16p.nc", dimsF, must(F{Ne: 4, Levels: 72, Ranks: 16}.Maps()), false)
	compare("F ne30, 512 ranks,", "48602x72_512p_D%d.nc", [][]int64{{48602}, {48602}}, must(F{Ne: 30, Levels: 1, Ranks: 512}.Maps())[:2], true)
	compare("G 285 cells, 16 ranks,", "map_g_case_16p.nc", dimsG, must(G{Cells: 285, Levels: 100, Ranks: 16}.Maps()), false)
	compare("I 96 x 144, 16 ranks,", "map_i_case_16p.nc", dimsI, must(I{Lat: 96, Lon: 144, Ranks: 16}.Maps()), false)

	w.WriteString("\nMaps of production size, without captured counterparts:\n\n")
	w.WriteString("| map | | dims | requests per rank | run | elements per rank | covered |\n|---|---|---|---|---|---|---|\n")
	for k, m := range must(F{Ne: 120, Levels: 72, Ranks: 21600}.Maps()) {
		row(fmt.Sprintf("F ne120, 21,600 ranks, D%d", k+1), "generated", m)
	}
	for k, m := range must(G{Cells: 235160, Levels: 60, Ranks: 960}.Maps()) {
		row(fmt.Sprintf("G 235,160 cells, 960 ranks, D%d", k+1), "generated", m)
	}
	for k, m := range must(I{Lat: 360, Lon: 720, Ranks: 1344}.Maps())[:2] {
		row(fmt.Sprintf("I 360 x 720, 1,344 ranks, D%d", k+1), "generated", m)
	}
	return w.String()
}

func TestMapsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("makes maps of production size")
	}
	page := mapsPage(t)
	path := filepath.Join("..", "bench", "results", "maps.md")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ReplaceAll(string(b), "\r\n", "\n"); got != page {
		t.Error("bench/results/maps.md is not what the maps are now; run with -update")
	}
}
