package runloop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/transfer"
)

// EnvTransfer is the environment variable that is 1 if transfer processes run on the program's nodes. Then sessions let these
// processes do the background flushes.
const EnvTransfer = "BLOBIO_TRANSFER"

// Transfers are the transfer processes of the nodes. Before a run, one process is started on each node. It keeps running after
// the run, until Stop is called, to copy the remaining files of the run. A process that has died is restarted before the next
// run. Transfers is not safe for concurrent use.
type Transfers struct {
	// Command returns the command line that runs blobio with these arguments on a node. The last argument is the node's transfer
	// file.
	Command func(node string, args ...string) []string
	Prefix  string        // the prefix directory; the processes write nowhere else
	Shared  bool          // same as transfer.ServeOptions.Shared
	Poll    time.Duration // interval at which the processes read their transfer files; 0: 100 ms
	Grace   time.Duration // time between asking a process to end and killing it; 0: 10 s
	Exec    Exec          // runs short commands; nil: RunCommand
	Stderr  io.Writer     // gets the standard error of the processes; nil: discarded
	Say     func(msg string)

	procs map[string]*transferProcess
}

type transferProcess struct {
	p    *process
	done chan struct{}
	what string // how the process ended
}

// TransfersOf returns the transfers of an allocation. shell starts the processes. If shell is nil, they start on this host, in
// the node directories of local. blobio is the command line of blobio.
func TransfersOf(p *config.Set, local *Local, shell *Shell, blobio ...string) (*Transfers, error) {
	job, err := config.JobOf(p)
	if err != nil {
		return nil, err
	}
	return &Transfers{Prefix: p.Prefix(), Shared: os.Getenv(prefixdir.EnvShared) == "1", Command: func(node string, args ...string) []string {
		dir := job.Control
		if shell == nil && local != nil && local.Root != "" {
			dir = filepath.Join(local.NodeDir(node), below(job.Control))
		}
		argv := slices.Concat(blobio, []string{"scr", "transfer"}, args, []string{filepath.Join(dir, transfer.FileName)})
		if shell != nil {
			return shell.Command(node, argv...)
		}
		return argv
	}}, nil
}

func (t *Transfers) say(format string, args ...any) {
	if t.Say != nil {
		t.Say(fmt.Sprintf(format, args...))
	}
}

func (t *Transfers) exec(ctx context.Context, argv []string) error {
	run := t.Exec
	if run == nil {
		run = RunCommand
	}
	out, err := run(ctx, argv)
	if err != nil {
		if out = bytes.TrimSpace(out); len(out) > 0 {
			return fmt.Errorf("%s: %w: %.200s", argv[0], err, out)
		}
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

// Start makes sure that each node has a transfer process, and reports the nodes on which this fails. On those nodes background
// flushes fail after scr.Config.DaemonWait. The salvage may still save their datasets.
func (t *Transfers) Start(ctx context.Context, nodes []string) {
	if t.procs == nil {
		t.procs = map[string]*transferProcess{}
	}
	for node, p := range t.procs {
		select {
		case <-p.done:
			t.say("transfer process on %s ended: %s", node, p.what)
			delete(t.procs, node)
		default:
		}
	}
	for _, node := range nodes {
		if t.procs[node] != nil || ctx.Err() != nil {
			continue
		}
		// Remove a stop command for an earlier process, which would end the new process.
		if err := t.exec(ctx, t.Command(node, "--command", "stop")); err != nil {
			t.say("no transfer process on %s: %v", node, err)
			continue
		}
		poll := t.Poll
		if poll == 0 {
			poll = 100 * time.Millisecond
		}
		args := []string{"--poll", poll.String(), "--prefix", t.Prefix}
		if t.Shared {
			args = append(args, "--shared")
		}
		argv := t.Command(node, args...)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Stderr = OneWriter(t.Stderr)
		p := &transferProcess{p: &process{cmd: cmd, node: node}, done: make(chan struct{})}
		if err := p.p.start(); err != nil {
			t.say("no transfer process on %s: %v", node, err)
			continue
		}
		go func() {
			defer close(p.done)
			if _, p.what = p.p.wait(); p.what == "" {
				p.what = "exit code 0"
			}
		}()
		t.procs[node] = p
	}
}

// Stop asks all processes to end and waits for them. It kills them after the grace time.
func (t *Transfers) Stop() {
	if len(t.procs) == 0 {
		return
	}
	grace := orDefault(t.Grace, 10*time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, node := range sortedNodes(t.procs) {
		select {
		case <-t.procs[node].done:
		default:
			if err := t.exec(ctx, t.Command(node, "--command", "exit")); err != nil {
				t.procs[node].p.end(false) // end the local process that started the transfer process
			}
		}
	}
	for node, p := range t.procs {
		select {
		case <-p.done:
		case <-ctx.Done():
			t.say("the transfer process on %s is killed", node)
			p.p.end(true)
			<-p.done
		}
	}
	t.procs = nil
}

func sortedNodes(m map[string]*transferProcess) (nodes []string) {
	for n := range m {
		nodes = append(nodes, n)
	}
	slices.Sort(nodes)
	return nodes
}
