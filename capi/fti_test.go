package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/internal/base/testfiles"
)

// ftiLibrary builds the library with the FTI API.
func ftiLibrary(t *testing.T, mpi string) string {
	t.Helper()
	need(t, "pkg-config")
	dir := library(t, "MPI="+mpi)
	run(t, "make", "fti", "CC=gcc", "BUILD="+dir, "MPI="+mpi)
	return dir
}

// ftiConfig writes an FTI configuration file, based on FTI's template, with each rank as a node. It returns the file's name.
func ftiConfig(t *testing.T, dir string, ranks, more string) string {
	t.Helper()
	name := filepath.Join(dir, "config.fti")
	text := fmt.Sprintf(`# a configuration
[Basic]
Head = 0
Node_size = 1
Ckpt_dir = %[1]s/Local	#/path/to/local/storage/
Glbl_dir = %[1]s/Global
Meta_dir = %[1]s/Meta
Ckpt_L1 = 3
Group_size = %[2]s ; all
ckpt_io = 3
Verbosity = 2
%[3]s
[Restart]
Failure = 0
Exec_ID = XXXX-XX-XX_XX-XX-XX # of the run
[Advanced]
Block_size = 1024
Local_test = 1
`, dir, ranks, more)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The library must export what fti.h declares.
func TestHeaderOfFTI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	exported(t, ftiLibrary(t, "ompi")+"/libblobio_fti.so.1", declaredBy(t, "fti/fti.h"))
}

// An FTI program is killed during a checkpoint and loses a node. It restarts with FTI_Recover, and variable by variable.
func TestFTIUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	for _, c := range []struct{ mpi, mpicc, mpirun, ranks string }{
		{"ompi", "mpicc.openmpi", "mpirun.openmpi", "4"},
		{"mpich", "mpicc.mpich", "mpirun.mpich", "2"},
	} {
		t.Run(c.mpi, func(t *testing.T) {
			need(t, c.mpicc, c.mpirun, "timeout", "sh")
			program := compile(t, c.mpicc, "testdata/fti.c", ftiLibrary(t, c.mpi), "blobio_fti", "-Ifti", "-Wl,--no-as-needed", "-lblobio_mpi", "-lm")
			for level := 1; level <= 8; level++ {
				t.Run(fmt.Sprint(level), func(t *testing.T) {
					dir := t.TempDir()
					config := ftiConfig(t, dir, c.ranks, "enable_dcp = 1\ndcp_mode = 1\ndcp_block_size = 512")
					killed := func(expect, step int) {
						line := fmt.Sprintf("! timeout 120 %s -n %s %s %s %d %d %d %d", c.mpirun, c.ranks, program, config, level, expect, step+1, step)
						run(t, "sh", "-c", line)
					}
					killed(0, 4)
					if l := (level-1)%4 + 1; l > 1 { // level 1 data are lost with their node
						if err := os.RemoveAll(filepath.Join(dir, "Local/node1")); err != nil {
							t.Fatal(err)
						}
					}
					killed(4, 7)
					if out := run(t, "timeout", "120", c.mpirun, "-n", c.ranks, program, config, fmt.Sprint(level), "7", "9"); !strings.Contains(out, "good") {
						t.Errorf("the last run: %s", out)
					}
					if list, err := filepath.Glob(filepath.Join(dir, "*/*/*/*")); err != nil || len(list) > 0 {
						t.Errorf("left behind: %v %v", list, err)
					}
				})
			}
		})
	}
}

// The Fortran module must work with variables of several types and ranks, all levels, and both kinds of restart.
func TestFTIFromFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran", "mpifort.openmpi", "mpirun.openmpi", "timeout")
	lib := ftiLibrary(t, "ompi")
	run(t, "make", "fti-fortran", "CC=gcc", "BUILD="+lib, "MPI=ompi", "FFLAGS=-O1 -Wall -Werror -Wno-unused-dummy-argument")
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	run(t, "mpifort.openmpi", "-Wall", "-g", "-I"+lib+"/fti", "testdata/fti.f90", "-o", program, "-L"+lib, "-Wl,-rpath,"+lib, "-lblobio_ftif", "-lblobio_fti", "-lblobio_mpi")
	config := ftiConfig(t, dir, "4", "")
	for _, r := range [][2]string{{"0", "3"}, {"3", "4"}, {"4", "6"}, {"0", "6"}} {
		if out := run(t, "timeout", "120", "mpirun.openmpi", "-n", "4", program, config, r[0], r[1]); !strings.Contains(out, "good") {
			t.Errorf("from step %s to %s: %s", r[0], r[1], out)
		}
	}
}

// A program uses the libraries of SCR and FTI and blobio's own functions, and dies. It must find its state with each of
// them.
func TestTogether(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpicc.openmpi", "mpirun.openmpi", "timeout", "sh", "env")
	ftiLibrary(t, "ompi")
	program := compile(t, "mpicc.openmpi", "testdata/together.c", scrLibrary(t, "ompi"), "blobio_scr", "-Ifti", "-Iscr", "-Wl,--no-as-needed", "-lblobio_fti", "-lblobio_mpi")
	dir := t.TempDir()
	config := ftiConfig(t, dir, "2", "")
	job := "timeout 120 mpirun.openmpi -n 2 " + program + " " + config + " " + dir
	env := []string{"SCR_USER_NAME=me", "SCR_JOB_ID=7", "SCR_CNTL_BASE=" + dir + "/cntl", "SCR_CACHE_BASE=" + dir + "/cache", "sh", "-c"}
	run(t, "env", append(slices.Clone(env), "! "+job)...)
	if out := run(t, "env", append(slices.Clone(env), job)...); !strings.Contains(out, "found") {
		t.Error(out)
	}
}
