package main

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

	"blobio/internal/testfiles"
)

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
			r = append(r, byte(bit(c.data != nil)), 0)
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
	check(t, os.WriteFile(path, append(append(data, meta...), fb...), 0o666))
	return path
}

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
	got := good(t, "ff", "ls", "--columns", "32", two)
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "\n  0x180  111122222222222222222222222.....\n") {
		t.Errorf("ff ls:\n%s\nwant\n%s", got, want)
	}
	if out := good(t, "ff", "ls", "-l", "--no-map", one); strings.Contains(out, "map:") || !strings.Contains(out, "    1         2          1  yes              200      600    240             240  ") {
		t.Errorf("ff ls -l --no-map:\n%s", out)
	}
	check(t, os.WriteFile(filepath.Join(dir, "no.fti"), make([]byte, 1000), 0o666))
	out := good(t, "ff", "ls", dir)
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
	check(t, json.Unmarshal([]byte(good(t, "ff", "ls", "--json", one, two)), &d))
	if len(d.Files) != 2 || !d.Files[0].FTICanRead || d.Files[1].FTICanRead || d.Files[1].Checkpoint != 2 || d.Files[1].Empty != 350 ||
		d.Files[1].Variables[1].Bytes != 90 || d.Files[1].Blocks[1].Containers[0].Dptr != 200 || len(d.Files[1].Extents) == 0 || d.Files[1].Warnings != 1 {
		t.Errorf("ff ls --json: %+v", d)
	}
}

func TestFFPlot(t *testing.T) {
	dir, one, two := ffToys(t)
	pic := filepath.Join(dir, "map.png")
	good(t, "ff", "ls", "--plot", pic, "--width", "400", two)
	f, err := os.Open(pic)
	check(t, err)
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() != 800 {
		t.Errorf("picture: %v", err)
	}
	bad(t, exitFailed, "--force replaces it", "ff", "ls", "--plot", pic, two)
	for _, args := range [][]string{{"--plot", pic}, {"--plot", pic, "--json"}, {"--plot", filepath.Join(dir, "nix", "map.png")}, {"--plot", pic, "--force", "--width", "5"}} {
		if r := blobio(t, append([]string{"ff", "ls", two}, args...)...); r.code != exitFailed || r.out != "" {
			t.Errorf("%v: code %d, printed before it failed:\n%s", args, r.code, r.out)
		}
	}
	odd := filepath.Join(dir, "odd.png")
	check(t, os.Link(two, odd))
	bad(t, exitFailed, "the checkpoint file itself", "ff", "ls", "--force", "--plot", odd, two)
	check(t, os.Remove(odd))
	good(t, "ff", "ls", "--plot", pic, "--force", one)
	svg := filepath.Join(dir, "map.svg")
	good(t, "ff", "ls", "--plot", svg, "--title", "A title", two)
	if b, err := os.ReadFile(svg); err != nil || !bytes.Contains(b, []byte("A title")) {
		t.Errorf("SVG: %v", err)
	}
	bad(t, exitFailed, ".png or .svg", "ff", "ls", "--plot", filepath.Join(dir, "map.jpg"), two)
	bad(t, exitFailed, "draws one file", "ff", "ls", "--plot", pic, one, two)
	bad(t, exitFailed, "is a directory", "ff", "ls", "--plot", pic, dir)
	bad(t, exitFailed, "goes with --plot", "ff", "ls", "--width", "500", two)
	bad(t, exitFailed, "width 5", "ff", "ls", "--force", "--plot", pic, "--width", "5", two)
	if list := names(t, dir); list != "Ckpt1-Rank0.fti Ckpt2-Rank0.fti map.png map.svg" {
		t.Errorf("left behind: %s", list)
	}
}

