package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A C program writes stores and versioned arrays, another program continues them, and checks find a
// damaged byte.
func TestStoresAndArraysFromC(t *testing.T) {
	program := compile(t, "gcc", "testdata/keep.c", library(t), "blobio")
	dir := t.TempDir()
	run(t, program, dir)
	run(t, program, dir, "again")
	list, err := filepath.Glob(filepath.Join(dir, "rho", "*.fti"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b[len(b)/2] ^= 1
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(program, dir, "again").CombinedOutput(); err == nil || !strings.Contains(string(out), "checksum") {
		t.Errorf("damaged: %v\n%s", err, out)
	}
}

// The same test with three ranks.
func TestStoresAndArraysUnderMPI(t *testing.T) {
	need(t, "mpicc.openmpi", "mpirun.openmpi", "pkg-config")
	program := compile(t, "mpicc.openmpi", "testdata/keep.c", library(t, "MPI=ompi"), "blobio_mpi", "-DWITH_MPI")
	dir := t.TempDir()
	run(t, "mpirun.openmpi", "-n", "3", program, dir)
	run(t, "mpirun.openmpi", "-n", "3", program, dir, "again")
}
