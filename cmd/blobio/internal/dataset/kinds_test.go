package dataset_test

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cdf5/cdftest"
	"blobio/internal/cli"
	"blobio/internal/view/serve"
)

func attsOf(list ...any) (out []cdf5.Att) {
	for i := 0; i < len(list); i += 2 {
		a := cdf5.Att{Name: list[i].(string), Type: cdf5.Char, Value: list[i+1]}
		if _, ok := a.Value.(string); !ok {
			_, a.Type, _ = cdf5.SliceLen(a.Value)
		}
		out = append(out, a)
	}
	return out
}

// kind is a coordinate, with the expected output of each verb.
type kind struct {
	stored any // three elements
	atts   []cdf5.Att

	stats string // minimum, maximum, mean, values, fill values, NaN
	dump  string // with dates
	title string // title of the picture: number and range of values
	value string // value of element 1: number, text
	note  string // note of all verbs, except dumps of numbers; "": none

	choose, chosen string // a selection, and the selected indices or the error
}

func kinds() map[string]kind {
	nan, inf := math.NaN(), math.Inf(1)
	const big = 1 << 53
	numbers := []float64{0, 1, 2}
	plain := func(note string, atts ...any) kind { // times that cannot be interpreted
		return kind{numbers, attsOf(atts...), "0 2 1 3 0 0", "0, 1, 2", "3 elements, 0 to 2", "1 1", note, "2000-02-01", note}
	}
	const month = `units "months since 2000-01-01": a month has no fixed length in the calendar `
	return map[string]kind{
		"time of dates": {numbers, attsOf("units", "days since 2000-01-31"), "0 2 1 3 0 0", `"2000-01-31", "2000-02-01", "2000-02-02"`, "3 elements, 2000-01-31 to 2000-02-02",
			"1 2000-02-01", "", "2000-02-01", "1"},
		"time of digits": {[]float64{20000131.25, 20000210, 20000301.5}, attsOf("units", "day as %Y%m%d.%f", "calendar", "standard"), "20000131.25 20000301.5 20000214.25 3 0 0",
			`"2000-01-31 06", "2000-02-10", "2000-03-01 12"`, "3 elements, 2000-01-31 06 to 2000-03-01 12", "20000210 2000-02-10", "", "2000-02-01", "20000131.25"},
		"time of digits of no day": {[]int32{20000228, 20000230, 20000301}, attsOf("units", "day as %Y%m%d"), "20000228 20000301 20000253 3 0 0", `"2000-02-28", 20000230, "2000-03-01"`,
			"3 elements, 2000-02-28 to 2000-03-01", "20000230 20000230 day as %Y%m%d", "", "2000-03-01", "20000301"},
		"time of 30 days": {[]float64{0, 1.5, 2}, attsOf("units", "months since 2000-01-01", "calendar", "360_day"), "0 2 1.166666667 3 0 0", `"2000-01-01", "2000-02-16", "2000-03-01"`,
			"3 elements, 2000-01-01 to 2000-03-01", "1.5 2000-02-16", "", "2000-02-16", "1.5"},
		"time of nanoseconds": {[]int64{17e17, 17e17 + 60e9, 17e17 + 120e9}, attsOf("units", "nanoseconds since 1970-01-01"), "1700000000000000000 1700000120000000000 1.70000006e+18 3 0 0",
			`"2023-11-14 22:13:20", "2023-11-14 22:14:20", "2023-11-14 22:15:20"`, "3 elements, 2023-11-14 22:13:20 to 2023-11-14 22:15:20", "1700000060000000000 2023-11-14 22:14:20", "",
			"2023-11-14T22:14:20", "1700000060000000000"},
		"time of months":       plain(month+"standard, only in 360_day", "units", "months since 2000-01-01"),
		"time of noleap":       plain(month+"noleap, only in 360_day", "units", "months since 2000-01-01", "calendar", "noleap"),
		"time after":           plain(`units "days after 2000-01-01" are unknown`, "units", "days after 2000-01-01"),
		"time as months":       plain(`units "month as %Y%m.%f" are unknown`, "units", "month as %Y%m.%f"),
		"time of hours":        plain(`units "hours" lack a reference date`, "units", "hours"),
		"time without units":   plain(`the units are empty, want the form "days since 2000-01-01"`),
		"time of numbers":      plain(`units is a number (5), want text`, "units", []int32{5}),
		"time of no calendar":  plain(`calendar is a number (360), want text`, "units", "days since 2000-01-01", "calendar", []int32{360}),
		"day by its units":     plain(`units "julian days" are unknown`, "units", "julian days"),
		"day by its axis":      plain(`units "s" lack a reference date`, "units", "s", "axis", "T"),
		"day by its calendar":  plain(`calendar "none", want`, "units", "days since 2000-01-01", "calendar", "none"),
		"day by standard name": plain(`units "d" lack a reference date`, "units", "d", "standard_name", "time"),
		"lead that is no time": {numbers, attsOf("units", "hours", "standard_name", "forecast_period"), "0 2 1 3 0 0", "0, 1, 2", "3 elements, 0 to 2 hours", "1 1 hours", "", "2000-01-01", "has no units of time"},
		"int64": {[]int64{big, big + 1, big + 2}, nil, "9007199254740992 9007199254740994 9.007199255e+15 3 0 0", "9007199254740992, 9007199254740993, 9007199254740994", "3 elements, 9.00719925474099e15 to",
			"9007199254740993 9007199254740993", "", "9007199254740993.", "beyond 2^53"},
		"uint64": {[]uint64{1 << 63, 1<<63 + 1, 1<<64 - 1}, nil, "9223372036854775808 18446744073709551615 1.229782938e+19 3 0 0", "9223372036854775808, 9223372036854775809, 18446744073709551615",
			"3 elements, 9.2234e18 to 1.8447e19", "9223372036854775809 9223372036854775809", "", "1e19", "beyond 2^53"},
		"infinite": {[]float64{inf, inf, inf}, nil, "Infinity Infinity Infinity 3 0 0", "Infinity, Infinity, Infinity", "3 elements, 3 infinite", "- +Inf", "", "1.", "no value"},
		"ends":     {[]float64{1, 2, -inf}, nil, "-Infinity 2 -Infinity 3 0 0", "1, 2, -Infinity", "3 elements, 1 to 2, 1 infinite", "2 2", "", "2.", "2"},
		"NaN":      {[]float64{nan, nan, nan}, nil, "- - - 0 0 3", "NaN, NaN, NaN", "3 elements, 3 NaN", "- NaN", "", "1.", "no value"},
		"NaN fill": {[]float32{1, 2, float32(nan)}, attsOf("_FillValue", []float32{float32(nan)}), "1 2 1.5 2 1 0", "1, 2, _", "3 elements, 1 to 2, 1 without a value", "2 2", "", "2.", "2"},
		"inf fill": {[]float64{1, 2, inf}, attsOf("missing_value", []float64{inf}), "1 2 1.5 2 1 0", "1, 2, Infinity", "3 elements, 1 to 2, 1 without a value", "2 2", "", "2.", "2"},
		"nothing":  {[]int16{7, 7, 7}, attsOf("_FillValue", []int16{7}), "- - - 0 3 0", "_, _, _", "none of 3 elements has a value", "- no value", "", "1.", "no value"},
		"packed":   {[]int16{0, 100, 200}, attsOf("scale_factor", []float64{0.01}, "units", "m"), "0 2 1 3 0 0", "0, 100, 200", "3 elements, 0 to 2 m", "1 1 m", "", "1.", "100"},
		"packed in text": {[]int16{0, 100, 200}, attsOf("scale_factor", "0.01", "units", "m"), "0 200 100 3 0 0", "0, 100, 200", "3 elements, 0 to 200", "100 100", "want a number, so the stored numbers are used", "100.",
			"select by index"},
		"range of another type": {[]int16{0, 100, 200}, attsOf("scale_factor", []float64{0.01}, "valid_range", []float32{0, 1}), "0 0 0 1 2 0", "0, 100, 200", "3 elements, 0, 2 without a value", "- no value",
			"valid_range has type float, but the unpacked type is double", "0.", "0"},
		"unsigned":      {[]int8{1, 127, -1}, attsOf("_Unsigned", "true"), "1 255 127.6666667 3 0 0", "1, 127, -1", "3 elements, 1 to 255", "127 127", "", "250.", "-1"},
		"unsigned odd":  {[]int8{-1, 1, 2}, attsOf("_Unsigned", "yes"), "-1 2 0.6666666667 3 0 0", "-1, 1, 2", "3 elements, −1 to 2", "1 1", `_Unsigned is "yes"`, "1.", "select by index"},
		"many digits":   {[]float64{2451545.25, 2451546.25, 2451547.25}, nil, "2451545.25 2451547.25 2451546.25 3 0 0", "2451545.25, 2451546.25, 2451547.25", "3 elements, 2451545.25 to 2451547.25", "2451546.25 2451546", "", "2451546.", "2451546.25"},
		"text of fills": {[]int16{1, -99, 3}, attsOf("missing_value", "-99"), "-99 3 -31.66666667 3 0 0", "1, -99, 3", "3 elements, −99 to 3", "-99 −99", "missing_value is text", "3.", "3"},
	}
}

