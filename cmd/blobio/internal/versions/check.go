package versions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/fault"
	"blobio/versioned"
)

type versionsCheckFlags struct {
	cli.CheckFlags
	key versionsKey
}

func newVersionsCheck(e *cli.Env) *cobra.Command {
	var f versionsCheckFlags
	cmd := &cobra.Command{
		Use:   "check STORE... | check ARRAY...",
		Short: "Look for everything that is wrong with versions",
		Long: `Check an array, or all arrays of a store: files that are absent or not the committed ones,
every byte of them, every chunk of every version against its digest, the table of each
version of a level, and both files of the seal; in a store also lost parts of
hierarchies: levels, snapshots, versions that snapshots name. Nothing is changed.

In an encrypted store without its key, files are checked but not their content. If a
node's file is bad and a copy on another node is good, the file is reported, the versions
that need it are not. In a store with redundancy, the redundancy files are checked too, and
findings say whether lost files can be rebuilt (as a note) or not.

Exit codes: 0 nothing found, 1 errors (with --strict: or warnings), 2 an array could
not be checked.

JSON: {"version": 1, "checked": [{path, array, directories, versions, errors, warnings,
notes, findings: [...]}], "failed": [{path, error}]}; findings are those of blobio check.`,
		Example: `  blobio versions check store
  blobio versions check store/rho
  blobio versions check node0/store node1/store      # private stores of two nodes
  blobio versions check --key-file key --notes store
  blobio versions check --json store | jq '.checked[].findings[]'`,
		Args: cli.MinArgs(1, "the directory of a store or of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	f.Add(cmd, "", "")
	f.key.add(cmd)
	return cmd
}

// versionsChecked is what was found in an array.
type versionsChecked struct {
	Path     string   `json:"path"`
	Array    string   `json:"array"`
	Dirs     []string `json:"directories"`
	Versions int      `json:"versions"`
	cli.Found
}

func (f *versionsCheckFlags) run(cmd *cobra.Command, e *cli.Env, dirs []string) error {
	ctx := cmd.Context()
	key, err := f.key.read()
	if err != nil {
		return err
	}
	arrays, err := arraysOf(dirs)
	if err != nil {
		return err
	}
	var members []versioned.MemberFinding
	if !isArrayDir(dirs) {
		if members, err = versioned.CheckHierarchies(ctx, dirs, &versioned.ViewOptions{Key: key}); err != nil {
			return err
		}
		for _, m := range members { // arrays that are not there
			if m.Absent {
				arrays = append(arrays, below(dirs, m.Array))
			}
		}
	}
	of := map[string][]string{}
	var names []string
	for _, a := range arrays {
		name := filepath.Clean(a[0])
		names = append(names, name)
		of[name] = a
	}
	k := cli.Checking[*versionsChecked]{Flags: &f.CheckFlags, Count: len(names),
		One:   func(name string) (*versionsChecked, error) { return f.one(ctx, e, of[name], key, members) },
		Print: func(c *versionsChecked) { f.Print(e, c.Path, &c.Found, cli.Plural(c.Versions, "version")) }}
	return k.Run(cmd, e, names)
}

// one checks an array. members are findings of hierarchies.
func (f *versionsCheckFlags) one(ctx context.Context, e *cli.Env, dirs []string, key []byte, members []versioned.MemberFinding) (*versionsChecked, error) {
	c := &versionsChecked{Path: filepath.Clean(dirs[0]), Array: filepath.Base(filepath.Clean(dirs[0])), Dirs: dirs}
	add := func(x versioned.Finding) {
		x.Msg = cli.ErrorText(errors.New(x.Msg)) // one line
		c.Add(x)
	}
	for _, m := range members {
		if m.Array == c.Array {
			add(m.Finding)
			if m.Absent {
				return c, nil
			}
		}
	}
	v, err := openVersions(dirs, key)
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
	if name, level := levelOf(c.Array); name != "" && level >= 0 && c.Errors == 0 { // else it was said
		for _, x := range v.Versions() {
			if x.Number == 0 {
				continue
			}
			if _, err := v.Table(ctx, x.Number); err != nil && otherwise(err) != nil {
				add(fault.Finding{Severity: fault.Error, Offset: -1, Msg: fmt.Sprintf("version %d: table of the boxes: %s", x.Number, fault.Text(err)), Err: err})
			}
		}
	}
	return c, ctx.Err()
}
