package runloop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
)

func needShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: wants sh")
	}
	for _, name := range []string{"sh", "sleep"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %v", err)
		}
	}
}

func finished(t *testing.T, j Job) Exit {
	t.Helper()
	select {
	case <-j.Done():
	case <-time.After(time.Minute):
		j.End(true)
		t.Fatal("the job does not end")
	}
	for _, p := range j.(*ownJob).procs {
		if err := stillOurs(p.cmd.Process); err == nil {
			t.Errorf("process %d is left", p.cmd.Process.Pid)
		}
	}
	return j.Exit()
}

func TestLocalEnvironment(t *testing.T) {
	needShell(t)
	l := &Local{Root: t.TempDir(), Bases: []string{"/shm"}}
	if err := l.Prepare([]string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	j, err := l.Start(t.Context(), Launch{Run: 1, Nodes: []string{"b", "a"}, PerNode: 2, Stdout: &out, Stderr: &out,
		Args: []string{"sh", "-c", `test -d "$BLOBIO_NODE_DIR/shm" && echo $BLOBIO_RANK of $BLOBIO_SIZE, $BLOBIO_LOCAL_RANK on $BLOBIO_NODE`}})
	if err != nil {
		t.Fatal(err)
	}
	if x := finished(t, j); x.Code != 0 {
		t.Fatal(x)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines)
	if got := strings.Join(lines, "; "); got != "0 of 4, 0 on b; 1 of 4, 1 on b; 2 of 4, 0 on a; 3 of 4, 1 on a" {
		t.Error(got)
	}
}

// Exit codes and signals are reported as a shell does. The first failure ends the other processes. Those are not reported
// as failures.
func TestLocalExit(t *testing.T) {
	needShell(t)
	for _, c := range []struct {
		script string
		code   int
		failed string
	}{
		{"exit 0", 0, "[]"},
		{`test $BLOBIO_RANK = 1 && exit 3; exec sleep 1000`, 3, "[rank 1 on b: exit code 3]"},
		{`test $BLOBIO_RANK = 2 && kill -9 $$; exec sleep 1000`, 137, "[rank 2 on c: signal: killed]"},
		{`test $BLOBIO_RANK = 2 && kill -9 $$; sleep 1000; echo late`, 137, "[rank 2 on c: signal: killed]"}, // the process has a child process
		{`test $BLOBIO_RANK = 0 && exit 4; trap '' TERM; while :; do sleep 1; done`, 4, "[rank 0 on a: exit code 4]"},
	} {
		l := &Local{Grace: time.Millisecond}
		j, err := l.Start(t.Context(), Launch{Run: 1, Nodes: []string{"a", "b", "c"}, Args: []string{"sh", "-c", c.script}})
		if err != nil {
			t.Fatal(err)
		}
		x := finished(t, j)
		if x.Code != c.code || fmt.Sprint(x.Failed) != c.failed {
			t.Errorf("%s: code %d, failed %v; want %d, %s", c.script, x.Code, x.Failed, c.code, c.failed)
		}
	}
}

// The test kills one process by its id.
func TestLocalKilled(t *testing.T) {
	needShell(t)
	l := &Local{}
	j, err := l.Start(t.Context(), Launch{Run: 1, Nodes: five, Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.(*ownJob).procs[3].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if x := finished(t, j); x.Code != 137 || fmt.Sprint(x.Failed) != "[rank 3 on n4: signal: killed]" {
		t.Error(x)
	}
}

// Processes that a killed process leaves in its group are killed too.
func TestLocalLeavesNothing(t *testing.T) {
	needShell(t)
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only where a process can be awaited without reaping it")
	}
	name := filepath.Join(t.TempDir(), "child")
	l := &Local{}
	var out bytes.Buffer
	j, err := l.Start(t.Context(), Launch{Run: 1, Nodes: []string{"a"}, Stdout: &out, Args: []string{"sh", "-c", `sleep 1000 & echo $! > ` + name}})
	if err != nil {
		t.Fatal(err)
	}
	if x := finished(t, j); x.Code != 0 {
		t.Error(x)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; running(id); i++ { // the new parent of the process must reap it
		if i == 6000 {
			t.Fatalf("process %d is left", id)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// running reports whether a process exists and is not a zombie.
func running(id int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestLocalNotStarted(t *testing.T) {
	l := &Local{}
	if _, err := l.Start(t.Context(), Launch{Run: 1, Nodes: five, Args: []string{"/no/such/program"}}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := l.Start(t.Context(), Launch{Run: 1, Args: []string{"x"}}); !errors.Is(err, fault.ErrUsage) {
		t.Error(err)
	}
	for _, n := range []string{"", "..", "a/b"} {
		if err := (&Local{Root: t.TempDir()}).Prepare([]string{n}); err == nil {
			t.Errorf("node %q is taken", n)
		}
	}
}

// The loop runs a real program. A process of the first run is killed, and the second run continues from the saved state.
func TestLoopLocal(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	script := `cd "$SCR_PREFIX"
if test -e step.$BLOBIO_RANK; then echo again from $(cat step.$BLOBIO_RANK) >> out.$BLOBIO_RANK; exit 0; fi
echo 7 > step.$BLOBIO_RANK
test $BLOBIO_RANK = 2 && { while test $(ls step.* | wc -l) -lt 4; do sleep 0.01; done; kill -9 $$; }
exec sleep 1000`
	local := &Local{Root: filepath.Join(dir, "nodes"), Grace: time.Millisecond}
	if err := local.Prepare(five); err != nil {
		t.Fatal(err)
	}
	var said []string
	rep, err := Run(t.Context(), Options{Launcher: local, Launch: Launch{Args: []string{"sh", "-c", script}, Stdout: os.Stderr, Stderr: os.Stderr}, Nodes: five, Runs: 3, Use: 4, MinNodes: 4,
		Pause: -1, Dir: prefixdir.Open(vfs.OS, dir), Checker: &Checker{Tests: []NodeTest{Dirs(&Here{Local: local}, []config.Capacity{{Dir: "/"}}, false)}},
		Say: func(m string) { said = append(said, m) }})
	if err != nil || rep.Stop != Done || len(rep.Runs) != 2 || rep.Runs[0].Exit.Code != 137 {
		t.Fatal(rep, err, said)
	}
	for r := range 4 {
		if b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.%d", r))); err != nil || string(b) != "again from 7\n" {
			t.Errorf("rank %d: %q, %v", r, b, err)
		}
	}
}

// A signal must end a run that would never end by itself.
func TestLoopLocalSignal(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	local := &Local{}
	w := &watchingLauncher{Launcher: local, started: func() { cancel() }}
	salvaged := false
	rep, err := Run(ctx, Options{Launcher: w, Launch: Launch{Args: []string{"sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"}}, Nodes: []string{"a", "b"}, Runs: 3,
		Dir: prefixdir.Open(vfs.OS, dir), Grace: time.Minute, Clock: newClock(), Salvage: func(ctx context.Context, _ []string) error { salvaged = true; return ctx.Err() }})
	if err != nil || rep.Stop != Interrupted || len(rep.Runs) != 1 || !salvaged || rep.Salvage != "done" {
		t.Fatal(rep, err)
	}
	finished(t, w.job)
}

type watchingLauncher struct {
	Launcher
	job     Job
	started func()
}

func (w *watchingLauncher) Start(ctx context.Context, l Launch) (j Job, err error) {
	w.job, err = w.Launcher.Start(ctx, l)
	w.started()
	return w.job, err
}

// The command lines of mpirun and srun name the nodes and avoid excluded ones.
func TestCommand(t *testing.T) {
	la := Launch{Run: 2, Nodes: []string{"n1", "n3"}, Down: []string{"n2", "n4"}, PerNode: 2, Args: []string{"prog", "-x"}}
	for _, c := range []struct {
		c    Command
		want string
	}{
		{Command{Style: OpenMPI}, "mpirun -np 4 --host n1:2,n3:2 --map-by slot prog -x"},
		{Command{Style: MPICH, Path: "mpiexec.hydra", Extra: []string{"-l"}}, "mpiexec.hydra -n 4 -ppn 2 -hosts n1,n3 -l prog -x"},
		{Command{Style: Slurm}, "srun --job-name=blobio-run-2 --nodes=2 --ntasks=4 --ntasks-per-node=2 --nodelist=n[1,3] --exclude=n[2,4] --kill-on-bad-exit=1 prog -x"},
	} {
		if got := strings.Join(c.c.Plan(la)[0], " "); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	la.Env = []string{"SCR_PREFIX=/p/sim", "HOME=/", "BLOBIO_RUN=2", "SCR_FLUSH=3", "SCR_RUNS="}
	want := "mpirun -np 4 --host n1:2,n3:2 --map-by slot -x BLOBIO_RUN -x SCR_FLUSH -x SCR_PREFIX prog -x"
	if got := strings.Join((&Command{Style: OpenMPI}).Plan(la)[0], " "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Words of a command that is run through ssh reach the node unchanged, whatever characters they contain. srun passes words
// unchanged.
func TestShellQuotes(t *testing.T) {
	words := []string{"a b", "it's", `"$HOME"`, "", "plain/x=1", "*", ";exit 9"}
	got := ParseShell("/usr/bin/ssh -q {node}").Command("n1", append([]string{"printf", "[%s]"}, words...)...)
	if len(got) != 3+2+len(words) || got[2] != "n1" || got[3] != "printf" {
		t.Fatalf("%q", got)
	}
	if raw := Srun().Command("n1", words...); !slices.Equal(raw[len(raw)-len(words):], words) {
		t.Errorf("%q", raw)
	}
	needShell(t)
	out, err := exec.Command("sh", "-c", strings.Join(got[3:], " ")).Output()
	if want := "[" + strings.Join(words, "][") + "]"; err != nil || string(out) != want {
		t.Errorf("%s, %v, want %s", out, err, want)
	}
}

// A script stands for the launcher program.
func TestCommandRuns(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	fake := filepath.Join(dir, "srun")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\nfor a; do last=$a; done\ncase $last in fail) exit 6;; hang) exec sleep 1000;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &script{reply: func(_ context.Context, line string) (string, error) {
		if strings.HasPrefix(line, "squeue") {
			return "77.3\n", nil
		}
		return "", nil
	}}
	c := &Command{Style: Slurm, Path: fake, Exec: s.exec}
	for arg, want := range map[string]int{"good": 0, "fail": 6, "hang": 137} {
		j, err := c.Start(t.Context(), Launch{Run: 5, Nodes: five, Args: []string{"prog", arg}})
		if err != nil {
			t.Fatal(err)
		}
		if arg == "hang" {
			j.End(true)
		}
		if x := j.Exit(); x.Code != want {
			t.Errorf("%s: %v", arg, x)
		}
	}
	if want := []string{"squeue --me --steps --noheader --format=%i --name=blobio-run-5", "scancel 77.3"}; !slices.Equal(s.asked, want) {
		t.Errorf("%q", s.asked)
	}
	c.Path = filepath.Join(dir, "none")
	if _, err := c.Start(t.Context(), Launch{Nodes: five, Args: []string{"x"}}); err == nil {
		t.Error("a launcher that is not there starts")
	}
}

func TestRunCommand(t *testing.T) {
	needShell(t)
	if out, err := RunCommand(t.Context(), []string{"sh", "-c", "echo x; echo bad >&2; exit 3"}); string(out) != "x\n" || err == nil || !strings.Contains(err.Error(), "3: bad") {
		t.Error(string(out), err)
	}
	if _, err := RunCommand(t.Context(), []string{"no-such-command-here"}); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := filepath.Join(t.TempDir(), "begun")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(begun); err == nil {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := RunCommand(ctx, []string{"sh", "-c", ": > " + begun + "; sleep 1000; echo"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A command has not failed if processes that it leaves hold its output open.
func TestRunCommandHeld(t *testing.T) {
	needShell(t)
	out, err := RunCommand(t.Context(), []string{"sh", "-c", "sleep 1000 & echo $!"})
	id, aerr := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || aerr != nil {
		t.Fatal(string(out), err)
	}
	if p, err := os.FindProcess(id); err == nil {
		_ = p.Kill()
	}
}
