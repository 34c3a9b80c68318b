package cftime

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"

	"blobio/internal/base/testfiles"
)

// TestJudgeCftime checks that Python's cftime gives the same dates.
func TestJudgeCftime(t *testing.T) {
	py := testfiles.JudgePython(t, "cftime")
	rng := rand.New(rand.NewPCG(3, 4))
	type question struct {
		Units, Calendar string
		Value           float64
	}
	var list []question
	for name, c := range calendarNames {
		if name == "" {
			continue
		}
		for range 300 {
			day := rng.Int64N(800000) - 700000 // years 54 to 2243
			y, m, d := c.date(day)
			unit := []string{"days", "hours", "minutes", "seconds"}[rng.IntN(4)]
			q := question{fmt.Sprintf("%s since %04d-%02d-%02d %02d:%02d:00", unit, y, m, d, rng.IntN(24), rng.IntN(60)), name, 0}
			q.Value = float64(rng.IntN(200000)) / []float64{1, 4, 24, 1440}[rng.IntN(4)]
			if unit == "seconds" || unit == "minutes" {
				q.Value = float64(int64(q.Value * 1000))
			}
			list = append(list, q)
		}
	}
	in, _ := json.Marshal(list)
	cmd := exec.Command(py, "-c", `
import sys, json, cftime
for q in json.load(sys.stdin):
    d = cftime.num2date(q["Value"], q["Units"], q["Calendar"])
    print(d.year, d.month, d.day, ((d.hour * 60 + d.minute) * 60 + d.second) * 1000000 + d.microsecond)`)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != len(list) {
		t.Fatalf("%d dates of %d", len(lines), len(list))
	}
	for i, q := range list {
		var w Date
		if _, err := fmt.Sscan(string(lines[i]), &w.Year, &w.Month, &w.Day, &w.Micro); err != nil {
			t.Fatal(err)
		}
		u, err := Parse(q.Units, q.Calendar)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := u.Date(q.Value)
		diff := (u.Calendar.days(got.Year, got.Month, got.Day)-u.Calendar.days(w.Year, w.Month, w.Day))*day + got.Micro - w.Micro
		if !ok || diff > 20 || diff < -20 { // cftime rounds some values
			t.Errorf("%v %s, %s: %s, cftime has %s", q.Value, q.Units, q.Calendar, got.Text(" "), w.Text(" "))
		}
	}
}