func TestFFDump(t *testing.T) {
	_, one, two := ffToys(t)
	out := good(t, "ff", "dump", two)
	for _, w := range []string{"file block at 0x774:", "ckptId     2", "maxFs      -1", "block 1 at 0x6e8: 1 container, dbsize 240", "d41d8cd98f00b204e9800998ecf8427e"} {
		if !strings.Contains(out, w) {
			t.Errorf("ff dump has no %q:\n%s", w, out)
		}
	}
	want := two + `: variable 1, 400 bytes; i4 values 8 to 18
   8          -42         -41      -63737         -39         -38         -37         -36         -35
  16          -34         -33
`
	if out := good(t, "ff", "dump", "--var", "1", "--type", "i4", "--elements", "8:18", two); strings.Join(strings.Fields(out), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("ff dump --var:\n%s", out)
	}
	if out := good(t, "ff", "dump", "--var", "2", "--elements", "80:", two); !strings.HasSuffix(out, "\n  0x50  63 6b 70 6f 69 6e 74 20 63 68                    ckpoint ch\n") {
		t.Errorf("bytes:\n%s", out)
	}
	if out := good(t, "ff", "dump", "--var", "3", "--type", "f8", "--elements", "3", "--plain", two); out != "0.375\n" {
		t.Errorf("--plain: %q", out)
	}
	for typ, want := range map[string]string{"i1": "-50", "u1": "206", "i2": "-50", "u2": "65486", "u4": "4294967246", "i8": "-206158430258", "u8": "18446743867551121358", "f4": "NaN"} {
		if out := good(t, "ff", "dump", "--var", "1", "--type", typ, "--elements", "0", "--plain", one); out != want+"\n" {
			t.Errorf("%s: %q, want %s", typ, out, want)
		}
	}
	if out := good(t, "ff", "dump", "--var", "1", "--type", "u4", "--elements", "50:52", "--big-endian", "--plain", one); out != "0\n16777216\n" {
		t.Errorf("--big-endian: %q", out)
	}
	var d struct {
		Variable, First, Bytes int64
		Type                   string
		Values                 []*float64
	}
	check(t, json.Unmarshal([]byte(good(t, "ff", "dump", "--json", "--var", "1", "--type", "f4", "--elements", "49:52", one)), &d))
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
	check(t, json.Unmarshal([]byte(good(t, "ff", "dump", "--json", two)), &m))
	if m.Block.Checkpoint != 2 || m.Block.FileSize != 2014 || len(m.Blocks) != 3 {
		t.Errorf("--json: %+v", m)
	}
	bad(t, exitFailed, "no variable 9", "ff", "dump", "--var", "9", one)
	bad(t, exitFailed, "--type goes with --var", "ff", "dump", "--type", "i4", one)
	bad(t, exitFailed, "there are 100 elements", "ff", "dump", "--var", "1", "--type", "i4", "--elements", "3:101", one)
	bad(t, exitFailed, "want hex, i1", "ff", "dump", "--var", "1", "--type", "i3", one)
	bad(t, exitFailed, "no whole number of i4", "ff", "dump", "--var", "2", "--type", "i4", two)
	bad(t, exitFailed, "exclude each other", "ff", "dump", "--var", "1", "--plain", "--json", two)
}

