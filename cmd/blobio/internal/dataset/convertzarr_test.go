package dataset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestConvertZarr checks that the flag and the file name select Zarr, that no partial output remains, and that only Zarr groups
// are replaced.
func TestConvertZarr(t *testing.T) {
	dir, _, variable, process := clitest.Toys(t)
	out := filepath.Join(dir, "out.zarr")
	text := clitest.Good(t, "convert", "--no-sync", variable, out)
	if !strings.HasPrefix(text, out+": Zarr 3 directory, 3 records, ") || !strings.Contains(text, "6 variables") {
		t.Errorf("convert prints %q", text)
	}
	meta := func(dir string) (shape []int64, codecs int) {
		t.Helper()
		b := clitest.Read(t, filepath.Join(dir, "T", "zarr.json"))
		var m struct {
			Shape  []int64
			Codecs []any
		}
		clitest.Check(t, json.Unmarshal(b, &m))
		return m.Shape, len(m.Codecs)
	}
	if shape, codecs := meta(out); len(shape) != 3 || shape[0] != 3 || codecs != 1 {
		t.Errorf("T has shape %v and %d codecs", shape, codecs)
	}
	clitest.Bad(t, cli.Failed, "already exists (--force replaces the output)", "convert", process, out)
	clitest.Good(t, "convert", "--force", "--no-sync", "--vars", "T,time", "--records", "1:", "--compress", "zstd:3", "--crc32c", process, out)
	if shape, codecs := meta(out); shape[0] != 2 || codecs != 3 {
		t.Errorf("T has shape %v and %d codecs", shape, codecs)
	}
	if _, err := os.Stat(filepath.Join(out, "P0")); err == nil {
		t.Error("a variable that was not asked for")
	}
	clitest.Good(t, "convert", "--force", "--no-sync", "--vars", "T", "-C", "-d", "ncol,1,5,2", "-d", "time,2", variable, out)
	if shape, _ := meta(out); shape[0] != 1 || shape[1] != 2 || shape[2] != 3 {
		t.Errorf("a part of T has shape %v", shape)
	}
	clitest.Bad(t, cli.Failed, "", "convert", "--force", "--records", "1:", "-d", "time,2", variable, out)
	var res struct {
		Layout  string
		Bytes   int64
		Records int
	}
	other := filepath.Join(dir, "other")
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "convert", "--json", "--zarr", "--compress", "gzip", variable, other)), &res))
	if res.Layout != "zarr" || res.Bytes == 0 || res.Records != 3 {
		t.Errorf("convert --json says %+v", res)
	}
	for _, args := range [][]string{{"ls", out}, {"dump", out}, {"check", out}, {"diff", variable, out}, {"convert", out, filepath.Join(dir, "back.nc")}, {"ls", filepath.Join(out, "T")}} {
		clitest.Bad(t, cli.Failed, "blobio cannot read Zarr 3 directories; zarr-python, xarray.open_zarr and dask can", args...)
	}
	mine := filepath.Join(dir, "mine")
	clitest.Check(t, os.Mkdir(mine, 0o777))
	clitest.Check(t, os.WriteFile(filepath.Join(mine, "thesis"), nil, 0o666))
	clitest.Bad(t, cli.Failed, "blobio: the output "+mine+" is a directory, but not a Zarr group", "convert", "--zarr", "--force", variable, mine)
	none := filepath.Join(dir, "none")
	for _, name := range []string{"x.zarr", "x.nc"} {
		clitest.Bad(t, cli.Failed, ": no directory "+none+": ", "convert", variable, filepath.Join(none, name))
	}
	for _, args := range [][]string{{"--zarr", "--format", "cdf2"}, {"--zarr", "--ranks", "2"}, {"--zarr", "--fill", "zero"}, {"--crc32c"}, {"--chunk", "1M"},
		{"--zarr", "--compress", "zstd:23"}, {"--zarr", "--chunk", "1"}, {"--zarr", "--compress", "deflate"}, {"--zarr", "--compress", "gzip:0"}, {"--zarr", "--compress", "off:1"}} {
		clitest.Bad(t, cli.Failed, "", append(append([]string{"convert"}, args...), variable, filepath.Join(dir, "bad"))...)
	}
	if _, err := os.Lstat(filepath.Join(dir, "bad")); err == nil {
		t.Error("an output of a wrong command line")
	}
}
