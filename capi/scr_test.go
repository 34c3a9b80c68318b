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

// scrLibrary builds the library with the SCR API.
func scrLibrary(t *testing.T, mpi string) string {
	t.Helper()
	need(t, "pkg-config")
	dir := library(t, "MPI="+mpi)
	run(t, "make", "scr", "CC=gcc", "BUILD="+dir, "MPI="+mpi)
	return dir
}

// The library must export the functions of scr.h, and one Fortran name for each.
func TestHeaderOfSCR(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	want := declaredBy(t, "scr/scr.h")
	for _, name := range want {
		if name != "SCR_Configf" && name != "SCR_Get_version" {
			want = append(want, strings.ToLower(name)+"_")
		}
	}
	exported(t, scrLibrary(t, "ompi")+"/libblobio_scr.so.1", want)
}

// An SCR program is killed, restarts, loses a node, and restarts again. All its checkpoints use the same file names.
func TestSCRUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	for _, c := range []struct{ mpi, mpicc, mpirun, ranks string }{
		{"ompi", "mpicc.openmpi", "mpirun.openmpi", "4"},
		{"mpich", "mpicc.mpich", "mpirun.mpich", "2"},
	} {
		t.Run(c.mpi, func(t *testing.T) {
			need(t, c.mpicc, c.mpirun, "timeout", "sh")
			program := compile(t, c.mpicc, "testdata/scr.c", scrLibrary(t, c.mpi), "blobio_scr", "-Iscr", "-Wl,--no-as-needed", "-lblobio_mpi")
			for name, settings := range map[string][]string{
				"bypass":  nil, // the default
				"partner": {"SCR_CACHE_BYPASS=0", "SCR_FLUSH=0", "SCR_COPY_TYPE=PARTNER", "SCR_CACHE_SIZE=2"},
				"xor":     {"SCR_CACHE_BYPASS=0", "SCR_FLUSH=2", "SCR_COPY_TYPE=XOR"},
			} {
				t.Run(name, func(t *testing.T) {
					dir := t.TempDir()
					env := append([]string{"SCR_USER_NAME=me", "SCR_JOB_ID=7", "SCR_CNTL_BASE=/cntl", "SCR_CACHE_BASE=/cache"}, settings...)
					job := func(args ...string) string {
						list := append(slices.Clone(env), "timeout", "120", c.mpirun, "-n", c.ranks, program, dir)
						return run(t, "env", append(list, args...)...)
					}
					killed := func(expect, step int) {
						line := fmt.Sprintf("! timeout 120 %s -n %s %s %s %s %d %d %d", c.mpirun, c.ranks, program, dir, c.ranks, expect, step, step)
						run(t, "env", append(slices.Clone(env), "sh", "-c", line)...)
					}
					job(c.ranks, "0", "3")
					os.Remove(filepath.Join(dir, "prefix/.scr/halt.scr")) // the first run has recorded a normal end
					killed(3, 4)
					if settings != nil { // a lost node has no files of a bypassed checkpoint
						if err := os.RemoveAll(filepath.Join(dir, "node1")); err != nil {
							t.Fatal(err)
						}
					}
					killed(3, 4)
					if out := job(c.ranks, "3", "6"); !strings.Contains(out, "good") {
						t.Errorf("the last run: %s", out)
					}
				})
			}
		})
	}
}

func TestSCRDisabled(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpicc.openmpi", "mpirun.openmpi", "timeout", "env")
	program := compile(t, "mpicc.openmpi", "testdata/scr.c", scrLibrary(t, "ompi"), "blobio_scr", "-Iscr", "-Wl,--no-as-needed", "-lblobio_mpi")
	out := run(t, "env", "SCR_ENABLE=0", "timeout", "120", "mpirun.openmpi", "-n", "2", program, t.TempDir(), "2", "0", "1")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); lines[len(lines)-1] != "good" || strings.Contains(out, "SCR_Need_checkpoint") {
		t.Errorf("it said %s", out)
	}
}

// A program with eight ranks on four nodes loses a node and goes on with six ranks on three nodes. Each node has written a blob
// dataset into its cache; six ranks read them all. The result equals the result of an undisturbed run.
func TestRestartOnFewerRanks(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpicc.openmpi", "mpirun.openmpi", "timeout", "sh", "pkg-config")
	program := compile(t, "mpicc.openmpi", "testdata/fewer.c", scrLibrary(t, "ompi"), "blobio_scr", "-Iscr", "-Wl,--no-as-needed", "-lblobio_mpi")
	job := func(dir, scheme, not, ranks string, args ...string) string {
		line := fmt.Sprintf("%s timeout 120 mpirun.openmpi -n %s %s %s %s", not, ranks, program, dir, strings.Join(args, " "))
		return run(t, "env", "SCR_USER_NAME=me", "SCR_JOB_ID=7", "SCR_CNTL_BASE=/cntl", "SCR_CACHE_BASE=/cache", "SCR_CACHE_BYPASS=0",
			"SCR_FLUSH=0", "SCR_COPY_TYPE="+scheme, "SCR_CACHE_SIZE=2", "sh", "-c", line)
	}
	whole := t.TempDir()
	job(whole, "SINGLE", "", "8", "0,1,2,3", "0", "6")
	for _, scheme := range []string{"XOR", "PARTNER"} {
		t.Run(scheme, func(t *testing.T) {
			dir := t.TempDir()
			job(dir, scheme, "!", "8", "0,1,2,3", "4", "6")
			if err := os.RemoveAll(filepath.Join(dir, "node1")); err != nil {
				t.Fatal(err)
			}
			if out := job(dir, scheme, "", "6", "0,2,3", "0", "6"); !strings.Contains(out, "from step 3\n") {
				t.Errorf("restarted %s", out)
			}
			if text(t, filepath.Join(dir, "result")) != text(t, filepath.Join(whole, "result")) {
				t.Error("the results differ")
			}
		})
	}
}

// A Fortran program with scrf.h restarts from its last checkpoint.
func TestSCROfFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpif90.openmpi", "mpirun.openmpi", "timeout", "env")
	lib, program, dir := scrLibrary(t, "ompi"), filepath.Join(t.TempDir(), "scr"), t.TempDir()
	run(t, "mpif90.openmpi", "-Wall", "-fcheck=all", "-Iscr", "testdata/scr.f90", "-o", program,
		"-L"+lib, "-lblobio_scr", "-lblobio_mpi", "-Wl,-rpath,"+lib)
	for _, steps := range [][]string{{"0", "2"}, {"2", "4"}} {
		run(t, "env", "SCR_USER_NAME=me", "SCR_JOB_ID=7", "SCR_CNTL_BASE="+dir+"/cntl", "SCR_CACHE_BASE="+dir+"/cache",
			"timeout", "120", "mpirun.openmpi", "-n", "2", program, dir+"/prefix", steps[0], steps[1])
		os.Remove(filepath.Join(dir, "prefix/.scr/halt.scr")) // the first run has recorded a normal end
	}
}
