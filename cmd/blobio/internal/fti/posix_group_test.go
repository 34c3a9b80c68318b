package fti_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// ftiGroup is checkpoint 6 of four ranks, written by FTI (HEAD of 2022-11-25, ckpt_io = 1) at level 3. Each rank has a checkpoint
// file with variables 7 (int), 3 (double) and 40 (13 chars), and a parity file. The largest checkpoint file has an odd number of
// bytes.
var ftiGroup = [4][2]string{
	{"0000000001000000020000000000000000000000000000000000e03f61616161616161616161616161",
		"5d9fb4653510b4658691b465ec5ab4659ea9b63597307a41000001e05fd4224515cbebd480538123668a79462e093359b349a6c179"},
	{"a0860100a1860100a2860100a3860100000000000000f03f000000000000f83f62626262626262626262626262",
		"1e56b28176d9b281c558b281ab27b281023ab54dad40fbff0000110ab51fb70f288f44948f4f74a0cfe1d441545949d1967aee1117"},
	{"400d0300410d0300420d0300430d0300440d03000000000000000040000000000000044063636363636363636363636363",
		"58f66f7f30796f7f83f86f7feeff6f7f652c0114367ff98f0000a9ea6a98acc97c8e7d9ea6d2f4676b2c785478426e42ae5ab41e1a"},
	{"e0930400e1930400e2930400e3930400e4930400e593040000000000000008400000000000000c4064646464646464646464646464",
		"88190488e09604885317048889250488438707f0fee8a90a0000774cce7d6197216d75783e723d624dabe91610f606060619191919"},
}

// groupRun writes the directories of the run of ftiGroup: for level 2 with the copies of partners, for level 3 with parity files.
// file returns the path of a rank's file.
func groupRun(t *testing.T, level int) (dir string, file func(rank int) string, data [4][]byte) {
	t.Helper()
	dir = t.TempDir()
	lv := fmt.Sprintf("l%d", level)
	node := func(rank int) string { return filepath.Join(dir, "Local", fmt.Sprintf("node%d", rank), "run-1", lv) }
	write := func(name string, b []byte) {
		clitest.Check(t, os.MkdirAll(filepath.Dir(name), 0o777))
		clitest.Check(t, os.WriteFile(name, b, 0o666))
	}
	var ini strings.Builder
	fmt.Fprintf(&ini, "\n[ckpt_info]\nckpt_type = full\nckpt_id = 6\n")
	for rank, hexes := range ftiGroup {
		b, err := hex.DecodeString(hexes[0])
		clitest.Check(t, err)
		parity, err := hex.DecodeString(hexes[1])
		clitest.Check(t, err)
		data[rank] = b
		write(filepath.Join(node(rank), fmt.Sprintf("Ckpt6-Rank%d.fti", rank)), b)
		fmt.Fprintf(&ini, "\n[%d]\nckpt_file_name = Ckpt6-Rank%d.fti\nckpt_file_size = %d\nckpt_file_maxs = 53\nckpt_checksum = %x\n", rank, rank, len(b), md5.Sum(b))
		for k, v := range [][2]int{{7, len(b) - 29}, {3, 16}, {40, 13}} {
			fmt.Fprintf(&ini, "var%d_id = %d\nvar%d_size = %d\n", k, v[0], k, v[1])
		}
		if level == 3 {
			write(filepath.Join(node(rank), fmt.Sprintf("Ckpt6-RSed%d.fti", rank)), parity)
			fmt.Fprintf(&ini, "rsed_checksum = %x\n", md5.Sum(parity))
		} else {
			next := (rank + 1) % 4
			write(filepath.Join(node(next), fmt.Sprintf("Ckpt6-Pcof%d.fti", next)), b)
		}
	}
	write(filepath.Join(dir, "Meta", "run-1", lv, "sector0-group0.fti"), []byte(ini.String()))
	write(filepath.Join(dir, "config.fti"), []byte("[Basic]\nhead = 0\n"))
	return dir, func(rank int) string { return filepath.Join(node(rank), fmt.Sprintf("Ckpt6-Rank%d.fti", rank)) }, data
}

