package mapfile

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/testfiles"
)

func openShared(t testing.TB, names ...string) *File {
	t.Helper()
	var paths []string
	for _, n := range names {
		paths = append(paths, testfiles.Captured(t, "maps", n))
	}
	return need(Open(paths...))
}

var datNames = []string{
	"piodecomp16tasks16io01dims_ioid_514.dat",
	"piodecomp16tasks16io01dims_ioid_516.dat",
	"piodecomp16tasks16io02dims_ioid_548.dat",
}

// The same maps in four formats.
func TestFormatsAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		maps int
	}{{"f", 3}, {"g", 6}, {"i", 5}} {
		want := openShared(t, "map_"+c.name+"_case_16p.nc")
		if len(want.Maps) != c.maps || want.Procs != 16 || want.Format != "CDF-5" || want.CommandLine == "" {
			t.Errorf("%s: %d maps, %d processes, %s, %q", c.name, len(want.Maps), want.Procs, want.Format, want.CommandLine)
		}
		for ext, format := range map[string]string{".h5": "HDF5", ".nc4": "NetCDF-4"} {
			got := openShared(t, "map_"+c.name+"_case_16p"+ext)
			if got.Format != format {
				t.Errorf("%s%s: format %s", c.name, ext, got.Format)
			}
			sameMaps(t, c.name+ext, got, want)
		}
	}
	sameMaps(t, ".dat", openShared(t, datNames...), openShared(t, "map_f_case_16p.nc"))
}

// sameMaps compares the fields that .dat files have.
func sameMaps(t *testing.T, what string, got, want *File) {
	t.Helper()
	if got.Procs != want.Procs || len(got.Maps) != len(want.Maps) {
		t.Fatalf("%s: %d processes, %d maps, want %d, %d", what, got.Procs, len(got.Maps), want.Procs, len(want.Maps))
	}
	for i := range want.Maps {
		g, w := &got.Maps[i], &want.Maps[i]
		if !g.Reqs.Equal(w.Reqs) {
			t.Errorf("%s: D%d: other requests", what, i+1)
		}
		if g.Elems == nil || w.Elems == nil || !g.Elems.Equal(w.Elems) {
			t.Errorf("%s: D%d: other raw offsets", what, i+1)
		}
		for p := range want.Procs {
			if g.FillStart(p) != w.FillStart(p) {
				t.Errorf("%s: D%d: process %d: fill start %d, want %d", what, i+1, p, g.FillStart(p), w.FillStart(p))
			}
		}
	}
}

