package runloop

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/fault"
	"blobio/internal/scr/hostlist"
)

// Style is the command line style of a launcher program.
type Style int

// The styles.
const (
	OpenMPI Style = iota // mpirun of Open MPI
	MPICH                // mpiexec of MPICH, Intel MPI, MVAPICH
	Slurm                // srun
)

// Command is a Launcher that runs mpirun, mpiexec or srun.
type Command struct {
	Style Style
	Path  string   // path of the launcher program; "": mpirun, mpiexec or srun
	Extra []string // arguments of the launcher program that precede the application program

	// Exec runs squeue and scancel if srun must be killed; nil means RunCommand.
	Exec Exec
}

// Name implements Launcher.
func (c *Command) Name() string {
	if c.Path != "" {
		return c.Path
	}
	return [...]string{"mpirun", "mpiexec", "srun"}[c.Style]
}

func (c *Command) argv(l *Launch) []string {
	n, per := strconv.Itoa(l.Size()), strconv.Itoa(max(l.PerNode, 1))
	args := []string{c.Name()}
	switch c.Style {
	case OpenMPI:
		hosts := make([]string, len(l.Nodes))
		for i, h := range l.Nodes {
			hosts[i] = h + ":" + per
		}
		args = append(args, "-np", n, "--host", strings.Join(hosts, ","), "--map-by", "slot")
		for _, name := range exported(l.Env) { // mpirun does not pass its environment to other hosts
			args = append(args, "-x", name)
		}
	case MPICH:
		args = append(args, "-n", n, "-ppn", per, "-hosts", strings.Join(l.Nodes, ","))
	case Slurm:
		args = append(args, "--job-name="+stepName(l), "--nodes="+strconv.Itoa(len(l.Nodes)), "--ntasks="+n, "--ntasks-per-node="+per,
			"--nodelist="+hostlist.Compress(l.Nodes))
		if len(l.Down) > 0 {
			args = append(args, "--exclude="+hostlist.Compress(l.Down))
		}
		args = append(args, "--kill-on-bad-exit=1")
	}
	return append(append(args, c.Extra...), l.Args...)
}

// exported returns the names of the environment variables that the program needs on all
// nodes.
func exported(env []string) (names []string) {
	for _, kv := range env {
		name, v, _ := strings.Cut(kv, "=")
		if v != "" && (strings.HasPrefix(name, "SCR_") || strings.HasPrefix(name, "BLOBIO_")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func stepName(l *Launch) string { return "blobio-run-" + strconv.Itoa(l.Run) }

// Plan implements Launcher.
func (c *Command) Plan(l Launch) [][]string { return [][]string{c.argv(&l)} }

// Start implements Launcher.
func (c *Command) Start(ctx context.Context, l Launch) (Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(l.Args) == 0 || len(l.Nodes) == 0 {
		return nil, fault.Usage("launch has no command or no nodes")
	}
	argv := c.argv(&l)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = l.Dir, l.Env, l.Stdout, l.Stderr
	p := &process{cmd: cmd, rank: -1, name: c.Name() + ": "}
	j := &ownJob{procs: []*process{p}, done: make(chan struct{})}
	if c.Style == Slurm {
		run := c.Exec
		if run == nil {
			run = RunCommand
		}
		j.cancel = func() { cancelStep(run, stepName(&l)) }
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	go j.await()
	return j, nil
}

// cancelStep cancels a job step by its name, because killing srun does not end the job
// step.
func cancelStep(run Exec, name string) {
	ctx := context.Background()
	out, err := run(ctx, []string{"squeue", "--me", "--steps", "--noheader", "--format=%i", "--name=" + name})
	if err != nil {
		return
	}
	for _, id := range strings.Fields(string(out)) {
		run(ctx, []string{"scancel", id})
	}
}
