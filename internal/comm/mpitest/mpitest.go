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

// Launcher returns the path of mpirun: from BLOBIO_MPIRUN, else of Open MPI,
// or with the tag mpich of MPICH. It skips the test if there is none.
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

// OpenMPI is true of the launcher of Open MPI.
func OpenMPI(launcher string) bool {
	out, _ := exec.Command(launcher, "--version").CombinedOutput()
	return bytes.Contains(out, []byte("Open"))
}

// Args are the arguments of a launcher in front of the program.
func Args(launcher string, ranks int) []string {
	args := []string{"-n", strconv.Itoa(ranks)}
	if OpenMPI(launcher) {
		args = append(args, "--oversubscribe", "--bind-to", "none")
	}
	return args
}

// Env is the environment of a job, with more at the end: root may run it, and Open MPI does not wait between
// asking the rest of a job to end and killing it.
func Env(more ...string) []string {
	return append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_odls_base_sigkill_timeout=0"), more...)
}

// ErrHung is the error of a job that was ended because it took too long.
var ErrHung = errors.New("the MPI job hung")

// Run runs a program in some processes and returns their output. A job that takes longer than a
// limit is ended with all of its processes; the error wraps ErrHung then.
func Run(t testing.TB, ranks int, limit time.Duration, env []string, program string, args ...string) (string, error) {
	t.Helper()
	launcher := Launcher(t)
	return Command(t, limit, Env(env...), launcher, append(append(Args(launcher, ranks), program), args...)...)
}

// Command is Run for a launcher with these arguments and all of the environment. A launcher may end while processes that it
// killed are still in a system call: nothing of a job runs any more when this returns, so that its files stay as they are.
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

// gone waits until no process of a session is left. A process that does not end by itself in a minute is killed, which is an error.
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
