package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/version"
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

	procs      *processes    // that run the command line together, or nil
	out        *bufio.Writer // in front of stdout
	noProgress bool
	code       int // what a verb that ran to its end has found
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, e *env) int {
	e.out = bufio.NewWriterSize(standardOutput{e.stdout}, 1<<16)
	root := newRoot(e)
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
		fmt.Fprintln(e.stderr, "blobio: "+errorLine(cmd, err))
		return exitFailed
	}
	return e.code
}

// standardOutput says of its errors where they come from.
type standardOutput struct{ w io.Writer }

func (s standardOutput) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		err = &hinted{fmt.Errorf("standard output: %w", err), ""}
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
	fmt.Fprintln(e.stderr, "blobio: "+errorLine(cmd, err))
	e.code = exitFailed
	return nil
}

// newRoot builds the tree of commands.
func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "blobio",
		Short: "List, dump, check, compare and convert datasets in blob layouts, and checkpoints",
		Long: `blobio works with datasets that were written by many ranks as a few large
extents ("blobs"): the variable-centric layout of PnetCDF (CDF-5 subfiles), the
process-centric layout of HDF5 (header_blob, data_blob), and ordinary netCDF.

It also works with FTI-FF checkpoint files, see "blobio ff", and with the
multi-level checkpoints of SCR, see "blobio scr", and with checkpoints of adaptive
meshes (Enzo-E, Cello), see "blobio amr", and with the versions of arrays, see
"blobio versions".

A dataset is named by its base name (F_h0.nc), by any of its subfiles
(F_h0.nc.0000), or by a directory that holds no other. What a file is, its
content decides.

Exit codes: 0 good, 1 findings or differences, 2 could not run.`,
		Example: `  blobio replay --case F --ranks 16 --out run     # write the F case in both layouts
  blobio ls run                                   # what is there
  blobio dump -h run/F_h1.nc                      # as ncdump would show it
  blobio check run/F_h1.nc                        # is it whole?
  blobio convert run/F_h1.nc F_h1.canonical.nc    # ordinary netCDF
  blobio decomp plot map_f_case_16p.nc -o d1.png  # who owns what`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return e.aloneAmongOthers(cmd) }
	root.SetVersionTemplate("blobio {{.Version}}\n")
	root.PersistentFlags().BoolVar(&e.noProgress, "no-progress", false, "no progress bars (they are only shown on a terminal)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{flagError(err)} })
	asGroup(root)
	root.AddCommand(newLs(e), newDump(e), newCheck(e), asWriter(newRecover(e)), asTogether(newConvert(e)), newDiff(e), newDecomp(e), newFF(e), newScr(e), newAmr(e), asTogether(newReplay(e)), newBench(e))
	root.AddCommand(newVersions(e), newCost(e))
	return root
}

var numberError = regexp.MustCompile(`: strconv\.\w+: parsing "(?:[^"\\]|\\.)*": (invalid syntax|value out of range)$`)

// flagError says in words that a flag wants a number.
func flagError(err error) error {
	msg := numberError.ReplaceAllStringFunc(err.Error(), func(s string) string {
		if strings.HasSuffix(s, "range") {
			return ", the number is out of range"
		}
		return ", want a number"
	})
	return errors.New(msg)
}

// asGroup makes cmd one that only has others below it.
func asGroup(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		msg := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			msg += ", did you mean " + strings.Join(s, " or ") + "?"
		}
		return &usageError{errors.New(msg)}
	}
	cmd.SuggestionsMinimumDistance = 2
}

// minArgs and exactArgs name what is missing, in the words of the synopsis.
func minArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s wants %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s wants %s", cmd.CommandPath(), what)
		}
		if len(args) > n {
			return usagef("%s wants %s, there is %q too many", cmd.CommandPath(), what, args[n])
		}
		return nil
	}
}

// versionText is the version, and what the command was built with.
func versionText() string {
	rev := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				rev = ", " + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return fmt.Sprintf("%s (%s, %s/%s%s)", version.Number, runtime.Version(), runtime.GOOS, runtime.GOARCH, rev)
}

// maxArgs allows no more than n arguments.
func maxArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%s wants %s, there is %q too many", cmd.CommandPath(), what, args[n])
		}
		return nil
	}
}
