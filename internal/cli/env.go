package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Exit codes.
const (
	Good     = 0
	Findings = 1 // damage, findings, differences
	Failed   = 2 // could not run or could not judge
)

// Judge merges an exit code into e.Code: Findings takes precedence over Failed.
func (e *Env) Judge(code int) {
	if rank[code] > rank[e.Code] {
		e.Code = code
	}
}

// rank orders the exit codes, and is its own inverse.
var rank = [...]int{Good: 0, Findings: 2, Failed: 1}

// Env is the environment of a run of the command, except for the file system.
type Env struct {
	Stdin  io.Reader // nil: standard input of the process
	Stdout io.Writer
	Stderr io.Writer
	Args   []string // without the program name

	// Hint returns advice about an error of a verb, or "".
	Hint func(cmd *cobra.Command, err error) string
	// WhatIs describes a path that a verb cannot read and names the verb that can, or returns "".
	WhatIs func(path string) string
	// JoinAdvice explains how to run processes as one job.
	JoinAdvice string
	Procs      *Processes    // the processes that run the command line together, or nil
	Out        *bufio.Writer // buffers Stdout
	NoProgress bool
	Answers    bool // the exit code answers a question; damage prevents an answer, so its code is Failed
	Code       int  // result of a completed verb
}

// Run executes one command line with the verbs of root, and returns the exit code.
func (e *Env) Run(ctx context.Context, root *cobra.Command) int {
	e.Out = bufio.NewWriterSize(standardOutput{e.Stdout}, 1<<16)
	root.SetArgs(e.Args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Out)
	root.SetErr(e.Stderr)
	cmd := root
	var err error
	if e.hasPart(root) {
		cmd, err = root.ExecuteContextC(ctx)
	}
	if err == nil && ctx.Err() != nil && cmd.Annotations[serves] == "" {
		err = ctx.Err()
	}
	err = e.agree(ctx, err)
	if ferr := e.Out.Flush(); err == nil && ferr != nil {
		err = ferr
	}
	if err != nil {
		fmt.Fprintln(e.Stderr, "blobio: "+e.ErrorLine(cmd, err))
		return e.VerdictOf(err)
	}
	return e.Code
}

// VerdictOf returns the exit code for an error that ended a command line or the work on a path. Damage is Findings, as in a
// check, unless the exit code is an answer.
func (e *Env) VerdictOf(err error) int {
	if e.Answers || interrupted(err) || errors.As(err, new(*usageError)) || !fault.Damaged(err, e.mayDiffer) {
		return Failed
	}
	return Findings
}

// mayDiffer reports whether a file may legitimately have another format: the user named it, or it is a pointer to a file
// elsewhere.
func (e *Env) mayDiffer(file string) bool {
	return vfs.IsPointer(vfs.OS, file) || slices.ContainsFunc(e.Args, func(arg string) bool { return filepath.Clean(arg) == filepath.Clean(file) })
}

// serves marks verbs that run until they are interrupted.
const serves = "serves"

// AsService marks cmd as a verb for which an interrupt is a normal end.
func AsService(cmd *cobra.Command) *cobra.Command {
	return mark(cmd, serves)
}

// OutliveReaders prevents a broken pipe at stderr from ending the process, so that a server continues if nobody reads its
// messages.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// AllowMissingFlag adds --allow-missing.
func AllowMissingFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "allow-missing", false, "accept missing subfiles (elements read as fill values) and subfiles with fewer records (only the common records are read)")
}

// FillFlag adds --fill, which is "value" or "zero".
func FillFlag(cmd *cobra.Command, p *string) {
	ChoiceFlag(cmd, p, "fill", "value", "value of elements without an owner: the fill value, or zero", "value", "zero")
}

// mark adds an annotation to cmd.
func mark(cmd *cobra.Command, what string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[what] = "yes"
	return cmd
}

// Refuse prints the error of a command line that does not run, and returns the exit code.
func (e *Env) Refuse(root *cobra.Command, err error) int {
	if e.Root() {
		fmt.Fprintln(e.Stderr, "blobio: "+e.ErrorLine(root, err))
	}
	return Failed
}

// standardOutput names standard output in its errors.
type standardOutput struct{ w io.Writer }

func (s standardOutput) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		err = WithHint(fmt.Errorf("standard output: %w", err), "")
	}
	return n, err
}

// Each calls look for each path, and show to print the result, with an empty line between paths. show is nil if JSON follows at
// the end.
func (e *Env) Each(cmd *cobra.Command, paths []string, look func(path string) (show func() error, err error)) error {
	printed := false
	for _, path := range paths {
		show, err := look(path)
		if err != nil {
			if err := e.PathFailed(cmd.Context(), cmd, len(paths), err); err != nil {
				return err
			}
		} else if show != nil {
			if printed {
				fmt.Fprintln(e.Out)
			}
			printed = true
			if err := show(); err != nil {
				return err
			}
		}
	}
	return nil
}

// PathFailed reports an error about one of several paths, so that the others are still processed. An interrupt ends the whole
// command.
func (e *Env) PathFailed(ctx context.Context, cmd *cobra.Command, paths int, err error) error {
	if paths == 1 || ctx.Err() != nil {
		return err
	}
	e.Out.Flush()
	fmt.Fprintln(e.Stderr, "blobio: "+e.ErrorLine(cmd, err))
	e.Judge(e.VerdictOf(err))
	return nil
}
