package scrtools

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/salvage"
)

func newScrRebuild(e *cli.Env) *cobra.Command {
	var f scrSaved
	var dry, quick, noIndex, current bool
	cmd := &cobra.Command{
		Use:   "rebuild [PREFIX]",
		Short: "Rebuild lost files of scavenged datasets from their redundancy",
		Long: `Rebuild the lost files of scavenged datasets from their redundancy, without running the program:
first the file maps, then the files. A file that does not match its checksum counts as lost.
Then rebuild writes the map and summary of each dataset, and the index lists the dataset as
complete. Complete datasets do not change.

A dataset that has lost too much does not change and is not listed as complete. It can be
scavenged again and rebuilt later.

--dry-run changes nothing. It lists the scavenged and the missing file maps, files and
redundancy files of each rank. Files are compared with the checksums of the copy or of the run.
A file is good (it matches a checksum), present (there is no checksum), absent, wrong (another
size, or never completed), or damaged.

Exit codes: 0 all datasets are complete (-n: nothing is missing), 1 some datasets could not be
rebuilt (-n: something is missing or damaged), 2 could not run.

With -n, each element of JSON is {id, name, ranks, files, bytes, indexed, verified, missing:
[{rank, what}], invalid, unread}.`,
		Example: `  blobio scr rebuild -n /p/sim                 # list existing and missing files
  blobio scr rebuild /p/sim
  blobio scr rebuild --id 4 --current /p/sim    # the next run starts from it
  blobio scr rebuild --no-index /p/sim          # rebuild the files only`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.open(args)
			if err != nil {
				return err
			}
			switch {
			case noIndex && current:
				return cli.Usagef("--current and --no-index cannot be combined")
			case dry && (noIndex || current):
				return cli.Usagef("--dry-run changes nothing and cannot be combined with --no-index or --current")
			case quick && !dry:
				return cli.Usagef("--quick needs --dry-run")
			}
			ids, err := f.ids(d)
			if err != nil {
				return err
			}
			if dry {
				return f.scan(cmd.Context(), e, d, ids, quick)
			}
			all := []scrRebuilt{}
			for _, id := range ids {
				o := salvage.Options{Prefix: d, Was: f.was, ID: id, Current: current}
				do := salvage.Index
				if noIndex {
					do = salvage.Rebuild
				}
				res, err := do(cmd.Context(), o)
				if cmd.Context().Err() != nil {
					return err
				}
				all = append(all, rebuiltOf(e, id, res, err))
			}
			if f.asJSON {
				return e.PrintJSON(map[string]any{"datasets": all})
			}
			if len(all) == 0 {
				fmt.Fprintln(e.Out, "the prefix directory has no scavenged datasets")
			}
			for _, r := range all {
				fmt.Fprintln(e.Out, r)
			}
			return nil
		},
	}
	f.flags(cmd, "rebuild only this dataset (default: all)", map[string]any{"datasets": []scrRebuilt{}})
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "list scavenged and missing files, change nothing")
	cmd.Flags().BoolVar(&quick, "quick", false, "--dry-run: compare sizes only, do not read the files")
	cmd.Flags().BoolVar(&noIndex, "no-index", false, "do not list datasets in the index")
	cmd.Flags().BoolVar(&current, "current", false, "start the next run from the rebuilt dataset (the newest if there are several)")
	return cmd
}

// scrRebuilt describes the rebuild of a dataset.
type scrRebuilt struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Safe     bool     `json:"safe"` // the dataset was already complete
	Ranks    int      `json:"ranks"`
	Files    int64    `json:"files"`
	Bytes    int64    `json:"bytes"`
	Verified bool     `json:"verified"`
	Rebuilt  []string `json:"rebuilt"`
	Damaged  []string `json:"damaged"`
	Error    string   `json:"error,omitempty"`
}

func rebuiltOf(e *cli.Env, id int, res *salvage.Result, err error) scrRebuilt {
	r := scrRebuilt{ID: id, Rebuilt: []string{}, Damaged: []string{}}
	if err != nil {
		e.Code = cli.Findings
		r.Error = strings.TrimPrefix(salvageText(err), fmt.Sprintf("dataset %d: ", id))
		return r
	}
	r.Name, r.OK, r.Safe, r.Ranks, r.Verified = res.Dataset.Name, true, res.Safe, res.Ranks, res.Verified
	r.Files, r.Bytes = res.Totals()
	r.Rebuilt, r.Damaged = append(r.Rebuilt, res.Rebuilt...), append(r.Damaged, res.Damaged...)
	return r
}

// String describes the result in a line.
func (r scrRebuilt) String() string {
	switch {
	case !r.OK:
		return fmt.Sprintf("dataset %d is not saved: %s", r.ID, r.Error)
	case r.Safe:
		return fmt.Sprintf("dataset %d %s was complete already", r.ID, r.Name)
	}
	return fmt.Sprintf("dataset %d %s is complete: %s of %s, %s; %d rebuilt, %d because of damage",
		r.ID, r.Name, cli.Plural(r.Files, "file"), cli.Plural(r.Ranks, "rank"), cli.HumanBytes(r.Bytes), len(r.Rebuilt), len(r.Damaged))
}