func TestShippedSizes(t *testing.T) {
	f := openShared(t, "map_f_case_16p.nc")
	for i, want := range []int64{47, 866, 62352} {
		if n := f.Maps[i].Reqs.Stats().Reqs; n != want {
			t.Errorf("F D%d: %d requests, want %d", i+1, n, want)
		}
		c, err := f.Maps[i].Reqs.Coverage()
		if err != nil || !c.Full() {
			t.Errorf("F D%d: %+v, %v", i+1, c, err)
		}
	}
	m, err := f.Maps[1].Map(16, Options{})
	if err != nil || m.MaxReqs() != 39 {
		t.Errorf("F D2 at 16 ranks: %d requests at most, %v, want 39", m.MaxReqs(), err)
	}
	for name, want := range map[string]int64{"48602x72_512p_D1.nc": 48602, "48602x72_512p_D2.nc": 48602} {
		f := openShared(t, name)
		if f.Procs != 512 || len(f.Maps) != 1 {
			t.Fatalf("%s: %d processes, %d maps", name, f.Procs, len(f.Maps))
		}
		c, err := f.Maps[0].Reqs.Coverage()
		if err != nil || !c.Full() || c.Covered != want {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
		if got := f.Maps[0].Reqs.AppendReqs(nil, 3)[1]; name == "48602x72_512p_D1.nc" && got != (decomp.Req{Offset: 7519, Length: 18}) {
			t.Errorf("%s: process 3, request 1: %v", name, got)
		}
	}
}

// The expected numbers are from formats/e3sm_blob.md, section 2.3.
func TestSlicesOfTheICase(t *testing.T) {
	f := openShared(t, "map_i_case_16p.nc")
	for i, want := range []struct{ land, written, missed, full int64 }{
		{5663, 10428, 1592, 13824},
		{84945, 146693, 23658, 13824 * 15},
		{56630, 96826, 15796, 13824 * 10},
		{50967, 88529, 14231, 13824 * 9},
		{96271, 165577, 26822, 13824 * 17},
	} {
		raw := &f.Maps[i]
		for _, ranks := range []int{1, 3, 4, 5, 16, 20} {
			total := func(s string) *decomp.Map {
				return need(raw.Map(ranks, Options{Slice: s}))
			}
			right, ref, all := total(correct), total(reference), total(withFillers)
			if right.Total() != want.land || ref.Total() != want.written || all.Total() != want.full {
				t.Errorf("D%d at %d ranks: %d, %d, %d elements, want %d, %d, %d", i+1, ranks,
					right.Total(), ref.Total(), all.Total(), want.land, want.written, want.full)
			}
			if ranks > 1 {
				continue
			}
			land, err := raw.Elems.Coverage()
			if err != nil || land.Covered != want.land {
				t.Errorf("D%d: raw offsets: %+v, %v", i+1, land, err)
			}
			missed := int64(0)
			ix := need(ref.Index())
			for q := range right.Reqs(0) {
				missed += q.Length
				for o := range ix.Range(q.Offset, q.End()) {
					missed -= o.Len
				}
			}
			if missed != want.missed {
				t.Errorf("D%d: the reference slice misses %d cells, want %d", i+1, missed, want.missed)
			}
		}
	}
}

// mapsCase is a run of the reference program.
type mapsCase struct {
	run, file    string // folder of the run, and name of the blob file without its number
	ranks, nodes int
	slice        string
}

// Maps in the output of the reference must match the maps computed from its map files.
func TestMapsOfTheReference(t *testing.T) {
	for letter, m := range map[string]string{"F": "f_ne2_lev8_np6.nc", "G": "g_cells120_lev6_np6.nc", "I": "i_lat24_lon36_np6.nc"} {
		file := map[string]string{"F": "F_h1.nc", "G": "G.nc", "I": "I_h0.nc"}[letter]
		f := need(Open(testfiles.Dir(t, "e3sm", "maps", m)))
		for _, c := range []mapsCase{{"np6_nodes1", file, 6, 1, reference}, {"np4_nodes1", file, 4, 1, reference}, {"np6_nodes2", file, 6, 2, reference}} {
			if testing.Short() && c.nodes == 1 {
				continue
			}
			c.compare(t, f, testfiles.Dir(t, "e3sm", letter+"_pnetcdf_blob", c.run))
		}
	}
}

func TestCapturedMapsOfTheReference(t *testing.T) {
	for letter, cases := range map[string][]mapsCase{
		"F": {
			{"np16_r3", "F_h0.nc", 16, 1, correct},
			{"np4_r3", "F_h0.nc", 4, 1, correct},
			{"np5_r3", "F_h1.nc", 5, 1, correct},
			{"np16_r3_nodes2block", "F_h1.nc", 16, 2, correct},
		},
		"G": {
			{"np16_r3", "G.nc", 16, 1, correct},
			{"np4_r3", "G.nc", 4, 1, correct},
			{"np5_r3", "G.nc", 5, 1, correct},
			{"np16_r3_nodes2block", "G.nc", 16, 2, correct},
		},
		"I": {{"np16_r3", "I_h1.nc", 16, 1, reference}},
	} {
		f := openShared(t, "map_"+strings.ToLower(letter)+"_case_16p.nc")
		for _, c := range cases {
			c.compare(t, f, testfiles.Captured(t, "vectors", "e3sm", letter+"_pnetcdf_blob", c.run))
		}
	}
}

// compare compares the maps in the output files of a run, which are in dir, with maps.
func (c mapsCase) compare(t *testing.T, maps *File, dir string) {
	for node := range c.nodes {
		name := fmt.Sprintf("%s.%04d.zst", c.file, node)
		data := testfiles.Unzstd(t, filepath.Join(dir, name))
		v := blobVars(t, data)
		n := c.ranks / c.nodes
		for k := range maps.Maps {
			m := need(maps.Maps[k].Map(c.ranks, Options{Slice: c.slice}))
			sub := m.Sub(node*n, n)
			p := fmt.Sprintf("D%d.", k+1)
			rows := int64(len(v[p+"offsets"])) / int64(n)
			if rows != sub.MaxReqs() {
				t.Errorf("%s/%s %s: max_nreqs %d, want %d", c.run, name, p, sub.MaxReqs(), rows)
			}
			start := int64(0)
			for r := range n {
				reqs := sub.AppendReqs(nil, r)
				if v[p+"nreqs"][r] != int64(len(reqs)) || v[p+"blob_count"][r] != sub.Count(r) || v[p+"blob_start"][r] != start {
					t.Errorf("%s/%s %s rank %d: %d requests, %d elements from %d, want %d, %d, %d", c.run, name, p, r,
						len(reqs), sub.Count(r), start, v[p+"nreqs"][r], v[p+"blob_count"][r], v[p+"blob_start"][r])
					continue
				}
				start += sub.Count(r)
				for i, q := range reqs {
					at := int64(r)*rows + int64(i)
					if v[p+"offsets"][at] != q.Offset || v[p+"lengths"][at] != q.Length {
						t.Errorf("%s/%s %s rank %d request %d: %v, want %d, %d", c.run, name, p, r, i, q, v[p+"offsets"][at], v[p+"lengths"][at])
						break
					}
				}
			}
		}
	}
}

// blobVars returns the map variables of a blob file.
func blobVars(t *testing.T, data []byte) map[string][]int64 {
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(data), int64(len(data)), nil)
	must(err)
	out := map[string][]int64{}
	for i := range h.Vars {
		v := &h.Vars[i]
		if v.Name[0] != 'D' || len(v.Name) < 3 || v.Name[2] != '.' {
			continue
		}
		n := int64(1)
		for _, d := range v.Dims {
			n *= h.Dims[d].Len
		}
		out[v.Name] = make([]int64, n)
		must(cdf5.FromFile(out[v.Name], data[v.Begin:v.Begin+n*int64(v.Type.Size())], true, v.Type))
	}
	return out
}
