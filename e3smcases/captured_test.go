package e3smcases

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/testfiles"
)

// intVars reads all int variables of a small CDF file.
func intVars(t testing.TB, path string) map[string][]int32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := cdf5.DecodeHeader(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string][]int32{}
	for i, v := range h.Vars {
		x := make([]int32, h.Elems(i))
		if err := cdf5.FromFile(x, b[v.Begin:v.Begin+4*int64(len(x))], true, v.Type); err != nil {
			t.Fatal(err)
		}
		vars[v.Name] = x
	}
	return vars
}

// capturedLists returns the requests by rank of map k (1-based) of a captured file, unchanged but without gap fillers.
func capturedLists(t testing.TB, file string, k int) [][]decomp.Req {
	t.Helper()
	v := intVars(t, testfiles.Captured(t, "maps", file))
	d := fmt.Sprintf("D%d.", k)
	offs, lens := v[d+"offsets"], v[d+"lengths"]
	lists := make([][]decomp.Req, len(v[d+"nreqs"]))
	pos := 0
	for r, n := range v[d+"nreqs"] {
		for i := range int(v[d+"fill_starts"][r]) {
			lists[r] = append(lists[r], decomp.Req{Offset: int64(offs[pos+i]), Length: int64(lens[pos+i])})
		}
		pos += int(n)
	}
	return lists
}

// oldLists returns the lists in a file of the older schema, from the variables off_NNNNN and len_NNNNN.
func oldLists(t testing.TB, file string, ranks int) [][]decomp.Req {
	t.Helper()
	v := intVars(t, testfiles.Captured(t, "maps", file))
	lists := make([][]decomp.Req, ranks)
	for r := range lists {
		for i, o := range v[fmt.Sprintf("off_%05d", r)] {
			lists[r] = append(lists[r], decomp.Req{Offset: int64(o), Length: int64(v[fmt.Sprintf("len_%05d", r)][i])})
		}
	}
	return lists
}

// mapOf makes a map of lists. If merged is set, it sorts and merges each list like E3SM-IO.
func mapOf(t testing.TB, dims []int64, lists [][]decomp.Req, merged bool) *decomp.Map {
	t.Helper()
	b := decomp.NewBuilder(dims, len(lists))
	for r, l := range lists {
		if merged {
			l = decomp.SortCoalesce(append([]decomp.Req(nil), l...), dims[len(dims)-1])
		}
		if err := b.Set(r, l); err != nil {
			t.Fatal(err)
		}
	}
	m, err := b.Map()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var (
	dimsF = [][]int64{{866}, {866}, {72, 866}}
	dimsG = [][]int64{{285}, {879}, {285, 100}, {879, 100}, {593, 100}, {285, 101}}
	dimsI = [][]int64{{96, 144}, {15, 96, 144}, {10, 96, 144}, {9, 96, 144}, {17, 96, 144}}
)

// TestCapturedF16 is the central test: D1, D2 and D3 of ne = 4 with 16 ranks equal the captured maps, request for
// request.
func TestCapturedF16(t *testing.T) {
	maps, err := F{Ne: 4, Levels: 72, Ranks: 16}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for k, dims := range dimsF {
		lists := capturedLists(t, "map_f_case_16p.nc", k+1)
		if !maps[k].Equal(mapOf(t, dims, lists, true)) {
			t.Errorf("D%d sorted and merged is not the captured one", k+1)
		}
	}
}

func TestCapturedF512(t *testing.T) {
	maps, err := F{Ne: 30, Levels: 1, Ranks: 512}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for k, file := range []string{"48602x72_512p_D1.nc", "48602x72_512p_D2.nc"} {
		if !maps[k].Equal(mapOf(t, []int64{48602}, oldLists(t, file, 512), false)) {
			t.Errorf("%s: D%d is not the captured one", file, k+1)
		}
	}
}

// With the captured land mask, the five maps of I equal the captured maps.
func TestCapturedI(t *testing.T) {
	mask := make([]bool, 96*144)
	for _, l := range capturedLists(t, "map_i_case_16p.nc", 1) {
		for _, q := range l {
			for i := range q.Length {
				mask[q.Offset+i] = true
			}
		}
	}
	maps, err := I{Lat: 96, Lon: 144, Ranks: 16, Mask: mask}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for k, dims := range dimsI {
		if !maps[k].Equal(mapOf(t, dims, capturedLists(t, "map_i_case_16p.nc", k+1), true)) {
			t.Errorf("D%d is not the captured one", k+1)
		}
	}
}
