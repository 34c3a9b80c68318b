package fti_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

func TestFFCheck(t *testing.T) {
	dir, one, two := ffToys(t)
	if out := clitest.Good(t, "ff", "check", one); out != one+": good, 1 note (--notes shows them)\n" {
		t.Errorf("ff check: %q", out)
	}
	out := clitest.Good(t, "ff", "check", two)
	if !strings.Contains(out, "only the writer's rule gives") || !strings.HasSuffix(out, ": 0 errors, 1 warning, 1 note (--notes shows them)\n") {
		t.Errorf("the writer's checksum:\n%s", out)
	}
	clitest.Bad(t, cli.Findings, "", "ff", "check", "--strict", two)
	b := clitest.Read(t, one)
	b[5] ^= 1
	broken := filepath.Join(dir, "broken.fti")
	clitest.Check(t, os.WriteFile(broken, b, 0o666))
	r := clitest.Blobio(t, "ff", "check", broken)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "error: "+broken+": 0x0: block 0, container 0 of variable 1: MD5") {
		t.Errorf("%d\n%s", r.Code, r.Out)
	}
	if out := clitest.Good(t, "ff", "check", "--quick", broken); out != broken+": good, 1 note (--notes shows them); data not read\n" {
		t.Errorf("--quick: %q", out)
	}
	var d struct {
		Checked []struct {
			Path     string
			Errors   int
			Findings []struct {
				Severity, Class string
				Var             *int32
			}
		}
	}
	r = clitest.Blobio(t, "ff", "check", "--json", dir)
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
	if r.Code != cli.Findings || len(d.Checked) != 3 || d.Checked[2].Errors != 1 || *d.Checked[2].Findings[0].Var != 1 || d.Checked[2].Findings[0].Class != "checksum mismatch" {
		t.Errorf("%d %+v", r.Code, d)
	}
	r = clitest.Blobio(t, "ff", "check", filepath.Join(dir, "nix.fti"), one) // the other path is still checked
	if r.Code != cli.Failed || !strings.Contains(r.Err, "nix.fti") || r.Out != one+": good, 1 note (--notes shows them)\n" {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	for _, args := range [][]string{{filepath.Join(dir, "nix.fti"), one}, {filepath.Join(dir, "nix.fti")}} { // JSON names it too
		var d struct {
			Checked []any
			Failed  []struct{ Path string }
		}
		r := clitest.Blobio(t, append([]string{"ff", "check", "--json"}, args...)...)
		clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
		if r.Code != cli.Failed || len(d.Checked) != len(args)-1 || len(d.Failed) != 1 || d.Failed[0].Path != args[0] {
			t.Errorf("%v: exit code %d, %s", args, r.Code, r.Out)
		}
	}
}

func TestFFDiff(t *testing.T) {
	dir, one, two := ffToys(t)
	r := clitest.Blobio(t, "ff", "diff", one, two)
	want := `variable 1: 2 of 400 bytes differ (0.5 %), in 1 range
  [40, 42) 2 bytes
variable 2: 440 bytes and 90 bytes, the first 90 bytes are equal
variable 3: only in ` + two + `, 800 bytes
` + one + " and " + two + " differ in 3 variables\n"
	if r.Code != cli.Findings || r.Out != want || r.Err != "" {
		t.Errorf("%d\n%s\nwant\n%s", r.Code, r.Out, want)
	}
	if r := clitest.Blobio(t, "ff", "diff", "-q", one, two); r.Code != cli.Findings || r.Out+r.Err != "" {
		t.Errorf("-q: %+v", r)
	}
	var d struct {
		Equal       bool
		Differences []struct {
			Variable int32
			SizeA    int64 `json:"size_a"`
			Ranges   []struct{ Offset, Bytes int64 }
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Blobio(t, "ff", "diff", "--json", one, two).Out), &d))
	if d.Equal || len(d.Differences) != 3 || d.Differences[0].Ranges[0].Offset != 40 || d.Differences[2].SizeA != -1 {
		t.Errorf("%+v", d)
	}
	a := filepath.Join(dir, "a.fti")
	clitest.Good(t, "ff", "convert", "--layout", "A", "--no-sync", one, a)
	if out := clitest.Good(t, "ff", "diff", one, a); out != one+" and "+a+" are equal\n" {
		t.Errorf("another layout: %s", out)
	}
	clitest.Bad(t, cli.Findings, "", "ff", "diff", "--vars", "1", one, two)
	clitest.Bad(t, cli.Failed, "no variable 7", "ff", "diff", "--vars", "7", one, two)
	clitest.Bad(t, cli.Failed, "gap", "ff", "diff", "--gap", "1G", one, two)
	clitest.Bad(t, cli.Failed, "two checkpoint files", "ff", "diff", one)
}
