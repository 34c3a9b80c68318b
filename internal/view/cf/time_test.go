package cf

import (
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
)

// TestTimesAndReasons checks which variables are times. Bounds use the units and calendar of their variable. Times that cannot be
// interpreted have a reason.
func TestTimesAndReasons(t *testing.T) {
	s := blob.NewSchema()
	dim, two := s.Dim("time", 3), s.Dim("two", 2)
	one, both := []blob.DimID{dim}, []blob.DimID{dim, two}
	text := blob.Att
	s.Var("time", cdf5.Double, one, text("units", "days since 2000-02-28"), text("calendar", "noleap"), text("bounds", "time_bnds"), text("climatology", "bare"))
	s.Var("time_bnds", cdf5.Double, both, text("units", "days since 2000-02-28"))
	s.Var("bare", cdf5.Double, both)
	s.Var("other", cdf5.Double, one, text("units", "days after 2000-01-01"), text("bounds", "other_bnds"))
	s.Var("other_bnds", cdf5.Double, both)
	s.Var("text", cdf5.Char, both, text("units", "days since 2000-01-01"))
	s.Var("length", cdf5.Double, one, text("units", "days"))
	s.Var("Time", cdf5.Double, one, text("units", "days"))
	s.Var("T", cdf5.Double, one, text("units", "days"), text("axis", "T"))
	s.Var("reference", cdf5.Double, nil, text("standard_name", "forecast_reference_time"), text("units", "hours"))
	for name, want := range map[string]string{"time": "2000-03-01", "time_bnds": "2000-03-01", "bare": "2000-03-01", "other": "are unknown", "other_bnds": "are unknown", "text": "", "length": "", "Time": "",
		"T": "lack a reference date", "reference": "lack a reference date"} {
		id, _ := s.VarID(name)
		u, err := TimeOf(s, &s.Vars()[id])
		got := ""
		if u != nil {
			d, _ := u.Date(1)
			got = d.Text(" ")
		}
		if err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		notes := Remarks(s, &s.Vars()[id])
		if len(notes) > 1 || len(notes) == 1 != (err != nil) || err != nil && !strings.HasPrefix(notes[0], name+": units ") {
			t.Errorf("%s: %q", name, notes)
		}
	}
}