// words matches the words in a picture.
var words = regexp.MustCompile(`>([^<>]+)</text>`)

// TestKinds checks that statistics, dumps, selections, pictures and the page interpret a coordinate in the same way. If
// they treat it as a plain number, they give the same reason.
func TestKinds(t *testing.T) {
	list, dir := kinds(), t.TempDir()
	s, err := serve.New(dir, nil)
	clitest.Check(t, err)
	defer s.Close()
	ask := func(t *testing.T, path string, q url.Values, to any) {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "http://localhost"+path+"?"+q.Encode(), nil)
		r.Header.Set("Accept", "application/json")
		s.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
			t.Fatalf("%s: %s", path, w.Body)
		}
	}
	for title, k := range list {
		t.Run(title, func(t *testing.T) {
			name, _, _ := strings.Cut(title, " ")
			n, typ, _ := cdf5.SliceLen(k.stored)
			h := &cdf5.Header{Version: cdf5.CDF5, Dims: []cdf5.Dim{{Name: name, Len: int64(n)}}, Vars: []cdf5.Var{{Name: name, Type: typ, Dims: []int{0}, Atts: k.atts}}}
			base := strings.ReplaceAll(title, " ", "_") + ".nc"
			file := filepath.Join(dir, base)
			clitest.Check(t, os.WriteFile(file, cdftest.Build(t, h, true, k.stored), 0o666))
			noted := func(what, text string) {
				t.Helper()
				if lines := strings.Count(text, k.note); k.note != "" && lines != 1 {
					t.Errorf("%s: %d notes %q: %s", what, lines, k.note, text)
				}
			}

			text := clitest.Good(t, "ls", "--stats", file)
			noted("ls --stats", text)
			if k.note == "" && strings.Contains(strings.ReplaceAll(text, "unpacked values", ""), "note: "+name+": the") {
				t.Errorf("ls --stats: %s", text)
			}
			row := strings.Fields(text[strings.Index(text, "\n"+name+" "):])
			if got := strings.Join(row[1:7], " "); got != k.stats {
				t.Errorf("ls --stats: %s, want %s", got, k.stats)
			}

			res := clitest.Blobio(t, "dump", "-t", file)
			if flat := strings.Join(strings.Fields(res.Out), " "); !strings.Contains(flat, " "+name+" = "+k.dump+" ;") {
				t.Errorf("dump -t: %s, want %s", flat, k.dump)
			}
			if times := strings.HasPrefix(name, "time") || name == "day"; times {
				noted("dump -t", res.Err)
			} else if res.Err != "" {
				t.Errorf("dump -t: %s", res.Err)
			}

			res = clitest.Blobio(t, "dump", "-v", name, "-d", name+","+k.choose, file)
			pic := clitest.Blobio(t, "plot", name, file, "--kind", "line", "-d", name+","+k.choose, "-o", file+".svg", "--force") // the only dimension: always an error
			if strings.Contains(res.Out, " "+name+" = "+k.chosen+" ;") == (res.Code != 0) || res.Code != 0 && (res.Code != cli.Failed || !strings.Contains(res.Err, k.chosen)) {
				t.Errorf("dump -d %s: %d, %s %s, want %s", k.choose, res.Code, res.Out, res.Err, k.chosen)
			}
			if res.Code != 0 && !strings.Contains(pic.Err, k.chosen) {
				t.Errorf("plot -d %s: %s, want %s", k.choose, pic.Err, k.chosen)
			}

			clitest.Good(t, "plot", name, file, "--kind", "line", "-o", file+".svg", "--force")
			var drawn string
			for _, m := range words.FindAllSubmatch(clitest.Read(t, file+".svg"), -1) {
				drawn += html.UnescapeString(string(m[1])) + "\n"
			}
			noted("plot", drawn)
			if !strings.Contains(drawn, "\n"+k.title) {
				t.Errorf("plot: %q, want %q", drawn, k.title)
			}

			q := url.Values{"var": {name}, "kind": {"line"}}
			var see struct{ Notes []string }
			ask(t, "/view/"+base, q, &see)
			noted("/view", strings.Join(see.Notes, "\n"))
			var v struct {
				Value   json.Number
				Text    string
				Notes   []string
				Element []struct{ Index int64 }
			}
			for px := 30; px < 700 && (len(v.Element) == 0 || v.Element[0].Index != 1); px += 10 {
				v.Value, v.Element = "", nil
				q.Set("px", fmt.Sprint(px))
				q.Set("py", "200")
				ask(t, "/value/"+base, q, &v)
			}
			if len(v.Element) == 0 { // no axes, so no element has a position
				if k.value[0] != '-' {
					t.Error("/value: no element 1")
				}
				return
			}
			if v.Value == "" {
				v.Value = "-"
			}
			if got := v.Value.String() + " " + v.Text; got != k.value && !(k.note != "" && slices.Contains([]string{"time", "day"}, name) && strings.HasPrefix(got, k.value+" ")) {
				t.Errorf("/value: %s, want %s", got, k.value)
			}
			noted("/value", strings.Join(v.Notes, "\n"))
		})
	}
}
