package fti_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// posixRun writes FTI's files in POSIX mode for checkpoint 2 of two ranks, level 4, with three variables each. If old is set,
// the metadata lack positions, as in old versions of FTI. posixRun returns the checkpoint file of rank 1, its metadata and
// its bytes.
func posixRun(t *testing.T, old bool) (file, meta string, data []byte) {
	t.Helper()
	dir := t.TempDir()
	l4, at := filepath.Join(dir, "Global", "run-1", "l4"), filepath.Join(dir, "Meta", "run-1", "l4")
	clitest.Check(t, os.MkdirAll(l4, 0o777))
	clitest.Check(t, os.MkdirAll(at, 0o777))
	var ini strings.Builder
	for rank := range 2 {
		data = bytes.Repeat([]byte{byte('a' + rank)}, 100)
		data = append(append(data, bytes.Repeat([]byte{1}, 50)...), bytes.Repeat([]byte{2}, 7)...)
		name := fmt.Sprintf("Ckpt2-Rank%d.fti", rank)
		file = filepath.Join(l4, name)
		clitest.Check(t, os.WriteFile(file, data, 0o666))
		fmt.Fprintf(&ini, "\n[%d]\n%-30s = %s\n%-30s = %d\n%-30s = %d\n%-30s = %x\n", rank, "ckpt_file_name", name, "ckpt_file_size", len(data), "ckpt_file_maxs", len(data), "ckpt_checksum", md5.Sum(data))
		pos := 0
		for k, n := range []int{100, 50, 7} {
			fmt.Fprintf(&ini, "%-30s = %d\n%-30s = %d\n", fmt.Sprintf("var%d_id", k), 10+k, fmt.Sprintf("var%d_size", k), n)
			if !old {
				fmt.Fprintf(&ini, "%-30s = %d\n%-30s = name %d\n", fmt.Sprintf("var%d_pos", k), pos, fmt.Sprintf("var%d_name", k), k)
			}
			pos += n
		}
	}
	meta = filepath.Join(at, "sector0-group0.fti")
	clitest.Check(t, os.WriteFile(meta, []byte(ini.String()), 0o666))
	return file, meta, data
}

// TestPosix checks that files of FTI's default mode are read with the help of its metadata.
func TestPosix(t *testing.T) {
	for _, old := range []bool{false, true} {
		file, meta, data := posixRun(t, old)
		clitest.Holds(t, clitest.Good(t, "ff", "ls", file), "POSIX mode (ckpt_io = 1), checkpoint 2, 157 B\nstate: metadata good", meta)
		if out := clitest.Good(t, "ff", "ls", filepath.Dir(file)); strings.Count(out, "POSIX") != 2 {
			t.Error(out)
		}
		clitest.Good(t, "ff", "check", file)
		clitest.Good(t, "ff", "check", filepath.Dir(file))
		clitest.Good(t, "check", file)
		run := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(file))))
		if out := clitest.Good(t, "ff", "ls", run); !strings.Contains(out, filepath.Join("Global", "run-1", "l4", "Ckpt2-Rank1.fti")+"  POSIX") || strings.Contains(out, "sector") {
			t.Error(out)
		}
		for _, verb := range [][]string{{"ff", "check"}, {"check"}} {
			clitest.Shows(t, "Ckpt2-Rank0.fti", append(verb, run)...)
		}
		out := filepath.Join(t.TempDir(), "out")
		clitest.Good(t, "ff", "dump", file, "-o", out, "--vars", "12,10")
		for name, want := range map[string][]byte{"var10.raw": data[:100], "var12.raw": data[150:]} {
			if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		clitest.Bad(t, cli.Failed, "no variable 99", "ff", "dump", file, "-o", filepath.Join(out, "no"), "--vars", "10,99")
		clitest.Good(t, "ff", "convert", file, filepath.Join(out, "converted"))
		// Damage a byte, the end and the metadata.
		flipped := bytes.Clone(data)
		flipped[120] ^= 1
		for what, b := range map[string][]byte{"MD5 of the file": flipped, "156 bytes, want 157": data[:156]} {
			clitest.Check(t, os.WriteFile(file, b, 0o666))
			clitest.Bad(t, cli.Findings, what, "ff", "check", file)
			clitest.Bad(t, cli.Findings, "no variable was written", "ff", "dump", file, "-o", filepath.Join(out, "no"))
			if r := clitest.Blobio(t, "ff", "dump", "--var", "10", file); r.Code != cli.Findings || r.Out != "" || !strings.Contains(r.Err, what) {
				t.Errorf("values of a damaged file: %+v", r)
			}
		}
		clitest.Check(t, os.WriteFile(file, data, 0o666))
		ini := clitest.Read(t, meta)
		clitest.Check(t, os.WriteFile(meta, append([]byte("\ufeff"), ini...), 0o666))
		clitest.Good(t, "ff", "check", file)
		for _, x := range [][2]string{{" 50\n", " 5000\n"}, {" 50\n", " -1\n"}, {" 157\n", " 9223372036854775808\n"}, {"var1_id", "var0_id"}, {"= 11\n", "= 10\n"}, {"[1]", "[0]"}} {
			clitest.Check(t, os.WriteFile(meta, []byte(strings.ReplaceAll(string(ini), x[0], x[1])), 0o666))
			clitest.Bad(t, cli.Findings, "sector0-group0.fti", "ff", "check", file)
		}
		clitest.Check(t, os.Remove(meta))
		if r := clitest.Blobio(t, "ff", "check", file); r.Code != cli.Failed || !strings.Contains(r.Out, "POSIX mode (ckpt_io = 1)") || !strings.Contains(r.Out, "sector*-group*.fti") {
			t.Errorf("without metadata: %d %s", r.Code, r.Out)
		}
	}
}
