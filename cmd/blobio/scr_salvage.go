package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/scr/cachedir"
	"blobio/scr/prefixdir"
	"blobio/scr/salvage"
)

// scrSaved are the flags of the verbs that work on what was scavenged.
type scrSaved struct {
	id     int
	was    string
	asJSON bool
}

func (f *scrSaved) flags(cmd *cobra.Command, id string) {
	fl := cmd.Flags()
	fl.IntVar(&f.id, "id", 0, id)
	fl.StringVar(&f.was, "was", "", "the path that PREFIX had when the datasets were written, if it was moved")
	jsonFlag(cmd, &f.asJSON)
}

func (f *scrSaved) open(args []string) (*prefixdir.Dir, error) {
	if f.id < 0 {
		return nil, usagef("--id %d, want the number of a dataset", f.id)
	}
	return scrPrefix(args)
}

// ids are the datasets that were scavenged, or the one that is asked for.
func (f *scrSaved) ids(d *prefixdir.Dir) ([]int, error) {
	ids, err := salvage.Datasets(d)
	if err != nil {
		return nil, err
	}
	if f.id > 0 {
		if !slices.Contains(ids, f.id) {
			return nil, fmt.Errorf("%s: nothing was scavenged of dataset %d", d.Path, f.id)
		}
		return []int{f.id}, nil
	}
	return ids, nil
}

// salvagePackages are of no use on the command line.
var salvagePackages = regexp.MustCompile(`(^|: |; )(?:(?:salvage|cachedir|prefixdir|redset|kvtree): )+`)

// salvageText says an error of a dataset in one line.
func salvageText(err error) string {
	text := salvagePackages.ReplaceAllString(errorText(err), "$1")
	if errors.Is(err, salvage.ErrOutside) {
		text += " (was PREFIX moved? see --was)"
	}
	return text
}

// scrOtherName is what is wrong, most of the time, where a cache seems to be empty.
const scrOtherName = "scr check --control tells what is there; had the directory another name on the node? see --control THERE=HERE"

func needDir(path string) error {
	info, err := vfs.OS.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file, want a directory", path)
	}
	return err
}

func newScrScan(e *env) *cobra.Command {
	var f scrSaved
	var quick, tree bool
	cmd := &cobra.Command{
		Use:   "scan [PREFIX]",
		Short: "Tell what was scavenged into a prefix directory, and what of it is missing",
		Long: `Tell what was scavenged into a prefix directory, and what of it is missing: file
maps, files and redundancy files of each rank, compared with the checksums that
were made when they were copied, or by the run. Nothing is changed.

Files are: good (they match a checksum), present (there is none to compare with),
absent, wrong (another size, or never completed), damaged.

Exit codes: 0 nothing is missing, 1 something is missing or damaged, 2 could not
run.

JSON: {"datasets": [{id, name, ranks, files, bytes, indexed, verified, missing:
[{rank, what}], invalid: [...], unread: [...]}]}.`,
		Example: `  blobio scr scan /p/sim
  blobio scr scan --id 4 --tree /p/sim      # as a tree, with all files
  blobio scr scan --quick --json /p/sim | jq '.datasets[].missing'`,
		Args: maxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.open(args)
			if err != nil {
				return err
			}
			ids, err := f.ids(d)
			if err != nil {
				return err
			}
			return e.scrScan(cmd.Context(), d, ids, &f, quick, tree)
		},
	}
	f.flags(cmd, "look at this dataset only (default: all)")
	cmd.Flags().BoolVarP(&quick, "quick", "q", false, "look at sizes only: do not read the files")
	cmd.Flags().BoolVar(&tree, "tree", false, "print all that was found, as a key/value tree")
	return cmd
}

// scrLack is what is missing of a rank.
type scrLack struct {
	Rank int    `json:"rank"`
	What string `json:"what"`
}

