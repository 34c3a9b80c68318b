package dataset_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cdf5/cdftest"
	"blobio/internal/cli"
)

// packedFile makes a file of packed coordinates and values, and of invalid attributes.
func packedFile(t *testing.T) string {
	text := func(name, v string) cdf5.Att { return cdf5.Att{Name: name, Type: cdf5.Char, Value: v} }
	number := func(name string, x float64) cdf5.Att {
		return cdf5.Att{Name: name, Type: cdf5.Double, Value: []float64{x}}
	}
	h := &cdf5.Header{Version: cdf5.CDF5, NumRecs: 2, Dims: []cdf5.Dim{{Name: "time"}, {Name: "lat", Len: 7}, {Name: "bad", Len: 3}}}
	fill := cdf5.Att{Name: "_FillValue", Type: cdf5.Short, Value: []int16{-1}}
	h.Vars = []cdf5.Var{
		{Name: "time", Type: cdf5.Short, Dims: []int{0}, Atts: []cdf5.Att{text("units", "days since 2000-01-01"), number("scale_factor", 0.5), number("add_offset", 31)}},
		{Name: "lat", Type: cdf5.Short, Dims: []int{1}, Atts: []cdf5.Att{text("units", "degrees_north"), {Name: "scale_factor", Type: cdf5.Float, Value: []float32{0.1}}}},
		{Name: "bad", Type: cdf5.Short, Dims: []int{2}, Atts: []cdf5.Att{text("units", "degrees_east"), text("scale_factor", "0.1")}},
		{Name: "T", Type: cdf5.Short, Dims: []int{0, 1}, Atts: []cdf5.Att{text("units", "K"), number("scale_factor", 0.01), number("add_offset", 273.15), fill}},
		{Name: "M", Type: cdf5.Float, Dims: []int{1}, Atts: []cdf5.Att{{Name: "missing_value", Type: cdf5.Double, Value: []float64{-999.9, -888}}, number("valid_max", 5)}},
		{Name: "u", Type: cdf5.Byte, Dims: []int{1}, Atts: []cdf5.Att{text("_Unsigned", "true")}},
	}
	name := filepath.Join(t.TempDir(), "packed.nc")
	clitest.Check(t, os.WriteFile(name, cdftest.Build(t, h, true, []int16{0, 3}, []int16{-900, -600, -300, 3, 300, 600, 900}, []int16{1, 2, 3},
		[]int16{0, 100, 200, 300, 400, 500, -1, 10, 20, 30, 40, 50, 60, 70}, []float32{-999.9, 1, 2, 3, 4, 6, -888}, []int8{-1, -2, 0, 1, 2, 3, 4}), 0o666))
	return name
}

// TestStatsMeaning checks that statistics unpack packed values and mention the unpacking. Other verbs do not change stored
// values.
func TestStatsMeaning(t *testing.T) {
	name := packedFile(t)
	got := statsOf(t, name)
	for v, want := range map[string][5]float64{"time": {31, 32.5, 31.75, 2, 0}, "lat": {-90, 90, 0.3 / 7, 7, 0}, "bad": {1, 3, 2, 3, 0}, "T": {273.15, 278.15, 274.519230769231, 13, 1},
		"M": {1, 4, 2.5, 4, 3}, "u": {0, 255, 519. / 7, 7, 0}} {
		g := got[v]
		for i, x := range []float64{*g.Min, *g.Max, *g.Mean, float64(g.Values), float64(g.Fill)} {
			if math.Abs(x-want[i]) > 1e-7*math.Abs(want[i]) {
				t.Errorf("%s: %v, want %v", v, x, want)
			}
		}
	}
	clitest.Holds(t, clitest.Good(t, "ls", "--stats", name), "note: T: unpacked values (scale_factor 0.01, add_offset 273.15)\n", "note: lat: unpacked values (scale_factor 0.1)\n", "note: u: unpacked values (unsigned)\n",
		`note: bad: scale_factor is text ("0.1"), want a number, so the stored numbers are used without units`)
	if text := clitest.Good(t, "ls", "--stats", "-v", "M", name); strings.Contains(text, "note") {
		t.Errorf("%s", text)
	}
	clitest.Holds(t, clitest.Good(t, "ls", "--stats", "--json", name), `"unpacked": "unpacked values (unsigned)"`)
	clitest.Shows(t, "0, 100, 200, 300, 400, 500, _", "dump", "-v", "T", name)
	clitest.Shows(t, `time = "2000-02-01", "2000-02-02 12" ;`, "dump", "-t", "-v", "time", name)
	clitest.Shows(t, `"2000-02-02 12"`, "dump", "--json", "-t", "-v", "time", name)
}

// TestSelectPacked checks selection by values of packed coordinates, including values that rounding has moved across a limit.
func TestSelectPacked(t *testing.T) {
	name := packedFile(t)
	for args, want := range map[string]string{"lat,30.,60.": "300, 600", "lat,-60.,0.3": "-600, -300, 3", "lat,0.3,,": "3, 300, 600, 900", "lat,61.": "600", "lat,85.,-85.": "900, -900"} {
		clitest.Shows(t, " lat = "+want+" ;", "dump", "-v", "lat", "-d", args, name)
	}
	clitest.Shows(t, " time = 3 ;", "dump", "-v", "time", "-d", "time,2000-02-02,", name)
	clitest.Bad(t, cli.Failed, "select by index", "dump", "-v", "bad", "-d", "bad,1.,2.", name)
	clitest.Shows(t, " bad = 2, 3 ;", "dump", "-v", "bad", "-d", "bad,1,2", name)
}

// TestJudgeStatsMeaning checks that cdo finds the same statistics of packed values.
func TestJudgeStatsMeaning(t *testing.T) {
	cdo := testfiles.Judge(t, "cdo")
	name := packedFile(t)
	got := statsOf(t, name)
	for _, v := range []string{"T", "u"} {
		list := got[v].Records
		if list == nil {
			list = []numbers{got[v].numbers}
		}
		for op, of := range map[string]func(numbers) float64{"-fldmin": func(n numbers) float64 { return *n.Min }, "-fldmax": func(n numbers) float64 { return *n.Max }} {
			out, err := exec.Command(cdo, "-s", "outputf,%.17g,1", op, "-selname,"+v, name).Output()
			clitest.Check(t, err)
			words := strings.Fields(string(out))
			if len(words) != len(list) {
				t.Fatalf("cdo %s of %s prints %q", op, v, out)
			}
			for i, word := range words {
				if x, err := strconv.ParseFloat(word, 64); err != nil || math.Abs(x-of(list[i])) > 1e-9*math.Abs(x) {
					t.Errorf("cdo %s of %s, record %d: %s, want %v", op, v, i, word, of(list[i]))
				}
			}
		}
	}
}
