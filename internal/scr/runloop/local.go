package runloop

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"blobio/internal/base/fault"
)

// Local is a Launcher that starts all processes on this host. Nodes are only names. Each node may have a private directory, so
// that one host stands for several nodes.
type Local struct {
	// Root is the parent of the nodes' private directories <Root>/<node>. If it is "", nodes have none.
	Root string
	// Bases are directories to create below the private directory of each node on its first use.
	Bases []string
	// Grace is the time that processes have to end when they are asked because one process failed. Then they are killed.
	Grace time.Duration
}

// Name implements Launcher.
func (l *Local) Name() string { return "local" }

// NodeDir returns the private directory of a node, or "" if nodes have none.
func (l *Local) NodeDir(node string) string {
	if l.Root == "" {
		return ""
	}
	return filepath.Join(l.Root, node)
}

// Prepare creates the private directories of nodes. Call it only once, at the beginning of an allocation. If a directory is
// missing later, its node is considered lost.
func (l *Local) Prepare(nodes []string) error {
	if l.Root == "" {
		return nil
	}
	for _, n := range nodes {
		if n == "" || n == "." || n == ".." || n != filepath.Base(n) {
			return fmt.Errorf("node %q, want a valid directory name", n)
		}
		for _, d := range append([]string{""}, l.Bases...) {
			if err := os.MkdirAll(filepath.Join(l.NodeDir(n), below(d)), 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// below converts an absolute path to a relative path that can be joined to a directory.
func below(path string) string { return path[len(filepath.VolumeName(path)):] }

// Plan implements Launcher.
func (l *Local) Plan(la Launch) (out [][]string) {
	for r := range la.Size() {
		out = append(out, append(l.env(&la, r), la.Args...))
	}
	return out
}

// env returns the environment of a process. It includes the rank and the node.
func (l *Local) env(la *Launch, rank int) []string {
	node := la.Nodes[rank/max(la.PerNode, 1)]
	env := []string{"BLOBIO_RANK=" + strconv.Itoa(rank), "BLOBIO_SIZE=" + strconv.Itoa(la.Size()),
		"BLOBIO_LOCAL_RANK=" + strconv.Itoa(rank%max(la.PerNode, 1)), "BLOBIO_NODE=" + node}
	if d := l.NodeDir(node); d != "" {
		env = append(env, "BLOBIO_NODE_DIR="+d)
	}
	return env
}

// Start implements Launcher. If a process cannot be started, Start ends all others.
func (l *Local) Start(ctx context.Context, la Launch) (Job, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(la.Args) == 0 || len(la.Nodes) == 0 {
		return nil, fault.Usage("launch has no command or no nodes")
	}
	j := &ownJob{done: make(chan struct{}), grace: l.Grace}
	out := OneWriter(la.Stdout)
	errs := out
	if la.Stderr != la.Stdout {
		errs = OneWriter(la.Stderr)
	}
	for r := range la.Size() {
		cmd := exec.Command(la.Args[0], la.Args[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = la.Dir, environ(la.Env, l.env(&la, r)...), out, errs
		p := &process{cmd: cmd, rank: r, node: la.Nodes[r/max(la.PerNode, 1)]}
		if err := p.start(); err != nil {
			j.End(true)
			j.await()
			return nil, fmt.Errorf("rank %d: %w", r, err)
		}
		j.procs = append(j.procs, p)
	}
	go j.await()
	return j, nil
}

// ownJob is a run whose processes this process has started.
type ownJob struct {
	procs  []*process
	done   chan struct{}
	grace  time.Duration
	cancel func() // called first when the job is killed; may be nil

	mu    sync.Mutex
	exit  Exit
	asked bool // the job has been asked to end
}

// await waits for all processes. If a process fails, await ends the others.
func (j *ownJob) await() {
	ctx, cancel := context.WithCancel(context.Background())
	defer close(j.done)
	var all, late sync.WaitGroup
	for _, p := range j.procs {
		all.Go(func() {
			code, what := p.wait()
			if code == 0 {
				return
			}
			j.mu.Lock()
			first := !j.asked
			if first || j.exit.Code == 0 {
				j.exit.Code = code
			}
			if first {
				j.exit.Failed = append(j.exit.Failed, Failure{p.rank, p.node, p.name + what})
			}
			j.mu.Unlock()
			if first && len(j.procs) > 1 {
				late.Go(func() {
					j.End(false)
					if (SystemClock{}).Wait(ctx, j.grace) == nil {
						j.End(true)
					}
				})
			}
		})
	}
	all.Wait()
	cancel()
	late.Wait()
}

// Done implements Job.
func (j *ownJob) Done() <-chan struct{} { return j.done }

// Exit implements Job.
func (j *ownJob) Exit() Exit {
	<-j.done
	return j.exit
}

// End implements Job.
func (j *ownJob) End(hard bool) {
	j.mu.Lock()
	j.asked = true
	j.mu.Unlock()
	if hard && j.cancel != nil {
		j.cancel()
	}
	for _, p := range j.procs {
		p.end(hard)
	}
}
