package main

import (
	"blobio/internal/base/testfiles"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pioLibrary builds the library with the PIO API.
func pioLibrary(t *testing.T, mpi string) string {
	t.Helper()
	need(t, "pkg-config")
	dir := library(t, "MPI="+mpi)
	run(t, "make", "pio", "CC=gcc", "BUILD="+dir, "MPI="+mpi)
	return dir
}

// The library must export the functions of the header, for SCORPIO and with PIO_NCAR.
func TestHeaderOfPIO(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	exported(t, pioLibrary(t, "ompi")+"/libblobio_pio.so.1", append(declaredBy(t, "pio/pio.h", "-UPIO_NCAR"), declaredBy(t, "pio/pio.h", "-DPIO_NCAR")...))
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

// The Fortran modules, with both sets of argument names, must compile under the strictest warnings that PIO's names allow.
// Programs then use them.
func TestPIOFromFortran(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	for _, c := range []struct {
		mpi, flag       string
		programs, ranks []string
	}{
		{"openmpi", "-DPIO_NCAR", []string{"pioncar"}, []string{"2"}},
		{"openmpi", "", []string{"pio", "piof08"}, []string{"1", "2", "4", "7"}},
		{"mpich", "", []string{"pio", "piof08"}, []string{"2"}},
	} {
		mpif90, mpirun, mpi := "mpif90."+c.mpi, "mpirun."+c.mpi, strings.Replace(c.mpi, "openmpi", "ompi", 1)
		need(t, "gfortran", mpif90, mpirun, "timeout")
		lib := pioLibrary(t, mpi)
		run(t, "make", "pio-fortran", "FC=gfortran", "FFLAGS=-O2 -std=f2018 -Wall -Wextra -Werror -Wno-unused-dummy-argument "+c.flag, "BUILD="+lib, "MPI="+mpi)
		for _, name := range c.programs {
			program := filepath.Join(t.TempDir(), name)
			run(t, mpif90, "-std=f2018", "-Wall", "-Werror", "-Wno-conversion", "-fcheck=all,no-array-temps", "-g", "-I"+lib+"/pio", "-J"+t.TempDir(),
				"testdata/"+name+".f90", "-o", program, "-L"+lib, "-lblobio_piof", "-lblobio_pio", "-Wl,-rpath,"+lib)
			for _, n := range c.ranks {
				if out := run(t, "timeout", "300", mpirun, "-n", n, program, t.TempDir()); !strings.Contains(out, "good") {
					t.Errorf("%s on %s ranks of %s: %s", name, n, c.mpi, out)
				}
			}
		}
	}
}

// TestStats checks that BLOBIO_STATS=1 prints one line for each closed file, from C and from PIO, and that any other value is
// an error.
func TestStats(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "mpicc.openmpi", "mpif90.openmpi", "mpirun.openmpi", "gfortran", "timeout")
	lib := pioLibrary(t, "ompi")
	run(t, "make", "pio-fortran", "FC=gfortran", "BUILD="+lib, "MPI=ompi")
	model, field := filepath.Join(t.TempDir(), "model"), filepath.Join(t.TempDir(), "field")
	run(t, "mpif90.openmpi", "-I"+lib+"/pio", "../examples/shallow-water/shallow_water.f90", "-o", model, "-L"+lib, "-lblobio_piof", "-lblobio_pio", "-Wl,-rpath,"+lib)
	run(t, "mpicc.openmpi", "-DWITH_MPI", "-I.", "../examples/c/field.c", "-o", field, "-L"+lib, "-lblobio_mpi", "-Wl,-rpath,"+lib)
	t.Setenv("BLOBIO_STATS", "1")
	line := regexp.MustCompile(`(?m)^blobio: \S+/(\S+): 3 ranks, (\d+) bytes (?:written|put).*seconds \(least, mean, most of a rank\)(?: [a-z]+ \d+\.\d{3} \d+\.\d{3} \d+\.\d{3})+$`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{model, t.TempDir(), "20"}, "history.nc 186648 restart.nc 62208"}, // 3 variables of 72 by 36 doubles, and 3 records with a time
		{[]string{field, filepath.Join(t.TempDir(), "field.nc")}, "field.nc "},
	} {
		out := run(t, "timeout", append([]string{"100", "mpirun.openmpi", "-n", "3"}, c.args...)...)
		var got []string
		for _, m := range line.FindAllStringSubmatch(out, -1) {
			got = append(got, m[1], m[2])
		}
		if !strings.HasPrefix(strings.Join(got, " "), c.want) {
			t.Errorf("%v: %v, want %s:\n%s", c.args, got, c.want, out)
		}
	}
	t.Setenv("BLOBIO_STATS", "yes")
	if out := run(t, "sh", "-c", "! timeout 100 mpirun.openmpi -n 2 "+model+" "+t.TempDir()+" 20 2>&1"); !strings.Contains(out, `BLOBIO_STATS is "yes", want 1 or 0`) {
		t.Error(out)
	}
}

