package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"blobio/blob"
)

func newRecover(e *env) *cobra.Command {
	var dry, asJSON bool
	cmd := &cobra.Command{
		Use:   "recover PATH...",
		Short: "Finish what a dead writer left",
		Long: `Finish what a writer that died left of datasets and conversions: a commit that
was cut short is completed, and files that belong to no committed state are
removed. What is committed stays as it is. A directory means all names in it.

Nothing is done to what somebody is writing. On a file system that several
machines share, a writer on another machine counts as dead when it has not
given a sign of life for half a minute, so recover may have to wait that long.

Exit codes: 0 all is as it should be, 1 with --dry-run: there is something to
do, 2 something is in use or cannot be changed.

JSON: {"datasets": [{path, writer: {holder, state}, steps: [{file, what}],
error}]}.`,
		Example: `  blobio recover -n run          # what there is to do, without doing it
  blobio recover run/F_h0.nc`,
		Args: minArgs(1, "a dataset or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return recoverPaths(cmd, e, args, dry, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "say what there is to do, and change nothing")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// recovered is what was done for one name.
type recovered struct {
	Path   string            `json:"path"`
	Writer *blob.WriterState `json:"writer,omitempty"`
	Steps  []blob.Step       `json:"steps"`
	Error  string            `json:"error,omitempty"`
}

func recoverPaths(cmd *cobra.Command, e *env, args []string, dry, asJSON bool) error {
	ctx := cmd.Context()
	var names []string
	for _, a := range args {
		if info, err := os.Stat(a); err != nil || !info.IsDir() {
			names = append(names, a)
			continue
		}
		in, err := blob.Unfinished(a)
		if err != nil {
			return err
		}
		names = append(names, in...)
	}
	out := []recovered{}
	steps, failed := 0, 0
	for _, n := range names {
		r := recoverOne(ctx, n, dry)
		if err := ctx.Err(); err != nil {
			return err
		}
		out = append(out, r)
		steps += len(r.Steps)
		if r.Error != "" {
			failed++
			fmt.Fprintf(e.stderr, "blobio: %s\n", plain(r.Error))
		}
		if !asJSON {
			e.printRecovered(r, dry)
		}
	}
	if asJSON {
		if err := e.printJSON(map[string]any{"datasets": out}); err != nil {
			return err
		}
	}
	switch {
	case failed > 0:
		e.code = exitFailed
	case dry && steps > 0:
		e.code = exitFindings
	}
	return nil
}

func recoverOne(ctx context.Context, name string, dry bool) recovered {
	r := recovered{Path: name, Steps: []blob.Step{}}
	var err error
	if r.Writer, err = blob.WriterOf(name); err == nil {
		var steps []blob.Step
		steps, err = blob.Recover(ctx, name, &blob.RecoverOptions{DryRun: dry})
		r.Steps = append(r.Steps, steps...)
	}
	if err != nil {
		r.Error = packagePrefix.ReplaceAllString(err.Error(), "")
	}
	return r
}

func (e *env) printRecovered(r recovered, dry bool) {
	if r.Error != "" {
		return
	}
	if dry && r.Writer != nil {
		fmt.Fprintf(e.out, "%s: %s: %s\n", plain(r.Path), r.Writer.State, plain(r.Writer.Holder))
	}
	for _, s := range r.Steps {
		fmt.Fprintf(e.out, "%s: %s\n", plain(s.File), plain(s.What))
	}
	if len(r.Steps) == 0 {
		fmt.Fprintf(e.out, "%s: nothing to do\n", plain(r.Path))
	}
}
