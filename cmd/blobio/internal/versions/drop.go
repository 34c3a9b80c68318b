package versions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/versioned"
)

type versionsDropFlags struct {
	versions   string
	keep       int
	every      int64
	dry, force bool
	asJSON     bool
}

func newVersionsDrop(e *cli.Env) *cobra.Command {
	var f versionsDropFlags
	cmd := &cobra.Command{
		Use:   "drop ARRAY --versions LIST | --keep N",
		Short: "Drop versions and remove files that no other version needs",
		Long: `Drop versions of an array, and remove files that no other version needs. No program may have
the array open. drop does not ask for confirmation. The newest untainted version cannot be
dropped. --keep does not count tainted versions and drops them. A file that another version
needs stays whole, so drop may free little space at first.

Versions of a level that belong to a snapshot of the hierarchy are kept, unless --force is
given. Without them, the hierarchy cannot be opened at that snapshot.

drop needs no key for encrypted stores.

JSON: {array, dropped, kept_for_snapshots, bytes, files, dry_run}.`,
		Example: `  blobio versions drop store/rho --versions 1,3-7
  blobio versions drop store/rho --keep 3 --every 10    # the newest 3, and 0, 10, 20, ...
  blobio versions drop store/rho --keep 1 --dry-run     # print what would be freed, change nothing`,
		Args: cli.ExactArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args[0])
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.versions, "versions", "", "drop these versions, such as 1,3-7")
	fl.IntVar(&f.keep, "keep", 0, "number of newest versions to keep; drop all others")
	fl.Int64Var(&f.every, "every", 0, "--keep: also keep versions whose number is a multiple of this")
	fl.BoolVarP(&f.dry, "dry-run", "n", false, "print what would be freed, change nothing")
	fl.BoolVar(&f.force, "force", false, "also drop versions that belong to snapshots of a hierarchy")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

func (f *versionsDropFlags) run(cmd *cobra.Command, e *cli.Env, dir string) error {
	ctx := cmd.Context()
	given := cmd.Flags().Changed
	switch {
	case given("versions") == given("keep"):
		return cli.Usagef("no versions selected: give --versions or --keep")
	case given("keep") && f.keep < 1:
		return cli.Usagef("--keep %d, want 1 or more: the newest version stays", f.keep)
	case given("every") && (!given("keep") || f.every < 1):
		return cli.Usagef("--every needs --keep, and a number of at least 1")
	}
	v, err := (&versionsKey{}).one(dir)
	if err != nil {
		return err
	}
	defer v.Close()
	list, err := f.choose(v)
	if err != nil {
		return err
	}
	var needed []int64
	if !f.force {
		if list, needed, err = withoutSnapshots(ctx, v, list); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	bytes, files, err := v.Drop(ctx, f.dry, list...)
	if err != nil {
		return err
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"array": v.Spec().Name, "dropped": append([]int64{}, list...), "kept_for_snapshots": append([]int64{}, needed...),
			"bytes": bytes, "files": files, "dry_run": f.dry})
	}
	if len(needed) > 0 {
		fmt.Fprintf(e.Out, "kept for snapshots: %s (--force drops them)\n", listText(needed))
	}
	verb := "dropped"
	if f.dry {
		verb = "would drop"
	}
	what := "nothing"
	if len(list) > 0 {
		what = cli.Plural(len(list), "version") + " (" + listText(list) + ")"
	}
	fmt.Fprintf(e.Out, "%s: %s %s, %s in %s freed\n", v.Spec().Name, verb, what, cli.HumanBytes(bytes), cli.Plural(files, "file"))
	return nil
}

// choose lists the versions selected by the flags.
func (f *versionsDropFlags) choose(v *versioned.View) ([]int64, error) {
	if f.versions == "" {
		return v.Expired(versioned.Retention{Last: f.keep, Every: f.every}), nil
	}
	out, err := numbersOf(v, f.versions)
	if newest, _ := findVersion(v, -1); err == nil && slices.Contains(out, newest.Number) {
		return nil, cli.Usagef("version %d is the newest version of array %s and cannot be dropped", newest.Number, v.Spec().Name)
	}
	return out, err
}

// numbersOf parses a list of versions of an array, as in --versions.
func numbersOf(v *versioned.View, list string) (out []int64, err error) {
	for _, part := range strings.Split(list, ",") {
		a, b, isRange := strings.Cut(part, "-")
		lo, err := strconv.ParseInt(a, 10, 64)
		hi := lo
		if isRange && err == nil {
			hi, err = strconv.ParseInt(b, 10, 64)
		}
		if err != nil || lo < 0 || hi < lo {
			return nil, cli.Usagef("--versions %q, want numbers and ranges as in 1,3-7", list)
		}
		found := false
		for _, x := range v.Versions() {
			if x.Number >= lo && x.Number <= hi {
				found, out = true, append(out, x.Number)
			}
		}
		if !found {
			return nil, fmt.Errorf("array %s: version %s: %w", v.Spec().Name, part, versioned.ErrNoVersion)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// withoutSnapshots removes the versions that snapshots of the hierarchy use.
func withoutSnapshots(ctx context.Context, v *versioned.View, list []int64) (drop, needed []int64, err error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	pins, err := v.Pinned(ctx)
	if errors.Is(err, versioned.ErrKey) {
		return nil, nil, cli.WithHint(err, "--force drops these versions")
	}
	for _, n := range list {
		if _, pinned := slices.BinarySearch(pins, n); pinned {
			needed = append(needed, n)
		} else {
			drop = append(drop, n)
		}
	}
	return drop, needed, err
}

// listText formats ascending numbers with runs: 1, 3 to 7.
func listText(list []int64) string {
	var out []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+1 {
			k++
		}
		switch {
		case k == i:
			out = append(out, strconv.FormatInt(list[i], 10))
		case k == i+1:
			out = append(out, fmt.Sprintf("%d, %d", list[i], list[k]))
		default:
			out = append(out, fmt.Sprintf("%d to %d", list[i], list[k]))
		}
		i = k + 1
	}
	return strings.Join(out, ", ")
}

type versionsTaintFlags struct {
	versions string
	clear    bool
	asJSON   bool
}

func newVersionsTaint(e *cli.Env) *cobra.Command {
	var f versionsTaintFlags
	cmd := &cobra.Command{
		Use:   "taint ARRAY --versions LIST",
		Short: "Mark versions that contain an error",
		Long: `Mark versions of an array as tainted: they contain an error that was detected too late. No
program may have the array open. Programs then open the array at the newest untainted
version, and a hierarchy at the last snapshot without tainted versions. Retention does not
count tainted versions. Tainted versions can be read until the next version is committed;
the commit removes them.

JSON: {array, versions, tainted}.`,
		Example: `  blobio versions taint store/rho --versions 5-7
  blobio versions taint store/amr.global --versions 12   # a snapshot
  blobio versions taint store/rho --versions 5 --clear   # remove the mark`,
		Args: cli.ExactArgs(1, "the directory of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.versions == "" {
				return cli.Usagef("--versions is missing")
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
				opens = "all versions are tainted, so the array cannot be opened"
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
	fl.StringVar(&f.versions, "versions", "", "versions to mark, such as 1,3-7")
	fl.BoolVar(&f.clear, "clear", false, "remove the marks")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}
