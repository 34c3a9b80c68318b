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
	Failed   = 2 // could not run, or could not be judged
)

// Judge adds to the exit code: of several verdicts Findings wins, then Failed.
func (e *Env) Judge(code int) {
	if rank[code] > rank[e.Code] {
		e.Code = code
	}
}

// rank orders the exit codes, and is its own inverse.
var rank = [...]int{Good: 0, Findings: 2, Failed: 1}

// Env is what a run of the command sees of the world beside the file system.
type Env struct {
	Stdin  io.Reader // nil: the process's
	Stdout io.Writer
	Stderr io.Writer
	Args   []string // without the name of the program

	// Hint says what to do about an error of a verb, or nothing.
	Hint func(cmd *cobra.Command, err error) string
	// WhatIs says what a path is that a verb does not take, and who reads it, or nothing.
	WhatIs func(path string) string
	// JoinAdvice is how processes come to know of each other.
	JoinAdvice string
	Procs      *Processes    // that run the command line together, or nil
	Out        *bufio.Writer // in front of stdout
	NoProgress bool
	Answers    bool // the exit code answers a question, so damage, which keeps it from being answered, is Failed
	Code       int  // what a verb that ran to its end has found
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

// VerdictOf is the exit code of a command line that ended with an error, or of a path that did. Damage is Findings, as where a check finds it, but never an answer.
func (e *Env) VerdictOf(err error) int {
	if e.Answers || interrupted(err) || errors.As(err, new(*usageError)) || !fault.Damaged(err, e.mayDiffer) {
		return Failed
	}
	return Findings
}

// mayDiffer says that a file may well be of another format than the verb wants: it was named, or it is elsewhere.
func (e *Env) mayDiffer(file string) bool {
	return vfs.IsPointer(vfs.OS, file) || slices.ContainsFunc(e.Args, func(arg string) bool { return filepath.Clean(arg) == filepath.Clean(file) })
}

// serves marks verbs that go on until they are interrupted.
const serves = "serves"

// AsService marks cmd as one that an interrupt ends as it should end.
func AsService(cmd *cobra.Command) *cobra.Command {
	return mark(cmd, serves)
}

// OutliveReaders keeps a broken pipe at stderr from ending the process: what serves others goes on when nobody reads what it says.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// AllowMissingFlag adds --allow-missing.
func AllowMissingFlag(cmd *cobra.Command, p *bool) {
	cmd.Flags().BoolVar(p, "allow-missing", false, "accept missing subfiles (elements read as fill values) and subfiles with fewer records (only the common records are read)")
}

// FillFlag adds --fill, which is "value" or "zero".
func FillFlag(cmd *cobra.Command, p *string) {
	ChoiceFlag(cmd, p, "fill", "value", "value of elements without an owner: the fill value, or zero", "value", "zero")
}

// mark says something of cmd, beside what is said of it already.
func mark(cmd *cobra.Command, what string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[what] = "yes"
	return cmd
}

// Refuse ends a command line that is not carried out.
func (e *Env) Refuse(root *cobra.Command, err error) int {
	if e.Root() {
		fmt.Fprintln(e.Stderr, "blobio: "+e.ErrorLine(root, err))
	}
	return Failed
}

// standardOutput says of its errors where they come from.
type standardOutput struct{ w io.Writer }

func (s standardOutput) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		err = WithHint(fmt.Errorf("standard output: %w", err), "")
	}
	return n, err
}

// Each looks at each path and prints what it found there, with an empty line between; show is nil where JSON follows at the end.
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

// PathFailed reports an error about one of several paths, so that the others are
// still looked at. An interrupt ends the whole.
func (e *Env) PathFailed(ctx context.Context, cmd *cobra.Command, paths int, err error) error {
	if paths == 1 || ctx.Err() != nil {
		return err
	}
	e.Out.Flush()
	fmt.Fprintln(e.Stderr, "blobio: "+e.ErrorLine(cmd, err))
	e.Judge(e.VerdictOf(err))
	return nil
}
