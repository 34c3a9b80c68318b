package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/comm"
	"blobio/internal/launcher"
)

// processes are those that run one command line together. An env has none if this process is
// alone, as always without the build tag mpi.
type processes struct {
	comm comm.Comm
	// onNodes runs f on a Comm of the same ranks on nodes of so many each, 0 for those
	// that there are. Its error ends what the others wait for.
	onNodes func(ranksPerNode int, f func(c comm.Comm) error) error
	// fail ends what the other processes wait for with an error of this one.
	fail func(error)
}

// together marks verbs that all processes carry out; others are left to the first.
const together = "together"

func asTogether(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{together: "yes"}
	return cmd
}

// writes marks verbs that write what they are told to, but are not carried out together.
const writes = "writes"

func asWriter(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{writes: "yes"}
	return cmd
}

// aloneAmongOthers refuses a verb that writes in a process that is one of several and knows nothing of the others: each of
// them would write all of the same output.
func (e *env) aloneAmongOthers(cmd *cobra.Command) error {
	if e.procs != nil || cmd.Annotations[together] == "" && cmd.Annotations[writes] == "" {
		return nil
	}
	s := launcher.Several()
	if s == "" {
		return nil
	}
	return fmt.Errorf("%s: this is %s, and each would write the same output: %s; %s=0 says that each is meant to work alone", cmd.CommandPath(), s, e.joinAdvice, launcher.Variable)
}

// root says whether this process prints, and does what only one may do.
func (e *env) root() bool { return e.procs == nil || e.procs.comm.Rank() == 0 }

// comm is that of all processes.
func (e *env) comm() comm.Comm {
	if e.procs == nil {
		return comm.Self()
	}
	return e.procs.comm
}

// hasPart says whether this process takes part in a command line.
func (e *env) hasPart(root *cobra.Command) bool {
	if e.root() {
		return true
	}
	cmd, _, err := root.Find(e.args)
	return err == nil && cmd.Annotations[together] != ""
}

// agree ends a command line: all processes get an error if one met it, and the
// greatest of their exit codes.
func (e *env) agree(ctx context.Context, err error) error {
	if e.procs == nil {
		return err
	}
	if err != nil {
		e.procs.fail(err)
		return err
	}
	codes, err := e.procs.comm.AllreduceInt64(ctx, []int64{int64(e.code)}, comm.Max)
	if err == nil {
		e.code = int(codes[0])
	}
	return err
}
