package rates_test

import (
	"os"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/bench"
)

// asBlobio makes this program the command, as which the bench starts it again.
const asBlobio = "BLOBIO_TEST_AS_BLOBIO"

func TestMain(m *testing.M) {
	if os.Getenv(asBlobio) != "" {
		verbs.Main()
	}
	os.Exit(m.Run())
}

// TestBenchInplace runs the workload with processes of its own: whatever is here is measured, of the rest it is told. Python is asked, and nothing of
// it may be absent, with BLOBIO_PYTHON: its modules take long to load.
func TestBenchInplace(t *testing.T) {
	self, err := os.Executable()
	clitest.Check(t, err)
	t.Setenv(asBlobio, "1")
	dir := t.TempDir()
	o := bench.Options{Dir: dir, Quick: true, Self: []string{self, "bench", "worker"}, Log: func(s string) { t.Log(s) }}
	python := os.Getenv("BLOBIO_PYTHON") != "" && os.Getenv("BLOBIO_PYTHON") != "0"
	if python {
		o.Python, err = bench.FindPackage(t.Context(), t.TempDir())
		clitest.Check(t, err)
	} else {
		t.Setenv("PATH", "")
	}
	res, err := bench.Run(t.Context(), o, "inplace")
	clitest.Check(t, err)
	left, err := os.ReadDir(dir)
	clitest.Check(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	skipped := strings.Join(res.Skipped, "\n")
	rows := func(what string, whos int, unless ...string) {
		t.Helper()
		found := map[string]bool{}
		for _, r := range res.Rows {
			if r.What == what {
				found[r.Who] = true
				if len(r.Seconds) != res.Runs {
					t.Errorf("%s: %d runs", what, len(r.Seconds))
				}
			}
		}
		for _, words := range unless {
			if strings.Contains(skipped, words) {
				whos = 0
			}
		}
		if len(found) != whos {
			t.Errorf("%s is of %v, want %d", what, found, whos)
		}
	}
	for _, by := range []string{"mount", "DAP2", "Zarr"} {
		rows("first level of T: "+by+", own client", 2, by+", own client: ")
		rows("open: "+by+", own client", 2, by+", own client: ")
	}
	rows("convert, open, read: own client", 2)
	rows("open: library", 2)
	rows("first level of T: mount, netCDF4", 2, "mount, netCDF4: ", "Python: ")
	rows("first level of T: DAP2, netCDF4", 2, "DAP2, netCDF4: ", "Python: ")
	rows("first level of T: Zarr, zarr", 2, "Zarr, zarr: ", "Python: ")
	rows("first level of T: Python, xarray", 2, "Python, xarray: ", "Python: ")
	rows("whole file: dd through the mount", 2, "whole file: dd through the mount: ")
	rows("whole file: dd through a pass-through", 1, "whole file: dd through the mount: ")
	rows("whole file: ReadAt of 4 MiB", 2)
	rows("whole file: convert", 2)
	rows("mean of U: dask over Zarr", 2, ", mean: ")
	rows("mean of U: dask over the file", 1, ", mean: ")
	rows("greedy requests", 1, ", load: ")
	for _, r := range res.Rows {
		if r.What == "greedy requests" && (len(r.Memory) != res.Runs || r.Memory[0] < 1<<20 || r.Bytes == 0 || !strings.Contains(r.Note, " 0 refused")) {
			t.Errorf("%+v", r)
		}
	}
	for _, s := range res.Skipped {
		if python && !strings.Contains(s, "mount") {
			t.Errorf("BLOBIO_PYTHON is set, but %s", s)
		}
	}
}
