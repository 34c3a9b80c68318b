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

// Launcher returns the path of mpirun: from BLOBIO_MPIRUN, else Open MPI's, or with the tag mpich MPICH's. It skips the test if
// there is none.
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

// OpenMPI reports whether the launcher is Open MPI's.
func OpenMPI(launcher string) bool {
	out, _ := exec.Command(launcher, "--version").CombinedOutput()
	return bytes.Contains(out, []byte("Open"))
}

// Args returns the launcher's arguments before the program.
func Args(launcher string, ranks int) []string {
	args := []string{"-n", strconv.Itoa(ranks)}
	if OpenMPI(launcher) {
		args = append(args, "--oversubscribe", "--bind-to", "none")
	}
	return args
}

// Env returns the environment of a job, followed by more. It lets root run the job. Open MPI then does not wait between asking
// processes to end and killing them.
func Env(more ...string) []string {
	return append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_odls_base_sigkill_timeout=0"), more...)
}

// ErrHung is the error of a job that exceeded its time limit.
var ErrHung = errors.New("the MPI job hung")

// Run runs a program on several ranks and returns their output. It ends a job that exceeds the limit, with all processes; the
// error then wraps ErrHung.
func Run(t testing.TB, ranks int, limit time.Duration, env []string, program string, args ...string) (string, error) {
	t.Helper()
	launcher := Launcher(t)
	return Command(t, limit, Env(env...), launcher, append(append(Args(launcher, ranks), program), args...)...)
}

// Command is Run for a launcher with these arguments and this whole environment. A launcher may end before processes that it
// killed. Command returns only when no process of the job is running, so that its files no longer change.
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
