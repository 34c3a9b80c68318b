package fti

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/ffformat/ffstore"
	"blobio/internal/cli"
)

type ffCheckFlags struct {
	quick, strict, notes, asJSON bool
	workers                      int
}

func newFFCheck(e *cli.Env) *cobra.Command {
	var f ffCheckFlags
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Look for everything that is wrong with checkpoint files",
		Long: `Check checkpoint files: the file block, every record (also where the format has no
checksum for it), the hash of every chunk, and the checksum of the file by both rules.
Files that FTI wrote and cannot restart from are named, with the reason. Nothing is
changed. In a directory, all files that end in .fti are checked; in a store, the
commit record, the files of all checkpoints and ranks, and the side files.

Findings are printed one per line: severity, file, offset, field and message.
An error: data are lost or cannot be trusted. A warning: something is wrong, but
all data can be read. A note (shown with --notes): something worth knowing.

Exit codes: 0 nothing found, 1 errors (with --strict: or warnings), 2 a path could
not be checked.

JSON: {"version": 1, "checked": [{path, errors, warnings, notes, findings: [...]}]};
findings are those of blobio check: var is the id of a variable, dataset a checkpoint.`,
		Example: `  blobio ff check Ckpt7-Rank0.fti
  blobio ff check --quick global/l4        # metadata only
  blobio ff check --notes dCPFile-Rank0.fti
  blobio ff check --json l1/*.fti | jq '.checked[].findings[]'`,
		Args: cli.MinArgs(1, "a checkpoint file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.quick, "quick", false, "metadata only: do not read the data")
	fl.BoolVar(&f.strict, "strict", false, "warnings count as errors in the exit code")
	fl.BoolVar(&f.notes, "notes", false, "also print notes")
	fl.IntVar(&f.workers, "workers", 0, "chunks hashed at once (default: number of CPUs)")
	cli.JSONFlag(cmd, &f.asJSON)
	return cmd
}

// ffChecked is what was found in one file.
type ffChecked struct {
	Path string `json:"path"`
	cli.Tally
	Findings []ffformat.Finding `json:"findings"`
}

// add counts a finding.
func (c *ffChecked) add(x ffformat.Finding) {
	c.Count(x.Severity)
	c.Findings = append(c.Findings, x)
}

func (f *ffCheckFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	if f.workers < 0 {
		return cli.Usagef("--workers %d, want a positive number", f.workers)
	}
	var files []string
	count := len(paths)
	for _, path := range paths {
		if isFFStore(path) { // as a whole
			files = append(files, path)
			continue
		}
		list, _, err := ffPaths(path)
		if err != nil {
			list = []string{path} // one says so when its turn comes
		}
		files = append(files, list...)
	}
	k := cli.Checking[*ffChecked]{Count: max(count, len(files)), Strict: f.strict, AsJSON: f.asJSON,
		One:   func(path string) (*ffChecked, error) { return f.one(ctx, e, path) },
		Print: func(c *ffChecked) { f.print(e, c) }}
	return k.Run(cmd, e, files)
}

func (f *ffCheckFlags) one(ctx context.Context, e *cli.Env, path string) (*ffChecked, error) {
	if isFFStore(path) {
		return f.store(ctx, e, path)
	}
	if _, _, err := ffPaths(path); err != nil {
		return nil, err
	}
	file, err := openFF(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := e.NewProgress()
	defer p.End()
	read := &countingReader{File: file.File, size: file.size, p: p, stage: "check " + path}
	counted := *file
	counted.File = read
	list, err := ffFindings(ctx, &counted, &ffformat.CheckOptions{Quick: f.quick, Workers: f.workers})
	if err != nil {
		return nil, err
	}
	c := &ffChecked{Path: path, Findings: []ffformat.Finding{}}
	for _, x := range list {
		c.add(x)
	}
	return c, nil
}

func (f *ffCheckFlags) print(e *cli.Env, c *ffChecked) {
	for _, x := range c.Findings {
		if x.Severity != ffformat.Note || f.notes {
			fmt.Fprintln(e.Out, x)
		}
	}
	verdict := c.Verdict(f.notes)
	if f.quick {
		verdict += "; data not read"
	}
	fmt.Fprintf(e.Out, "%s: %s\n", c.Path, verdict)
	for _, x := range c.Findings {
		if x.Severity == ffformat.Error && ffstore.IsRecord(x.File) {
			fmt.Fprintf(e.Out, "%s: %s\n", c.Path, ffRebuildHint)
			return
		}
	}
}
