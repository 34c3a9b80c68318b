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

// Launch is one run of the program.
type Launch struct {
	Run     int      // its number, from 1
	Nodes   []string // in the order of the ranks: the first PerNode ranks are on the first node
	Down    []string // nodes of the allocation that must not be used
	PerNode int      // processes on each node, at least 1
	Args    []string // the program and its arguments
	Dir     string   // working directory; "": the loop's
	Env     []string // NAME=value, the whole environment; nil: the loop's

	// Output of the program; nil: nowhere. Several processes may write at once; each write of one stays whole.
	Stdout, Stderr io.Writer
}

// Size is the number of processes.
func (l *Launch) Size() int { return len(l.Nodes) * max(l.PerNode, 1) }

// Launcher starts the program on nodes.
type Launcher interface {
	Name() string
	// Plan lists the commands that Start would run, for people.
	Plan(l Launch) [][]string
	// Start starts the program and returns at once. ctx bounds the start only.
	Start(ctx context.Context, l Launch) (Job, error)
}

// Job is a running program.
type Job interface {
	// Done is closed when all its processes have ended.
	Done() <-chan struct{}
	// Exit is how it ended; only after Done.
	Exit() Exit
	// End asks all processes to end; hard does not leave them a choice. It does not wait.
	End(hard bool)
}

// Exit is how a job ended.
type Exit struct {
	Code   int       `json:"code"`             // 0: well. The code of the first process that failed; 128 and the signal as in a shell
	Failed []Failure `json:"failed,omitempty"` // processes that ended with an error before they were asked to end
}

// Failure is a process that failed.
type Failure struct {
	Rank int    `json:"rank"` // -1: of the launcher itself
	Node string `json:"node,omitempty"`
	What string `json:"what"` // exit code 3, signal: killed
}

// String is for people.
func (f Failure) String() string {
	if f.Rank < 0 {
		return f.What
	}
	return fmt.Sprintf("rank %d on %s: %s", f.Rank, f.Node, f.What)
}

// String is for people.
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

// environ is the environment, nil being this process's, with other values for some names.
func environ(base []string, set ...string) []string {
	if base == nil {
		base = os.Environ()
	}
	return LastEnv(slices.Concat(base, set))
}

// runEnv is the environment that all launchers add.
func runEnv(l *Launch, prefix string, all []string) []string {
	return environ(l.Env,
		"SCR_PREFIX="+prefix,
		"SCR_NODELIST="+hostlist.Compress(all),
		"BLOBIO_RUN="+strconv.Itoa(l.Run),
		"BLOBIO_RUN_NODES="+strings.Join(l.Nodes, ","))
}

// OneWriter lets several goroutines write. A file of the system is passed on as it is: processes write to it themselves.
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
