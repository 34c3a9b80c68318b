package scrtools

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	scrcheck "blobio/internal/scr/check"
	"fmt"
)

type scrCheckFlags struct {
	cli.CheckFlags
	control, cache []string
	id             int
}

func newScrCheck(e *cli.Env) *cobra.Command {
	var f scrCheckFlags
	cmd := &cobra.Command{
		Use:   "check [PREFIX]",
		Short: "Check a prefix directory or caches for errors",
		Long: `Check a prefix directory: the index, the summary and map of each dataset, and the existence,
size and CRC-32 of each file. SCR 3 writes no CRC-32; then only the sum of the sizes is known.

With --control, check the caches of nodes instead, or both if PREFIX is given. The check covers
the catalogue, file maps, files, and redundancy files with their payload. Nodes are given as for
"scr scavenge". Files without checksums, as written by SCR 3, are compared with their
redundancy. This comparison needs all nodes; --notes lists the compared files.

In JSON, verified is the number of bytes that match a checksum.`,
		Example: `  blobio scr check /p/sim
  blobio scr check --quick /p/sim           # do not read the files of the application
  blobio scr check --id 12 --notes /p/sim
  blobio scr check --control /dev/shm/$USER/scr.$JOB      # caches of this node
  blobio scr check --control /local/c=/mnt/n0/c --json | jq '.checked[].findings[]'`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	f.Add(cmd, "check only metadata and sizes, do not read the files", "number of files read in parallel (default: number of CPUs, at most 16)", scrChecked{})
	fl.IntVar(&f.id, "id", 0, "check only the files of this dataset")
	fl.StringArrayVar(&f.control, "control", nil, "control directory `DIR` of a node, or THERE=HERE: its paths on the node and here; repeat the flag for each node")
	fl.StringArrayVar(&f.cache, "cache", nil, "cache directory `DIR` of all nodes of --control, or THERE=HERE: its paths on the nodes and here")
	return cmd
}

func (f *scrCheckFlags) run(ctx context.Context, e *cli.Env, args []string) error {
	switch {
	case f.id < 0:
		return cli.Usagef("--id %d, want a positive number", f.id)
	case len(f.cache) > 0 && len(f.control) == 0:
		return cli.Usagef("--cache needs --control")
	}
	var looks []func(o *scrcheck.Options) iter.Seq[scrcheck.Finding]
	var all [][]*scrChecked // results of each of looks
	if len(args) > 0 || len(f.control) == 0 {
		d, err := scrPrefix(args)
		if err != nil {
			return err
		}
		looks = append(looks, func(o *scrcheck.Options) iter.Seq[scrcheck.Finding] { return scrcheck.Prefix(ctx, d.Path, o) })
		all = append(all, newScrChecked(d.Path))
	}
	if len(f.control) > 0 {
		nodes, err := scrNodes(f.control, f.cache)
		if err != nil {
			return err
		}
		looks = append(looks, func(o *scrcheck.Options) iter.Seq[scrcheck.Finding] { return scrcheck.Caches(ctx, nodes, o) })
		names := []string{}
		for _, n := range nodes {
			names = append(names, n.Name)
		}
		all = append(all, newScrChecked(names...))
	}
	for i, look := range looks {
		if err := f.check(e, all[i], look); err != nil {
			return err
		}
	}
	if f.AsJSON {
		return e.PrintReport(slices.Concat(all...))
	}
	return nil
}

// check runs the checks and prints the findings of each prefix directory or node.
func (f *scrCheckFlags) check(e *cli.Env, all []*scrChecked, look func(o *scrcheck.Options) iter.Seq[scrcheck.Finding]) error {
	p := e.NewProgress()
	defer func() { p.End() }()
	o := &scrcheck.Options{Quick: f.Quick, Dataset: f.id, Workers: f.Workers,
		Progress: func(node int, done, total int64) { p.At("check "+all[node].Path, done, total) },
		Seen: func(node int, s scrcheck.Seen) {
			all[node].Datasets, all[node].Files, all[node].Bytes, all[node].Verified = s.Datasets, s.Files, s.Bytes, s.Verified
			e.Judge(all[node].Verdict(f.Strict))
			p.End()
			if !f.AsJSON {
				f.print(e, all[node])
			}
			p = e.NewProgress()
		}}
	for x := range look(o) {
		if why := (*scrcheck.LookError)(nil); errors.As(x.Err, &why) {
			return why.Err
		}
		node, _ := x.Node.Get()
		x.Found = cli.ErrorText(errors.New(x.Found))
		all[node].Add(x)
	}
	return nil
}

// scrChecked holds the findings of a prefix directory or a node.
type scrChecked struct {
	Path     string `json:"path"`
	Datasets int    `json:"datasets"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Verified int64  `json:"verified"`
	cli.Found
}

func newScrChecked(paths ...string) (all []*scrChecked) {
	for _, p := range paths {
		all = append(all, &scrChecked{Path: p})
	}
	return all
}

func (f *scrCheckFlags) print(e *cli.Env, c *scrChecked) {
	facts := fmt.Sprintf("%s, %s, %s", cli.Plural(c.Datasets, "dataset"), cli.Plural(c.Files, "file"), cli.HumanBytes(c.Bytes))
	switch {
	case f.Quick, c.Bytes == 0:
	case c.Verified == c.Bytes && c.Errors > 0:
		facts += ", all bytes read match their checksums"
	case c.Verified == c.Bytes:
		facts += ", all bytes match their checksums"
	case c.Verified == 0:
		facts += ", there are no checksums"
	default:
		facts += fmt.Sprintf(", checksums of %s", cli.HumanBytes(c.Verified))
	}
	f.Print(e, c.Path, &c.Found, facts)
}
