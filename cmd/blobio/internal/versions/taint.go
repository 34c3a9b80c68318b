package versions

import (
	"fmt"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
)

type versionsTaintFlags struct {
	versions string
	clear    bool
	asJSON   bool
}

func newVersionsTaint(e *cli.Env) *cobra.Command {
	var f versionsTaintFlags
	cmd := &cobra.Command{
		Use:   "taint ARRAY --versions LIST",
		Short: "Mark versions that hold an error",
		Long: `Mark versions of an array that no program has open as tainted: they hold an error that was
noticed too late. Programs then open the array at the newest version without a mark, and
a hierarchy at the last snapshot without a mark on itself or its versions. Retention does
not count tainted versions. They can be read until the next version is made, which removes
them.

JSON: {array, versions, tainted}.`,
		Example: `  blobio versions taint store/rho --versions 5-7
  blobio versions taint store/amr.global --versions 12   # a snapshot
  blobio versions taint store/rho --versions 5 --clear   # it was sound after all`,
		Args: cli.ExactArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.versions == "" {
				return cli.Usagef("want --versions")
			}
			v, err := (&versionsKey{}).one(args[0])
			if err != nil {
				return err
			}
			defer v.Close()
			list, err := numbersOf(v, f.versions)
			if err == nil {
				err = v.Taint(!f.clear, list...)
			}
			if err != nil {
				return err
			}
			if f.asJSON {
				return e.PrintJSON(map[string]any{"array": v.Spec().Name, "versions": list, "tainted": !f.clear})
			}
			newest, err := findVersion(v, -1)
			if err != nil {
				return err
			}
			opens := fmt.Sprintf("opened at version %d", newest.Number)
			if newest.Tainted {
				opens = "all are tainted: it cannot be opened"
			}
			what := "tainted"
			if f.clear {
				what = "no longer tainted"
			}
			fmt.Fprintf(e.Out, "%s: %s (%s) %s; %s\n", v.Spec().Name, cli.Plural(len(list), "version"), listText(list), what, opens)
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.versions, "versions", "", "these versions, such as 1,3-7")
	fl.BoolVar(&f.clear, "clear", false, "remove the marks")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}
