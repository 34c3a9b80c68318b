package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"blobio/internal/version"
)

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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return asUsage(flagError(err)) })
	asGroup(root)
	root.AddCommand(newLs(e), newDump(e), newCheck(e), asWriter(newRecover(e)), asTogether(newConvert(e)), newDiff(e), newDecomp(e), newFF(e), newScr(e), newAmr(e), asTogether(newReplay(e)), newBench(e))
	root.AddCommand(newVersions(e), newCost(e))
	return root
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

// run executes one command line and returns the exit code.
func run(ctx context.Context, e *env) int {
	e.hint, e.joinAdvice = hint, joinAdvice
	return e.run(ctx, newRoot(e))
}

// Main is the whole command.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	code := runTogether(ctx, &env{stdout: os.Stdout, stderr: os.Stderr, args: os.Args[1:]})
	stop()
	os.Exit(code)
}
