package runloop

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"blobio/internal/scr/hostlist"
)

// Launch describes one run of the program.
type Launch struct {
	Run     int      // number of the run, counted from 1
	Nodes   []string // nodes in the order of ranks: the first PerNode ranks are on the first node
	Down    []string // nodes of the allocation that must not be used
	PerNode int      // processes on each node, at least 1
	Args    []string // working directory; "": the run loop's
	Dir     string   // working directory; "": the run loop's
	Env     []string // the whole environment, NAME=value; nil: the run loop's

	// Stdout and Stderr get the output of the program; nil discards it. Several processes may write at once, and each write
	// stays in one piece.
	Stdout, Stderr io.Writer
}

// Size is the number of processes.
func (l *Launch) Size() int { return len(l.Nodes) * max(l.PerNode, 1) }

// Launcher starts the program on nodes.
type Launcher interface {
	Name() string
	// Plan returns the commands that Start would run, for display.
	Plan(l Launch) [][]string
	// Start starts the program and returns at once. ctx applies only to the start.
	Start(ctx context.Context, l Launch) (Job, error)
}

// Job is a running program.
type Job interface {
	// Done returns a channel that is closed when all processes have ended.
	Done() <-chan struct{}
	// Exit returns how the job ended. Call it only after Done.
	Exit() Exit
	// End asks all processes to end, or kills them if hard is set. It does not wait.
	End(hard bool)
}

// Exit describes how a job ended.
type Exit struct {
	Code   int       `json:"code"`             // 0: success. Otherwise the exit code of the first failed process, or 128 plus the signal, as in a shell
	Failed []Failure `json:"failed,omitempty"` // processes that failed by themselves, before the job was asked to end
}

// Failure is a process that failed.
type Failure struct {
	Rank int    `json:"rank"` // -1 stands for the launcher itself
	Node string `json:"node,omitempty"`
	What string `json:"what"` // "exit code 3", "signal: killed"
}

// String describes the failure.
func (f Failure) String() string {
	if f.Rank < 0 {
		return f.What
	}
	return fmt.Sprintf("rank %d on %s: %s", f.Rank, f.Node, f.What)
}

// String describes how the job ended.
func (e Exit) String() string {
	if e.Code == 0 {
		return "exit code 0"
	}
	s := fmt.Sprintf("exit code %d", e.Code)
	for i, f := range e.Failed {
		if i == 3 {
			return s + fmt.Sprintf(" and %d more", len(e.Failed)-i)
		}
		s += []string{" (", ", "}[min(i, 1)] + f.String()
		if i == len(e.Failed)-1 {
			s += ")"
		}
	}
	return s
}

// environ returns an environment in which some variables are replaced. A nil base means the environment of this process.
func environ(base []string, set ...string) []string {
	if base == nil {
		base = os.Environ()
	}
	return LastEnv(slices.Concat(base, set))
}

// runEnv returns the environment variables that all launchers set for the program.
func runEnv(l *Launch, prefix string, all []string) []string {
	return environ(l.Env,
		"SCR_PREFIX="+prefix,
		"SCR_NODELIST="+hostlist.Compress(all),
		"BLOBIO_RUN="+strconv.Itoa(l.Run),
		"BLOBIO_RUN_NODES="+strings.Join(l.Nodes, ","))
}

// OneWriter returns a writer that is safe for concurrent use. It returns a file unchanged, because the processes write to a
// file directly.
func OneWriter(w io.Writer) io.Writer {
	switch w.(type) {
	case nil, *os.File, *lockedWriter:
		return w
	}
	return &lockedWriter{w: w}
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
