package fti_test

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/fti"
	"blobio/internal/cli"
	"blobio/internal/testfiles"
)

// ffToys are two checkpoints of three variables: 1 has int32 values, 2 grew and then
// shrank, 3 has doubles and is not in the first one.
func ffToys(t *testing.T) (dir, one, two string) {
	t.Helper()
	dir = t.TempDir()
	var a, c []byte
	for i := range 100 {
		a = binary.LittleEndian.AppendUint32(a, uint32(i-50))
		c = binary.LittleEndian.AppendUint64(c, math.Float64bits(float64(i)/8))
	}
	b := bytes.Repeat([]byte("checkpoint "), 40)
	one = ffWrite(t, filepath.Join(dir, "Ckpt1-Rank0.fti"), 1,
		[]ffPart{{1, 0, 0, 400, a}, {2, 0, 0, 200, b[:200]}}, []ffPart{{2, 1, 200, 240, b[200:440]}})
	a = bytes.Clone(a)
	a[40], a[41] = 7, 7
	two = ffWrite(t, filepath.Join(dir, "Ckpt2-Rank0.fti"), 2,
		[]ffPart{{1, 0, 0, 400, a}, {2, 0, 0, 200, b[:90]}}, []ffPart{{2, 1, 200, 240, nil}}, []ffPart{{3, 0, 0, 800, c}})
	return dir, one, two
}

func TestFFLs(t *testing.T) {
	dir, one, two := ffToys(t)
	want := two + `: FTI-FF layout F (FTI after v1.6), checkpoint 2, 1.97 KiB
state: 1 warning (see ff check)
space: content 1.26 KiB, reserved and not in use 350 B (17.4 %), metadata 374 B
blocks: 3, containers: 4

VARIABLE  MAP   SIZE  RESERVED  CONTAINERS
       1  1    400 B     400 B           1
       2  2     90 B     440 B           2
       3  3    800 B     800 B           1

map: a character is 4 B, # metadata, . reserved, not in use
  0x000  11111111111111111111111111111111
  0x080  11111111111111111111111111111111
  0x100  11111111111111111111111111111111
`
	got := clitest.Good(t, "ff", "ls", "--columns", "32", two)
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "\n  0x180  111122222222222222222222222.....\n") {
		t.Errorf("ff ls:\n%s\nwant\n%s", got, want)
	}
	if out := clitest.Good(t, "ff", "ls", "-l", "--no-map", one); strings.Contains(out, "map:") || !strings.Contains(out, "    1         2          1  yes              200      600    240             240  ") {
		t.Errorf("ff ls -l --no-map:\n%s", out)
	}
	clitest.Check(t, os.WriteFile(filepath.Join(dir, "no.fti"), make([]byte, 1000), 0o666))
	out := clitest.Good(t, "ff", "ls", dir)
	for _, w := range []string{"Ckpt1-Rank0.fti  F       md5", "metadata good", "1 warning", "no.fti", "no FTI-FF metadata"} {
		if !strings.Contains(out, w) {
			t.Errorf("ff ls of a directory has no %q:\n%s", w, out)
		}
	}
	var d struct {
		Files []struct {
			Layout, Hash string
			FTICanRead   bool `json:"fti_can_read"`
			Checkpoint   int32
			Bytes, Empty int64
			Variables    []struct{ ID, Bytes, Reserved, Containers int64 }
			Blocks       []struct {
				Containers []struct{ Dptr, Fptr, Chunk int64 }
			}
			Extents            []struct{ Offset, Bytes int64 }
			Errors, Warnings   int
			Content, Metadata_ int64
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "ls", "--json", one, two)), &d))
	if len(d.Files) != 2 || !d.Files[0].FTICanRead || d.Files[1].FTICanRead || d.Files[1].Checkpoint != 2 || d.Files[1].Empty != 350 ||
		d.Files[1].Variables[1].Bytes != 90 || d.Files[1].Blocks[1].Containers[0].Dptr != 200 || len(d.Files[1].Extents) == 0 || d.Files[1].Warnings != 1 {
		t.Errorf("ff ls --json: %+v", d)
	}
}

