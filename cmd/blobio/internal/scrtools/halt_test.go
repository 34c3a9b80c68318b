package scrtools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/internal/cli"
	"blobio/scr/kvtree"
)

// haltDir makes a prefix directory, and an environment without an end of the allocation.
func haltDir(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"SCR_HALT_SECONDS", "SCR_END_TIME", "SCR_CONF_FILE", "SCR_PREFIX"} {
		t.Setenv(name, "")
		clitest.Check(t, os.Unsetenv(name))
	}
	dir := t.TempDir()
	clitest.Check(t, os.Mkdir(filepath.Join(dir, ".scr"), 0o777))
	return dir
}

// haltTree returns the content of the halt file.
func haltTree(t *testing.T, dir string) string {
	t.Helper()
	x, err := kvtree.ReadFile(nil, filepath.Join(dir, ".scr", "halt.scr"), nil)
	clitest.Check(t, err)
	x.SortAll()
	var b strings.Builder
	clitest.Check(t, kvtree.Print(x, &b, 0, true))
	return strings.ReplaceAll(b.String(), "  ", "")
}

func TestScrHalt(t *testing.T) {
	dir := haltDir(t)
	file := filepath.Join(dir, ".scr", "halt.scr")
	const nothing = "no halt conditions are set\n"
	for _, args := range [][]string{{"halt", dir}, {"halt", "--remove", dir}, {"halt", "--unset", "reason", dir}} {
		if r := scrDo(t, args...); r.Code != 0 || r.Out != nothing || r.Err != "" {
			t.Errorf("%v: %+v", args, r)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%v made a halt file", args)
		}
	}
	clitest.Bad(t, cli.Findings, "", "scr", "halt", "--retries", dir)

	out := clitest.Good(t, "scr", "halt", "--checkpoints", "2", "--before", "4000000000", "--after", "3999999999", "--seconds", "900", dir)
	clitest.Holds(t, out, "CheckpointsLeft  2\n", "ExitBefore       "+time.Unix(4000000000, 0).Format("2006-01-02T15:04:05"), "ExitAfter ", "HaltSeconds      900\n", "(in ")
	if strings.Contains(out, "is to end") {
		t.Errorf("nothing is due:\n%s", out)
	}
	if got, want := haltTree(t, dir), "CheckpointsLeft = 2\nExitAfter = 3999999999\nExitBefore = 4000000000\nHaltSeconds = 900\n"; got != want {
		t.Errorf("file:\n%swant\n%s", got, want)
	}
	var d scrtools.ScrHaltDesc
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "scr", "halt", "--json", dir)), &d))
	if d.CheckpointsLeft == nil || *d.CheckpointsLeft != 2 || *d.ExitBefore != 4000000000 || *d.HaltSeconds != 900 || d.ExitReason != nil || d.Halt {
		t.Errorf("json: %+v", d)
	}
	clitest.Bad(t, cli.Findings, "", "scr", "halt", "--retries", dir)

	out = clitest.Good(t, "scr", "halt", "--checkpoints", "0", dir)
	clitest.Holds(t, out, "the run is to end: NO_CHECKPOINTS_LEFT")
	if got := clitest.Good(t, "scr", "halt", "--retries", dir); !strings.HasPrefix(got, "NO_CHECKPOINTS_LEFT: ") {
		t.Errorf("--retries: %q", got)
	}
	clitest.Good(t, "scr", "halt", "-u", "checkpoints,before", "-u", "after", "-u", "seconds", "--immediate", dir)
	if got := haltTree(t, dir); got != "ExitReason = JOB_HALTED\n" {
		t.Errorf("after --unset: %q", got)
	}
	clitest.Good(t, "scr", "halt", "--retries", dir)
	clitest.Good(t, "scr", "halt", "--unset", "reason", "--checkpoints", "3", dir)
	if got := haltTree(t, dir); got != "CheckpointsLeft = 3\n" {
		t.Errorf("after --unset reason: %q", got)
	}
	clitest.Good(t, "scr", "halt", "--reason", "maintenance at six", dir)
	if got := clitest.Good(t, "scr", "halt", "--remove", dir); got != nothing {
		t.Errorf("--remove: %q", got)
	}
}

// After a run that ended by itself, a new run is allowed, but the run loop starts no other run.
func TestScrHaltFinalized(t *testing.T) {
	dir := haltDir(t)
	clitest.Good(t, "scr", "halt", "--reason", "SCR_FINALIZE_CALLED", dir)
	if out := clitest.Good(t, "scr", "halt", dir); strings.Contains(out, "is to end") || !strings.Contains(out, "ended by itself") {
		t.Errorf("list: %s", out)
	}
	clitest.Good(t, "scr", "halt", "--retries", dir)
}

