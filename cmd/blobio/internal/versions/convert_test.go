package versions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestVersionsConvert checks that the output has the elements of all versions, like dump, and that other verbs can read it.
func TestVersionsConvert(t *testing.T) {
	dir, key := clitest.VersionStore(t)
	out := filepath.Join(t.TempDir(), "rho.nc")
	rho := filepath.Join(dir, "rho")
	var told struct {
		Path, Array     string
		Versions, Bytes int64
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "versions", "convert", "--json", "--no-sync", rho, out)), &told))
	info, err := os.Stat(out)
	clitest.Check(t, err)
	if told.Path != out || told.Array != "rho" || told.Versions != 4 || told.Bytes != info.Size() {
		t.Errorf("%+v, the file has %d bytes", told, info.Size())
	}
	r, err := blob.Open(t.Context(), out, nil)
	clitest.Check(t, err)
	defer r.Close()
	numbers := make([]int32, 4)
	clitest.Check(t, r.Read(t.Context(), "version", []int64{0}, []int64{4}, numbers))
	for i, number := range numbers {
		rec := int64(i)
		raw := filepath.Join(t.TempDir(), "raw")
		clitest.Good(t, "versions", "dump", "--version", fmt.Sprint(number), "-o", raw, rho)
		want := clitest.Read(t, raw)
		got := make([]byte, len(want))
		clitest.Check(t, r.ReadBytes(t.Context(), "rho", []int64{rec, 0, 0, 0}, []int64{1, 2, 3, 4}, got, false))
		if !bytes.Equal(got, want) || len(got) != 24*8 {
			t.Errorf("version %d: other elements", number)
		}
	}
	clitest.Holds(t, clitest.Good(t, "dump", "-c", out), "version = 0, 1, 3, 6 ;", "double rho(version, dim_0, dim_1, dim_2) ;")
	clitest.Good(t, "check", out)

	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{cli.Failed, "rho.nc already exists", []string{rho, out}},
		{cli.Failed, "--key-file", []string{filepath.Join(dir, "n"), out + "2"}},
		{cli.Failed, "no netCDF form", []string{filepath.Join(dir, "amr.level0"), out + "2"}},
		{cli.Failed, "is a store of", []string{dir, out + "2"}},
		{cli.Failed, "needs the directory", []string{rho}},
	} {
		clitest.Bad(t, c.code, c.says, append([]string{"versions", "convert"}, c.args...)...)
	}
	if _, err := os.Stat(out + "2"); err == nil {
		t.Error("there is a file though nothing could be written")
	}
	clitest.Good(t, "versions", "convert", "--no-sync", "--force", "--key-file", key, filepath.Join(dir, "n"), out)
}
