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
	want, err := os.ReadFile(canon)
	clitest.Check(t, err)
	for i, args := range [][]string{{"--netcdf4"}, {"--nc4", "--deflate", "4"}, {"--format", "netcdf4", "--zstd", "3", "--no-shuffle"}} {
		out, back := filepath.Join(dir, "out.nc"), filepath.Join(dir, "back.nc")
		from := []string{variable, process}[i%2]
		text := clitest.Good(t, append(append([]string{"convert", "--no-sync", "--force"}, args...), from, out)...)
		if !strings.HasPrefix(text, out+": ordinary netCDF, netCDF-4, 3 records, ") {
			t.Errorf("%v: convert prints %q", args, text)
		}
		clitest.Good(t, "check", out)
		clitest.Good(t, "diff", out, variable)
		clitest.Good(t, "convert", "--no-sync", "--force", out, back)
		got, err := os.ReadFile(back)
		clitest.Check(t, err)
		if string(got) != string(want) {
			t.Errorf("%v: converted back it is another file", args)
		}
	}
	out := filepath.Join(dir, "never.nc")
	clitest.Bad(t, cli.Failed, "--deflate is for --netcdf4", "convert", "--deflate", "1", variable, out)
	clitest.Bad(t, cli.Failed, "want one of them", "convert", "--netcdf4", "--deflate", "1", "--zstd", "1", variable, out)
	clitest.Bad(t, cli.Failed, "want one of them", "convert", "--netcdf4", "--format", "cdf2", variable, out)
	clitest.Bad(t, cli.Failed, "--format is for a canonical output", "convert", "--netcdf4", "--to", "process-centric", variable, out)
	if _, err := os.Stat(out); err == nil {
		t.Error("an output after errors")
	}
}
