package versions

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/versioned"
)

type versionsRebuildFlags struct{ dry, asJSON bool }

func newVersionsRebuild(e *cli.Env) *cobra.Command {
	var f versionsRebuildFlags
	cmd := &cobra.Command{
		Use:   "rebuild STORE|ARRAY...",
		Short: "Rebuild the seals of arrays",
		Long: `Rebuild the seals of arrays, or of all arrays of a store. A seal lists the versions of an array
and is kept in two files. If one file is absent, damaged or older than the other, it is rebuilt
from the other. If both are lost, the seal is rebuilt from the data files. No program may have
the store open. Intact seals do not change.

A seal from data files lists only the versions with all chunks. It may list a version that was
dropped before. Files that belong to no version are renamed to names that begin with "left-". In
stores of older programs, data files do not name their array.

Exit codes: 0 all seals are intact now, 1 files were skipped, or too much of an array is
damaged, 2 could not run.`,
		Example: `  blobio versions rebuild -n store          # print the steps, change nothing
  blobio versions rebuild store
  blobio versions rebuild store/rho`,
		Args: cli.MinArgs(1, "the directory of a store or of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	cmd.Flags().BoolVarP(&f.dry, "dry-run", "n", false, "print what would be done, change nothing")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"arrays": []*versioned.Rebuilt{}, "written": true})
	return cmd
}

func (f *versionsRebuildFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	arrays, err := arraysOf(paths)
	if err != nil {
		return err
	}
	out := []*versioned.Rebuilt{}
	for _, a := range arrays {
		r, err := versioned.Rebuild(ctx, a, nil, f.dry)
		if err != nil {
			if err := e.PathFailed(ctx, cmd, len(arrays), err); err != nil {
				return err
			}
			continue
		}
		out = append(out, r)
		if len(r.Left) > 0 {
			e.Judge(cli.Findings)
		}
		if !f.asJSON {
			f.print(e, a, r)
		}
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"arrays": out, "written": !f.dry})
	}
	return nil
}

func (f *versionsRebuildFlags) print(e *cli.Env, dir string, r *versioned.Rebuilt) {
	for _, x := range r.Left {
		fmt.Fprintf(e.Out, "skipped: %s: %s\n", x.File, cli.ErrorText(errors.New(x.Msg)))
	}
	what := "the seal is intact"
	switch {
	case r.Whole:
	case r.FromTwin:
		what = "the seal rebuilt from the intact file"
	default:
		what = "the seal rebuilt from the data files"
	}
	if !r.Whole && f.dry {
		what += "; nothing was written (--dry-run)"
	}
	fmt.Fprintf(e.Out, "%s: %s, %s\n", dir, cli.Plural(len(r.Versions), "version"), what)
}
