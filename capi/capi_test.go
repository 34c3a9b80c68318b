package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/testfiles"
	"blobio/internal/base/version"
)

// need skips the test unless BLOBIO_CAPI requests the tests of the C library. Every tool must then be installed.
func need(t *testing.T, tools ...string) {
	t.Helper()
	testfiles.Ask(t, "CAPI")
	if runtime.GOOS != "linux" {
		t.Skip("the Makefile is for Linux")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("BLOBIO_CAPI is set, but %s is not installed", tool)
		}
	}
}

// env allows MPI programs to run on one machine, and makes the tests independent of the user's settings.
var env = []string{
	"LC_ALL=C.UTF-8", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_ess_singleton_isolated=1", "GODEBUG=cgocheck=1",
	"ASAN_OPTIONS=detect_leaks=1",
}

// run runs a program, which must succeed, and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		s := out.String()
		if len(s) > 6000 {
			s = s[:3000] + "\n...\n" + s[len(s)-3000:]
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, s)
	}
	return out.String()
}

// builds is the directory for the libraries, which are built once for all tests.
var builds string

func TestMain(m *testing.M) {
	var err error
	if builds, err = os.MkdirTemp("", "blobio-capi"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(builds)
	os.Exit(code)
}

// library builds the library with the Makefile and returns its directory.
func library(t *testing.T, vars ...string) string {
	t.Helper()
	need(t, "gcc", "make", "go")
	dir := filepath.Join(builds, regexp.MustCompile(`\W+`).ReplaceAllString("lib "+strings.Join(vars, " "), "_"))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	run(t, "make", append([]string{"shared", "CC=gcc", "BUILD=" + dir}, vars...)...)
	return dir
}

// compile builds a C program against the library.
func compile(t *testing.T, cc, src, dir, lib string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-I."}, flags...)
	run(t, cc, append(args, src, "-o", out, "-L"+dir, "-l"+lib, "-lpthread", "-Wl,-rpath,"+dir)...)
	return out
}

func TestTheWholeAPIFromC(t *testing.T) {
	lib := library(t)
	run(t, compile(t, "gcc", "testdata/api.c", lib, "blobio"), t.TempDir())
	exported(t, lib+"/libblobio.so.1", declared(t, "blobio.h"))
	late := filepath.Join(t.TempDir(), "late")
	run(t, "gcc", "-Wall", "-Wextra", "-Werror", "testdata/dlopen.c", "-o", late, "-ldl")
	run(t, late, lib+"/libblobio.so.1")
	if _, err := exec.LookPath("g++"); err == nil { // the header must also be valid in C++
		run(t, "g++", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "blobio.h")
	}
}

// TestOneOfSeveral checks that in one of several processes a library without MPI returns an error, unless BLOBIO_MPI=0 is set.
func TestOneOfSeveral(t *testing.T) {
	program := compile(t, "gcc", "testdata/several.c", library(t), "blobio")
	for _, c := range []struct{ env, code, words string }{
		{"OMPI_COMM_WORLD_SIZE=4", "-23", "/x.nc: this process is one of 4 processes (OMPI_COMM_WORLD_SIZE=4), but this library was built without MPI, so each process would write the whole dataset: use libblobio_mpi"},
		{"PMI_SIZE=2", "-23", "one of 2 processes (PMI_SIZE=2)"},
		{"PMIX_RANK=1", "-23", "one of several processes (PMIX_RANK=1)"},
		{"SLURM_STEP_ID=0 SLURM_NTASKS=3", "-23", "one of 3 processes (SLURM_NTASKS=3)"},
		{"SLURM_NTASKS=3 SLURM_PROCID=0", "0", ""}, // inside a batch script
		{"OMPI_COMM_WORLD_SIZE=1", "0", ""},
		{"OMPI_COMM_WORLD_SIZE=4 BLOBIO_MPI=0", "0", ""},
	} {
		dir := t.TempDir()
		cmd := exec.Command(program, dir+"/x.nc", c.code)
		cmd.Env = append([]string{"LC_ALL=C.UTF-8"}, strings.Fields(c.env)...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.words) || strings.Count(string(out), "\n") != 1 || c.words == "" && string(out) != "\n" {
			t.Errorf("%s: %v\n%s", c.env, err, out)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
			t.Errorf("%s: there is %v (%v)", c.env, list, err)
		}
	}
}

// symbols returns the version of each function, from testdata/symbols.txt.
func symbols(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	for line := range strings.Lines(text(t, "testdata/symbols.txt")) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			list[name] = version
		}
	}
	return list
}

