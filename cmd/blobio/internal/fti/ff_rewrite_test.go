package fti_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/fti"
	"blobio/internal/cli"
)

func TestFFExtract(t *testing.T) {
	dir, one, _ := ffToys(t)
	out := filepath.Join(dir, "out")
	clitest.Good(t, "ff", "dump", one, "-o", out)
	if b, err := os.ReadFile(filepath.Join(out, "var2.raw")); err != nil || string(b) != strings.Repeat("checkpoint ", 40) {
		t.Errorf("variable 2: %v, %d bytes", err, len(b))
	}
	clitest.Bad(t, cli.Failed, "already exists (--force replaces the output)", "ff", "dump", one, "-o", out)
	clitest.Good(t, "ff", "dump", one, "-o", out, "--force", "--vars", "1")
	clitest.Good(t, "ff", "dump", one, "-o", filepath.Join(dir, "twice"), "--vars", "1,2,1") // each once
	clitest.Bad(t, cli.Failed, "no variable 3", "ff", "dump", one, "-o", out, "--vars", "3")
	clitest.Bad(t, cli.Failed, `"x", want a number`, "ff", "dump", one, "-o", out, "--vars", "x")
	clitest.Bad(t, cli.Failed, "--output", "ff", "dump", "--vars", "1", one)
	b := clitest.Read(t, one)
	b[405] ^= 1
	clitest.Check(t, os.WriteFile(one, b, 0o666))
	some := filepath.Join(dir, "some")
	var d struct {
		Variables []struct {
			Variable, Bytes int64
			File, Error     string
		}
	}
	r := clitest.Blobio(t, "ff", "dump", "--json", one, "-o", some)
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
	if r.Code != cli.Findings || len(d.Variables) != 2 || d.Variables[0].Error != "" || !strings.Contains(d.Variables[1].Error, "checksum mismatch") || clitest.Names(t, some) != "var1.raw" {
		t.Errorf("%d %+v, %s", r.Code, d, clitest.Names(t, some))
	}
}

func TestFFConvertAndCompact(t *testing.T) {
	dir, _, two := ffToys(t)
	for _, l := range append(fti.FFLayouts(), "fast") {
		args := []string{"--no-sync", "--layout", l}
		if l == "fast" {
			args = []string{"--no-sync", "--hash", "fast", "--block-size", "1K"}
		}
		for _, verb := range []string{"convert", "compact"} {
			out := filepath.Join(dir, verb+l+".fti")
			args := append([]string{"ff", "convert", "--compact=" + strconv.FormatBool(verb == "compact")}, args...)
			text := clitest.Good(t, append(args, two, out)...)
			if l == "fast" && !strings.Contains(text, "FTI refuses such files") {
				t.Errorf("%s %s: %s", verb, l, text)
			}
			if text := clitest.Good(t, "ff", "check", "--strict", out); !strings.HasPrefix(text, out+": good") {
				t.Errorf("%s %s: %s", verb, l, text)
			}
			clitest.Good(t, "ff", "diff", two, out)
			clitest.Bad(t, cli.Failed, "--force replaces the output", "ff", "convert", two, out)
			clitest.Good(t, "ff", "convert", "--force", "--no-sync", two, out)
		}
	}
	var d struct {
		Layout           string
		Bytes, Dead      int64
		Containers, Vars int
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "convert", "--compact", "--json", "--no-sync", two, filepath.Join(dir, "j.fti"))), &d))
	if d.Layout != "F" || d.Dead != 0 || d.Containers != 3 || d.Bytes != 1290+12+3*58+106 {
		t.Errorf("%+v", d)
	}
	fast := filepath.Join(dir, "convertfast.fti")
	clitest.Good(t, "ff", "convert", "--no-sync", "--hash", "fast", "--force", two, fast)
	out := filepath.Join(dir, "out.fti")
	clitest.Bad(t, cli.Failed, "give --hash md5", "ff", "convert", "--layout", "A", fast, out)
	clitest.Bad(t, cli.Failed, "needs layout F", "ff", "convert", "--layout", "A", "--hash", "fast", two, out)
	clitest.Bad(t, cli.Failed, "is for --hash fast", "ff", "convert", "--block-size", "1K", two, out)
	clitest.Bad(t, cli.Failed, "block size 3", "ff", "convert", "--hash", "fast", "--block-size", "3", two, out)
	clitest.Bad(t, cli.Failed, "want same, A", "ff", "convert", "--layout", "G", two, out)
	clitest.Bad(t, cli.Failed, "are the same file", "ff", "convert", "--force", two, two)
	clitest.Bad(t, cli.Failed, "is a directory", "ff", "convert", two, dir)
	clitest.Good(t, "ff", "convert", "--no-sync", "--layout", "D", "--hash", "md5", fast, out)
	b := clitest.Read(t, two)
	b[0] ^= 1
	clitest.Check(t, os.WriteFile(two, b, 0o666))
	gone := filepath.Join(dir, "gone.fti")
	clitest.Bad(t, cli.Findings, "ff repair saves the intact variables", "ff", "convert", two, gone)
	if strings.Contains(clitest.Names(t, dir), "gone") {
		t.Errorf("left behind: %s", clitest.Names(t, dir))
	}
}

