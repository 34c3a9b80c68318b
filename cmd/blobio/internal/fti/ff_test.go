package fti_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
)

func TestFFLs(t *testing.T) {
	dir, one, two := ffToys(t)
	want := two + `: FTI-FF layout F (FTI after v1.6), checkpoint 2, 1.97 KiB
state: 1 warning (see ff check)
space: content 1.26 KiB, reserved but unused 350 B (17.4 %), metadata 374 B
blocks: 3, containers: 4

VARIABLE  MAP   SIZE  RESERVED  CONTAINERS
       1  1    400 B     400 B           1
       2  2     90 B     440 B           2
       3  3    800 B     800 B           1

map: each character is 2 B, # metadata, . reserved but unused
  0x000  1111111111111111111111111111111111111111111111111111111111111111
  0x080  1111111111111111111111111111111111111111111111111111111111111111
  0x100  1111111111111111111111111111111111111111111111111111111111111111
  0x180  11111111222222222222222222222222222222222222222222222...........
`
	got := clitest.Good(t, "ff", "ls", two)
	if !strings.HasPrefix(got, want) {
		t.Errorf("ff ls:\n%s\nwant\n%s", got, want)
	}
	if out := clitest.Good(t, "ff", "ls", "-l", one); !strings.Contains(out, "    1         2          1  yes              200      600    240             240  ") {
		t.Errorf("ff ls -l:\n%s", out)
	}
	clitest.Check(t, os.WriteFile(filepath.Join(dir, "no.fti"), make([]byte, 1000), 0o666))
	torn := clitest.Blobio(t, "ff", "ls", dir) // beside other checkpoints, the file counts as a torn checkpoint
	if torn.Code != cli.Findings {
		t.Errorf("ff ls of a torn file among others: %+v", torn)
	}
	out := torn.Out
	clitest.Holds(t, out, "Ckpt1-Rank0.fti  F       md5", "metadata good", "1 warning", "no.fti", "no FTI-FF metadata")
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

func TestFFDump(t *testing.T) {
	_, one, two := ffToys(t)
	out := clitest.Good(t, "ff", "dump", two)
	clitest.Holds(t, out, "file block at 0x774:", "ckptId     2", "maxFs      -1", "block 1 at 0x6e8: 1 container, dbsize 240", "d41d8cd98f00b204e9800998ecf8427e")
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
	if out := dumped(t, "--var", "3", "--type", "f8", "--elements", "3", two); out != "0.375\n" {
		t.Errorf("ff dump: %q", out)
	}
	for typ, want := range map[string]string{"i1": "-50", "u1": "206", "i2": "-50", "u2": "65486", "u4": "4294967246", "i8": "-206158430258", "u8": "18446743867551121358", "f4": "null"} {
		if out := dumped(t, "--var", "1", "--type", typ, "--elements", "0", one); out != want+"\n" {
			t.Errorf("%s: %q, want %s", typ, out, want)
		}
	}
	if out := dumped(t, "--var", "1", "--type", "u4", "--elements", "50:52", "--big-endian", one); out != "0\n16777216\n" {
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
	clitest.Bad(t, cli.Failed, "--type needs --var", "ff", "dump", "--type", "i4", one)
	clitest.Bad(t, cli.Failed, "there are 100 elements", "ff", "dump", "--var", "1", "--type", "i4", "--elements", "3:101", one)
	clitest.Bad(t, cli.Failed, "want hex, i1", "ff", "dump", "--var", "1", "--type", "i3", one)
	clitest.Bad(t, cli.Failed, "not a whole number of i4", "ff", "dump", "--var", "2", "--type", "i4", two)
}

// TestFFDumpDamaged checks metadata flips that a lenient reader accepts and only the checksum of the whole file reveals. Every
// verb that reads must report damage.
func TestFFDumpDamaged(t *testing.T) {
	tiny := filepath.Join(testfiles.Dir(t, "fti"), "tiny")
	for name, at := range map[string][2]int{"v1.4/l1/cp7__node0-Ckpt7-Rank0.fti": {11310, 5}, "head/l3-4ranks/cp7__node3-Ckpt7-Rank3.fti": {11125, 2}} {
		whole := filepath.Join(tiny, name)
		b := clitest.Read(t, whole)
		b[at[0]] ^= 1 << at[1]
		dir := t.TempDir()
		file := filepath.Join(dir, "Ckpt7-Rank0.fti")
		clitest.Check(t, os.WriteFile(file, b, 0o666))
		for _, args := range [][]string{{"ls", file}, {"check", file}, {"dump", file}, {"dump", "--json", file}, {"dump", "--var", "1", file}, {"dump", "-o", filepath.Join(dir, "raw"), file},
			{"diff", whole, file}, {"diff", "-q", file, file}, {"convert", file, filepath.Join(dir, "out.fti")}, {"convert", "--compact", file, filepath.Join(dir, "out.fti")}} {
			if r := clitest.Blobio(t, append([]string{"ff"}, args...)...); r.Code != cli.Findings {
				t.Errorf("%s: %v: exit code %d\n%s", name, args, r.Code, r.Err)
			}
		}
		clitest.Good(t, "ff", "dump", whole)
		clitest.Good(t, "ff", "convert", "--no-sync", whole, filepath.Join(dir, "out.fti"))
	}
}

// TestFFLsDamaged checks that damaged metadata are listed as far as possible, with a matching exit code.
func TestFFLsDamaged(t *testing.T) {
	store := clitest.FFStore(t)
	name := clitest.Glob(t, filepath.Join(store, "*", "*.fti"))[0]
	whole := clitest.Read(t, name)
	file := filepath.Join(t.TempDir(), "Ckpt5-Rank0.fti")
	for _, at := range []int{1, 40, 100, 150, 170} { // from the end: file block and records
		b := bytes.Clone(whole)
		b[len(b)-at] ^= 4
		clitest.Check(t, os.WriteFile(file, b, 0o666))
		for _, args := range [][]string{{"ls", file}, {"ls", "--json", file}, {"ls", filepath.Dir(file)}, {"check", "--quick", file}} {
			if r := clitest.Blobio(t, append([]string{"ff"}, args...)...); r.Code != cli.Findings {
				t.Errorf("byte %d from the end: %v: exit code %d\n%s%s", at, args, r.Code, r.Out, r.Err)
			}
		}
	}
}

// Other files, missing files and unknown commands must be errors.
func TestFFWrongFiles(t *testing.T) {
	dir := t.TempDir()
	nc := clitest.Toy(t, dir)
	empty := filepath.Join(dir, "empty.fti")
	clitest.Check(t, os.WriteFile(empty, nil, 0o666))
	for _, verb := range []string{"ls", "dump", "convert", "repair", "diff"} {
		args := map[string][]string{"convert": {filepath.Join(dir, "x")}, "repair": {filepath.Join(dir, "x")},
			"diff": {nc}}[verb]
		clitest.Bad(t, cli.Failed, "not this format", append([]string{"ff", verb, nc}, args...)...)
		clitest.Bad(t, cli.Findings, "the file is empty (truncated)", append([]string{"ff", verb, empty}, args...)...)
		clitest.Bad(t, cli.Failed, "no such file", append([]string{"ff", verb, filepath.Join(dir, "nix")}, args...)...)
		clitest.Bad(t, cli.Failed, "unknown flag", append([]string{"ff", verb, "--nix", nc}, args...)...)
	}
	clitest.Bad(t, cli.Findings, "the file is empty", "ff", "check", empty)
	clitest.Bad(t, cli.Failed, "is a directory", "ff", "dump", dir)
	clitest.Bad(t, cli.Failed, `unknown command "lss"`, "ff", "lss")
	clitest.Bad(t, cli.Failed, "a checkpoint file or a directory", "ff", "check")
	sub := filepath.Join(dir, "sub")
	clitest.Check(t, os.Mkdir(sub, 0o777))
	clitest.Bad(t, cli.Failed, "has a file that ends in .fti", "ff", "ls", sub)
	clitest.Shows(t, "Available Commands", "ff")
	if list := clitest.Names(t, dir); list != "empty.fti sub toy.nc" {
		t.Errorf("left behind: %s", list)
	}
}

// Every verb must handle files written by FTI itself.
func TestFFVectors(t *testing.T) {
	dir := testfiles.Dir(t, "fti")
	tmp := t.TempDir()
	seven := filepath.Join(dir, "tiny", "v1.3", "l1", "cp7__node0-Ckpt7-Rank0.fti")
	mended := filepath.Join(tmp, "Ckpt7-Rank0.fti")
	clitest.Bad(t, cli.Findings, "", "ff", "check", "--strict", seven)
	clitest.Good(t, "ff", "repair", "--no-sync", seven, mended)
	clitest.Good(t, "ff", "check", "--strict", mended)
	if out := dumped(t, "--var", "5", "--type", "u4", "--elements", "1", mended); out != "2738607377\n" {
		t.Errorf("variable 5, element 1: %s", out) // 5*16777619 + 2654435761 + 7*40503, modulo 2^32
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
	clitest.Shows(t, "parity of level 3", "ff", "ls", parity)
	clitest.Bad(t, cli.Failed, "unsupported", "ff", "convert", parity, filepath.Join(tmp, "p"))
}