// exported checks that the library exports what testdata/symbols.txt lists for it, and what its headers declare.
func exported(t *testing.T, lib string, declared []string) {
	t.Helper()
	need(t, "nm")
	since, unversioned := symbols(t), strings.TrimSuffix(filepath.Base(lib), ".so.1")
	var got []string
	for line := range strings.Lines(run(t, "nm", "-D", "--defined-only", lib)) {
		f := strings.Fields(line)
		if f[1] == "A" {
			continue // the symbol that names the version
		}
		name, version, ok := strings.Cut(f[2], "@@")
		if version == "BLOBIO_PRIVATE" {
			continue
		}
		if !ok {
			version = unversioned
		}
		if want := since[name]; version != want {
			t.Errorf("%s exports %s of %s, testdata/symbols.txt has it in %q", lib, name, version, want)
		}
		got = append(got, name)
	}
	for name, version := range since {
		if version == unversioned {
			declared = append(declared, name)
		}
	}
	for _, name := range declared {
		if !slices.Contains(got, name) {
			t.Errorf("%s lacks %s", lib, name)
		}
	}
}

var declaration = regexp.MustCompile(`(?m)^BLOBIO_API .*?\b(blobio_\w+)\(`)

func declared(t *testing.T, header string) (names []string) {
	t.Helper()
	b, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range declaration.FindAllStringSubmatch(string(b), -1) {
		names = append(names, m[1])
	}
	return names
}

// declaredBy returns the functions that the header of another API declares: pio/pio.h, scr/scr.h or fti/fti.h.
func declaredBy(t *testing.T, header string, flags ...string) (names []string) {
	t.Helper()
	need(t, "mpicc.openmpi", "mpicxx.openmpi")
	flags = append(flags, "-Wall", "-Wextra", "-Werror", header)
	run(t, "mpicc.openmpi", append([]string{"-std=c11", "-fsyntax-only", "-x", "c"}, flags...)...)
	run(t, "mpicxx.openmpi", append([]string{"-DOMPI_SKIP_MPICXX", "-fsyntax-only", "-x", "c++"}, flags...)...)
	text := run(t, "mpicc.openmpi", append([]string{"-E", "-P", "-DPIO_API=EXPORTED", "-DSCR_API=EXPORTED", "-DFTI_API=EXPORTED", "-DBLOBIO_PIO_NO_NETCDF"}, flags...)...)
	for _, m := range regexp.MustCompile(`EXPORTED [^;(]*?(\w+)[;(]`).FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	if len(names) == 0 {
		t.Fatalf("%s declares nothing: %s", header, text)
	}
	return names
}