// scrScanned is a dataset that was scanned.
type scrScanned struct {
	ID       int       `json:"id"`
	Name     string    `json:"name"`
	Ranks    int       `json:"ranks"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Indexed  bool      `json:"indexed"` // complete in the index
	Verified bool      `json:"verified"`
	Missing  []scrLack `json:"missing"`
	Invalid  []string  `json:"invalid"`
	Unread   []string  `json:"unread"`
}

func (e *env) scrScan(ctx context.Context, d *prefixdir.Dir, ids []int, f *scrSaved, quick, tree bool) error {
	x, _, _, err := d.LoadIndex()
	if err != nil {
		return err
	}
	all := []scrScanned{}
	for _, id := range ids {
		s, err := salvage.ScanDataset(ctx, salvage.ScanOptions{Prefix: d, Was: f.was, ID: id, Sizes: quick})
		if err != nil {
			return err
		}
		rep := s.Inspect()
		if !rep.OK() {
			e.code = exitFindings
		}
		row := scrScanned{ID: id, Name: s.Dataset.Name, Ranks: s.Size, Verified: rep.Verified, Missing: []scrLack{}, Invalid: append([]string{}, rep.Invalid...), Unread: append([]string{}, s.Unread...)}
		if en, ok := x.Entry(s.Dataset.Name); ok && en.ID == id {
			row.Indexed = en.Complete
		}
		for _, r := range s.Ranks {
			for _, file := range r.Files {
				if file.State >= salvage.Present {
					row.Files++
					row.Bytes += file.Size
				}
			}
		}
		for _, r := range rep.Missing {
			row.Missing = append(row.Missing, scrLack{r, rep.Files[r]})
		}
		all = append(all, row)
		if tree && !f.asJSON {
			if err := s.Tree().Print(e.out, 0, kvtree.KeyValForm); err != nil {
				return err
			}
		}
	}
	if f.asJSON {
		return e.printJSON(map[string]any{"datasets": all})
	}
	if tree {
		return nil
	}
	if len(all) == 0 {
		fmt.Fprintf(e.out, "%s: nothing was scavenged\n", d.Path)
		return nil
	}
	for _, s := range all {
		state := "not in the index as complete"
		if s.Indexed {
			state = "complete in the index"
		}
		fmt.Fprintf(e.out, "dataset %d %s: %s of %s, %s; %s\n", s.ID, cmp.Or(s.Name, "(no name)"), plural(s.Files, "file"), plural(s.Ranks, "rank"), humanBytes(s.Bytes), state)
		for _, m := range s.Missing {
			fmt.Fprintf(e.out, "  missing: rank %d: %s\n", m.Rank, m.What)
		}
		for _, why := range s.Invalid {
			fmt.Fprintf(e.out, "  invalid: %s\n", why)
		}
		for _, why := range s.Unread {
			fmt.Fprintf(e.out, "  no checksums: %s\n", why)
		}
	}
	return nil
}

func newScrRebuild(e *env) *cobra.Command {
	var f scrSaved
	var noIndex, current bool
	cmd := &cobra.Command{
		Use:   "rebuild [PREFIX]",
		Short: "Make the lost files of scavenged datasets from their redundancy, and list them",
		Long: `Make the lost files of scavenged datasets from their redundancy, without ranks:
first the file maps, then the files. What does not match its checksum counts as
lost. Then the map and the summary of each dataset are written, and the index lists
it as complete. Datasets that are complete already are left alone.

A dataset of which too much is lost stays as it is, and is not listed as complete.
It may be scavenged again, and rebuilt then.

Exit codes: 0 all datasets are complete, 1 some could not be rebuilt, 2 could not
run.

JSON: {"datasets": [{id, name, ok, safe, ranks, files, bytes, verified, rebuilt:
[...], damaged: [...], error}]}.`,
		Example: `  blobio scr rebuild /p/sim
  blobio scr rebuild --id 4 --current /p/sim    # the next run starts from it
  blobio scr rebuild --no-index /p/sim          # mend the files, leave the index`,
		Args: maxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.open(args)
			if err != nil {
				return err
			}
			if noIndex && current {
				return usagef("--current needs the index, so not --no-index")
			}
			ids, err := f.ids(d)
			if err != nil {
				return err
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
				all = append(all, e.scrRebuilt(id, res, err))
			}
			return e.printRebuilt(all, f.asJSON)
		},
	}
	f.flags(cmd, "rebuild this dataset only (default: all)")
	cmd.Flags().BoolVar(&noIndex, "no-index", false, "do not list datasets in the index")
	cmd.Flags().BoolVar(&current, "current", false, "make the dataset (of several, the newest) the one to start from")
	return cmd
}

// scrRebuilt is a dataset that was rebuilt, or not.
type scrRebuilt struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	OK       bool     `json:"ok"`
	Safe     bool     `json:"safe"` // it was complete before
	Ranks    int      `json:"ranks"`
	Files    int64    `json:"files"`
	Bytes    int64    `json:"bytes"`
	Verified bool     `json:"verified"`
	Rebuilt  []string `json:"rebuilt"`
	Damaged  []string `json:"damaged"`
	Error    string   `json:"error,omitempty"`
}

func (e *env) scrRebuilt(id int, res *salvage.Result, err error) scrRebuilt {
	r := scrRebuilt{ID: id, Rebuilt: []string{}, Damaged: []string{}}
	if err != nil {
		e.code = exitFindings
		r.Error = strings.TrimPrefix(salvageText(err), fmt.Sprintf("dataset %d: ", id))
		return r
	}
	r.Name, r.OK, r.Safe, r.Ranks, r.Verified = res.Dataset.Name, true, res.Safe, res.Ranks, res.Verified
	r.Files, r.Bytes = res.Totals()
	r.Rebuilt, r.Damaged = append(r.Rebuilt, res.Rebuilt...), append(r.Damaged, res.Damaged...)
	return r
}

