package e3smcases

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"blobio/cdf5"
	"blobio/decomp"
	"blobio/internal/base/testfiles"
)

// refCase is a case as stored by the tool that read the files of E3SM-IO.
type refCase struct {
	Case  string
	Dims  [][2]any
	Gatts [][3]any
	Vars  []struct {
		Name, Type string
		TypeJ      string `json:"type_with_j"`
		Dims       []string
		Rec        bool
		Decomp     int
		Atts       [][3]any
		AttsJ      [][3]any `json:"atts_with_j"`
	}
	DecompVars [][4]any `json:"decomp_vars"`
}

func refAtts(t *testing.T, list [][3]any) []cdf5.Att {
	t.Helper()
	var out []cdf5.Att
	for _, a := range list {
		typ, err := cdf5.ParseType(a[1].(string))
		if err != nil {
			t.Fatal(err)
		}
		r := cdf5.Att{Name: a[0].(string), Type: typ, Value: a[2]}
		if l, ok := a[2].([]any); ok {
			switch typ {
			case cdf5.Int:
				var v []int32
				for _, x := range l {
					v = append(v, int32(x.(float64)))
				}
				r.Value = v
			case cdf5.Float:
				var v []float32
				for _, x := range l {
					v = append(v, float32(x.(float64)))
				}
				r.Value = v
			case cdf5.Double:
				var v []float64
				for _, x := range l {
					v = append(v, x.(float64))
				}
				r.Value = v
			default:
				t.Fatalf("attribute of type %v", typ)
			}
		}
		out = append(out, r)
	}
	return out
}

func TestTablesEqualReference(t *testing.T) {
	dir := testfiles.Captured(t, "e3sm_cases")
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(dir + "/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			var ref refCase
			if err := json.Unmarshal(b, &ref); err != nil {
				t.Fatal(err)
			}
			c, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if c.Name != ref.Case {
				t.Errorf("name %q, want %q", c.Name, ref.Case)
			}
			var dims []cdf5.Dim
			for _, d := range ref.Dims {
				dims = append(dims, cdf5.Dim{Name: d[0].(string), Len: int64(d[1].(float64))})
			}
			if d := cmp.Diff(dims, c.Dims); d != "" {
				t.Error("dimensions", d)
			}
			if d := cmp.Diff(refAtts(t, ref.Gatts), c.Atts); d != "" {
				t.Error("global attributes", d)
			}
			if len(c.Vars) != len(ref.Vars) {
				t.Fatalf("%d variables, want %d", len(c.Vars), len(ref.Vars))
			}
			for i, v := range c.Vars {
				r := ref.Vars[i]
				want := Var{Name: r.Name, Record: r.Rec, Map: r.Decomp, Atts: refAtts(t, r.Atts)}
				want.Type, _ = cdf5.ParseType(r.Type)
				want.TypeFloat, _ = cdf5.ParseType(r.TypeJ)
				want.AttsFloat = want.Atts
				if r.AttsJ != nil {
					want.AttsFloat = refAtts(t, r.AttsJ)
				}
				for _, d := range r.Dims {
					want.Dims = append(want.Dims, c.DimIndex(d))
				}
				if d := cmp.Diff(want, v); d != "" {
					t.Errorf("variable %d %s: %s", i, r.Name, d)
				}
			}
			var maps [][]int
			for _, v := range ref.DecompVars {
				if strings.HasSuffix(v[0].(string), ".nreqs") {
					var ids []int
					for _, id := range v[3].([]any)[1].([]any)[2].([]any) {
						ids = append(ids, int(id.(float64)))
					}
					maps = append(maps, ids)
				}
			}
			if d := cmp.Diff(maps, c.MapDims); d != "" {
				t.Error("map dimensions", d)
			}
		})
	}
}

