package dataset

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

func NewCheck(e *cli.Env) *cobra.Command {
	var f cli.CheckFlags
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check a dataset for errors",
		Long: `Check datasets of any layout. check verifies headers, sizes and maps, compares the subfiles
with each other, and checks that the last commit is complete. If there is a manifest, check
compares all data with their checksums. It reports all errors.

Other kinds of files are recognised by content and passed to the verb of their family, which
has its own flags. See "blobio --help".

In JSON, each finding has severity and message. If known, it also has file, offset, rank,
node, dataset, var, block, field, found, wanted, class and effect. The error of a path that
could not be checked has the same keys. status is the state of the writer, as in "blobio
ls".`,
		Example: `  blobio check F_h0.nc
  blobio check --quick run/*.manifest    # structure and maps, without reading the data
  blobio check --notes F_h0.nc           # elements that no rank owns, foreign files, ...
  blobio check --json F_h0.nc | jq '.checked[].findings[]'`,
		Args: cli.MinArgs(1, "a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			k := cli.Checking[*checked]{Flags: &f, Count: len(args),
				One:   func(path string) (*checked, error) { return check(ctx, e, &f, path) },
				Print: func(c *checked) { f.Print(e, c.Path, &c.Found) }}
			return k.Run(cmd, e, args)
		},
	}
	f.Add(cmd, "structure and maps only: do not read the data", "number of concurrent reads (default: number of CPUs)", checked{})
	return cmd
}

type checked struct {
	Path   string       `json:"path"`
	Status *blob.Status `json:"status,omitempty"`
	cli.Found
}

func check(ctx context.Context, e *cli.Env, f *cli.CheckFlags, path string) (*checked, error) {
	set, err := subfile.Find(vfs.OS, path)
	if err != nil {
		if left := leftOf(ctx, path); errors.Is(err, fs.ErrNotExist) && len(left) > 0 {
			c := &checked{Path: path, Status: statusOf(vfs.OS, path)}
			for _, x := range left {
				c.Add(x)
			}
			return c, nil
		}
		return nil, err
	}
	p := e.NewProgress()
	defer p.End()
	c := &checked{Path: set.Base}
	if !set.Single {
		c.Status = statusOf(vfs.OS, set.Base)
	}
	for x := range blob.Check(ctx, path, &blob.CheckOptions{Quick: f.Quick, Workers: f.Workers,
		Progress: func(done, total int64) { p.At("check "+set.Base, done, total) }}) {
		if errors.Is(x.Err, fs.ErrPermission) || errors.Is(x.Err, fs.ErrNotExist) {
			return nil, x.Err
		}
		c.Add(x)
	}
	return c, ctx.Err()
}

// statusOf returns the status of the writer, or nil if it cannot be read, which is a separate finding.
func statusOf(fsys vfs.FS, base string) *blob.Status {
	s, err := blob.NewWatch(fsys, base).Look()
	if err != nil {
		return nil
	}
	return s
}

// leftOf returns findings about the remains of an unfinished writer or conversion. The output itself does not
// exist.
func leftOf(ctx context.Context, path string) (left []blob.Finding) {
	steps, _ := blob.Recover(ctx, path, &blob.RecoverOptions{DryRun: true}) // ignore the error: the caller reports the missing output
	for _, s := range steps {
		left = append(left, blob.Finding{Severity: blob.Error, File: s.File, Offset: -1, Field: "commit",
			Msg: "the output is unfinished (blobio recover: " + s.What + ")", Err: blob.ErrNotCommitted})
	}
	return left
}