func TestFFPlot(t *testing.T) {
	dir, one, two := ffToys(t)
	pic := filepath.Join(dir, "map.png")
	clitest.Good(t, "ff", "plot", "-o", pic, "--width", "400", two)
	f, err := os.Open(pic)
	clitest.Check(t, err)
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() != 800 {
		t.Errorf("picture: %v", err)
	}
	clitest.Bad(t, cli.Failed, "--force replaces it", "ff", "plot", "-o", pic, two)
	for _, args := range [][]string{{"-o", pic}, {"-o", pic, "--json"}, {"-o", filepath.Join(dir, "nix", "map.png")}, {"-o", pic, "--force", "--width", "5"}} {
		if r := clitest.Blobio(t, append([]string{"ff", "plot", two}, args...)...); r.Code != cli.Failed || r.Out != "" {
			t.Errorf("%v: code %d, printed before it failed:\n%s", args, r.Code, r.Out)
		}
	}
	odd := filepath.Join(dir, "odd.png")
	clitest.Check(t, os.Link(two, odd))
	clitest.Bad(t, cli.Failed, "the checkpoint file itself", "ff", "plot", "--force", "-o", odd, two)
	clitest.Check(t, os.Remove(odd))
	clitest.Good(t, "ff", "plot", "-o", pic, "--force", one)
	svg := filepath.Join(dir, "map.svg")
	clitest.Good(t, "ff", "plot", "-o", svg, "--title", "A title", two)
	if b, err := os.ReadFile(svg); err != nil || !bytes.Contains(b, []byte("A title")) {
		t.Errorf("SVG: %v", err)
	}
	clitest.Bad(t, cli.Failed, ".png or .svg", "ff", "plot", "-o", filepath.Join(dir, "map.jpg"), two)
	clitest.Bad(t, cli.Failed, "needs a checkpoint file, ", "ff", "plot", "-o", pic, one, two)
	clitest.Bad(t, cli.Failed, "is a directory", "ff", "plot", "-o", pic, dir)
	clitest.Bad(t, cli.Failed, "width 5", "ff", "plot", "--force", "-o", pic, "--width", "5", two)
	if list := clitest.Names(t, dir); list != "Ckpt1-Rank0.fti Ckpt2-Rank0.fti map.png map.svg" {
		t.Errorf("left behind: %s", list)
	}
}

