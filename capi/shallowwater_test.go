package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"blobio/internal/base/testfiles"
)

// The model of examples/shallow-water must write the same files in one run of 4 ranks and in two runs, where 7 ranks continue the
// run of 4.
func TestShallowWater(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran", "mpif90.openmpi", "mpirun.openmpi", "timeout")
	lib := pioLibrary(t, "ompi")
	run(t, "make", "pio-fortran", "FC=gfortran", "BUILD="+lib, "MPI=ompi")
	model := filepath.Join(t.TempDir(), "shallow_water")
	run(t, "mpif90.openmpi", "-O2", "-std=f2018", "-Wall", "-Werror", "-Wno-conversion", "-I"+lib+"/pio", "../examples/shallow-water/shallow_water.f90", "-o", model,
		"-L"+lib, "-lblobio_piof", "-lblobio_pio", "-Wl,-rpath,"+lib)
	for _, form := range []string{"canonical", "variable"} {
		t.Setenv("BLOBIO_PIO", form)
		at := func(dir string, args ...string) {
			run(t, "timeout", append([]string{"300", "mpirun.openmpi", "-n", args[0], model, dir}, args[1:]...)...)
		}
		whole, parts := t.TempDir(), t.TempDir()
		at(whole, "4", "60")
		at(parts, "4", "25")
		at(parts, "7", "60", "continue")
		for _, name := range []string{"history.nc", "restart.nc"} {
			if a, b := wholeFile(t, whole, name, form), wholeFile(t, parts, name, form); !bytes.Equal(a, b) || len(a) < 1000 {
				t.Errorf("%s as %s: %d and %d bytes differ", name, form, len(a), len(b))
			}
		}
	}
}

// wholeFile returns the ordinary netCDF file of the model's output.
func wholeFile(t *testing.T, dir, name, form string) []byte {
	t.Helper()
	path := filepath.Join(dir, name)
	if form != "canonical" {
		run(t, "go", "run", "blobio/cmd/blobio", "convert", path, path+".whole")
		path += ".whole"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
