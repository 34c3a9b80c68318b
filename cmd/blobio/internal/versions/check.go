package versions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

type versionsCheckFlags struct {
	cli.CheckFlags
	key versionsKey
}

func newVersionsCheck(e *cli.Env) *cobra.Command {
	var f versionsCheckFlags
	cmd := &cobra.Command{
		Use:   "check STORE|ARRAY...",
		Short: "Check versions for errors",
		Long: `Check arrays, or all arrays of a store. check reports files that are missing or differ from the
committed ones. It verifies every byte of the files, the digest of every chunk of every
version, the table of each version of a level, and both files of the seal. In a store, it also
reports lost levels, lost snapshots, and lost versions that snapshots need.

In an encrypted store without its key, files are checked but not their contents.`,
		Example: `  blobio versions check store
  blobio versions check store/rho
  blobio versions check --key-file key --notes store
  blobio versions check --json store | jq '.checked[].findings[]'`,
		Args: cli.MinArgs(1, "the directory of a store or of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	f.Add(cmd, "", "", versionsChecked{})
	f.key.add(cmd)
	return cmd
}

// versionsChecked holds the findings in an array.
type versionsChecked struct {
	Path     string `json:"path"`
	Array    string `json:"array"`
	Versions int    `json:"versions"`
	cli.Found
}

func (f *versionsCheckFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	key, err := f.key.read()
	if err != nil {
		return err
	}
	dirs, err := arraysOf(paths)
	if err != nil {
		return err
	}
	members := map[string][]memberFinding{} // by directory of the array
	for _, p := range paths {
		if arrays.Is(p, nil) {
			continue
		}
		found, err := checkHierarchies(ctx, p, nil, key)
		if err != nil {
			return err
		}
		for _, m := range found {
			dir := filepath.Join(p, m.Array)
			members[dir] = append(members[dir], m)
			if m.Absent {
				dirs = append(dirs, dir)
			}
		}
	}
	k := cli.Checking[*versionsChecked]{Flags: &f.CheckFlags, Count: len(dirs),
		One:   func(dir string) (*versionsChecked, error) { return f.one(ctx, e, dir, key, members[dir]) },
		Print: func(c *versionsChecked) { f.Print(e, c.Path, &c.Found, cli.Plural(c.Versions, "version")) }}
	return k.Run(cmd, e, dirs)
}

// one checks an array. members are its findings as a member of the hierarchy.
func (f *versionsCheckFlags) one(ctx context.Context, e *cli.Env, dir string, key []byte, members []memberFinding) (*versionsChecked, error) {
	c := &versionsChecked{Path: dir, Array: filepath.Base(dir)}
	add := func(x versioned.Finding) {
		x.Msg = cli.ErrorText(errors.New(x.Msg)) // in one line
		c.Add(x)
	}
	for _, m := range members {
		add(m.Finding)
		if m.Absent {
			return c, nil
		}
	}
	v, err := openVersions(dir, key)
	if cli.IsFormatError(err) { // the seal is lost
		add(fault.Of(fault.Error, "", err))
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer v.Close()
	p := e.NewProgress()
	defer p.End()
	c.Versions = len(v.Versions())
	for x := range v.Check(ctx, func(done, total int64) { p.At("check "+c.Array, done, total) }) {
		add(x)
	}
	if name, level := arrays.Member(c.Array); name != "" && level >= 0 && c.Errors == 0 { // other faults are already reported
		for _, x := range v.Versions() {
			if x.Number == 0 {
				continue
			}
			if _, err := v.Table(ctx, x.Number); err != nil && otherwise(err) != nil {
				add(fault.Finding{Severity: fault.Error, Offset: -1, Msg: fmt.Sprintf("version %d: table of the boxes: %s", x.Number, err.Error()), Err: err})
			}
		}
	}
	return c, ctx.Err()
}
