package dataset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
)

// TestConvertNetCDF4: each way to store netCDF-4 reads back as the CDF-5 file, through every verb that reads datasets.
func TestConvertNetCDF4(t *testing.T) {
	dir, canon, variable, process := clitest.Toys(t)
	want := clitest.Read(t, canon)
	for i, args := range [][]string{{"--netcdf4"}, {"--netcdf4", "--compress", "shuffle+deflate:4", "--chunk", "64K"}, {"--format", "netcdf4", "--compress", "zstd:3"}} {
		out, back := filepath.Join(dir, "out.nc"), filepath.Join(dir, "back.nc")
		from := []string{variable, process}[i%2]
		text := clitest.Good(t, append(append([]string{"convert", "--no-sync", "--force"}, args...), from, out)...)
		if !strings.HasPrefix(text, out+": ordinary netCDF, netCDF-4, 3 records, ") {
			t.Errorf("%v: convert prints %q", args, text)
		}
		clitest.Good(t, "check", out)
		clitest.Good(t, "diff", out, variable)
		clitest.Good(t, "convert", "--no-sync", "--force", out, back)
		got := clitest.Read(t, back)
		if string(got) != string(want) {
			t.Errorf("%v: converted back it is another file", args)
		}
	}
	out := filepath.Join(dir, "never.nc")
	clitest.Bad(t, cli.Failed, "CDF files have no compression", "convert", "--compress", "deflate:1", variable, out)
	clitest.Bad(t, cli.Failed, "--chunk is for --netcdf4 and --zarr", "convert", "--chunk", "1M", variable, out)
	clitest.Bad(t, cli.Failed, "an eighth of --memory", "convert", "--netcdf4", "--chunk", "9M", "--memory", "64M", variable, out)
	clitest.Bad(t, cli.Failed, "shuffle+deflate[:1-9], zstd[:1-22]", "convert", "--netcdf4", "--compress", "gzip", variable, out)
	clitest.Bad(t, cli.Failed, "want one of them", "convert", "--netcdf4", "--format", "cdf2", variable, out)
	clitest.Bad(t, cli.Failed, "--netcdf4 is for a canonical output", "convert", "--netcdf4", "--to", "process-centric", variable, out)
	if _, err := os.Stat(out); err == nil {
		t.Error("an output after errors")
	}
}
