package judges

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/testfiles"
)

// absent fails the test because something that it needs is not here.
func absent(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("BLOBIO_JUDGES is set, but %s", fmt.Sprintf(format, args...))
}

// need fails the test unless all tools are installed.
func need(t *testing.T, tools ...string) {
	t.Helper()
	testfiles.Judge(t, tools...)
}

// command is a tool with the environment that the MPI programs among them
// need to run alone, and without the user's settings.
func command(tool string, args ...string) *exec.Cmd {
	cmd := exec.Command(tool, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"OMPI_MCA_ess_singleton_isolated=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	return cmd
}

// run runs a tool, which must succeed, and returns what it printed.
func run(t *testing.T, tool string, args ...string) string {
	t.Helper()
	need(t, tool)
	cmd := command(tool, args...)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	if err := cmd.Run(); err != nil {
		if strings.Contains(diag.String(), "MPI_Init") {
			absent(t, "the MPI of %s does not start", tool)
		}
		t.Fatalf("%s %s: %v\n%s%s", tool, strings.Join(args, " "), err, tail(out.String()), tail(diag.String()))
	}
	return out.String()
}

func tail(s string) string {
	const most = 4000
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}

// python returns a Python that has the modules.
func python(t *testing.T, modules ...string) string {
	t.Helper()
	return testfiles.JudgePython(t, modules...)
}

// script runs a script of testdata.
func script(t *testing.T, py, name string, args ...string) string {
	t.Helper()
	return run(t, py, append([]string{filepath.Join("testdata", name)}, args...)...)
}