func (e *env) printRebuilt(all []scrRebuilt, asJSON bool) error {
	if asJSON {
		return e.printJSON(map[string]any{"datasets": all})
	}
	for _, r := range all {
		switch {
		case !r.OK:
			fmt.Fprintf(e.out, "dataset %d is not saved: %s\n", r.ID, r.Error)
		case r.Safe:
			fmt.Fprintf(e.out, "dataset %d %s was complete already\n", r.ID, r.Name)
		default:
			fmt.Fprintf(e.out, "dataset %d %s is whole: %s of %s, %s; %d rebuilt, %d because of damage\n",
				r.ID, r.Name, plural(r.Files, "file"), plural(r.Ranks, "rank"), humanBytes(r.Bytes), len(r.Rebuilt), len(r.Damaged))
		}
	}
	if len(all) == 0 {
		fmt.Fprintln(e.out, "nothing was scavenged")
	}
	return nil
}

func newScrScavenge(e *env) *cobra.Command {
	var f scrSaved
	var control, cache []string
	cmd := &cobra.Command{
		Use:   "scavenge --control DIR... [PREFIX]",
		Short: "Save datasets from the caches of nodes after the run died",
		Long: `Save datasets from the caches of nodes after the run died.

With --id, what the nodes have of that dataset is copied to the prefix directory,
and nothing else: this is what is done on each node that is up, before "scr rebuild"
is run once.

Without --id, the caches of all nodes must be in reach from here. Output is saved
first, oldest first, then the newest checkpoint that can be: copied, rebuilt, listed
in the index, and made the one to start from. What is in the prefix directory
already is left alone.

A node is named by its control directory, which holds cindex.scrinfo. If it was
called otherwise on the node, so that names in it are other names, say both:
--control NAME-THERE=NAME-HERE. Cache directories are named only if the catalogue
is lost, or if they are called otherwise, too.

Exit codes: 0 saved (or there was nothing to save), 1 something could not be saved,
2 could not run.

With --id, JSON: {"nodes": [{control, safe, stale, damage, ranks: [{rank, map, files,
bytes, lost: {...}}]}]}, without: {"datasets": [as of scr rebuild], current,
checkpoint}.`,
		Example: `  blobio scr scavenge --id 4 --control /dev/shm/$USER/scr.$JOB /p/sim     # on each node
  blobio scr rebuild --id 4 --current /p/sim                              # then once
  blobio scr scavenge --control /local/c=/mnt/n0/c --control /local/c=/mnt/n1/c /p/sim`,
		Args: maxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.open(args)
			if err != nil {
				return err
			}
			nodes, err := scrNodes(control, cache)
			if err != nil {
				return err
			}
			if f.id > 0 {
				return e.scrCopy(cmd.Context(), d, nodes, &f)
			}
			return e.scrSave(cmd.Context(), d, nodes, &f)
		},
	}
	f.flags(cmd, "copy this dataset, and do no more")
	cmd.Flags().StringArrayVar(&control, "control", nil, "control `DIR` of a node, or THERE=HERE; as often as there are nodes")
	cmd.Flags().StringArrayVar(&cache, "cache", nil, "cache `DIR`, or THERE=HERE, of all these nodes")
	return cmd
}

// scrNodes makes nodes of the flags.
func scrNodes(control, cache []string) ([]salvage.Node, error) {
	if len(control) == 0 {
		return nil, usagef("no --control, want the control directory of a node")
	}
	var caches []string
	var binds []vfs.Bind
	place := func(flag, text string) (at string, err error) {
		at, to, ok := strings.Cut(text, "=")
		if ok {
			binds = append(binds, vfs.Bind{At: at, To: to})
		} else {
			to = at
		}
		if at == "" || to == "" {
			return "", usagef("--%s %q, want a directory, or THERE=HERE", flag, text)
		}
		return at, needDir(to)
	}
	for _, c := range cache {
		at, err := place("cache", c)
		if err != nil {
			return nil, err
		}
		caches = append(caches, at)
	}
	shared := binds
	var nodes []salvage.Node
	for i, c := range control {
		binds = slices.Clone(shared)
		at, err := place("control", c)
		if err != nil {
			return nil, err
		}
		name := c
		if slices.Contains(control[:i], c) {
			name += "#" + strconv.Itoa(i)
		}
		nodes = append(nodes, salvage.Node{Name: name, FS: vfs.NewBind(vfs.OS, binds), Caches: caches,
			Catalog: filepath.ToSlash(filepath.Join(at, cachedir.CatalogName))})
	}
	return nodes, nil
}

