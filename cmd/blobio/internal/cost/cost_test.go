package cost_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

func TestCost(t *testing.T) {
	out := clitest.Good(t, "cost")
	for _, want := range []string{"The numbers are those of the paper", "20.55 s where its own expression",
		"1,0,0,0   0.61   5.48  44.94      1.58  52.61  global         12.2 %\n", "1,1,1,1   0.61  20.55   3.16    0.0081  24.33  box            45.7 %\n",
		"from 0.3476 errors per coarse step on, in the last fine step\n", "from 0.5726 errors per coarse step on, in a random fine step\n", "the best"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var d struct {
		Paper    bool
		Cadences []struct {
			Cadence  []int
			Total    float64
			Expected []struct{ Errors, Total float64 }
		}
		BreakEven []struct{ Last, Random *float64 } `json:"break_even"`
		Best      []struct{ Cadence []int }
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "cost", "--json", "--errors", "0,1")), &d))
	if !d.Paper || len(d.Cadences) != 2 || math.Abs(d.Cadences[1].Total-24.3281) > 1e-9 || math.Abs(*d.BreakEven[0].Last-0.3476) > 5e-5 || d.Best[0].Cadence[3] != 0 {
		t.Errorf("%+v", d)
	}
	// Other numbers, from a file and from flags, are the same.
	name := filepath.Join(t.TempDir(), "m.json")
	clitest.Check(t, os.WriteFile(name, []byte(`{"ratio": 4, "put": [0.25], "step": [4, 2], "box": 0.001, "reconfig": 0.5, "latency": 1}`), 0o666))
	a := clitest.Good(t, "cost", "--model", name)
	marked := filepath.Join(t.TempDir(), "marked.json")
	clitest.Check(t, os.WriteFile(marked, []byte("\ufeff"+`{"ratio": 4, "put": [0.25], "step": [4, 2], "box": 0.001, "reconfig": 0.5, "latency": 1}`), 0o666))
	if got := clitest.Good(t, "cost", "--model", marked); got != a {
		t.Error(got)
	}
	b := clitest.Good(t, "cost", "--levels", "2", "--ratio", "4", "--put", "250ms", "--step", "4,2", "--box", "1ms", "--reconfig", "0.5", "--alloc", "0", "--latency", "1")
	if a != b || strings.Contains(a, "paper") || !strings.Contains(a, "2 levels of ratio 4; computing a coarse step 12.00 s") || !strings.Contains(a, "found 1 fine steps later") {
		t.Errorf("%s\n%s", a, b)
	}
	if out := clitest.Good(t, "cost", "--put", "0"); !strings.Contains(out, "1,1,1,1 never costs more than 1,0,0,0") {
		t.Error(out)
	}
	if out := clitest.Good(t, "cost", "--step", "0", "--box", "9"); !strings.Contains(out, "1,1,1,1 never costs less than 1,0,0,0") {
		t.Error(out)
	}
	if out := clitest.Good(t, "cost", "-c", "1,1,1,1", "-c", "1,0,0,0"); !strings.Contains(out, "1,0,0,0 costs less than 1,1,1,1 up to 0.3476") {
		t.Error(out)
	}
	if out := clitest.Good(t, "cost", "--levels", "1", "--put", "1", "--step", "1"); !strings.Contains(out, "1 level of ratio") {
		t.Error(out)
	}
}

func TestCostRefuses(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "m.json")
	clitest.Check(t, os.WriteFile(name, []byte(`{"rato": 4}`), 0o666))
	huge := filepath.Join(dir, "huge.json")
	clitest.Check(t, os.WriteFile(huge, []byte(`{"levels": 4000000000000000, "ratio": 2, "put": [1], "step": [1]}`), 0o666))
	for _, c := range []struct{ words, args string }{
		{"no arguments", "x"},
		{`unknown field "rato"`, "--model " + name},
		{"no such file", "--model " + dir + "/none"},
		{"--put: 2 times, there are 4 levels", "--put 1,2"},
		{"want 90s", "--step 1,x,3,4"},
		{"want as many times", "--levels 3"},
		{"levels of ratio 0", "--ratio 0"},
		{"a time of NaN s", "--latency NaN"},
		{"3 numbers, there are 4 levels", "--cadence 1,0,0"},
		{"want a number for each level", "--cadence 1,0,0,x"},
		{"level 0 is saved at its beginning", "--cadence 0,0,0,1"},
		{"want numbers of errors", "--errors 1,-1"},
		{"there are -1 levels", "--levels -1 --put 1 --step 1"},
		{"there are 4000000000000000 levels", "--levels 4000000000000000 --put 1 --step 1"},
		{"4000000000000000 levels: want as many times", "--model " + huge},
	} {
		clitest.Bad(t, cli.Failed, c.words, append([]string{"cost"}, strings.Fields(c.args)...)...)
	}
}

// Errors that are found late need versions from before, and cost more.
func TestCostOfLateErrors(t *testing.T) {
	out := clitest.Good(t, "cost", "--latency", "12", "--commit", "10ms")
	for _, want := range []string{"found up to 12 fine steps later", "9  2,3,5,9\n", "1          3   5.49"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var d struct {
		Keep    []struct{ Snapshots int }
		Spacing []struct{ Save, Lost float64 }
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "cost", "--latency", "40", "--json")), &d))
	if len(d.Keep) != 2 || d.Keep[0].Snapshots != 6 || len(d.Spacing) != 4 || d.Spacing[3].Save >= d.Spacing[0].Save || d.Spacing[3].Lost <= d.Spacing[0].Lost {
		t.Errorf("%+v", d)
	}
}
