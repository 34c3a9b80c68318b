package fti

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"blobio/ffformat/ffstore"
	"blobio/internal/cli"
)

func newFFRebuild(e *cli.Env) *cobra.Command {
	var o ffstore.RebuildOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rebuild STORE",
		Short: "Make the lost seal of a store from its files",
		Long: `Remake the lost or damaged seal of a store (a directory of checkpoints of many ranks)
from the files in its slots. The seal is the file that says which checkpoints are
committed. A slot is used if its files belong to one checkpoint, one for each rank, and
every byte is sound. Checkpoint files are only read. A damaged seal is kept as
checkpoints.damaged.

Without the seal, nobody knows whether a checkpoint was committed: one that was cut
short just before its commit may come back, whole.

Exit codes: 0 a seal was made (or would be, with -n), 1 the same, but some slots
cannot be used, 2 could not run, or no slot can be used.

JSON: {store, written, checkpoints: [...], left: [...]}.`,
		Example: `  blobio ff rebuild -n store     # which checkpoints are there?
  blobio ff rebuild store`,
		Args: cli.ExactArgs(1, "a store"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err == nil && !info.IsDir() {
				return fmt.Errorf("%s is a file, want the directory of a store", args[0])
			}
			list, left, err := ffstore.Rebuild(cmd.Context(), args[0], &o)
			if err != nil {
				if errors.Is(err, ffstore.ErrExist) {
					return cli.WithHint(err, "ff check looks at it; --force replaces it")
				}
				return errors.Join(append(left, err)...)
			}
			if len(left) > 0 {
				e.Code = cli.Findings
			}
			if asJSON {
				why := make([]string, len(left))
				for i, l := range left {
					why[i] = l.Error()
				}
				return e.PrintJSON(map[string]any{"store": args[0], "written": !o.DryRun, "checkpoints": list, "left": why})
			}
			for _, l := range left {
				fmt.Fprintln(e.Out, "left out:", l)
			}
			for _, i := range list {
				fmt.Fprintf(e.Out, "checkpoint %d in slot %d: %s of %s, %s\n", i.ID, i.Slot, cli.HumanBytes(i.Data), cli.Plural(i.Ranks, "rank"), i.Time.Format("2006-01-02 15:04:05"))
			}
			if o.DryRun {
				fmt.Fprintf(e.Out, "%s: %s; nothing was written\n", args[0], cli.Plural(len(list), "checkpoint"))
			} else {
				fmt.Fprintf(e.Out, "%s: a seal of %s was written\n", args[0], cli.Plural(len(list), "checkpoint"))
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&o.DryRun, "dry-run", "n", false, "only list the checkpoints found")
	fl.BoolVar(&o.Force, "force", false, "replace even a sound seal")
	cli.WorkersFlag(cmd, &o.Workers, "chunks read at once (default: number of CPUs)")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}
