package scrtools

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
)

type scrFlushFlags struct {
	latest, nodes, asJSON bool
	need, location, name  int
}

func newScrFlush(e *cli.Env) *cobra.Command {
	var f scrFlushFlags
	cmd := &cobra.Command{
		Use:   "flush [PREFIX]",
		Short: "List the locations of the datasets of this allocation",
		Long: `List the locations of the datasets of this allocation from .scr/flush.scr: in the caches of the
nodes (CACHE), complete in the prefix directory (PFS), or being copied there (FLUSHING,
SYNC_FLUSHING). A dataset that is only in the caches is lost at the end of the allocation,
unless it is saved. See "scr scavenge".

Without flags, all datasets are listed, newest first. The flags are for scripts and print a
single value. --nodes prints the number of nodes of the last run. "scr run" uses the same number
for the next run, unless --min-nodes is given.

Exit codes: 0 success (--need: the dataset must be saved), 1 no such dataset (--need: the
dataset need not be saved; --nodes: the number is unknown), 2 the command could not run. A
damaged flush file gives 1 without these flags, and 2 with them.

With a flag, JSON has only the selected datasets. For --nodes, JSON is {prefix, nodes}.`,
		Example: `  blobio scr flush /p/sim
  blobio scr flush --latest /p/sim          # number of the newest checkpoint
  if blobio scr flush --need 4 /p/sim; then blobio scr scavenge ... ; fi`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.latest, "latest", false, "print the number of the newest checkpoint")
	fl.IntVar(&f.need, "need", 0, "exit with 0 if dataset `ID` is only in the caches, otherwise with 1; print nothing")
	fl.IntVar(&f.location, "location", 0, "print the location of dataset `ID`")
	fl.IntVar(&f.name, "name", 0, "print the name of dataset `ID`")
	fl.BoolVar(&f.nodes, "nodes", false, "print the number of nodes of the last run")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"prefix": "", "datasets": []scrFlushRow{}})
	return cmd
}

// scrFlushRow describes a dataset of the flush file for JSON.
type scrFlushRow struct {
	ID         int      `json:"id"`
	Name       string   `json:"name"`
	Location   []string `json:"location"`
	NeedFlush  bool     `json:"need_flush"`
	Checkpoint bool     `json:"checkpoint"`
	Output     bool     `json:"output"`
	Files      int64    `json:"files"`
	Bytes      int64    `json:"bytes"`
}

func (f *scrFlushFlags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	verb, err := onlyOne(cmd, "latest", "need", "location", "name", "nodes")
	if err != nil {
		return err
	}
	id := map[string]int{"need": f.need, "location": f.location, "name": f.name}
	for name, n := range id {
		if cmd.Flags().Changed(name) && n < 1 {
			return cli.Usagef("--%s %d, want a positive number", name, n)
		}
	}
	d, err := scrPrefix(args)
	if err != nil {
		return err
	}
	e.Answers = verb != ""
	if f.nodes {
		return f.printNodes(e, d)
	}
	flush, err := d.Flush.Read()
	if err != nil {
		return err
	}
	var rows []prefixdir.FlushEntry
	for _, en := range flush.Entries() { // newest first
		var take bool
		switch verb {
		case "latest":
			take = en.Checkpoint && len(rows) == 0
		case "need", "location", "name":
			take = en.ID == id[verb]
		default:
			take = true
		}
		if take {
			rows = append(rows, en)
		}
	}
	switch verb {
	case "latest", "location", "name":
		if len(rows) == 0 {
			e.Code = cli.Findings
		}
	case "need":
		if !flush.NeedFlush(f.need) {
			e.Code = cli.Findings
		}
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"prefix": d.Path, "datasets": scrFlushRows(flush, rows)})
	}
	switch verb {
	case "":
		printFlush(e, d, rows)
	case "location", "name":
		for _, en := range rows {
			if verb == "name" {
				fmt.Fprintln(e.Out, clean(en.Name))
			} else {
				fmt.Fprintln(e.Out, strings.Join(scrLocations(en.Location), " "))
			}
		}
	case "latest":
		for _, en := range rows {
			fmt.Fprintln(e.Out, en.ID)
		}
	}
	return nil
}

// printNodes prints the number of nodes of the last run.
func (f *scrFlushFlags) printNodes(e *cli.Env, d *prefixdir.Dir) error {
	n, ok, err := d.Nodes.Read()
	if err != nil {
		return err
	}
	var known *int
	if known = &n; !ok {
		known, e.Code = nil, cli.Findings
	}
	switch {
	case f.asJSON:
		return e.PrintJSON(map[string]any{"prefix": d.Path, "nodes": known})
	case ok:
		fmt.Fprintln(e.Out, n)
	default:
		fmt.Fprintf(e.Stderr, "blobio: %s: unknown, because no run has written this file since the allocation began\n", d.Path)
	}
	return nil
}

// scrLocations returns the locations of a dataset, in the words of the flush file.
func scrLocations(at prefixdir.Location) []string {
	all := []string{}
	for _, l := range []struct {
		at   prefixdir.Location
		name string
	}{{prefixdir.Cache, "CACHE"}, {prefixdir.PFS, "PFS"}, {prefixdir.Flushing, "FLUSHING"}, {prefixdir.SyncFlushing, "SYNC_FLUSHING"}} {
		if at&l.at != 0 {
			all = append(all, l.name)
		}
	}
	return all
}

func scrFlushRows(flush *prefixdir.Flush, entries []prefixdir.FlushEntry) []scrFlushRow {
	rows := []scrFlushRow{}
	for _, en := range entries {
		rows = append(rows, scrFlushRow{ID: en.ID, Name: en.Name, Location: scrLocations(en.Location), NeedFlush: flush.NeedFlush(en.ID),
			Checkpoint: en.Checkpoint, Output: en.Output, Files: en.Dataset.Files, Bytes: en.Dataset.Size})
	}
	return rows
}

func printFlush(e *cli.Env, d *prefixdir.Dir, entries []prefixdir.FlushEntry) {
	if len(entries) == 0 {
		fmt.Fprintf(e.Out, "%s: no datasets since the allocation began\n", d.Path)
		return
	}
	t := e.NewTable("", ">DSET", "KIND", "SAFE", "LOCATION", ">FILES", ">SIZE", "NAME")
	for _, en := range entries {
		var kind []string
		if en.Checkpoint {
			kind = append(kind, "ckpt")
		}
		if en.Output {
			kind = append(kind, "output")
		}
		safe, files, size := "YES", "-", "-"
		if en.Location&prefixdir.PFS == 0 {
			safe = "NO"
		}
		if en.Dataset.ID != 0 {
			files, size = fmt.Sprint(en.Dataset.Files), cli.HumanBytes(en.Dataset.Size)
		}
		if len(kind) == 0 {
			kind = []string{"-"}
		}
		t.Row(en.ID, strings.Join(kind, "+"), safe, strings.Join(scrLocations(en.Location), " "), files, size, clean(en.Name))
	}
	t.Flush()
}
