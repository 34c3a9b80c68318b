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

// If one of the ranks that read together passes a wrong size, all ranks must get an error.
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

// Stores and versioned arrays must work through the module, for one process and for four ranks.
func TestStoresAndArraysFromFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran", "mpif90.openmpi", "mpirun.openmpi", "pkg-config", "timeout")
	for _, v := range []struct {
		compiler, library string
		flags, vars, run  []string
	}{
		{compiler: "gfortran", library: "blobio"},
		{"mpif90.openmpi", "blobio_mpi", []string{"-DWITH_MPI"}, []string{"MPI=ompi"}, []string{"timeout", "300", "mpirun.openmpi", "-n", "4"}},
	} {
		lib := library(t, v.vars...)
		run(t, "make", "fortran", "FC=gfortran", "FFLAGS=-O2 -std=f2003 -Wall -Wextra -Werror", "BUILD="+lib)
		program := filepath.Join(t.TempDir(), "keep")
		run(t, v.compiler, append(v.flags, "-cpp", "-std=f2008", "-Wall", "-fcheck=all", "-I"+lib, "-J"+t.TempDir(), "testdata/keep.f90", "-o", program,
			"-L"+lib, "-lblobio_fortran", "-l"+v.library, "-Wl,-rpath,"+lib)...)
		command := append(v.run, program, t.TempDir())
		run(t, command[0], command[1:]...)
	}
}