func TestFFCheck(t *testing.T) {
	dir, one, two := ffToys(t)
	if out := good(t, "ff", "check", one); out != one+": good, 1 note (--notes shows them)\n" {
		t.Errorf("ff check: %q", out)
	}
	out := good(t, "ff", "check", two)
	if !strings.Contains(out, "only the writer's rule gives") || !strings.HasSuffix(out, ": 0 errors, 1 warning, 1 note (--notes shows them)\n") {
		t.Errorf("the writer's checksum:\n%s", out)
	}
	bad(t, exitFindings, "", "ff", "check", "--strict", two)
	b, err := os.ReadFile(one)
	check(t, err)
	b[5] ^= 1
	broken := filepath.Join(dir, "broken.fti")
	check(t, os.WriteFile(broken, b, 0o666))
	r := blobio(t, "ff", "check", broken)
	if r.code != exitFindings || !strings.Contains(r.out, "error: "+broken+": 0x0: block 0, container 0 of variable 1: MD5") {
		t.Errorf("%d\n%s", r.code, r.out)
	}
	if out := good(t, "ff", "check", "--quick", broken); out != broken+": good, 1 note (--notes shows them); data not read\n" {
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
	r = blobio(t, "ff", "check", "--json", dir)
	check(t, json.Unmarshal([]byte(r.out), &d))
	if r.code != exitFindings || len(d.Checked) != 3 || d.Checked[2].Errors != 1 || *d.Checked[2].Findings[0].Var != 1 || d.Checked[2].Findings[0].Class != "checksum mismatch" {
		t.Errorf("%d %+v", r.code, d)
	}
	r = blobio(t, "ff", "check", filepath.Join(dir, "nix.fti"), one) // the other is still looked at
	if r.code != exitFailed || !strings.Contains(r.err, "nix.fti") || r.out != one+": good, 1 note (--notes shows them)\n" {
		t.Errorf("%d %q %q", r.code, r.out, r.err)
	}
}

func TestFFExtract(t *testing.T) {
	dir, one, _ := ffToys(t)
	out := filepath.Join(dir, "out")
	good(t, "ff", "extract", one, "-o", out)
	if b, err := os.ReadFile(filepath.Join(out, "var2.raw")); err != nil || string(b) != strings.Repeat("checkpoint ", 40) {
		t.Errorf("variable 2: %v, %d bytes", err, len(b))
	}
	bad(t, exitFailed, "already exists (--force replaces it)", "ff", "extract", one, "-o", out)
	good(t, "ff", "extract", one, "-o", out, "--force", "--vars", "1")
	bad(t, exitFailed, "no variable 3", "ff", "extract", one, "-o", out, "--vars", "3")
	bad(t, exitFailed, `"x", want a number`, "ff", "extract", one, "-o", out, "--vars", "x")
	bad(t, exitFailed, "--output", "ff", "extract", one)
	b, err := os.ReadFile(one)
	check(t, err)
	b[405] ^= 1
	check(t, os.WriteFile(one, b, 0o666))
	some := filepath.Join(dir, "some")
	var d struct {
		Variables []struct {
			Variable, Bytes int64
			File, Error     string
		}
	}
	r := blobio(t, "ff", "extract", "--json", one, "-o", some)
	check(t, json.Unmarshal([]byte(r.out), &d))
	if r.code != exitFindings || len(d.Variables) != 2 || d.Variables[0].Error != "" || !strings.Contains(d.Variables[1].Error, "checksum mismatch") || names(t, some) != "var1.raw" {
		t.Errorf("%d %+v, %s", r.code, d, names(t, some))
	}
}

func TestFFDiff(t *testing.T) {
	dir, one, two := ffToys(t)
	r := blobio(t, "ff", "diff", one, two)
	want := `variable 1: 2 of 400 bytes differ (0.5 %), in 1 range
  [40, 42) 2 bytes
variable 2: 440 bytes and 90 bytes, the first 90 are equal
variable 3: only in ` + two + `, 800 bytes
` + one + " and " + two + " differ in 3 variables\n"
	if r.code != exitFindings || r.out != want || r.err != "" {
		t.Errorf("%d\n%s\nwant\n%s", r.code, r.out, want)
	}
	if r := blobio(t, "ff", "diff", "-q", one, two); r.code != exitFindings || r.out+r.err != "" {
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
	check(t, json.Unmarshal([]byte(blobio(t, "ff", "diff", "--json", one, two).out), &d))
	if d.Equal || len(d.Differences) != 3 || d.Differences[0].Ranges[0].Offset != 40 || d.Differences[2].SizeA != -1 {
		t.Errorf("%+v", d)
	}
	a := filepath.Join(dir, "a.fti")
	good(t, "ff", "convert", "--layout", "A", "--no-sync", one, a)
	if out := good(t, "ff", "diff", one, a); out != one+" and "+a+" are equal\n" {
		t.Errorf("another layout: %s", out)
	}
	bad(t, exitFindings, "", "ff", "diff", "--vars", "1", one, two)
	bad(t, exitFailed, "no variable 7", "ff", "diff", "--vars", "7", one, two)
	bad(t, exitFailed, "gap", "ff", "diff", "--gap", "1G", one, two)
	bad(t, exitFailed, "two checkpoint files", "ff", "diff", one)
}

func TestFFConvertAndCompact(t *testing.T) {
	dir, _, two := ffToys(t)
	for _, l := range append(ffLayouts(), "fast") {
		args := []string{"--no-sync", "--layout", l}
		if l == "fast" {
			args = []string{"--no-sync", "--hash", "fast", "--block-size", "1K"}
		}
		for _, verb := range []string{"convert", "compact"} {
			out := filepath.Join(dir, verb+l+".fti")
			text := good(t, append(append([]string{"ff", verb}, args...), two, out)...)
			if l == "fast" && !strings.Contains(text, "FTI refuses it") {
				t.Errorf("%s %s: %s", verb, l, text)
			}
			if text := good(t, "ff", "check", "--strict", out); !strings.HasPrefix(text, out+": good") {
				t.Errorf("%s %s: %s", verb, l, text)
			}
			good(t, "ff", "diff", two, out)
			bad(t, exitFailed, "--force replaces it", "ff", verb, two, out)
			good(t, "ff", verb, "--force", "--no-sync", two, out)
		}
	}
	var d struct {
		Layout           string
		Bytes, Dead      int64
		Containers, Vars int
	}
	check(t, json.Unmarshal([]byte(good(t, "ff", "compact", "--json", "--no-sync", two, filepath.Join(dir, "j.fti"))), &d))
	if d.Layout != "F" || d.Dead != 0 || d.Containers != 3 || d.Bytes != 1290+12+3*58+106 {
		t.Errorf("%+v", d)
	}
	fast := filepath.Join(dir, "convertfast.fti")
	good(t, "ff", "convert", "--no-sync", "--hash", "fast", "--force", two, fast)
	out := filepath.Join(dir, "out.fti")
	bad(t, exitFailed, "say --hash md5", "ff", "convert", "--layout", "A", fast, out)
	bad(t, exitFailed, "wants layout F", "ff", "convert", "--layout", "A", "--hash", "fast", two, out)
	bad(t, exitFailed, "is for --hash fast", "ff", "convert", "--block-size", "1K", two, out)
	bad(t, exitFailed, "block size 3", "ff", "convert", "--hash", "fast", "--block-size", "3", two, out)
	bad(t, exitFailed, "want same, A", "ff", "convert", "--layout", "G", two, out)
	bad(t, exitFailed, "are one file", "ff", "convert", "--force", two, two)
	bad(t, exitFailed, "is a directory", "ff", "convert", two, dir)
	good(t, "ff", "convert", "--no-sync", "--layout", "D", "--hash", "md5", fast, out)
	b, err := os.ReadFile(two)
	check(t, err)
	b[0] ^= 1
	check(t, os.WriteFile(two, b, 0o666))
	gone := filepath.Join(dir, "gone.fti")
	bad(t, exitFailed, "ff repair saves what is good", "ff", "convert", two, gone)
	if strings.Contains(names(t, dir), "gone") {
		t.Errorf("left behind: %s", names(t, dir))
	}
}

func TestFFRepair(t *testing.T) {
	dir, one, two := ffToys(t)
	out := filepath.Join(dir, "new.fti")
	if text := good(t, "ff", "repair", one, out); text != one+": nothing to repair, no output\n" || strings.Contains(names(t, dir), "new") {
		t.Errorf("a good file: %s", text)
	}
	if text := good(t, "ff", "repair", "-n", two); !strings.Contains(text, "by the reader's rule") || !strings.Contains(text, "nothing was written") {
		t.Errorf("--dry-run: %s", text)
	}
	good(t, "ff", "repair", "--no-sync", two, out)
	good(t, "ff", "check", "--strict", out)
	good(t, "ff", "diff", two, out)
	bad(t, exitFailed, "--force replaces it", "ff", "repair", two, out)
	bad(t, exitFailed, "are one file", "ff", "repair", "--force", two, two)

	whole, err := os.ReadFile(two)
	check(t, err)
	b := bytes.Clone(whole)
	b[850] ^= 1 // of variable 3
	check(t, os.WriteFile(two, b, 0o666))
	for how, vars := range map[string]int{"drop": 2, "zero": 3, "keep": 3} {
		r := blobio(t, "ff", "repair", "--force", "--no-sync", "--bad", how, "--json", two, out)
		var d struct {
			Sound, Written bool
			Good           []int32
			Bad            []struct {
				Variable int32
				BadBytes int64 `json:"bad_bytes"`
				Fate     string
			}
		}
		check(t, json.Unmarshal([]byte(r.out), &d))
		if r.code != exitFindings || d.Sound || !d.Written || len(d.Good) != 2 || len(d.Bad) != 1 || d.Bad[0].Variable != 3 || d.Bad[0].BadBytes != 800 || !strings.HasPrefix(d.Bad[0].Fate, how[:2]) {
			t.Errorf("%s: %d %+v", how, r.code, d)
		}
		var l struct{ Files []struct{ Variables []any } }
		check(t, json.Unmarshal([]byte(good(t, "ff", "ls", "--json", out)), &l))
		if len(l.Files[0].Variables) != vars {
			t.Errorf("%s: %d variables", how, len(l.Files[0].Variables))
		}
		good(t, "ff", "check", "--strict", out)
	}
	check(t, os.WriteFile(two, whole[:len(whole)-60], 0o666)) // the file block is cut
	if r := blobio(t, "ff", "repair", "--force", "--no-sync", "--checkpoint", "2", two, out); r.code != exitGood || !strings.Contains(r.out, "3 variables") {
		t.Errorf("cut: %+v", r)
	}
	text := blobio(t, "ff", "extract", "-o", filepath.Join(dir, "x"), two) // as far as the records are there
	if text.code != exitGood || !strings.Contains(text.out, "var3.raw") {
		t.Errorf("extract of a file that is cut: %+v", text)
	}
	check(t, os.WriteFile(two, whole[:500], 0o666))
	bad(t, exitFailed, "not this format", "ff", "repair", "--force", two, out)
	bad(t, exitFailed, "want drop, zero, keep", "ff", "repair", "--bad", "mend", one, out)
	bad(t, exitFailed, "an input and an output", "ff", "repair", one)
}

// What is not a checkpoint file, not there, or not a command.
func TestFFWrongFiles(t *testing.T) {
	dir := t.TempDir()
	nc := toy(t, dir)
	empty := filepath.Join(dir, "empty.fti")
	check(t, os.WriteFile(empty, nil, 0o666))
	for _, verb := range []string{"ls", "dump", "convert", "compact", "repair", "extract", "diff"} {
		args := map[string][]string{"convert": {filepath.Join(dir, "x")}, "compact": {filepath.Join(dir, "x")}, "repair": {filepath.Join(dir, "x")},
			"extract": {"-o", filepath.Join(dir, "x")}, "diff": {nc}}[verb]
		for _, path := range []string{nc, empty} {
			bad(t, exitFailed, "not this format", append([]string{"ff", verb, path}, args...)...)
		}
		bad(t, exitFailed, "no such file", append([]string{"ff", verb, filepath.Join(dir, "nix")}, args...)...)
		bad(t, exitFailed, "unknown flag", append([]string{"ff", verb, "--nix", nc}, args...)...)
	}
	bad(t, exitFailed, "the file is empty", "ff", "ls", empty)
	bad(t, exitFindings, "", "ff", "check", nc)
	bad(t, exitFailed, "is a directory", "ff", "dump", dir)
	bad(t, exitFailed, `unknown command "lss"`, "ff", "lss")
	bad(t, exitFailed, "a checkpoint file or a directory", "ff", "check")
	sub := filepath.Join(dir, "sub")
	check(t, os.Mkdir(sub, 0o777))
	bad(t, exitFailed, "no file that ends in .fti", "ff", "ls", sub)
	if out := good(t, "ff"); !strings.Contains(out, "Available Commands") {
		t.Errorf("ff: %s", out)
	}
	if list := names(t, dir); list != "empty.fti sub toy.nc" {
		t.Errorf("left behind: %s", list)
	}
}

// Files that FTI itself wrote, through every verb.
func TestFFVectors(t *testing.T) {
	dir := testfiles.Dir(t, "fti")
	tmp := t.TempDir()
	seven := filepath.Join(dir, "tiny", "v1.3", "l1", "cp7__node0-Ckpt7-Rank0.fti")
	mended := filepath.Join(tmp, "Ckpt7-Rank0.fti")
	bad(t, exitFindings, "", "ff", "check", "--strict", seven)
	good(t, "ff", "repair", "--no-sync", seven, mended)
	good(t, "ff", "check", "--strict", mended)
	if out := good(t, "ff", "dump", "--var", "5", "--type", "u4", "--elements", "1", "--plain", mended); out != "2738607377\n" {
		t.Errorf("variable 5, element 1: %s", out) // 5*16777619 + 2654435761 + 7*40503, of 2^32
	}
	if r := blobio(t, "ff", "diff", seven, filepath.Join(dir, "tiny", "v1.1", "l1", "cp7__node0-Ckpt7-Rank0.fti")); r.code != exitGood {
		t.Errorf("v1.1 and v1.3 have other values: %+v", r)
	}
	torn := filepath.Join(dir, "torn", "during-cp5-before-write4.fti")
	r := blobio(t, "ff", "repair", "--no-sync", torn, filepath.Join(tmp, "torn.fti"))
	if r.code != exitFindings || !strings.Contains(r.out, "dropped: variable 2: ") || !strings.Contains(r.out, "torn.fti: 4 variables") {
		t.Errorf("torn: %+v", r)
	}
	parity := filepath.Join(dir, "tiny", "head", "l3-4ranks", "cp1__node0-Ckpt1-RSed0.fti")
	if out := good(t, "ff", "ls", parity); !strings.Contains(out, "parity of level 3") {
		t.Errorf("parity: %s", out)
	}
	bad(t, exitFailed, "unsupported", "ff", "convert", parity, filepath.Join(tmp, "p"))
}

// TestFFExtractDoubtful: a record that another number stands in is not extracted in silence.
func TestFFExtractDoubtful(t *testing.T) {
	dir, one, _ := ffToys(t)
	fast := filepath.Join(dir, "fast.fti")
	good(t, "ff", "convert", "--no-sync", "--hash", "fast", one, fast)
	flipByte(t, fast, 840+12) // behind the data: dbsize, numvars, and the id of variable 1
	r := blobio(t, "ff", "extract", "-o", filepath.Join(dir, "out"), fast)
	if !strings.Contains(r.err, "blobio: warning: ") || !strings.Contains(r.err, "FB.myHash") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}
