package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"blobio/blob"
	"blobio/internal/base/testfiles"
)

// In TestContinuedUnderMPI 4 processes write a dataset, and 7 processes continue it. Then 3 processes continue it and die
// after a commit, and 2 processes continue again. Readers must see one dataset. Convert's output equals, byte for byte, the
// file that one process writes alone.
func TestContinuedUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpicc.openmpi", "mpirun.openmpi", "pkg-config")
	program := compile(t, "mpicc.openmpi", "testdata/continue.c", library(t, "MPI=ompi"), "blobio_mpi")
	for _, options := range []string{"layout=variable", "layout=variable subfiles=2", "layout=process", "layout=process compress=zstd"} {
		t.Run(options, func(t *testing.T) {
			once, legs := filepath.Join(t.TempDir(), "d.nc"), filepath.Join(t.TempDir(), "d.nc")
			run(t, "mpirun.openmpi", "-n", "1", program, once, "layout=variable", "9", "close")
			for _, l := range []struct {
				ranks, to int
				end       string
			}{{4, 2, "close"}, {7, 4, "close"}, {3, 7, "die"}, {2, 9, "close"}} {
				args := []string{"-n", strconv.Itoa(l.ranks), program, legs, options, strconv.Itoa(l.to), l.end}
				if l.end == "close" {
					run(t, "mpirun.openmpi", args...)
				} else {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					cmd := exec.CommandContext(ctx, "mpirun.openmpi", args...)
					cmd.Env = append(os.Environ(), env...)
					out, _ := cmd.CombinedOutput() // mpirun prints a line about ranks that exit without MPI_Finalize
					cancel()
					t.Logf("%s", out)
				}
				if r, err := blob.Open(t.Context(), legs, nil); err != nil || r.Records() != int64(l.to) {
					t.Fatalf("%d records wanted behind %d processes: %v", l.to, l.ranks, err)
				} else {
					r.Close()
				}
			}
			for f := range blob.Check(t.Context(), legs, nil) {
				if f.Severity >= blob.Error {
					t.Error(f)
				}
			}
			want, got := canonical(t, once), canonical(t, legs)
			if want != got {
				t.Error("not the bytes of what was written at once")
			}
		})
	}
}

// canonical returns the ordinary netCDF file that Convert writes.
func canonical(t *testing.T, name string) string {
	t.Helper()
	r, err := blob.Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := filepath.Join(t.TempDir(), fmt.Sprint(len(name), ".nc"))
	if err := blob.Convert(t.Context(), r, out, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
