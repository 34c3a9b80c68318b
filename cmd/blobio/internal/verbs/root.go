package verbs

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"blobio/cmd/blobio/internal/cost"
	"blobio/cmd/blobio/internal/dataset"
	"blobio/cmd/blobio/internal/decomps"
	"blobio/cmd/blobio/internal/fti"
	"blobio/cmd/blobio/internal/manual"
	"blobio/cmd/blobio/internal/mesh"
	"blobio/cmd/blobio/internal/mounts"
	"blobio/cmd/blobio/internal/rates"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/cmd/blobio/internal/server"
	"blobio/cmd/blobio/internal/versions"
	"blobio/internal/base/version"
	"blobio/internal/cli"
)

// newRoot builds the tree of commands.
func newRoot(e *cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "blobio",
		Short: "List, dump, check, compare and convert datasets in blob layouts, and checkpoints",
		Long: `blobio processes datasets that many ranks wrote as a few large extents ("blobs"). It supports
the variable-centric layout of PnetCDF (CDF-5 subfiles), the process-centric layout of HDF5
(header_blob, data_blob), and ordinary netCDF.

ls, check, dump, diff and plot accept any path and detect its kind by content: a dataset, an
ordinary netCDF file, a map file, a checkpoint of FTI, SCR or Cello, a store of versions, or a
key/value file. They pass the path to the verb of that family, which has its own flags. See
"blobio ff", "scr", "amr", "versions" and "decomp".

A dataset is given by its base name (F_h0.nc), by any of its subfiles (F_h0.nc.0000), or by a
directory that holds no other dataset.

Exit codes of all verbs: 0 good, 1 damaged or different, 2 could not be checked or run (unknown
feature or format, wrong flags, no such file). If both 1 and 2 apply, the exit code is 1.`,
		Example: `  blobio replay --case F --ranks 16 -o run        # write the F case in both layouts
  blobio ls run                                   # list the contents
  blobio dump -h run/F_h1.nc                      # as ncdump would show it
  blobio check run/F_h1.nc                        # find errors
  blobio convert run/F_h1.nc F_h1.canonical.nc    # ordinary netCDF
  blobio decomp plot map_f_case_16p.nc -o d1.png  # the owner of each element`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return e.AloneAmongOthers(cmd) }
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cli.Describe(cmd)
		help(cmd, args)
	})
	root.SetVersionTemplate("blobio {{.Version}}\n")
	root.PersistentFlags().BoolVar(&e.NoProgress, "no-progress", false, "hide progress bars (default: shown only on a terminal)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.AsUsage(cli.FlagError(err)) })
	cli.AsGroup(root)
	root.AddCommand(dataset.NewLs(e), dataset.NewDump(e), dataset.NewCheck(e), cli.AsWriter(dataset.NewRecover(e)), cli.AsTogether(dataset.NewConvert(e)), dataset.NewDiff(e), dataset.NewWhere(e), decomps.New(e), fti.New(e), scrtools.New(e), mesh.New(e), cli.AsTogether(rates.NewReplay(e)), rates.NewBench(e))
	root.AddCommand(versions.New(e), cost.New(e), dataset.NewPlot(e), mounts.NewMount(e), server.NewServe(e), manual.NewMan(e))
	cli.CompleteArguments(root)
	return root
}

// versionText describes the version and the build.
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

// Run executes one command line and returns the exit code.
func Run(ctx context.Context, e *cli.Env) int {
	e.Hint, e.JoinAdvice = hint, joinAdvice
	e.WhatIs = func(path string) string { return whatItIs(path, e.Args) }
	lines, err := route(e.Args)
	if err != nil {
		return e.Refuse(newRoot(e), err)
	}
	all := &cli.Env{}
	for _, line := range lines {
		e.Args, e.Code = line, cli.Good
		all.Judge(e.Run(ctx, newRoot(e)))
	}
	return all.Code
}

// Main runs the whole command.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	code := runTogether(ctx, &cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, Args: os.Args[1:]})
	stop()
	os.Exit(code)
}