// The version script must list the functions that the headers declare. This test needs no compiler.
func TestVersionScriptIsTheHeaders(t *testing.T) {
	b, err := os.ReadFile("blobio.map")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^\t\t(\w+);`).FindAllStringSubmatch(string(b), -1) {
		got = append(got, m[1])
	}
	want := append(declared(t, "blobio.h"), declared(t, "blobio_mpi.h")...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("blobio.map has %v\nwant %v", got, want)
	}
}

// The address sanitizer checks the C code, and how the library accesses the caller's memory.
func TestWithTheAddressSanitizer(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	lib := library(t)
	run(t, compile(t, "gcc", "testdata/api.c", lib, "blobio", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"), t.TempDir())
	lib = library(t, "GOBUILDFLAGS=-asan")
	run(t, compile(t, "gcc", "testdata/api.c", lib, "blobio", "-fsanitize=address"), t.TempDir())
}

func TestUnderValgrind(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "valgrind")
	// In data that zstd's assembly has decoded, valgrind finds uninitialised values. With zstd's Go code, which gives the same
	// bytes, it does not.
	lib := library(t, "TAGS=noasm")
	program := compile(t, "gcc", "testdata/api.c", lib, "blobio")
	// Valgrind marks freed parts of a goroutine's stack as not addressable, even after Go has reused the memory. With partial
	// loads, a wide load there would make copied data uninitialised, so partial loads are off. False errors that remain do not
	// occur in every one of three runs; real errors do.
	var errs []string
	for range 3 {
		out := run(t, "env", "GODEBUG=cpu.rdtscp=off", "valgrind", "--leak-check=full", "--errors-for-leak-kinds=definite", "--suppressions=testdata/valgrind.supp",
			"--error-limit=no", "--partial-loads-ok=no", program, t.TempDir())
		if !strings.Contains(out, "LEAK SUMMARY") {
			t.Fatalf("valgrind did not look:\n%s", out)
		}
		if errs = valgrindErrors(out); len(errs) == 0 {
			return
		}
		t.Logf("valgrind reports %d errors", len(errs))
	}
	for _, e := range errs {
		t.Errorf("valgrind: %s", e)
	}
}

// valgrindErrors returns the errors in valgrind's report, without errors about arguments of system calls from Go or
// internal/base/calls. Valgrind takes goroutine stacks for unmapped memory. Suppressions would have to name each argument of each
// system call.
func valgrindErrors(out string) (errs []string) {
	block := map[string][]string{} // lines of a block, by process id
	line := regexp.MustCompile(`^==(\d+)== ?(.*)$`)
	end := func(pid string) {
		b := block[pid]
		delete(block, pid)
		at := slices.IndexFunc(b, func(s string) bool { return strings.HasPrefix(s, "   at 0x") })
		if at < 1 || strings.HasPrefix(b[at-1], "Syscall param ") && slices.ContainsFunc(b[at:min(len(b), at+4)], func(s string) bool {
			return strings.Contains(s, "linux.Syscall6") || strings.Contains(s, "_Cfunc_call_") // from package calls
		}) {
			return
		}
		errs = append(errs, strings.Join(b[at-1:], "\n"))
	}
	for s := range strings.Lines(out) {
		m := line.FindStringSubmatch(strings.TrimRight(s, "\n"))
		switch {
		case m == nil:
		case m[2] == "":
			end(m[1])
		default:
			block[m[1]] = append(block[m[1]], m[2])
		}
	}
	for pid := range block {
		end(pid)
	}
	return errs
}

func TestValgrindErrors(t *testing.T) {
	const caller = "==7== Invalid read of size 4\n==7==    at 0x1091A2: main (api.c:12)\n==7== \n"
	const goCall = "==7== Syscall param renameat(newpath) points to unaddressable byte(s)\n==7==    at 0x48DCC6E: internal/runtime/syscall/linux.Syscall6 (asm_linux_amd64.s:36)\n==7== \n"
	const libcCall = "==7== Syscall param pwrite64(buf) points to unaddressable byte(s)\n==7==    at 0x6FD14C7: __libc_pwrite64 (pwrite64.c:25)\n==7==    by 0x6FD14C7: pwrite (pwrite64.c:23)\n" +
		"==7==    by 0x4BBC6B1: _cgo_4f129108b4cc_Cfunc_call_pwrite (libc.go:25)\n==7== \n"
	const leak = "==7== 16 bytes in 1 blocks are definitely lost in loss record 1 of 2\n==7==    at 0x48: malloc (vg_replace_malloc.c:381)\n==7== \n"
	if got := valgrindErrors(goCall + libcCall + caller + "==7== HEAP SUMMARY:\n==7==     in use\n==7== \n" + leak); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

// cgocheck2 checks every pointer that Go stores: no pointer may end up in C memory.
func TestWithStrictPointerChecks(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	testfiles.Ask(t, "LONG") // because it recompiles the whole standard library
	lib := library(t, "GO=env GOEXPERIMENT=cgocheck2 go")
	run(t, compile(t, "gcc", "testdata/api.c", lib, "blobio"), t.TempDir())
}

// TestInstalledExamples builds and runs the examples with the installed library: found by pkg-config, shared and static, from C
// and Fortran, with and without MPI.
func TestInstalledExamples(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	need(t, "gcc", "make", "go", "gfortran", "pkg-config", "mpicc.openmpi", "mpif90.openmpi", "mpirun.openmpi", "ncdump", "h5dump")
	prefix := t.TempDir()
	for _, v := range []string{"", "ompi"} {
		run(t, "make", "install", "CC=gcc", "PREFIX="+prefix, "BUILD="+t.TempDir(), "MPI="+v)
	}
	t.Setenv("PKG_CONFIG_PATH", prefix+"/lib/pkgconfig")
	flags := func(args ...string) []string {
		return strings.Fields(run(t, "pkg-config", args...))
	}
	if v := strings.TrimSpace(run(t, "pkg-config", "--modversion", "blobio")); !strings.Contains(run(t, "grep", "BLOBIO_VERSION", "blobio.h"), v) {
		t.Errorf("pkg-config says version %q", v)
	}
	bin, rpath := t.TempDir(), "-Wl,-rpath,"+prefix+"/lib"
	build := func(out, compiler, src, pkg string, more ...string) {
		args := append([]string{"-Wall", "-Werror", "-g", "-o", bin + "/" + out, src}, more...)
		run(t, compiler, append(append(args, flags("--cflags", "--libs", pkg)...), rpath)...)
	}
	build("c", "gcc", "../examples/c/field.c", "blobio")
	build("c_mpi", "mpicc.openmpi", "../examples/c/field.c", "blobio_mpi", "-DWITH_MPI")
	build("f", "gfortran", "../examples/fortran/field.F90", "blobio", flags("--cflags", "--libs", "blobio_fortran")...)
	build("f_mpi", "mpif90.openmpi", "../examples/fortran/field.F90", "blobio_mpi", append([]string{"-DWITH_MPI"}, flags("--cflags", "--libs", "blobio_fortran")...)...)
	if v := run(t, prefix+"/bin/blobio-mpi", "--version"); !strings.Contains(v, version.Number) {
		t.Errorf("blobio-mpi is of version %s", v)
	}
	run(t, "gcc", "-I"+prefix+"/include", "../examples/c/field.c", prefix+"/lib/libblobio.a", "-lpthread", "-o", bin+"/c_static")

	blobio := prefix + "/bin/blobio"
	mpirun := []string{"mpirun.openmpi", "-n", "4"}
	for _, p := range []struct {
		name    string
		command []string
	}{
		{"c", []string{bin + "/c"}}, {"c_static", []string{bin + "/c_static"}}, {"c_mpi", append(mpirun, bin+"/c_mpi")},
		{"f", []string{bin + "/f"}}, {"f_mpi", append(mpirun, bin+"/f_mpi")},
	} {
		for _, layout := range []string{"variable", "process"} {
			t.Run(p.name+"/"+layout, func(t *testing.T) {
				base := filepath.Join(t.TempDir(), "F_h0.nc")
				out := run(t, p.command[0], append(p.command[1:], base, "layout="+layout)...)
				if !strings.Contains(out, " 0 wrong values") {
					t.Errorf("it printed %q", out)
				}
				if out := run(t, blobio, "check", base); !strings.Contains(out, "good") {
					t.Errorf("blobio check: %s", out)
				}
				if out := run(t, blobio, "dump", base); !strings.Contains(out, "ncol = 50") {
					t.Errorf("blobio dump: %s", out)
				}
				judge, want := "h5dump", "header_blob"
				if layout == "variable" {
					judge, want = "ncdump", "D1.nelems"
				}
				if out := run(t, judge, base+".0000"); !strings.Contains(out, want) {
					t.Errorf("%s: %s", judge, out)
				}
				canonical := base + ".canonical"
				run(t, blobio, "convert", base, canonical)
				if out := run(t, "ncdump", "-h", canonical); !strings.Contains(out, "(time, lev, ncol)") {
					t.Errorf("ncdump of the canonical file: %s", out)
				}
			})
		}
	}
}

// If one rank panics in a collective call, all ranks must get an error.
func TestPanicsUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	for _, c := range []struct{ mpi, mpicc, mpirun string }{{"ompi", "mpicc.openmpi", "mpirun.openmpi"}, {"mpich", "mpicc.mpich", "mpirun.mpich"}} {
		t.Run(c.mpi, func(t *testing.T) {
			need(t, c.mpicc, c.mpirun, "pkg-config", "timeout")
			program := compile(t, c.mpicc, "testdata/inject.c", library(t, "MPI="+c.mpi, "TAGS=inject"), "blobio_mpi")
			for _, step := range []string{"begin", "append", "open", "enddef", "put_att", "flush", "close", "none"} {
				t.Setenv("BLOBIO_INJECT", step+":1")
				run(t, "timeout", "60", c.mpirun, "-n", "2", program, t.TempDir(), step)
			}
		})
	}
}

func TestUnderMPI(t *testing.T) {
	testfiles.Ask(t, "CAPI")
	for _, c := range []struct {
		mpi, mpicc, mpirun string
		ranks              []string
	}{
		{"ompi", "mpicc.openmpi", "mpirun.openmpi", []string{"1", "2", "4"}},
		{"mpich", "mpicc.mpich", "mpirun.mpich", []string{"2"}},
	} {
		t.Run(c.mpi, func(t *testing.T) {
			need(t, c.mpicc, c.mpirun, "pkg-config")
			lib := library(t, "MPI="+c.mpi)
			exported(t, lib+"/libblobio_mpi.so.1", append(declared(t, "blobio.h"), declared(t, "blobio_mpi.h")...))
			program := compile(t, c.mpicc, "testdata/mpi.c", lib, "blobio_mpi")
			for _, n := range c.ranks {
				for _, level := range []string{"single", "funneled", "multiple"} {
					run(t, c.mpirun, "-n", n, program, t.TempDir(), level)
				}
			}
			run(t, compile(t, c.mpicc, "testdata/api.c", lib, "blobio_mpi"), t.TempDir()) // without MPI_Init
		})
	}
}