func TestFFDump(t *testing.T) {
	_, one, two := ffToys(t)
	out := clitest.Good(t, "ff", "dump", two)
	for _, w := range []string{"file block at 0x774:", "ckptId     2", "maxFs      -1", "block 1 at 0x6e8: 1 container, dbsize 240", "d41d8cd98f00b204e9800998ecf8427e"} {
		if !strings.Contains(out, w) {
			t.Errorf("ff dump has no %q:\n%s", w, out)
		}
	}
	want := two + `: variable 1, 400 bytes; i4 values 8 to 18
   8          -42         -41      -63737         -39         -38         -37         -36         -35
  16          -34         -33
`
	if out := clitest.Good(t, "ff", "dump", "--var", "1", "--type", "i4", "--elements", "8:18", two); strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("ff dump --var:\n%s", out)
	}
	if out := clitest.Good(t, "ff", "dump", "--var", "2", "--elements", "80:", two); !strings.HasSuffix(out, "\n  0x50  63 6b 70 6f 69 6e 74 20 63 68                    ckpoint ch\n") {
		t.Errorf("bytes:\n%s", out)
	}
	if out := clitest.Good(t, "ff", "dump", "--var", "3", "--type", "f8", "--elements", "3", "--plain", two); out != "0.375\n" {
		t.Errorf("--plain: %q", out)
	}
	for typ, want := range map[string]string{"i1": "-50", "u1": "206", "i2": "-50", "u2": "65486", "u4": "4294967246", "i8": "-206158430258", "u8": "18446743867551121358", "f4": "NaN"} {
		if out := clitest.Good(t, "ff", "dump", "--var", "1", "--type", typ, "--elements", "0", "--plain", one); out != want+"\n" {
			t.Errorf("%s: %q, want %s", typ, out, want)
		}
	}
	if out := clitest.Good(t, "ff", "dump", "--var", "1", "--type", "u4", "--elements", "50:52", "--big-endian", "--plain", one); out != "0\n16777216\n" {
		t.Errorf("--big-endian: %q", out)
	}
	var d struct {
		Variable, First, Bytes int64
		Type                   string
		Values                 []*float64
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "dump", "--json", "--var", "1", "--type", "f4", "--elements", "49:52", one)), &d))
	if d.First != 49 || d.Bytes != 400 || d.Type != "f4" || len(d.Values) != 3 || d.Values[0] != nil || *d.Values[1] != 0 {
		t.Errorf("--json: %+v", d)
	}
	var m struct {
		Block struct {
			Checkpoint int32
			FileSize   int64 `json:"file_size"`
		} `json:"file_block"`
		Blocks []any
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "dump", "--json", two)), &m))
	if m.Block.Checkpoint != 2 || m.Block.FileSize != 2014 || len(m.Blocks) != 3 {
		t.Errorf("--json: %+v", m)
	}
	clitest.Bad(t, cli.Failed, "no variable 9", "ff", "dump", "--var", "9", one)
	clitest.Bad(t, cli.Failed, "--type goes with --var", "ff", "dump", "--type", "i4", one)
	clitest.Bad(t, cli.Failed, "there are 100 elements", "ff", "dump", "--var", "1", "--type", "i4", "--elements", "3:101", one)
	clitest.Bad(t, cli.Failed, "want hex, i1", "ff", "dump", "--var", "1", "--type", "i3", one)
	clitest.Bad(t, cli.Failed, "no whole number of i4", "ff", "dump", "--var", "2", "--type", "i4", two)
	clitest.Bad(t, cli.Failed, "exclude each other", "ff", "dump", "--var", "1", "--plain", "--json", two)
}

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
	b, err := os.ReadFile(one)
	clitest.Check(t, err)
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
	r = clitest.Blobio(t, "ff", "check", filepath.Join(dir, "nix.fti"), one) // the other is still looked at
	if r.Code != cli.Failed || !strings.Contains(r.Err, "nix.fti") || r.Out != one+": good, 1 note (--notes shows them)\n" {
		t.Errorf("%d %q %q", r.Code, r.Out, r.Err)
	}
	for _, args := range [][]string{{filepath.Join(dir, "nix.fti"), one}, {filepath.Join(dir, "nix.fti")}} { // JSON names it, too
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

func TestFFExtract(t *testing.T) {
	dir, one, _ := ffToys(t)
	out := filepath.Join(dir, "out")
	clitest.Good(t, "ff", "extract", one, "-o", out)
	if b, err := os.ReadFile(filepath.Join(out, "var2.raw")); err != nil || string(b) != strings.Repeat("checkpoint ", 40) {
		t.Errorf("variable 2: %v, %d bytes", err, len(b))
	}
	clitest.Bad(t, cli.Failed, "already exists (--force replaces it)", "ff", "extract", one, "-o", out)
	clitest.Good(t, "ff", "extract", one, "-o", out, "--force", "--vars", "1")
	clitest.Good(t, "ff", "extract", one, "-o", filepath.Join(dir, "twice"), "--vars", "1,2,1") // each once
	clitest.Bad(t, cli.Failed, "no variable 3", "ff", "extract", one, "-o", out, "--vars", "3")
	clitest.Bad(t, cli.Failed, `"x", want a number`, "ff", "extract", one, "-o", out, "--vars", "x")
	clitest.Bad(t, cli.Failed, "--output", "ff", "extract", one)
	b, err := os.ReadFile(one)
	clitest.Check(t, err)
	b[405] ^= 1
	clitest.Check(t, os.WriteFile(one, b, 0o666))
	some := filepath.Join(dir, "some")
	var d struct {
		Variables []struct {
			Variable, Bytes int64
			File, Error     string
		}
	}
	r := clitest.Blobio(t, "ff", "extract", "--json", one, "-o", some)
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &d))
	if r.Code != cli.Findings || len(d.Variables) != 2 || d.Variables[0].Error != "" || !strings.Contains(d.Variables[1].Error, "checksum mismatch") || clitest.Names(t, some) != "var1.raw" {
		t.Errorf("%d %+v, %s", r.Code, d, clitest.Names(t, some))
	}
}

