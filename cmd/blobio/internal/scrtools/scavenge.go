package scrtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runloop"
	"blobio/internal/scr/salvage"
)

func newScrScavenge(e *cli.Env) *cobra.Command {
	var f scrSaved
	var control, cache []string
	cmd := &cobra.Command{
		Use:   "scavenge --control DIR... [PREFIX]",
		Short: "Save datasets from the caches of nodes after a run died",
		Long: `Save datasets from the caches of nodes after a run died.

With --id, scavenge only copies the files of one dataset from one node to the prefix directory.
Run it on each node that is up, then run "scr rebuild" once.

Without --id, the caches of all nodes must be accessible from this host. Output datasets are
saved first, oldest first. Then the newest checkpoint that can be saved is copied, rebuilt and
listed in the index, and the next run starts from it. Datasets that are already in the prefix
directory do not change.

A node is given by its control directory, which holds cindex.scrinfo. If the directory had
another path on the node, give both paths: --control THERE=HERE. Give cache directories only if
the catalogue is lost, or if their paths also differ.

Exit codes: 0 saved, or nothing to save; 1 something could not be saved; 2 could not run.

JSON: {"datasets": [as for scr rebuild], current, checkpoint, "failed": [{control, id, error}]},
where failed lists the nodes with failed copies. With --id: {"nodes": [{control, safe, stale,
ranks: [{rank, map, files, bytes, lost: {...}}]}]}.`,
		Example: `  blobio scr scavenge --id 4 --control /dev/shm/$USER/scr.$JOB /p/sim     # on each node
  blobio scr rebuild --id 4 --current /p/sim                              # then once
  blobio scr scavenge --control /local/c=/mnt/n0/c --control /local/c=/mnt/n1/c /p/sim`,
		Args: cli.MaxArgs(1, "one prefix directory"),
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
				return scrCopy(e, cmd.Context(), d, nodes, &f)
			}
			return scrSave(e, cmd.Context(), d, nodes, &f)
		},
	}
	f.flags(cmd, "only copy the files of this dataset")
	cmd.Flags().StringArrayVar(&control, "control", nil, "control directory `DIR` of a node, or THERE=HERE: its paths on the node and here; repeat the flag for each node")
	cmd.Flags().StringArrayVar(&cache, "cache", nil, "cache directory `DIR` of all nodes of --control, or THERE=HERE: its paths on the nodes and here")
	return cmd
}

// scrNodes makes nodes from the flags.
func scrNodes(control, cache []string) ([]salvage.Node, error) {
	if len(control) == 0 {
		return nil, cli.Usagef("--control is missing, want the control directory of a node")
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
			return "", cli.Usagef("--%s %q, want a directory, or THERE=HERE", flag, text)
		}
		return at, runloop.NeedDir(to)
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

// scrCopied describes the data copied from a node.
type scrCopied struct {
	Control string          `json:"control"`
	Safe    bool            `json:"safe"`
	Stale   bool            `json:"stale"`
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
func scrCopy(e *cli.Env, ctx context.Context, d *prefixdir.Dir, nodes []salvage.Node, f *scrSaved) error {
	all := []scrCopied{}
	for _, n := range nodes {
		c, err := salvage.Scavenge(ctx, salvage.ScavengeOptions{Node: n, Prefix: d, Was: f.was, ID: f.id})
		if errors.Is(err, salvage.ErrOutside) {
			err = cli.WithHint(err, "was PREFIX moved? see --was")
		}
		if err != nil {
			return err
		}
		row := scrCopied{Control: n.Name, Safe: c.Safe, Stale: c.Stale, Ranks: []scrCopiedRank{}}
		for _, r := range c.Ranks {
			row.Ranks = append(row.Ranks, scrCopiedRank{r.Rank, r.Mapped, len(r.Files), r.Bytes, r.Lost})
			if len(r.Lost) > 0 {
				e.Code = cli.Findings
			}
		}
		if !c.Safe && len(c.Ranks) == 0 {
			e.Code = cli.Findings
		}
		all = append(all, row)
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"nodes": all})
	}
	for _, c := range all {
		switch {
		case c.Safe:
			fmt.Fprintf(e.Out, "%s: dataset %d is complete in the prefix directory already\n", c.Control, f.id)
		case c.Stale:
			fmt.Fprintf(e.Out, "%s has a different dataset %d\n", c.Control, f.id)
		case len(c.Ranks) == 0:
			fmt.Fprintf(e.Out, "%s has no files of dataset %d (%s)\n", c.Control, f.id, scrOtherName)
		}
		for _, r := range c.Ranks {
			fmt.Fprintf(e.Out, "%s: rank %d: %s, %s\n", c.Control, r.Rank, cli.Plural(r.Files, "file"), cli.HumanBytes(r.Bytes))
			for _, name := range slices.Sorted(maps.Keys(r.Lost)) {
				fmt.Fprintf(e.Out, "  lost: %s: %s\n", name, salvageText(errors.New(r.Lost[name])))
			}
		}
	}
	return nil
}

