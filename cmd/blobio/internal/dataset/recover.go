package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

func NewRecover(e *cli.Env) *cobra.Command {
	var dry, force, asJSON bool
	cmd := &cobra.Command{
		Use:   "recover PATH...",
		Short: "Recover a dataset after its writer died",
		Long: `Clean up after a writer that died. recover completes an interrupted commit and removes files
that belong to no committed state, including unfinished directories of "amr convert".
Committed data do not change. A directory stands for itself and for all datasets in it.

If one of the two copies of a manifest or log is damaged, it is rewritten from the other. If
commits cannot be read, the dataset does not change, and the error names the damage. --force
gives up lost commits. It keeps the commits before the damage in a log. If both
copies of a manifest are damaged or missing, --force makes a new manifest from the headers
and data of all subfiles, without the old checksums.

A dataset that is being written does not change. On a shared file system, a writer on
another machine counts as dead after 30 seconds without a heartbeat. recover may wait that
long.

Exit codes: 0 nothing is left to do, 1 a dataset is damaged, or with --dry-run there is
something to do, 2 a dataset is in use, cannot be changed, or does not exist.`,
		Example: `  blobio recover -n run          # print the steps, change nothing
  blobio recover run/F_h0.nc`,
		Args: cli.MinArgs(1, "a dataset or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return recoverPaths(cmd, e, args, blob.RecoverOptions{DryRun: dry, Force: force}, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print what would be done, change nothing")
	cmd.Flags().BoolVar(&force, "force", false, "give up commits that damage has made unreadable")
	cli.JSONFlag(cmd, &asJSON, map[string]any{"datasets": []recovered{}})
	return cmd
}

// recovered describes the recovery of one name.
type recovered struct {
	Path   string      `json:"path"`
	Writer *heldBy     `json:"writer,omitempty"`
	Steps  []blob.Step `json:"steps"`
	Error  string      `json:"error,omitempty"`

	err error
}

// heldBy is the present or former writer of a name.
type heldBy struct {
	Holder string `json:"holder"`
	State  string `json:"state"`
}

func recoverPaths(cmd *cobra.Command, e *cli.Env, args []string, o blob.RecoverOptions, asJSON bool) error {
	ctx := cmd.Context()
	out := []recovered{}
	for _, a := range args {
		if info, err := os.Stat(a); err != nil || !info.IsDir() {
			r := recovered{Path: a, Steps: []blob.Step{}}
			if err := nothingAt(ctx, a); err != nil {
				r.Error, r.err = err.Error(), err
			}
			out = append(out, r)
			continue
		}
		in, err := unfinishedNames(a)
		if err != nil {
			return err
		}
		for _, n := range in {
			out = append(out, recovered{Path: n, Steps: []blob.Step{}})
		}
	}
	steps := 0
	for i := range out {
		r := &out[i]
		if r.Error == "" {
			r.recover(ctx, o)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		steps += len(r.Steps)
		if r.Error != "" {
			e.Judge(e.VerdictOf(r.err))
			fmt.Fprintf(e.Stderr, "blobio: %s\n", cli.Plain(r.Error))
		}
		if !asJSON {
			printRecovered(e, r, o.DryRun)
		}
	}
	if asJSON {
		if err := e.PrintJSON(map[string]any{"datasets": out}); err != nil {
			return err
		}
	}
	if o.DryRun && steps > 0 {
		e.Judge(cli.Findings)
	}
	return nil
}

// unfinishedNames returns the names in a directory that may need recovery, and the directory's own name if it is such an output.
func unfinishedNames(dir string) (names []string, err error) {
	dir = filepath.Clean(dir)
	if whole, is := strings.CutSuffix(dir, subfile.Partial("")); is && cellodir.Writing(dir) {
		return []string{whole}, nil
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		in, err := blob.Unfinished(d)
		if err != nil && d == dir {
			return nil, err
		}
		list, err := os.ReadDir(d)
		if err != nil && d == dir {
			return nil, err
		}
		for _, e := range list {
			name := filepath.Join(d, e.Name())
			if whole, is := strings.CutSuffix(name, subfile.Partial("")); is && cellodir.Writing(name) {
				in = append(in, whole)
			}
		}
		for _, n := range in {
			if d == dir || n == dir {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// nothingAt returns an error if a name has no file, no dataset, and no remains of a writer.
func nothingAt(ctx context.Context, name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) || cellodir.Writing(subfile.Partial(name)) {
		return nil
	}
	if _, err := subfile.Find(vfs.OS, name); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	steps, err := blob.Recover(ctx, name, &blob.RecoverOptions{DryRun: true})
	if len(steps) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s: no file, dataset or unfinished output of this name: %w", name, fs.ErrNotExist)
}

func (r *recovered) recover(ctx context.Context, o blob.RecoverOptions) {
	holder, state, err := blob.WriterOf(r.Path)
	if err == nil {
		if state != "" {
			r.Writer = &heldBy{holder, state}
		}
		var steps []blob.Step
		steps, err = blob.Recover(ctx, r.Path, &o)
		r.Steps = append(r.Steps, steps...)
	}
	if err == nil {
		var left string
		if left, err = cellodir.Recover(ctx, r.Path, o.DryRun); left != "" {
			r.Steps = append(r.Steps, blob.Step{File: left, What: "remove: directory of an unfinished checkpoint"})
		}
	}
	if err != nil {
		r.Error, r.err = err.Error(), err
	}
}

func printRecovered(e *cli.Env, r *recovered, dry bool) {
	if r.Error != "" {
		return
	}
	if dry && r.Writer != nil {
		fmt.Fprintf(e.Out, "%s: %s: %s\n", cli.Plain(r.Path), r.Writer.State, cli.Plain(r.Writer.Holder))
	}
	for _, s := range r.Steps {
		fmt.Fprintf(e.Out, "%s: %s\n", cli.Plain(s.File), cli.Plain(s.What))
	}
	if len(r.Steps) == 0 {
		fmt.Fprintf(e.Out, "%s: nothing to do\n", cli.Plain(r.Path))
	}
}
