package cf

import (
	"slices"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// grid makes a schema with variables related in each of the ways.
func grid() *blob.Schema {
	s := blob.NewSchema()
	tm, lev, ncol, nb, two := s.Dim("time", blob.Unlimited), s.Dim("lev", 3), s.Dim("ncol", 5), s.Dim("nb", 2), s.Dim("two", 2)
	text := func(name, v string) blob.VarOption { return blob.Att(name, v) }
	s.Var("T", cdf5.Float, []blob.DimID{tm, lev, ncol}, text("cell_measures", "area: area"), text("ancillary_variables", "flag none"))
	s.Var("U", cdf5.Float, []blob.DimID{tm, ncol}, text("coordinates", "name\x00"))
	s.Var("time", cdf5.Double, []blob.DimID{tm}, text("units", "days since 2000-01-01"), text("calendar", "noleap"), text("bounds", "time_bnds"))
	s.Var("time_bnds", cdf5.Double, []blob.DimID{tm, nb})
	s.Var("lev", cdf5.Double, []blob.DimID{lev}, text("formula_terms", "a: hyam p0: P0 ps: PS"))
	s.Var("hyam", cdf5.Double, []blob.DimID{lev})
	s.Var("P0", cdf5.Double, nil)
	s.Var("PS", cdf5.Float, []blob.DimID{tm, ncol})
	s.Var("lat", cdf5.Double, []blob.DimID{ncol}, text("units", "degrees_north"))
	s.Var("lon", cdf5.Double, []blob.DimID{ncol}, text("units", "degreeE"))
	s.Var("area", cdf5.Double, []blob.DimID{ncol})
	s.Var("flag", cdf5.Int, []blob.DimID{ncol})
	s.Var("name", cdf5.Char, []blob.DimID{two})
	s.Var("other", cdf5.Int, []blob.DimID{two})
	return s
}

func TestWithCoordinates(t *testing.T) {
	s := grid()
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	for names, want := range map[string]string{
		"T": "T time time_bnds lev hyam P0 PS lat lon area flag", "U": "U time time_bnds lat lon name", "lev": "lev hyam P0 PS time time_bnds lat lon", "P0": "P0",
		"lat": "lat lon", "other no": "other", "time": "time time_bnds",
	} {
		got := WithCoordinates(s, strings.Fields(names))
		w := strings.Fields(want)
		slices.Sort(w)
		sorted := slices.Sorted(slices.Values(got))
		if !slices.Equal(sorted, w) {
			t.Errorf("%s: %v, want %v", names, sorted, w)
		}
		last := blob.VarID(-1)
		for _, n := range got {
			v, _ := s.VarID(n)
			if v <= last {
				t.Errorf("%s: %v is not in the order of the schema", names, got)
			}
			last = v
		}
	}
}

func TestTimeOf(t *testing.T) {
	s := grid()
	for i := range s.Vars() {
		v := &s.Vars()[i]
		u, err := TimeOf(s, v)
		if err != nil {
			t.Error(err)
		}
		if is := strings.HasPrefix(v.Name, "time"); is != (u != nil) {
			t.Errorf("%s: %v", v.Name, u)
		}
		if u != nil {
			if d, ok := u.Date(59); !ok || d.Text(" ") != "2000-03-01" {
				t.Errorf("%s: %v", v.Name, d)
			}
		}
	}
}

func TestDegrees(t *testing.T) {
	for units, want := range map[string]bool{"degrees_north": true, "degree_north": true, "degrees_N": true, "degreeN": true, "degreesN": true, "degree_N": true,
		"degrees": false, "degrees_east": false, "radians": false, "": false, "degrees_northern": false} {
		if IsLatitude(units) != want {
			t.Errorf("%q: %v", units, !want)
		}
	}
	if !IsLongitude("degrees_east") || IsLongitude("degrees_north") {
		t.Error("longitudes")
	}
}