// TestPosixGroup checks that the directories of a run are found beside its configuration. Copies and parity files are checked by
// their kind, and lost or damaged files are rebuilt from them.
func TestPosixGroup(t *testing.T) {
	for _, c := range []struct {
		level  int
		gone   []int // nodes
		hurt   func(dir string)
		cannot string
	}{
		{2, []int{0}, nil, ""}, {2, []int{3}, nil, ""}, {2, []int{1, 3}, nil, ""}, {2, []int{1, 2}, nil, "Ckpt6-Pcof2.fti: not there (missing)"},
		{3, []int{0}, nil, ""}, {3, []int{1}, nil, ""}, {3, []int{2}, nil, ""}, {3, []int{3}, nil, ""},
		{3, []int{0, 1}, nil, ""}, {3, []int{1, 2}, nil, ""}, {3, []int{2, 3}, nil, ""}, {3, []int{0, 3}, nil, ""},
		{3, []int{0, 1, 2}, nil, "3 of 4 files of the group are lost"},
		{3, []int{2, 3}, func(dir string) { damage(t, filepath.Join(dir, "Local", "node0", "run-1", "l3", "Ckpt6-RSed0.fti")) }, "2 of 4 files of the group are lost, but only 1 parity files"},
		{2, []int{0}, func(dir string) { damage(t, filepath.Join(dir, "Local", "node1", "run-1", "l2", "Ckpt6-Pcof1.fti")) }, "checksum"},
	} {
		dir, file, data := groupRun(t, c.level)
		if out := clitest.Good(t, "ff", "check", dir); strings.Count(out, "good") != 8 {
			t.Error(out)
		}
		if out := clitest.Good(t, "ff", "ls", dir); strings.Count(out, "POSIX") != 8 || strings.Contains(out, "config.fti") {
			t.Error(out)
		}
		if c.hurt != nil {
			c.hurt(dir)
		}
		for _, rank := range c.gone {
			clitest.Check(t, os.RemoveAll(filepath.Join(dir, "Local", fmt.Sprintf("node%d", rank))))
		}
		left := 4 - len(c.gone)
		if r := clitest.Blobio(t, "ff", "check", dir); left > 1 && (r.Code != cli.Findings || !strings.Contains(r.Out, fmt.Sprintf("Ckpt6-Rank%d.fti: file", c.gone[0]))) {
			t.Errorf("%+v: check: %+v", c, r)
		}
		for _, rank := range c.gone {
			out := filepath.Join(t.TempDir(), "out.fti")
			if c.cannot != "" {
				if rank == c.gone[0] {
					clitest.Bad(t, cli.Findings, c.cannot, "ff", "repair", file(rank), out)
				}
				continue
			}
			clitest.Good(t, "ff", "repair", "-n", file(rank))
			clitest.Good(t, "ff", "repair", file(rank), out)
			if b, err := os.ReadFile(out); err != nil || !bytes.Equal(b, data[rank]) {
				t.Errorf("%+v: rank %d: %x, %v", c, rank, b, err)
			}
		}
	}
	// One damaged file and one sound file.
	dir, file, data := groupRun(t, 3)
	damage(t, file(3))
	out := filepath.Join(t.TempDir(), "out.fti")
	clitest.Good(t, "ff", "repair", file(3), out)
	if b, err := os.ReadFile(out); err != nil || !bytes.Equal(b, data[3]) {
		t.Errorf("%x, %v", b, err)
	}
	if out := clitest.Good(t, "ff", "repair", file(2), out); !strings.Contains(out, "nothing to repair") {
		t.Error(out)
	}
	// A node with its own disk must not report files of other nodes as lost.
	for rank := 1; rank < 4; rank++ {
		clitest.Check(t, os.RemoveAll(filepath.Join(dir, "Local", fmt.Sprintf("node%d", rank))))
	}
	if out := clitest.Good(t, "ff", "check", dir); !strings.Contains(out, "on the disk of another node") {
		t.Error(out)
	}
}

func damage(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	clitest.Check(t, err)
	b[len(b)/2] ^= 4
	clitest.Check(t, os.WriteFile(name, b, 0o666))
}

// TestPosixValues checks that dump, diff and convert read POSIX mode files like FTI-FF files.
func TestPosixValues(t *testing.T) {
	_, file, _ := groupRun(t, 3)
	if out := dumped(t, "--var", "7", "--type", "i4", file(1)); out != "100000\n100001\n100002\n100003\n" {
		t.Errorf("%q", out)
	}
	if out := clitest.Good(t, "ff", "dump", "--json", file(1)); !strings.Contains(out, `"layout": "POSIX"`) || !strings.Contains(out, `"offset": 16`) {
		t.Error(out)
	}
	if r := clitest.Blobio(t, "ff", "diff", file(1), file(2)); r.Code != cli.Findings || !strings.Contains(r.Out, "variable 7: 16 bytes and 20 bytes") || !strings.Contains(r.Out, "differ in 3 variables") {
		t.Errorf("%+v", r)
	}
	dir := t.TempDir()
	for name, args := range map[string][]string{"f": nil, "a": {"--layout", "A"}, "e": {"--layout", "E", "--compact"}, "fast": {"--hash", "fast"}} {
		out := filepath.Join(dir, name+".fti")
		clitest.Good(t, append([]string{"ff", "convert", "--no-sync", file(1), out}, args...)...)
		clitest.Good(t, "ff", "check", out)
		clitest.Good(t, "ff", "diff", file(1), out)
	}
	damage(t, file(1))
	clitest.Bad(t, cli.Findings, "MD5 of the file", "ff", "convert", file(1), filepath.Join(dir, "no.fti"))
	if r := clitest.Blobio(t, "ff", "diff", file(1), filepath.Join(dir, "f.fti")); r.Code != cli.Findings || !strings.Contains(r.Err, "MD5 of the file") {
		t.Errorf("%+v", r)
	}
	parity := strings.Replace(file(2), "Rank", "RSed", 1)
	clitest.Bad(t, cli.Failed, "a parity file of level 3 has no variables", "ff", "dump", parity)
}
