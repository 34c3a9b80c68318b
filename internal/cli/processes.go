package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/comm"
	"blobio/internal/base/launcher"
)

// Processes are those that run one command line together. An env has none if this process is
// alone, as always without the build tag mpi.
type Processes struct {
	Comm comm.Comm
	// OnNodes runs f on a Comm of the same ranks, on nodes of ranksPerNode ranks each; 0 means the real
	// nodes. Its error ends what the others wait for.
	OnNodes func(ranksPerNode int, f func(c comm.Comm) error) error
	// Fail ends what the other processes wait for with an error of this one.
	Fail func(error)
}

// together marks verbs that all processes carry out; others are left to the first.
const together = "together"

// AsTogether marks cmd as one that all processes carry out.
func AsTogether(cmd *cobra.Command) *cobra.Command {
	return mark(cmd, together)
}

// writes marks verbs that write outputs that the user names, but are not carried out together.
const writes = "writes"

// AsWriter marks cmd as one that writes, and is not carried out together.
func AsWriter(cmd *cobra.Command) *cobra.Command {
	return mark(cmd, writes)
}

// AloneAmongOthers refuses a verb that writes in a process that is one of several and knows nothing of the others: each of
// them would write all of the same output.
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

// Root reports whether this process prints, and does what only one may do.
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

// agree ends a command line: all processes get an error if one met it, and the
// exit code that wins.
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
