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

func model(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "m.json")
	clitest.Check(t, os.WriteFile(name, []byte(text), 0o666))
	return name
}

// paper returns the model of the paper with more fields. A field in more replaces the field of the
// same name.
func paper(t *testing.T, more string) string {
	return model(t, `{"levels": 4, "ratio": 2, "put": [1.37], "step": [1.82, 2.86, 3.03, 3.16], "box": 0.0081, "reconfig": 1.58, "alloc": 0.61, `+more+"}")
}

func TestCost(t *testing.T) {
	out := clitest.Good(t, "cost")
	clitest.Holds(t, out, "The numbers come from the paper", "the paper prints 20.55 s",
		"1,0,0,0   0.61   5.48  44.94      1.58  52.61  global         12.2 %\n", "1,1,1,1   0.61  20.55   3.16    0.0081  24.33  box            45.7 %\n",
		"from 0.3476 errors per coarse step on, in the last fine step\n", "from 0.5726 errors per coarse step on, in a random fine step\n", "the best")
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
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "cost", "--json", "--errors", "1e8", "--model", paper(t, `"put": [1e100], "step": [1e100]`))), &d))
	for want, args := range map[string][]string{
		"2 levels of ratio 4; compute 12.00 s per coarse step": {"--model", model(t, "\ufeff"+`{"ratio": 4, "put": [0.25], "step": [4, 2], "box": 0.001, "reconfig": 0.5, "latency": 1}`)},
		"1,1,1,1 never costs more than 1,0,0,0":                {"--model", paper(t, `"put": [0]`)},
		"1,1,1,1 never costs less than 1,0,0,0":                {"--model", paper(t, `"step": [0], "box": 9`)},
		"1,0,0,0 costs less than 1,1,1,1 up to 0.3476":         {"-c", "1,1,1,1", "-c", "1,0,0,0"},
		"1 level of ratio":                                     {"--model", model(t, `{"ratio": 2, "put": [1], "step": [1]}`)},
		"detected up to 12 fine steps later":                   {"--model", paper(t, `"latency": 12, "commit": 0.01`)},
		"9  2,3,5,9\n":                                         {"--model", paper(t, `"latency": 12, "commit": 0.01`)},
	} {
		if out := clitest.Good(t, append([]string{"cost"}, args...)...); !strings.Contains(out, want) || strings.Contains(out, "come from the paper") != (args[0] == "-c") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestCostRefuses(t *testing.T) {
	for words, args := range map[string][]string{
		"no arguments":                  {"x"},
		`unknown field "rato"`:          {"--model", model(t, `{"rato": 4}`)},
		"no such file":                  {"--model", filepath.Join(t.TempDir(), "none")},
		"4 levels: put and step need":   {"--model", paper(t, `"put": [1, 2]`)},
		"levels of ratio 0":             {"--model", paper(t, `"ratio": 0`)},
		"time of -1 s in the model":     {"--model", paper(t, `"box": -1`)},
		"want at most 1e+100 s":         {"--model", paper(t, `"put": [1e308]`)},
		"latency is 1e+18":              {"--model", paper(t, `"latency": 1e18`)},
		"4000000000000000 levels: put":  {"--model", model(t, `{"levels": 4000000000000000, "ratio": 2, "put": [1], "step": [1]}`)},
		"has 3 numbers, want 4":         {"--cadence", "1,0,0"},
		"want a number for each level":  {"--cadence", "1,0,0,x"},
		"interval of level 0 must be 1": {"--cadence", "0,0,0,1"},
		"want numbers of errors":        {"--errors", "1,-1"},
	} {
		clitest.Bad(t, cli.Failed, words, append([]string{"cost"}, args...)...)
	}
}
