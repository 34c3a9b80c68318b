package dataset_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
)

type numbers struct {
	Record            int64
	Values, Fill, NaN int64
	Min, Max, Mean    *float64
}

type summed struct {
	Name, Type string
	Records    []numbers
	numbers
}

// statsOf returns the output of ls --stats --json, by variable.
func statsOf(t *testing.T, args ...string) map[string]summed {
	t.Helper()
	var d struct {
		Datasets []struct{ Variables []json.RawMessage }
	}
	text := clitest.Good(t, append([]string{"ls", "--stats", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	out := map[string]summed{}
	for _, raw := range d.Datasets[0].Variables {
		var v summed
		clitest.Check(t, json.Unmarshal(raw, &v))
		clitest.Check(t, json.Unmarshal(raw, &v.numbers))
		out[v.Name] = v
	}
	return out
}

func TestLsStats(t *testing.T) {
	for _, path := range globes(t) {
		got := statsOf(t, path)
		T := got["T"]
		if len(T.Records) != 7 || T.Values != 1960 || *T.Min != 0 || *T.Max != 1959 || *T.Mean != 979.5 || T.Fill != 0 || T.NaN != 0 {
			t.Errorf("%s: T: %+v", path, T)
		}
		for i, r := range T.Records {
			if r.Record != int64(i) || r.Values != 280 || *r.Min != float64(280*i) || *r.Mean != float64(280*i)+139.5 {
				t.Errorf("%s: T, record %d: %+v", path, i, r)
			}
		}
		if x := got["time"]; len(x.Records) != 7 || *x.Records[6].Max != 365 || *x.Max != 365 || x.Values != 7 {
			t.Errorf("%s: time: %+v", path, x)
		}
		if n := got["n"]; n.Records != nil || *n.Mean != 4 {
			t.Errorf("%s: n: %+v", path, n)
		}
		part := statsOf(t, "-v", "T,Q", "-d", "lev,4", "-d", "time,0,,6", path)
		if T := part["T"]; len(part) != 2 || len(T.Records) != 2 || T.Values != 112 || *T.Min != 224 || *T.Max != 1959 {
			t.Errorf("%s: a part: %+v", path, part)
		}
		text := clitest.Good(t, "ls", "--stats", "--by-record", "-v", "T", path)
		if !strings.Contains(text, "all") || strings.Count(text, "\nT ") != 8 {
			t.Errorf("%s", text)
		}
		if again := statsOf(t, "--workers", "5", "--memory", "1M", path); fmt.Sprint(*again["T"].Mean, *again["clat"].Mean) != fmt.Sprint(*T.Mean, *got["clat"].Mean) {
			t.Errorf("%s: other workers: %+v", path, again["T"])
		}
		clitest.Bad(t, cli.Failed, "no variable", "ls", "--stats", "-v", "none", path)
		clitest.Bad(t, cli.Failed, "needs --stats", "ls", "-v", "T", path)
		clitest.Bad(t, cli.Failed, "cannot be combined", "ls", "-l", "--stats", path)
	}
	toy := clitest.Toy(t, t.TempDir()) // the toy has one fill value in each record
	clitest.Bad(t, cli.Failed, "date_written holds text", "ls", "--stats", "-v", "T,date_written", toy)
	if x := statsOf(t, toy)["T"]; x.Fill != 3 || x.Values != 33 || *x.Min != 0.5 || *x.Max != 211.5 {
		t.Errorf("fill values: %+v", x)
	}
}

// TestJudgeStats checks that numpy and cdo find the same numbers in the converted file.
func TestJudgeStats(t *testing.T) {
	testfiles.Ask(t, "JUDGES")
	dir := t.TempDir()
	clitest.Good(t, "replay", "--case", "I", "--history", "h0", "--layout", "process", "--pattern", "smooth", "--num-records", "2", "--lat", "24", "--lon", "36", "--ranks", "4", "--no-sync", "-o", dir)
	blobs, canon := filepath.Join(dir, "I_h0.h5"), filepath.Join(dir, "canon.nc")
	clitest.Good(t, "convert", "--no-sync", blobs, canon)
	got := statsOf(t, blobs)
	t.Run("numpy", func(t *testing.T) {
		py := testfiles.JudgePython(t, "netCDF4", "numpy")
		out, err := exec.Command(py, "-c", `
import sys, json, netCDF4, numpy as np
d = netCDF4.Dataset(sys.argv[1]); d.set_auto_mask(False); out = {}
for n, v in d.variables.items():
    if v.dtype.kind not in "fiu": continue
    x = np.asarray(v[...], dtype=np.float64).ravel()
    fill = getattr(v, "_FillValue", netCDF4.default_fillvals[v.dtype.str[1:]])
    f = x == np.float64(fill); nan = np.isnan(x); x = x[~f & ~nan]
    out[n] = [int(x.size), int(f.sum()), int(nan.sum())] + ([x.min(), x.max(), x.mean()] if x.size else [])
print(json.dumps(out))`, canon).Output()
		if err != nil {
			t.Fatal(err)
		}
		var want map[string][]float64
		clitest.Check(t, json.Unmarshal(out, &want))
		fills := int64(0)
		for name, w := range want {
			g := got[name]
			if float64(g.Values) != w[0] || float64(g.Fill) != w[1] || float64(g.NaN) != w[2] || g.Values > 0 && (*g.Min != w[3] || *g.Max != w[4] || math.Abs(*g.Mean-w[5]) > 1e-12*max(math.Abs(w[3]), math.Abs(w[4]))) {
				t.Errorf("%s: %+v, numpy has %v", name, g.numbers, w)
			}
			fills += g.Fill
		}
		if len(want) < 100 || fills == 0 {
			t.Errorf("%d variables, %d fill values", len(want), fills)
		}
	})
	t.Run("cdo", func(t *testing.T) {
		testfiles.Judge(t, "cdo")
		x := got["TSA"]
		for op, of := range map[string]func(numbers) float64{"-fldmin": func(n numbers) float64 { return *n.Min }, "-fldmax": func(n numbers) float64 { return *n.Max }} {
			out, err := exec.Command("cdo", "-s", "outputf,%.17g,1", op, "-selname,TSA", canon).Output()
			clitest.Check(t, err)
			words := strings.Fields(string(out))
			if len(words) != len(x.Records) {
				t.Errorf("cdo %s prints %q", op, out)
			}
			for i, word := range words {
				if v, err := strconv.ParseFloat(word, 64); err != nil || i >= len(x.Records) || v != of(x.Records[i]) {
					t.Errorf("cdo %s of record %d: %s, want %+v", op, i, word, x.Records)
				}
			}
		}
	})
}