// scrCopied is what was copied from a node.
type scrCopied struct {
	Control string          `json:"control"`
	Safe    bool            `json:"safe"`
	Stale   bool            `json:"stale"`
	Damage  string          `json:"damage,omitempty"`
	Ranks   []scrCopiedRank `json:"ranks"`
}

type scrCopiedRank struct {
	Rank  int               `json:"rank"`
	Map   bool              `json:"map"`
	Files int               `json:"files"`
	Bytes int64             `json:"bytes"`
	Lost  map[string]string `json:"lost"`
}

// scrCopy copies one dataset from nodes.
func (e *env) scrCopy(ctx context.Context, d *prefixdir.Dir, nodes []salvage.Node, f *scrSaved) error {
	all := []scrCopied{}
	for _, n := range nodes {
		c, err := salvage.Scavenge(ctx, salvage.ScavengeOptions{Node: n, Prefix: d, Was: f.was, ID: f.id})
		if errors.Is(err, salvage.ErrOutside) {
			err = &hinted{err, "was PREFIX moved? see --was"}
		}
		if err != nil {
			return err
		}
		row := scrCopied{Control: n.Name, Safe: c.Safe, Stale: c.Stale, Ranks: []scrCopiedRank{}}
		if c.Damage != nil {
			e.code = exitFindings
			row.Damage = salvageText(c.Damage)
		}
		for _, r := range c.Ranks {
			row.Ranks = append(row.Ranks, scrCopiedRank{r.Rank, r.Mapped, len(r.Files), r.Bytes, r.Lost})
			if len(r.Lost) > 0 {
				e.code = exitFindings
			}
		}
		if !c.Safe && len(c.Ranks) == 0 {
			e.code = exitFindings
		}
		all = append(all, row)
	}
	if f.asJSON {
		return e.printJSON(map[string]any{"nodes": all})
	}
	for _, c := range all {
		switch {
		case c.Safe:
			fmt.Fprintf(e.out, "%s: dataset %d is complete in the prefix directory already\n", c.Control, f.id)
		case c.Stale:
			fmt.Fprintf(e.out, "%s: another dataset %d\n", c.Control, f.id)
		case len(c.Ranks) == 0:
			fmt.Fprintf(e.out, "%s: nothing of dataset %d (%s)\n", c.Control, f.id, scrOtherName)
		}
		if c.Damage != "" {
			fmt.Fprintf(e.out, "%s: %s\n", c.Control, c.Damage)
		}
		for _, r := range c.Ranks {
			fmt.Fprintf(e.out, "%s: rank %d: %s, %s\n", c.Control, r.Rank, plural(r.Files, "file"), humanBytes(r.Bytes))
			for _, name := range sortedNames(r.Lost) {
				fmt.Fprintf(e.out, "  lost: %s: %s\n", name, salvageText(errors.New(r.Lost[name])))
			}
		}
	}
	return nil
}

func sortedNames(m map[string]string) []string {
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// scrSave does all that follows the end of a run.
func (e *env) scrSave(ctx context.Context, d *prefixdir.Dir, nodes []salvage.Node, f *scrSaved) error {
	rep, err := salvage.Run(ctx, salvage.RunOptions{Prefix: d, Was: f.was, Nodes: nodes})
	if err != nil {
		return err
	}
	all := []scrRebuilt{}
	var notes []string
	for _, t := range rep.Tried {
		r := e.scrRebuilt(t.ID, t.Result, t.Err)
		r.Name = cmp.Or(r.Name, t.Dataset.Name)
		all = append(all, r)
		for _, n := range nodes {
			if nerr := t.Nodes[n.Name]; nerr != nil {
				notes = append(notes, fmt.Sprintf("%s: dataset %d: %s", n.Name, t.ID, salvageText(nerr)))
			}
		}
	}
	if f.asJSON {
		return e.printJSON(map[string]any{"datasets": all, "current": rep.Current, "checkpoint": rep.Safe})
	}
	for _, n := range notes {
		fmt.Fprintln(e.out, n)
	}
	if len(all) == 0 {
		fmt.Fprintln(e.out, "there is nothing to save")
	} else if err := e.printRebuilt(all, false); err != nil {
		return err
	}
	if slices.ContainsFunc(rep.Tried, func(t salvage.Outcome) bool { return errors.Is(t.Err, salvage.ErrMissing) }) {
		fmt.Fprintln(e.out, "("+scrOtherName+")")
	}
	if rep.Current != "" {
		fmt.Fprintf(e.out, "the next run starts from %s\n", rep.Current)
	}
	return nil
}
