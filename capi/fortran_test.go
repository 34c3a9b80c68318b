package main

import (
	"blobio/internal/base/testfiles"
	"path/filepath"
	"testing"
)

// The module's generic names must accept scalars and arrays of each rank and kind.
func TestRanksOfFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran")
	lib := library(t)
	run(t, "make", "fortran", "FC=gfortran", "FFLAGS=-O2 -std=f2003 -Wall -Wextra -Werror", "BUILD="+lib)
	program := filepath.Join(t.TempDir(), "ranks")
	run(t, "gfortran", "-std=f2008", "-Wall", "-fcheck=all", "-I"+lib, "-J"+t.TempDir(), "testdata/ranks.f90", "-o", program,
		"-L"+lib, "-lblobio_fortran", "-lblobio", "-Wl,-rpath,"+lib)
	run(t, program, t.TempDir())
}

// A wrong size on one rank must be an error on all ranks that read together.
func TestFortranReadsTogether(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpif90.openmpi", "mpirun.openmpi", "pkg-config", "timeout")
	lib := library(t, "MPI=ompi")
	run(t, "make", "fortran", "FC=gfortran", "BUILD="+lib)
	program := filepath.Join(t.TempDir(), "joint")
	run(t, "mpif90.openmpi", "-std=f2008", "-Wall", "-I"+lib, "-J"+t.TempDir(), "testdata/joint.f90", "-o", program,
		"-L"+lib, "-lblobio_fortran", "-lblobio_mpi", "-Wl,-rpath,"+lib)
	run(t, "timeout", "300", "mpirun.openmpi", "-n", "2", program, t.TempDir())
}

// Stores and versioned arrays must work through the module.
func TestStoresAndArraysFromFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran")
	lib := library(t)
	run(t, "make", "fortran", "FC=gfortran", "FFLAGS=-O2 -std=f2003 -Wall -Wextra -Werror", "BUILD="+lib)
	program := filepath.Join(t.TempDir(), "keep")
	run(t, "gfortran", "-std=f2008", "-Wall", "-fcheck=all", "-I"+lib, "-J"+t.TempDir(), "testdata/keep.f90", "-o", program,
		"-L"+lib, "-lblobio_fortran", "-lblobio", "-Wl,-rpath,"+lib)
	run(t, program, t.TempDir())
}
