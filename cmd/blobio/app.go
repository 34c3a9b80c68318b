package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitGood     = 0
	exitFindings = 1 // findings, differences
	exitFailed   = 2 // could not run
)

// env is what a run of the command sees of the world beside the file system.
type env struct {
	stdin  io.Reader // nil: that of the process
	stdout io.Writer
	stderr io.Writer
	args   []string // without the name of the program

	// hint says what to do about an error of a verb, or nothing.
	hint func(cmd *cobra.Command, err error) string
	// joinAdvice is how processes come to know of each other.
	joinAdvice string
	procs      *processes    // that run the command line together, or nil
	out        *bufio.Writer // in front of stdout
	noProgress bool
	code       int // what a verb that ran to its end has found
}

// Run executes one command line, whose verbs are those of root, and returns the exit code.
func (e *env) run(ctx context.Context, root *cobra.Command) int {
	e.out = bufio.NewWriterSize(standardOutput{e.stdout}, 1<<16)
	root.SetArgs(e.args)
	root.SetIn(e.stdin)
	root.SetOut(e.out)
	root.SetErr(e.stderr)
	cmd := root
	var err error
	if e.hasPart(root) {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	err = e.agree(ctx, err)
	if ferr := e.out.Flush(); err == nil && ferr != nil {
		err = ferr
	}
	if err != nil {
		fmt.Fprintln(e.stderr, "blobio: "+e.errorLine(cmd, err))
		return exitFailed
	}
	return e.code
}

// standardOutput says of its errors where they come from.
type standardOutput struct{ w io.Writer }

func (s standardOutput) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		err = withHint(fmt.Errorf("standard output: %w", err), "")
	}
	return n, err
}

// pathFailed reports an error about one of several paths, so that the others are
// still looked at. An interrupt ends the whole.
func (e *env) pathFailed(ctx context.Context, cmd *cobra.Command, paths int, err error) error {
	if paths == 1 || ctx.Err() != nil {
		return err
	}
	e.out.Flush()
	fmt.Fprintln(e.stderr, "blobio: "+e.errorLine(cmd, err))
	e.code = exitFailed
	return nil
}
