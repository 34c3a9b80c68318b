package mesh_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// contents are the bytes of a file, or of all files of a directory but for the manifest, which has a random id.
func contents(t *testing.T, path string) string {
	t.Helper()
	var b strings.Builder
	clitest.Check(t, filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "blobio.manifest" {
			return err
		}
		x, err := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(name, path), x)
		return err
	}))
	return b.String()
}

// flipBit changes a bit of a file; doing it again puts it back.
func flipBit(t *testing.T, name string, at int64, bit byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	clitest.Check(t, err)
	defer f.Close()
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	clitest.Check(t, err)
	b[0] ^= 1 << bit
	_, err = f.WriteAt(b, at)
	clitest.Check(t, err)
}

// TestAmrDamage: a changed bit in any file of any form is an error of whatever reads it, and leaves no output; or
// it is of no consequence: what comes out is what comes out of the whole one.
func TestAmrDamage(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	out := at("out")
	clitest.Good(t, "amr", "gen", "uniform", "--no-sync", "--roots", "2", "--cells", "4", "--levels", "1", "--fields", "2", "--particles", "3", "--files", "2", at("Check"))
	flips := 2
	if os.Getenv("BLOBIO_LONG") != "" {
		flips = 60
	}
	files := clitest.Glob(t, filepath.Join(at("Check"), "*"))
	verbs := [][]string{{"convert", "--no-sync", at("Check"), out}, {"convert", "--no-sync", "--to", "cello", at("Check"), out}, {"convert", "--no-sync", "--to", "yt", at("Check"), out},
		{"dump", "--json", at("Check"), "0"}, {"dump", "--json", at("Check"), "12"}, {"plot", "--by", "owner", "--ranks", "3", "-o", out + ".svg", at("Check")}}
	run := func(verb []string) (printed, made string, r clitest.Result) {
		r = clitest.Blobio(t, append([]string{"amr"}, verb...)...)
		if verb[0] == "dump" {
			printed = r.Out
		}
		for _, name := range []string{out, out + ".svg"} {
			if clitest.There(name) {
				made += contents(t, name)
				clitest.Check(t, os.RemoveAll(name))
			}
		}
		return printed, made, r
	}
	var wholePrinted, wholeMade []string
	for _, v := range verbs {
		p, m, r := run(v)
		if r.Code != cli.Good || p+m == "" {
			t.Fatalf("%v: exit code %d, %s", v, r.Code, r.Err)
		}
		wholePrinted, wholeMade = append(wholePrinted, p), append(wholeMade, m)
	}
	rnd := rand.New(rand.NewPCG(1, 5))
	refused := 0
	for _, name := range files {
		info, err := os.Stat(name)
		clitest.Check(t, err)
		n := flips
		if strings.HasSuffix(name, ".h5") || strings.HasSuffix(name, ".nc") {
			n *= 3
		}
		for range n {
			off, bit := rnd.Int64N(info.Size()), byte(rnd.IntN(8))
			flipBit(t, name, off, bit)
			for i, v := range verbs {
				p, m, r := run(v)
				switch {
				case r.Code != cli.Good:
					refused++
					if p+m != "" || !strings.HasPrefix(r.Err, "blobio: ") {
						t.Errorf("%s, bit %d of byte %d: %v: exit code %d, but there is output; %s", filepath.Base(name), bit, off, v, r.Code, r.Err)
					}
				case p != wholePrinted[i] || m != wholeMade[i]:
					t.Errorf("%s, bit %d of byte %d: %v: exit code 0, and something else comes out: %s", filepath.Base(name), bit, off, v, r.Err)
				}
			}
			flipBit(t, name, off, bit)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	if left := clitest.Names(t, dir); left != "Check" {
		t.Errorf("left: %s", left)
	}
}