// scrSave saves all data after the end of a run.
func scrSave(e *cli.Env, ctx context.Context, d *prefixdir.Dir, nodes []salvage.Node, f *scrSaved) error {
	rep, err := salvage.Run(ctx, salvage.RunOptions{Prefix: d, Was: f.was, Nodes: nodes})
	if err != nil {
		return err
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	s := savedOf(e, rep, names)
	if f.asJSON {
		return e.PrintJSON(s.json("control"))
	}
	var hint []string
	if len(s.failed) == 0 && slices.ContainsFunc(rep.Tried, func(t salvage.Outcome) bool { return errors.Is(t.Err, fault.ErrMissing) }) {
		hint = []string{"(" + scrOtherName + ")"}
	}
	_, err = fmt.Fprintln(e.Out, strings.Join(s.lines(hint...), "\n"))
	return err
}

// scrSavedAll is the result of saving datasets that existed only in caches.
type scrSavedAll struct {
	rep    *salvage.RunReport
	all    []scrRebuilt
	failed []scrCopyFailed
}

// scrCopyFailed is a node that could not copy its part of a dataset.
type scrCopyFailed struct {
	node string
	id   int
	text string
}

func savedOf(e *cli.Env, rep *salvage.RunReport, nodes []string) *scrSavedAll {
	s := &scrSavedAll{rep: rep, all: []scrRebuilt{}}
	for _, t := range rep.Tried {
		r := rebuiltOf(e, t.ID, t.Result, t.Err)
		r.Name = cmp.Or(r.Name, t.Dataset.Name)
		s.all = append(s.all, r)
		for _, n := range nodes {
			if err := t.Nodes[n]; err != nil {
				s.failed = append(s.failed, scrCopyFailed{n, t.ID, salvageText(err)})
			}
		}
	}
	return s
}

// json returns the result for JSON; place is the key for a node's name.
func (s *scrSavedAll) json(place string) map[string]any {
	failed := []map[string]any{}
	for _, x := range s.failed {
		failed = append(failed, map[string]any{place: x.node, "id": x.id, "error": x.text})
	}
	return map[string]any{"datasets": s.all, "current": s.rep.Current, "checkpoint": s.rep.Safe, "failed": failed}
}

// lines formats the result as lines of text. hint follows the datasets.
func (s *scrSavedAll) lines(hint ...string) (out []string) {
	for _, x := range s.failed {
		out = append(out, fmt.Sprintf("%s: dataset %d: %s", x.node, x.id, x.text))
	}
	if len(s.all) == 0 {
		out = append(out, "there is nothing to save")
	}
	for _, r := range s.all {
		out = append(out, r.String())
	}
	out = append(out, hint...)
	if s.rep.Current != "" {
		out = append(out, "the next run starts from "+s.rep.Current)
	}
	return out
}
