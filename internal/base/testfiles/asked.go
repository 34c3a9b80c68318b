package testfiles

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Asked reports whether the environment requests a kind of tests that need more than Go or take long:
//
//	JUDGES  third-party programs that read the files: ncdump, h5dump, cdo, Python, browsers ...
//	CAPI    a C or Fortran compiler, and MPI
//	PYTHON  the Python package
//	PARFS   parallel file systems
//	LONG    all samples instead of a few
//
// Without the variable BLOBIO_<kind> such tests are skipped, even if their requirements are installed. So
// go test ./... runs the same tests everywhere.
func Asked(kind string) bool {
	v := os.Getenv("BLOBIO_" + kind)
	return v != "" && v != "0"
}

// Ask skips the test unless the environment requests its kind.
func Ask(t testing.TB, kind string) {
	t.Helper()
	if !Asked(kind) {
		t.Skipf("set BLOBIO_%s=1 to run it", kind)
	}
}

// Judge skips the test unless judges are requested. Each tool must then be installed. It returns the path of the first tool.
func Judge(t testing.TB, tools ...string) string {
	t.Helper()
	Ask(t, "JUDGES")
	first := ""
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatalf("BLOBIO_JUDGES is set, but %s is not installed", tool)
		}
		if first == "" {
			first = path
		}
	}
	return first
}

// Run skips the test unless judges are requested. It runs a tool without the user's settings, MPI without mpirun, and returns what
// the tool printed on stdout. A failure of the tool ends the test.
func Run(t testing.TB, tool string, args ...string) string {
	t.Helper()
	Judge(t, tool)
	cmd := exec.Command(tool, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1", "OMPI_MCA_ess_singleton_isolated=1",
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var out, diag strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%.4000s\n%.4000s", tool, strings.Join(args, " "), err, out.String(), diag.String())
	}
	return out.String()
}

// JudgePython skips the test unless judges are requested. It returns a Python that has the modules.
func JudgePython(t testing.TB, modules ...string) string {
	t.Helper()
	Ask(t, "JUDGES")
	py := Python(modules...)
	if py == "" {
		t.Fatalf("BLOBIO_JUDGES is set, but no python3 has the modules %s", strings.Join(modules, ", "))
	}
	return py
}
