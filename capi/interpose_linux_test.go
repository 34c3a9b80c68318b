package main

import (
	"io/fs"
	"path/filepath"
	"testing"

	"blobio/internal/base/calls/callstest"
	"blobio/internal/base/testfiles"
)

// TestSeenByInterposers checks that all writes of the libraries go through the C library, so that interposed tools see them.
func TestSeenByInterposers(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	see := func(t *testing.T, dir string, command ...string) {
		t.Helper()
		i, err := callstest.New(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		run(t, "env", append(i.Env(), command...)...)
		calls, processes := i.Calls(t)
		files := 0
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			callstest.Covers(t, calls, path)
			return nil
		})
		if err != nil || files < 2 {
			t.Errorf("%d files, %v", files, err)
		}
		t.Logf("%d files, %d calls, %d processes", files, len(calls), processes)
	}
	need(t, "mpicc.openmpi", "mpirun.openmpi", "pkg-config")
	t.Run("mpi", func(t *testing.T) {
		dir := t.TempDir()
		see(t, dir, "mpirun.openmpi", "-n", "2", compile(t, "mpicc.openmpi", "testdata/mpi.c", library(t, "MPI=ompi"), "blobio_mpi"), dir, "funneled")
	})
	t.Run("alone", func(t *testing.T) {
		dir := t.TempDir()
		see(t, dir, compile(t, "gcc", "testdata/api.c", library(t), "blobio"), dir)
	})
}