// The parameters give the end of the allocation, and the margin before it.
func TestScrHaltAllocation(t *testing.T) {
	dir := haltDir(t)
	t.Setenv("SCR_END_TIME", fmt.Sprint(time.Now().Add(10*time.Minute).Unix()))
	clitest.Bad(t, cli.Findings, "", "scr", "halt", "--retries", dir)
	t.Setenv("SCR_HALT_SECONDS", "900")
	if got := clitest.Good(t, "scr", "halt", "--retries", dir); !strings.HasPrefix(got, "TIME_LIMIT: ") {
		t.Errorf("--retries: %q", got)
	}
	clitest.Shows(t, "the allocation ends at", "scr", "halt", dir)
	clitest.Good(t, "scr", "halt", "--seconds", "60", dir) // the file is removed first
	clitest.Bad(t, cli.Findings, "", "scr", "halt", "--retries", dir)
	t.Setenv("SCR_HALT_SECONDS", "soon")
	clitest.Bad(t, cli.Failed, "SCR_HALT_SECONDS", "scr", "halt", "--retries", dir)
}

func TestScrHaltUsage(t *testing.T) {
	dir := haltDir(t)
	for _, c := range [][]string{
		{"cannot be combined", "--immediate", "--reason", "x"},
		{"cannot be combined", "--unset", "before", "--before", "now"},
		{"cannot be combined with", "--remove", "--checkpoints", "1"},
		{"changes nothing", "--retries", "--immediate"},
		{"0 or more", "--checkpoints", "-1"},
		{"0 or more", "--seconds", "-1"},
		{"one line of text", "--reason", ""},
		{"one line of text", "--reason", "a\nb"},
		{`time "soon"`, "--before", "soon"},
		{`time "-5"`, "--after", "-5"},
		{"--unset", "--unset", "hope"},
		{"invalid argument", "--checkpoints", "two"},
	} {
		clitest.Bad(t, cli.Failed, c[0], append(append([]string{"scr", "halt"}, c[1:]...), dir)...)
	}
	if clitest.Names(t, filepath.Join(dir, ".scr")) != "" {
		t.Errorf("wrong flags left files: %s", clitest.Names(t, filepath.Join(dir, ".scr")))
	}
}

// A halt file damaged by a crash of the reference must be reported, never taken for "no conditions". New conditions can be set.
func TestScrHaltDamaged(t *testing.T) {
	dir := haltDir(t)
	file := filepath.Join(dir, ".scr", "halt.scr")
	clitest.Check(t, os.WriteFile(file, []byte("\x95\x1f\xc3\xf5\x00\x01\x00\x01\x00\x00"), 0o666))
	clitest.Bad(t, cli.Findings, "halt.scr", "scr", "halt", dir)
	clitest.Bad(t, cli.Failed, "halt.scr", "scr", "halt", "--retries", dir)
	r := scrDo(t, "halt", "--checkpoints", "1", dir)
	if r.Code != 0 || !strings.Contains(r.Err, "halt.scr.damaged") || strings.Count(r.Err, "\n") != 1 {
		t.Errorf("set over damage: %+v", r)
	}
	if got := haltTree(t, dir); got != "CheckpointsLeft = 1\n" {
		t.Errorf("file: %q", got)
	}
	if b, err := os.ReadFile(file + ".damaged"); err != nil || len(b) != 10 {
		t.Errorf("kept %d bytes: %v", len(b), err)
	}
}

func TestScrTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 30, 0, 0, time.Local)
	for _, c := range []struct {
		text string
		want time.Time
	}{
		{"now", now},
		{"+2h30m", now.Add(150 * time.Minute)},
		{"+600", now.Add(10 * time.Minute)},
		{"1780000000", time.Unix(1780000000, 0)},
		{"2026-11-21T18:00:00", time.Date(2026, 11, 21, 18, 0, 0, 0, time.Local)},
		{"2026-11-21 18:00", time.Date(2026, 11, 21, 18, 0, 0, 0, time.Local)},
		{"2026-11-22", time.Date(2026, 11, 22, 0, 0, 0, 0, time.Local)},
		{"2026-11-21T18:00:00Z", time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)},
		{"2026-11-21T18:00:00+02:00", time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC)},
		{"18:00", time.Date(2026, 11, 21, 18, 0, 0, 0, time.Local)},
		{"06:15", time.Date(2026, 11, 22, 6, 15, 0, 0, time.Local)},
	} {
		if got, err := scrtools.ScrTime(c.text, now); err != nil || !got.Equal(c.want) {
			t.Errorf("%q: %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "soon", "+", "+-2h", "+5x", "+-5", "-1", "25:00", "2026-13-01", "99999999999999999999"} {
		if got, err := scrtools.ScrTime(text, now); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}
