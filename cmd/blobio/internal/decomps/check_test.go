package decomps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/decomps"
	"blobio/decomp"
	"blobio/internal/cli"
)

// TestCheckMaps checks the verdicts of "check" on map files of each form.
func TestCheckMaps(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		clitest.Check(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	const head = "version 2001 npes 2 ndims 1\n4\n"
	for _, c := range []struct {
		text, want string
		code       int
	}{
		{head + "0 2\n1 2\n1 2\n3 4\n", ": good", cli.Good},
		{head + "0 2\n1 2\n", "1 of 2 processes have no list", cli.Findings}, // cut at the end of a line
		{head + "0 4\n1 2 3 4\n", ": good", cli.Good},                        // also cut at the end of a line, but complete
		{head + "0 3\n1 2 2\n1 2\n3 4\n", "1 index given twice", cli.Good},
		{head + "0 3\n1 2 3\n1 2\n3 4\n", "1 element owned by several ranks", cli.Good},
		{head + "0 3\n1 2 5\n1 3\n3 4 9000000000\n", "2 indices are past the end of the array of 4 elements", cli.Good},
		{head + "0 2\n1 -2\n1 2\n3 4\n", "want >= 0", cli.Findings},
		{"version 2002 npes 2 ndims 1\n4\n0 2\n1 2\n", "unchecked: ", cli.Failed},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "Git LFS pointer", cli.Failed},
	} {
		path := file("m.dat", c.text)
		if r := clitest.Blobio(t, "check", path); r.Code != c.code || !strings.Contains(r.Out+r.Err, c.want) {
			t.Errorf("%q: exit code %d, want %d and %q\n%s%s", c.text, r.Code, c.code, c.want, r.Out, r.Err)
		}
	}
	path := file("m.dat", head+"0 3\n1 2 5\n1 2\n3 4\n")
	if out := clitest.Good(t, "decomp", "info", path); !strings.Contains(out, "D1: 1 index is past the end of the array of 4 elements and counts") {
		t.Errorf("%s", out)
	}
	cdf := filepath.Join(dir, "m.nc")
	path = file("m.dat", head+"0 2\n1 2\n1 2\n3 4\n")
	clitest.Good(t, "decomp", "convert", path, cdf)
	if out := clitest.Good(t, "check", cdf); !strings.Contains(out, ": good") {
		t.Errorf("%s", out)
	}
	b, err := os.ReadFile(cdf)
	clitest.Check(t, err)
	bad := 0
	for at := len(b) / 2; at < len(b); at += 37 { // an impossible offset or number of requests
		damaged := append([]byte{}, b...)
		damaged[at] ^= 0x80
		clitest.Check(t, os.WriteFile(cdf, damaged, 0o666))
		if r := clitest.Blobio(t, "check", cdf); r.Code == cli.Findings {
			bad++
		}
	}
	if bad == 0 {
		t.Error("no damaged map of a CDF file is found")
	}
}

// TestWarnShared checks that replay warns about elements with several owners before it writes.
func TestWarnShared(t *testing.T) {
	dims := []int64{4}
	var maps []*decomp.Map
	for _, second := range []int64{2, 1} { // offset of rank 1: disjoint from rank 0, or overlapping
		b := decomp.NewBuilder(dims, 2)
		clitest.Check(t, b.Set(0, []decomp.Req{{Offset: 0, Length: 2}}))
		clitest.Check(t, b.Set(1, []decomp.Req{{Offset: second, Length: 2}}))
		m, err := b.Map()
		clitest.Check(t, err)
		maps = append(maps, m)
	}
	var out strings.Builder
	clitest.Check(t, decomps.WarnShared(&cli.Env{Stderr: &out}, maps))
	if want := "blobio: warning: D2: 1 element owned by several ranks: the value of the highest rank is kept\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
