package main

import (
	"blobio/internal/base/testfiles"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pioLibrary is library with PIO's API.
func pioLibrary(t *testing.T, mpi string) string {
	t.Helper()
	need(t, "pkg-config")
	dir := library(t, "MPI="+mpi)
	run(t, "make", "pio", "CC=gcc", "BUILD="+dir, "MPI="+mpi)
	return dir
}

// prototypes are the functions that pio.h declares, of SCORPIO and with PIO_NCAR.
func prototypes(t *testing.T, mpicc string) (names []string) {
	t.Helper()
	for _, form := range []string{"-UPIO_NCAR", "-DPIO_NCAR"} {
		text := run(t, mpicc, "-E", "-P", "-DPIO_API=PIO_EXPORTED", "-DBLOBIO_PIO_NO_NETCDF", form, "pio/pio.h")
		for _, m := range regexp.MustCompile(`PIO_EXPORTED \w+ (\w+)\(`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// The library exports the declarations of the header, in both forms, and the header is C and C++.
func TestHeaderOfPIO(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	const mpicc = "mpicc.openmpi"
	need(t, mpicc, "mpicxx.openmpi", "nm")
	for _, form := range []string{"-UPIO_NCAR", "-DPIO_NCAR"} {
		run(t, mpicc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", form, "-x", "c", "pio/pio.h")
		run(t, "mpicxx.openmpi", "-DOMPI_SKIP_MPICXX", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", form, "-x", "c++", "pio/pio.h")
	}
	var got []string
	for line := range strings.Lines(run(t, "nm", "-D", "--defined-only", filepath.Join(pioLibrary(t, "ompi"), "libblobio_pio.so.1"))) {
		if name := strings.Fields(line)[2]; !strings.HasPrefix(name, "blobio_pio_") { // of the Fortran modules
			got = append(got, name)
		}
	}
	want := prototypes(t, mpicc)
	if len(want) < 200 {
		t.Errorf("pio.h declares %v", want)
	}
	for _, name := range append(want, got...) {
		if slices.Contains(want, name) != slices.Contains(got, name) {
			t.Errorf("%s is declared or exported, not both", name)
		}
	}
}

func TestPIOUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	for _, c := range []struct {
		mpi, mpicc, mpirun string
		ranks              []string
	}{
		{"ompi", "mpicc.openmpi", "mpirun.openmpi", []string{"1", "2", "4"}},
		{"mpich", "mpicc.mpich", "mpirun.mpich", []string{"2"}},
	} {
		t.Run(c.mpi, func(t *testing.T) {
			need(t, c.mpicc, c.mpirun, "timeout")
			lib, flags := pioLibrary(t, c.mpi), []string{"-Ipio", "-Wl,--no-as-needed", "-lblobio_mpi"}
			program, ncar := compile(t, c.mpicc, "testdata/pio.c", lib, "blobio_pio", flags...), compile(t, c.mpicc, "testdata/pioncar.c", lib, "blobio_pio", flags...)
			for _, n := range c.ranks {
				run(t, "timeout", "300", c.mpirun, "-n", n, program, t.TempDir())
				run(t, "timeout", "300", c.mpirun, "-n", n, ncar, t.TempDir())
			}
			out := run(t, "sh", "-c", "! timeout 60 "+c.mpirun+" -n 2 "+program+" "+t.TempDir()+" abort 2>&1")
			if !strings.Contains(out, "PIO error -33: 4711 is not the id of an open file") {
				t.Errorf("a job that an error ends prints %s", out)
			}
		})
	}
}

// The modules of Fortran, with either names of arguments, under the strictest warnings that the names of PIO allow; and a program that uses them.
func TestPIOFromFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran", "mpif90.openmpi", "mpirun.openmpi", "timeout")
	lib := pioLibrary(t, "ompi")
	for _, names := range []string{"-DPIO_NCAR", ""} {
		run(t, "make", "pio-fortran", "FC=gfortran", "FFLAGS=-O2 -std=f2018 -Wall -Wextra -Werror -Wno-unused-dummy-argument "+names, "BUILD="+lib, "MPI=ompi")
	}
	program := filepath.Join(t.TempDir(), "program")
	run(t, "mpif90.openmpi", "-std=f2018", "-Wall", "-Werror", "-Wno-conversion", "-fcheck=all,no-array-temps", "-g", "-I"+lib+"/pio", "-J"+t.TempDir(),
		"testdata/pio.f90", "-o", program, "-L"+lib, "-lblobio_piof", "-lblobio_pio", "-Wl,-rpath,"+lib)
	for _, n := range []string{"1", "2", "4", "7"} {
		if out := run(t, "timeout", "300", "mpirun.openmpi", "-n", n, program, t.TempDir()); !strings.Contains(out, "good") {
			t.Errorf("%s ranks: %s", n, out)
		}
	}
}
