package scrtools_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// scrLog writes a log. runs has the number of checkpoints of each run; the last run is halted.
func scrLog(t *testing.T, runs ...int) (prefix string) {
	t.Helper()
	prefix = t.TempDir()
	clitest.Check(t, os.Mkdir(filepath.Join(prefix, ".scr"), 0o777))
	var b strings.Builder
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.Local)
	put := func(format string, args ...any) {
		fmt.Fprintf(&b, "%s: host=n1, jobid=7, %s\n", at.Format("2006-01-02T15:04:05"), fmt.Sprintf(format, args...))
	}
	id := 0
	for i, n := range runs {
		put("event=START, procs=4, nodes=2")
		if i > 0 {
			put("event=RESTART_SUCCESS, dset=%d, secs=60.000000", id)
		}
		for range n {
			at = at.Add(1000 * time.Second)
			put("event=COMPUTE_END, secs=1000.000000")
			at = at.Add(20 * time.Second)
			id++
			put(`event=CHECKPOINT_END, dset=%d, name="c.%d", secs=20.000000`, id, id)
		}
	}
	put(`event=HALT, note="SCR_FINALIZE_CALLED"`)
	clitest.Check(t, os.WriteFile(filepath.Join(prefix, ".scr", "log"), []byte(b.String()), 0o666))
	return prefix
}

type intervalJSON struct {
	Log            string
	Cost, MTBF     float64
	Runs, Failures int64
	Checkpoints    int64
	Lasted         float64
	Intervals      []struct {
		Method  string
		Seconds float64
	}
}

func TestScrIntervalFromLog(t *testing.T) {
	prefix := scrLog(t, 4, 6, 5) // two failures in 15 * 1020 s
	var x intervalJSON
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "scr", "interval", "--json", prefix)), &x))
	if x.Cost != 20 || x.MTBF != 15*1020/2 || x.Runs != 3 || x.Failures != 2 || x.Checkpoints != 15 || x.Lasted != 15*1020 || len(x.Intervals) != 3 {
		t.Fatalf("%+v", x)
	}
	c, m := x.Cost, x.MTBF
	young := math.Sqrt(2 * c * m)
	daly := young*(1+math.Sqrt(c/(2*m))/3+c/(18*m)) - c
	for i, want := range []float64{young, daly, 1000} {
		got := x.Intervals[i]
		if math.Abs(got.Seconds-want) > 1e-6 {
			t.Errorf("%+v, want %v s", got, want)
		}
	}
	out := clitest.Good(t, "scr", "interval", prefix)
	clitest.Holds(t, out, "3 runs", "2 failures", "15 checkpoints", "cost of a checkpoint 20 s", "2 h 8 min", "Young", "Daly", "so far", "16 min 40 s", "SCR_CHECKPOINT_SECONDS=540")
	if again := clitest.Good(t, "scr", "interval", "--log", filepath.Join(prefix, ".scr", "log")); again != out {
		t.Errorf("--log gives\n%s", again)
	}
	t.Setenv("SCR_PREFIX", prefix)
	if again := clitest.Good(t, "scr", "interval"); again != out {
		t.Errorf("SCR_PREFIX gives\n%s", again)
	}
	clitest.Shows(t, "cost of a checkpoint 40 s", "scr", "interval", "--cost", "40", prefix)
}

func TestScrIntervalUnknown(t *testing.T) {
	well := scrLog(t, 3) // no failure
	clitest.Bad(t, cli.Failed, "the log has no failure in 51 min of 1 run, so the mean time between failures is unknown (give --mtbf; it is hardly less than 51 min", "scr", "interval", well)
	clitest.Good(t, "scr", "interval", "--mtbf", "12h", well)
	clitest.Bad(t, cli.Failed, "the log has no checkpoint", "scr", "interval", scrLog(t, 0, 0))
	clitest.Bad(t, cli.Failed, "time resolution of one second", "scr", "interval", "--cost", "1", scrLog(t, 0, 0))
	empty := t.TempDir()
	clitest.Bad(t, cli.Failed, "no .scr in this directory", "scr", "interval", empty)
	clitest.Check(t, os.Mkdir(filepath.Join(empty, ".scr"), 0o777))
	clitest.Bad(t, cli.Failed, "SCR_LOG_ENABLE=1", "scr", "interval", empty)
	text := filepath.Join(empty, "text")
	clitest.Check(t, os.WriteFile(text, []byte("no log\nat all\n"), 0o666))
	clitest.Bad(t, cli.Failed, "is not a log of SCR", "scr", "interval", "--log", text)
	clitest.Bad(t, cli.Failed, "no such file", "scr", "interval", "--log", text+"x")
	for _, c := range [][]string{{"cannot be combined", "--log", text, empty}, {"want 90s", "--cost", "5q"},
		{"more than 0", "--cost", "0"}, {"want 90s", "--mtbf", "-5"}, {"want 90s", "--mtbf", "NaN"}, {"one too many", "a", "b"}} {
		clitest.Bad(t, cli.Failed, c[0], append([]string{"scr", "interval"}, c[1:]...)...)
	}
}

func TestSpan(t *testing.T) {
	for in, want := range map[string]time.Duration{"90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "6h30m": 390 * time.Minute, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "0": 0} {
		if got, err := cli.ParseSpan(in); err != nil || got != want {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "d", "-1", "2d-1h", "nan", "1e30", "5x"} {
		if got, err := cli.ParseSpan(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 s", 448 * time.Microsecond: "448 us", 45 * time.Millisecond: "45 ms", 9999 * time.Millisecond: "10 s", 59990 * time.Millisecond: "1 min",
		90 * time.Second: "1 min 30 s", 3599900 * time.Millisecond: "1 h", 8 * time.Hour: "8 h", 86399 * time.Second: "1 d", 60 * time.Hour: "2 d 12 h", 9000 * time.Hour: "375 d"} {
		if got := cli.SpanText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
