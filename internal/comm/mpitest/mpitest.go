package mpitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Launcher returns the path of mpirun. The environment variable BLOBIO_MPIRUN sets it; the default is the mpirun of Open MPI
// or, with the build tag mpich, the mpirun of MPICH. If there is no mpirun, Launcher skips the test.
func Launcher(t testing.TB) string {
	t.Helper()
	names := launchers
	if v := os.Getenv("BLOBIO_MPIRUN"); v != "" {
		names = []string{v}
	}
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}
	t.Skipf("SKIPPED: no %s", strings.Join(names, ", "))
	return ""
}

// OpenMPI reports whether the launcher belongs to Open MPI.
func OpenMPI(launcher string) bool {
	out, _ := exec.Command(launcher, "--version").CombinedOutput()
	return bytes.Contains(out, []byte("Open"))
}

// Args returns the arguments of the launcher that come before the program.
func Args(launcher string, ranks int) []string {
	args := []string{"-n", strconv.Itoa(ranks)}
	if OpenMPI(launcher) {
		args = append(args, "--oversubscribe", "--bind-to", "none")
	}
	return args
}

// Env returns the environment of a job, followed by more. With it, root may run the job, and Open MPI does not wait after it
// asks processes to end and before it kills them.
func Env(more ...string) []string {
	return append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_odls_base_sigkill_timeout=0"), more...)
}

// ErrHung is the error of a job that exceeded its time limit.
var ErrHung = errors.New("the MPI job hung")

// Run runs a program on several ranks and returns their output. If the job exceeds the limit, Run ends all its processes and
// returns an error that wraps ErrHung.
func Run(t testing.TB, ranks int, limit time.Duration, env []string, program string, args ...string) (string, error) {
	t.Helper()
	launcher := Launcher(t)
	return Command(t, limit, Env(env...), launcher, append(append(Args(launcher, ranks), program), args...)...)
}

// Command does the same as Run, but for a launcher with given arguments and a complete environment. A launcher may end before
// the processes that it kills. Command returns only when no process of the job is running, so that the job's files do not
// change afterwards.
func Command(t testing.TB, limit time.Duration, env []string, launcher string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, launcher, args...)
	cmd.Env = env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Minute
	session(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.Join(ErrHung, err)
	}
	if cmd.Process != nil {
		err = errors.Join(err, gone(cmd.Process.Pid))
	}
	return out.String(), err
}

// gone waits until a session has no processes. It kills a process that does not end within a minute and returns an error.
func gone(id int) error {
	for i := 0; ; i++ {
		left := processes(id)
		switch {
		case len(left) == 0:
			return nil
		case i == 12_000:
			for _, p := range left {
				if p, err := os.FindProcess(p); err == nil {
					_ = p.Kill()
				}
			}
			return fmt.Errorf("%w: processes %v were still running", ErrHung, left)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