func TestFFDiff(t *testing.T) {
	dir, one, two := ffToys(t)
	r := clitest.Blobio(t, "ff", "diff", one, two)
	want := `variable 1: 2 of 400 bytes differ (0.5 %), in 1 range
  [40, 42) 2 bytes
variable 2: 440 bytes and 90 bytes, the first 90 are equal
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

func TestFFConvertAndCompact(t *testing.T) {
	dir, _, two := ffToys(t)
	for _, l := range append(fti.FFLayouts(), "fast") {
		args := []string{"--no-sync", "--layout", l}
		if l == "fast" {
			args = []string{"--no-sync", "--hash", "fast", "--block-size", "1K"}
		}
		for _, verb := range []string{"convert", "compact"} {
			out := filepath.Join(dir, verb+l+".fti")
			text := clitest.Good(t, append(append([]string{"ff", verb}, args...), two, out)...)
			if l == "fast" && !strings.Contains(text, "FTI refuses it") {
				t.Errorf("%s %s: %s", verb, l, text)
			}
			if text := clitest.Good(t, "ff", "check", "--strict", out); !strings.HasPrefix(text, out+": good") {
				t.Errorf("%s %s: %s", verb, l, text)
			}
			clitest.Good(t, "ff", "diff", two, out)
			clitest.Bad(t, cli.Failed, "--force replaces it", "ff", verb, two, out)
			clitest.Good(t, "ff", verb, "--force", "--no-sync", two, out)
		}
	}
	var d struct {
		Layout           string
		Bytes, Dead      int64
		Containers, Vars int
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "ff", "compact", "--json", "--no-sync", two, filepath.Join(dir, "j.fti"))), &d))
	if d.Layout != "F" || d.Dead != 0 || d.Containers != 3 || d.Bytes != 1290+12+3*58+106 {
		t.Errorf("%+v", d)
	}
	fast := filepath.Join(dir, "convertfast.fti")
	clitest.Good(t, "ff", "convert", "--no-sync", "--hash", "fast", "--force", two, fast)
	out := filepath.Join(dir, "out.fti")
	clitest.Bad(t, cli.Failed, "say --hash md5", "ff", "convert", "--layout", "A", fast, out)
	clitest.Bad(t, cli.Failed, "wants layout F", "ff", "convert", "--layout", "A", "--hash", "fast", two, out)
	clitest.Bad(t, cli.Failed, "is for --hash fast", "ff", "convert", "--block-size", "1K", two, out)
	clitest.Bad(t, cli.Failed, "block size 3", "ff", "convert", "--hash", "fast", "--block-size", "3", two, out)
	clitest.Bad(t, cli.Failed, "want same, A", "ff", "convert", "--layout", "G", two, out)
	clitest.Bad(t, cli.Failed, "are the same file", "ff", "convert", "--force", two, two)
	clitest.Bad(t, cli.Failed, "is a directory", "ff", "convert", two, dir)
	clitest.Good(t, "ff", "convert", "--no-sync", "--layout", "D", "--hash", "md5", fast, out)
	b, err := os.ReadFile(two)
	clitest.Check(t, err)
	b[0] ^= 1
	clitest.Check(t, os.WriteFile(two, b, 0o666))
	gone := filepath.Join(dir, "gone.fti")
	clitest.Bad(t, cli.Failed, "ff repair saves what is good", "ff", "convert", two, gone)
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
	if text := clitest.Good(t, "ff", "repair", "-n", two); !strings.Contains(text, "by the reader's rule") || !strings.Contains(text, "nothing was written") {
		t.Errorf("--dry-run: %s", text)
	}
	clitest.Good(t, "ff", "repair", "--no-sync", two, out)
	clitest.Good(t, "ff", "check", "--strict", out)
	clitest.Good(t, "ff", "diff", two, out)
	clitest.Bad(t, cli.Failed, "--force replaces it", "ff", "repair", two, out)
	clitest.Bad(t, cli.Failed, "are the same file", "ff", "repair", "--force", two, two)

	whole, err := os.ReadFile(two)
	clitest.Check(t, err)
	b := bytes.Clone(whole)
	b[850] ^= 1 // of variable 3
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
	clitest.Check(t, os.WriteFile(two, whole[:len(whole)-60], 0o666)) // the file block is cut
	if r := clitest.Blobio(t, "ff", "repair", "--force", "--no-sync", "--checkpoint", "2", two, out); r.Code != cli.Good || !strings.Contains(r.Out, "3 variables") {
		t.Errorf("cut: %+v", r)
	}
	text := clitest.Blobio(t, "ff", "extract", "-o", filepath.Join(dir, "x"), two) // as far as the records are there
	if text.Code != cli.Good || !strings.Contains(text.Out, "var3.raw") {
		t.Errorf("extract of a file that is cut: %+v", text)
	}
	clitest.Check(t, os.WriteFile(two, whole[:500], 0o666))
	clitest.Bad(t, cli.Failed, "not this format", "ff", "repair", "--force", two, out)
	clitest.Bad(t, cli.Failed, "want drop, zero, keep", "ff", "repair", "--bad", "mend", one, out)
	clitest.Bad(t, cli.Failed, "an input and an output", "ff", "repair", one)
}

// What is not a checkpoint file, not there, or not a command.
func TestFFWrongFiles(t *testing.T) {
	dir := t.TempDir()
	nc := clitest.Toy(t, dir)
	empty := filepath.Join(dir, "empty.fti")
	clitest.Check(t, os.WriteFile(empty, nil, 0o666))
	for _, verb := range []string{"ls", "dump", "convert", "compact", "repair", "extract", "diff"} {
		args := map[string][]string{"convert": {filepath.Join(dir, "x")}, "compact": {filepath.Join(dir, "x")}, "repair": {filepath.Join(dir, "x")},
			"extract": {"-o", filepath.Join(dir, "x")}, "diff": {nc}}[verb]
		for _, path := range []string{nc, empty} {
			clitest.Bad(t, cli.Failed, "not this format", append([]string{"ff", verb, path}, args...)...)
		}
		clitest.Bad(t, cli.Failed, "no such file", append([]string{"ff", verb, filepath.Join(dir, "nix")}, args...)...)
		clitest.Bad(t, cli.Failed, "unknown flag", append([]string{"ff", verb, "--nix", nc}, args...)...)
	}
	clitest.Bad(t, cli.Failed, "the file is empty", "ff", "ls", empty)
	clitest.Bad(t, cli.Findings, "", "ff", "check", nc)
	clitest.Bad(t, cli.Failed, "is a directory", "ff", "dump", dir)
	clitest.Bad(t, cli.Failed, `unknown command "lss"`, "ff", "lss")
	clitest.Bad(t, cli.Failed, "a checkpoint file or a directory", "ff", "check")
	sub := filepath.Join(dir, "sub")
	clitest.Check(t, os.Mkdir(sub, 0o777))
	clitest.Bad(t, cli.Failed, "no file that ends in .fti", "ff", "ls", sub)
	if out := clitest.Good(t, "ff"); !strings.Contains(out, "Available Commands") {
		t.Errorf("ff: %s", out)
	}
	if list := clitest.Names(t, dir); list != "empty.fti sub toy.nc" {
		t.Errorf("left behind: %s", list)
	}
}

// Files that FTI itself wrote, through every verb.
func TestFFVectors(t *testing.T) {
	dir := testfiles.Dir(t, "fti")
	tmp := t.TempDir()
	seven := filepath.Join(dir, "tiny", "v1.3", "l1", "cp7__node0-Ckpt7-Rank0.fti")
	mended := filepath.Join(tmp, "Ckpt7-Rank0.fti")
	clitest.Bad(t, cli.Findings, "", "ff", "check", "--strict", seven)
	clitest.Good(t, "ff", "repair", "--no-sync", seven, mended)
	clitest.Good(t, "ff", "check", "--strict", mended)
	if out := clitest.Good(t, "ff", "dump", "--var", "5", "--type", "u4", "--elements", "1", "--plain", mended); out != "2738607377\n" {
		t.Errorf("variable 5, element 1: %s", out) // 5*16777619 + 2654435761 + 7*40503, of 2^32
	}
	if r := clitest.Blobio(t, "ff", "diff", seven, filepath.Join(dir, "tiny", "v1.1", "l1", "cp7__node0-Ckpt7-Rank0.fti")); r.Code != cli.Good {
		t.Errorf("v1.1 and v1.3 have other values: %+v", r)
	}
	torn := filepath.Join(dir, "torn", "during-cp5-before-write4.fti")
	r := clitest.Blobio(t, "ff", "repair", "--no-sync", torn, filepath.Join(tmp, "torn.fti"))
	if r.Code != cli.Findings || !strings.Contains(r.Out, "dropped: variable 2: ") || !strings.Contains(r.Out, "torn.fti: 4 variables") {
		t.Errorf("torn: %+v", r)
	}
	parity := filepath.Join(dir, "tiny", "head", "l3-4ranks", "cp1__node0-Ckpt1-RSed0.fti")
	if out := clitest.Good(t, "ff", "ls", parity); !strings.Contains(out, "parity of level 3") {
		t.Errorf("parity: %s", out)
	}
	clitest.Bad(t, cli.Failed, "unsupported", "ff", "convert", parity, filepath.Join(tmp, "p"))
}

// TestFFExtractDoubtful: a record that another number stands in is not extracted in silence.
func TestFFExtractDoubtful(t *testing.T) {
	dir, one, _ := ffToys(t)
	fast := filepath.Join(dir, "fast.fti")
	clitest.Good(t, "ff", "convert", "--no-sync", "--hash", "fast", one, fast)
	clitest.FlipByte(t, fast, 840+12) // behind the data: dbsize, numvars, and the id of variable 1
	r := clitest.Blobio(t, "ff", "extract", "-o", filepath.Join(dir, "out"), fast)
	if !strings.Contains(r.Err, "blobio: warning: ") || !strings.Contains(r.Err, "FB.myHash") {
		t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

// ffPart is a container of a checkpoint file made for a test.
type ffPart struct {
	id, number int32
	dptr, room int64
	data       []byte // nil: without content
}

// ffWrite writes a checkpoint file of layout F, by the format's description alone. The checksum
// is by the writer's rule, which FTI's reader refuses if a container is empty.
func ffWrite(t *testing.T, path string, ckpt int32, blocks ...[]ffPart) string {
	t.Helper()
	le := binary.LittleEndian
	var data, meta []byte
	all := md5.New()
	for _, b := range blocks {
		head := le.AppendUint32(nil, uint32(len(b)))
		size, records := uint64(0), []byte(nil)
		for _, c := range b {
			r := le.AppendUint32(nil, uint32(c.id))
			r = le.AppendUint32(r, uint32(c.number))
			has := byte(0)
			if c.data != nil {
				has = 1
			}
			r = append(r, has, 0)
			for _, v := range []int64{c.dptr, int64(len(data)), int64(len(c.data)), c.room} {
				r = le.AppendUint64(r, uint64(v))
			}
			sum := md5.Sum(c.data)
			all.Write(sum[:])
			records = append(records, append(r, sum[:]...)...)
			data = append(append(data, c.data...), make([]byte, c.room-int64(len(c.data)))...)
			size += uint64(c.room)
		}
		meta = append(append(meta, le.AppendUint64(head, size)...), records...)
	}
	total := uint64(len(data) + len(meta) + 106)
	checksum := append([]byte(hex.EncodeToString(all.Sum(nil))), 0)
	stamp := le.AppendUint32(nil, 123456789)
	sizes := le.AppendUint64(nil, total)
	sizes = le.AppendUint64(sizes, uint64(len(meta)+106))
	sizes = le.AppendUint64(sizes, uint64(len(data)))
	sizes = le.AppendUint64(sizes, total)
	none := le.AppendUint64(nil, math.MaxUint64)
	my := md5.New()
	for _, p := range [][]byte{checksum, stamp, sizes, none, none} {
		my.Write(p)
	}
	fb := append(checksum, my.Sum(nil)...)
	fb = le.AppendUint32(fb, uint32(ckpt))
	for _, p := range [][]byte{sizes, none, none, stamp, {0}} {
		fb = append(fb, p...)
	}
	clitest.Check(t, os.WriteFile(path, append(append(data, meta...), fb...), 0o666))
	return path
}