// Programs must find the files that install-pio and install-scr install, by pkg-config and by CMake.
func TestInstalledPIO(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gfortran", "mpicc.openmpi", "mpif90.openmpi", "mpirun.openmpi", "pkg-config", "cmake", "timeout")
	dir := t.TempDir()
	run(t, "make", "install-library", "install-pio", "install-scr", "CC=gcc", "FC=gfortran", "MPI=ompi", "BUILD="+library(t, "MPI=ompi"), "PREFIX="+dir)
	for _, name := range []string{"lib/libblobio_pio.a", "lib/libblobio_piof.a", "include/pio.h", "include/pio.mod", "include/scr.h", "share/man/man3/PIOc_createfile.3"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("PKG_CONFIG_PATH", dir+"/lib/pkgconfig")
	for _, c := range []struct{ compiler, source, flags string }{
		{"mpicc.openmpi", "testdata/pioncar.c", "$(pkg-config --cflags --libs blobio_pio)"},
		{"mpicc.openmpi", "testdata/pioncar.c", "-I" + dir + "/include " + dir + "/lib/libblobio_pio.a " + dir + "/lib/libblobio_mpi.a -lpthread"},
		{"mpif90.openmpi", "../examples/shallow-water/shallow_water.f90", "$(pkg-config --cflags --libs blobio_piof)"},
		{"mpicc.openmpi", "testdata/scr.c", "$(pkg-config --cflags --libs blobio_scr blobio_mpi)"},
	} {
		out := filepath.Join(t.TempDir(), "program")
		run(t, "sh", "-c", c.compiler+" -Wl,-rpath,"+dir+"/lib "+c.source+" -o "+out+" "+c.flags)
		if c.source == "testdata/pioncar.c" {
			run(t, "timeout", "300", "mpirun.openmpi", "-n", "2", out, t.TempDir())
		}
	}

	// Without a Fortran compiler.
	run(t, "make", "install-fti", "CC=gcc", "FC=none", "MPI=ompi", "BUILD="+library(t, "MPI=ompi"), "PREFIX="+dir)
	if _, err := os.Stat(dir + "/include/fti.h"); err != nil {
		t.Error(err)
	}

	project := t.TempDir()
	for name, text := range map[string]string{"main.f90": "program main\n use pio\n print *, pio_get_version_major()\nend program\n", "main.c": "#include <pio.h>\nint main(void) { return PIOc_iotype_available(1) != 1; }\n",
		"CMakeLists.txt": `cmake_minimum_required(VERSION 3.18)
project(user C Fortran)
find_package(blobio REQUIRED COMPONENTS pio pio_fortran scr)
add_executable(f main.f90)
target_link_libraries(f blobio::pio_fortran)
add_executable(c main.c)
target_link_libraries(c blobio::pio)
`} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "cmake", "-S", project, "-B", project+"/build", "-DCMAKE_PREFIX_PATH="+dir)
	run(t, "cmake", "--build", project+"/build")
	run(t, project+"/build/c")
	run(t, project+"/build/f")
}