func TestFFRepair(t *testing.T) {
	dir, one, two := ffToys(t)
	out := filepath.Join(dir, "new.fti")
	if text := clitest.Good(t, "ff", "repair", one, out); text != one+": nothing to repair, no output\n" || strings.Contains(clitest.Names(t, dir), "new") {
		t.Errorf("a good file: %s", text)
	}
	clitest.Holds(t, clitest.Good(t, "ff", "repair", "-n", two), "by the reader's rule", "nothing was written")
	clitest.Good(t, "ff", "repair", "--no-sync", two, out)
	clitest.Good(t, "ff", "check", "--strict", out)
	clitest.Good(t, "ff", "diff", two, out)
	clitest.Bad(t, cli.Failed, "--force replaces the output", "ff", "repair", two, out)
	clitest.Bad(t, cli.Failed, "are the same file", "ff", "repair", "--force", two, two)

	whole := clitest.Read(t, two)
	b := bytes.Clone(whole)
	b[850] ^= 1 // in variable 3
	clitest.Check(t, os.WriteFile(two, b, 0o666))
	for how, vars := range map[string]int{"drop": 2, "zero": 3, "keep": 3} {
		r := clitest.Blobio(t, "ff", "repair", "--force", "--no-sync", "--bad", how, "--json", two, out)
		var d struct {
			Sound, Written bool
			Good           []int32
			Bad            []struct {
				Variable int32
				BadBytes int64 `json:"bad_bytes"`
				Fate     string
			}
		}
		clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
		if r.Code != cli.Findings || d.Sound || !d.Written || len(d.Good) != 2 || len(d.Bad) != 1 || d.Bad[0].Variable != 3 || d.Bad[0].BadBytes != 800 || !strings.HasPrefix(d.Bad[0].Fate, how[:2]) {
			t.Errorf("%s: %d %+v", how, r.Code, d)
		}
		var l struct{ Files []struct{ Variables []any } }
		clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "ls", "--json", out)), &l))
		if len(l.Files[0].Variables) != vars {
			t.Errorf("%s: %d variables", how, len(l.Files[0].Variables))
		}
		clitest.Good(t, "ff", "check", "--strict", out)
	}
	clitest.Check(t, os.WriteFile(two, whole[:len(whole)-60], 0o666)) // the file block is truncated
	clitest.Shows(t, "3 variables", "ff", "repair", "--force", "--no-sync", "--checkpoint", "2", two, out)
	text := clitest.Blobio(t, "ff", "dump", "-o", filepath.Join(dir, "x"), two) // the records that exist are read
	if text.Code != cli.Findings || !strings.Contains(text.Out, "var3.raw") {
		t.Errorf("extract of a file that is cut: %+v", text)
	}
	clitest.Check(t, os.WriteFile(two, whole[:500], 0o666))
	clitest.Bad(t, cli.Failed, "not this format", "ff", "repair", "--force", two, out)
	clitest.Bad(t, cli.Failed, "want drop, zero, keep", "ff", "repair", "--bad", "mend", one, out)
	clitest.Bad(t, cli.Failed, "an input and an output", "ff", "repair", one)
}

// TestFFExtractDoubtful checks that extracting a record with a changed number gives a warning.
func TestFFExtractDoubtful(t *testing.T) {
	dir, one, _ := ffToys(t)
	fast := filepath.Join(dir, "fast.fti")
	clitest.Good(t, "ff", "convert", "--no-sync", "--hash", "fast", one, fast)
	whole := clitest.Read(t, fast)
	clitest.FlipByte(t, fast, 840+12) // id of variable 1, which follows the data, dbsize and numvars
	r := clitest.Blobio(t, "ff", "dump", "-o", filepath.Join(dir, "out"), fast)
	clitest.Holds(t, r.Err, "blobio: warning: ", "FB.myHash")
	if r.Code != cli.Findings {
		t.Errorf("exit code %d", r.Code)
	}
	clitest.Check(t, os.WriteFile(fast, []byte(whole), 0o666))
	clitest.FlipByte(t, fast, 100) // in variable 1: no values, no difference and no other variables may be printed
	for _, args := range [][]string{{"--elements", "0:4"}, {"--json"}} {
		clitest.Bad(t, cli.Findings, "variable 1: ", append([]string{"ff", "dump", "--var", "1", fast}, args...)...)
	}
	clitest.Good(t, "ff", "dump", "--var", "2", fast)
	clitest.Bad(t, cli.Findings, "cannot compare: variable 1: ", "ff", "diff", one, fast)
}
