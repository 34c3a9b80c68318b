package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/comm"
	"blobio/internal/base/launcher"
)

// Processes are the processes that run one command line together. An Env has none if this process is alone; without the build tag
// mpi it always is.
type Processes struct {
	Comm comm.Comm
	// OnNodes runs f on a Comm of the same ranks, on nodes of ranksPerNode ranks each; 0 means the real nodes. An error of f fails
	// the pending calls of other ranks.
	OnNodes func(ranksPerNode int, f func(c comm.Comm) error) error
	// Fail fails the pending calls of the other processes with an error.
	Fail func(error)
}

// together marks verbs that all processes run; only the first process runs other verbs.
const together = "together"

// AsTogether marks cmd as a verb that all processes run.
func AsTogether(cmd *cobra.Command) *cobra.Command {
	return mark(cmd, together)
}

// writes marks verbs that write user-named outputs in one process.
const writes = "writes"

// AsWriter marks cmd as a verb that writes outputs in one process.
func AsWriter(cmd *cobra.Command) *cobra.Command {
	return mark(cmd, writes)
}

// AloneAmongOthers returns an error if a writing verb runs in one of several processes that do not know each other, because each
// process would write the same output.
func (e *Env) AloneAmongOthers(cmd *cobra.Command) error {
	if e.Procs != nil || cmd.Annotations[together] == "" && cmd.Annotations[writes] == "" {
		return nil
	}
	s := launcher.Several()
	if s == "" {
		return nil
	}
	return fmt.Errorf("%s: this is %s, and each process would write the same output: %s; set %s=0 if each process should work alone", cmd.CommandPath(), s, e.JoinAdvice, launcher.Variable)
}

// Root reports whether this process prints and does the work of a single process.
func (e *Env) Root() bool { return e.Procs == nil || e.Procs.Comm.Rank() == 0 }

// Comm returns the Comm of all processes.
func (e *Env) Comm() comm.Comm {
	if e.Procs == nil {
		return comm.Self()
	}
	return e.Procs.Comm
}

// hasPart reports whether this process takes part in a command line.
func (e *Env) hasPart(root *cobra.Command) bool {
	if e.Root() {
		return true
	}
	cmd, _, err := root.Find(e.Args)
	return err == nil && cmd.Annotations[together] != ""
}

// agree ends a command line: all processes get an error of any process, and the merged exit code.
func (e *Env) agree(ctx context.Context, err error) error {
	if e.Procs == nil {
		return err
	}
	if err != nil {
		e.Procs.Fail(err)
		return err
	}
	codes, err := e.Procs.Comm.AllreduceInt64(ctx, []int64{int64(rank[e.Code])}, comm.Max)
	if err == nil {
		e.Code = rank[codes[0]]
	}
	return err
}
