package main

import (
	"path/filepath"
	"testing"
)

// Scalars and arrays of each rank and kind go through the generic names of the module.
func TestRanksOfFortran(t *testing.T) {
	all(t)
	need(t, "gfortran")
	lib := library(t)
	run(t, "make", "fortran", "FC=gfortran", "FFLAGS=-O2 -std=f2003 -Wall -Wextra -Werror", "BUILD="+lib)
	program := filepath.Join(t.TempDir(), "ranks")
	run(t, "gfortran", "-std=f2008", "-Wall", "-fcheck=all", "-I"+lib, "-J"+t.TempDir(), "testdata/ranks.f90", "-o", program,
		"-L"+lib, "-lblobio_fortran", "-lblobio", "-Wl,-rpath,"+lib)
	run(t, program, t.TempDir())
}