// The tables must be consistent. This test does not need the reference.
func TestTablesAreConsistent(t *testing.T) {
	count := map[string]int{"F_h0": 414, "F_h1": 51, "G": 52, "I_h0": 560, "I_h1": 552}
	for _, name := range Names() {
		c, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Vars) != count[name] {
			t.Errorf("%s: %d variables, want %d", name, len(c.Vars), count[name])
		}
		seen := map[string]bool{}
		record := false
		for i, v := range c.Vars {
			if seen[v.Name] {
				t.Errorf("%s: %s twice", name, v.Name)
			}
			seen[v.Name] = true
			if record && !v.Record {
				t.Errorf("%s: fixed variable %s behind record variables", name, v.Name)
			}
			record = v.Record
			if v.Map > 0 && !slices.Equal(c.Shape(i), c.Extents(v.Map)) {
				t.Errorf("%s: %s has shape %v, its map %v", name, v.Name, c.Shape(i), c.Extents(v.Map))
			}
			for j, a := range v.AttsFloat {
				if b := v.Atts[j]; b.Name != a.Name || b.Name != "_FillValue" && !cmp.Equal(a, b) {
					t.Errorf("%s: %s: attribute %v under the float setting, else %v", name, v.Name, a, b)
				}
				if a.Name == "_FillValue" && a.Type != v.TypeFloat {
					t.Errorf("%s: %s: _FillValue of type %v, variable %v", name, v.Name, a.Type, v.TypeFloat)
				}
			}
		}
	}
	if _, err := Load("H"); err == nil {
		t.Error("case H was found")
	}
}

func TestParseErrors(t *testing.T) {
	const head = "dim\ttime\tunlimited\ndim\tx\t3\nmap\tx\n"
	for name, text := range map[string]string{
		"item":        "foo\tbar\n",
		"fields":      "dim\tx\n",
		"length":      "dim\tx\t-1\n",
		"plus":        "dim\tx\ty+1\n",
		"map dim":     "map\tq\n",
		"files":       head + "att\t7\ta=b\n",
		"no =":        head + "att\t*\tab\n",
		"number":      head + "att\t*\ta:int=x\n",
		"type":        head + "att\t*\ta:word=1\n",
		"var type":    head + "var\t*\tv\tword\t-\t-\n",
		"float type":  head + "var\t*\tv\tint/word\t-\t-\n",
		"var map":     head + "var\t*\tv\tint\tD2\tx\n",
		"var dim":     head + "var\t*\tv\tint\tD1\ty\n",
		"var let":     head + "var\t*\tv\tint\tD1\tx\t$fill\n",
		"unused type": head + "att\t*\ta:short=1\n",
	} {
		if _, err := parse(table{"t", "t", "0"}, text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	c, err := parse(table{"t", "t", "0"}, head+"att\t1\tno=1\natt\t*\ttext=a\\n\\tb\\\\n\n# note\n\nvar\t0\tv\tdouble/float\tD1\ttime x\tf:self=1e20\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Atts[0].Value != "a\n\tb\\n" || len(c.Atts) != 1 {
		t.Errorf("attributes %q", c.Atts)
	}
	if f := c.Vars[0].Atts[0].Value.([]float64)[0]; f != float64(float32(1e20)) {
		t.Errorf("self value %v", f)
	}
}

func TestWithMapDims(t *testing.T) {
	maps, err := F{Ne: 3, Levels: 5, Ranks: 4}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	c, _ := Load("F_h0")
	n, err := c.WithMapDims(maps)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"ncol": 488, "lev": 5, "ilev": 6, "nbnd": 2, "time": 0} {
		if l := n.Dims[n.DimIndex(name)].Len; l != want {
			t.Errorf("%s is %d, want %d", name, l, want)
		}
	}
	if c.Dims[c.DimIndex("ncol")].Len != 866 {
		t.Error("the shared case was changed")
	}
	if _, err := c.WithMapDims(maps[:2]); err == nil {
		t.Error("two maps were taken for three")
	}
	other, _ := F{Ne: 2, Levels: 5, Ranks: 4}.Maps()
	if _, err := c.WithMapDims([]*decomp.Map{maps[0], other[1], maps[2]}); err == nil {
		t.Error("maps of two sizes were taken")
	}
	if _, err := c.WithMapDims([]*decomp.Map{maps[0], maps[1], maps[0]}); err == nil {
		t.Error("a map without levels was taken as D3")
	}
	g, err := G{Cells: 60, Levels: 7, Ranks: 3}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	c, _ = Load("G")
	if n, err = c.WithMapDims(g); err != nil {
		t.Fatal(err)
	}
	if n.Dims[n.DimIndex("nVertLevelsP1")].Len != 8 || n.Dims[n.DimIndex("nCells")].Len != 60 {
		t.Error(n.Dims)
	}
	i, err := I{Lat: 10, Lon: 20, Ranks: 3}.Maps()
	if err != nil {
		t.Fatal(err)
	}
	c, _ = Load("I_h0")
	if n, err = c.WithMapDims(i); err != nil {
		t.Fatal(err)
	}
	if n.Dims[n.DimIndex("lat")].Len != 10 || n.Dims[n.DimIndex("lon")].Len != 20 {
		t.Error(n.Dims)
	}
}
