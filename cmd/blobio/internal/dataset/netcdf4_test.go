package dataset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/h5"
	"blobio/internal/cli"
)

// TestConvertNetCDF4 checks that every dataset verb reads netCDF-4 files, with each kind of compression, like the CDF-5
// file.
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
	clitest.Bad(t, cli.Failed, "cannot be combined", "convert", "--netcdf4", "--format", "cdf2", variable, out)
	clitest.Bad(t, cli.Failed, "--netcdf4 is for a canonical output", "convert", "--netcdf4", "--to", "process-centric", variable, out)
	if _, err := os.Stat(out); err == nil {
		t.Error("an output after errors")
	}
}

// withPlain makes a netCDF-4 file with a variable and an HDF5 dataset without dimension scales. CDF-5 cannot hold the HDF5
// dataset.
func withPlain(t *testing.T) string {
	b := h5.NewBuilder()
	d := b.Dataset("d", h5.Float32, []int64{3}, nil)
	d.Attr("CLASS", h5.FixedString(len("DIMENSION_SCALE")+1), nil, "DIMENSION_SCALE")
	b.Dataset("g", h5.Int8, []int64{3}, nil)
	l, err := b.Layout()
	clitest.Check(t, err)
	file := make([]byte, l.Size)
	for _, p := range l.Pieces {
		copy(file[p.Off:], p.Data)
	}
	path := filepath.Join(t.TempDir(), "plain.nc")
	clitest.Check(t, os.WriteFile(path, file, 0o666))
	return path
}

// TestLeftOut checks that items that CDF-5 cannot hold are left out with a message. check and diff then do not call the file
// sound or equal. If a file is also damaged, the verdict is "damaged".
func TestLeftOut(t *testing.T) {
	dir, canon, variable, _ := clitest.Toys(t)
	path, out := withPlain(t), filepath.Join(dir, "out.nc")
	const line = "left out: "
	for _, c := range []struct {
		code int
		args []string
	}{
		{cli.Good, []string{"dump", path}},
		{cli.Good, []string{"ls", path}},
		{cli.Good, []string{"convert", "--no-sync", path, out}},
		{cli.Failed, []string{"diff", path, out}},
		{cli.Good, []string{"diff", "--vars", "d", path, out}},
		{cli.Findings, []string{"diff", path, canon}},
	} {
		if r := clitest.Blobio(t, c.args...); r.Code != c.code || !strings.Contains(r.Out+r.Err, line) || !strings.Contains(r.Out+r.Err, "dimensions of g") {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, r.Code, c.code, r.Out, r.Err)
		}
	}
	broken := variable + ".0000"
	b, err := os.ReadFile(broken)
	clitest.Check(t, err)
	b[len(b)-1]++
	clitest.Check(t, os.WriteFile(broken, b, 0o666))
	for _, paths := range [][]string{{path}, {out, path}, {variable, path}, {path, variable}} {
		want := cli.Failed
		if len(paths) == 2 && paths[0] != out {
			want = cli.Findings
		}
		r := clitest.Blobio(t, append([]string{"check"}, paths...)...)
		if r.Code != want || !strings.Contains(r.Out, "unchecked: "+path+": dimensions of g: ") || !strings.Contains(r.Out, "no error in the checked parts, 1 unchecked") {
			t.Errorf("check %v: exit code %d, want %d\n%s%s", paths, r.Code, want, r.Out, r.Err)
		}
	}
}
