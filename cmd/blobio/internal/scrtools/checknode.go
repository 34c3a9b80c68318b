package scrtools

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/scr/config"
	"blobio/internal/scr/runloop"
)

func newScrCheckNode(e *cli.Env) *cobra.Command {
	var a scrAlloc
	var dirs []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check-node",
		Short: "Test whether this node can be used",
		Long: `Test whether this node is usable. For each directory, check-node lists it, compares the size of
its file system (with --free the free space) with the required size, and creates, writes, reads
and removes a file. Without --dir, the directories and sizes come from the CNTLDIR and CACHEDIR
lines of the configuration, or from the control base and the cache base.

"scr run --dry-run" tests the nodes of an allocation.

Exit codes: 0 good, 1 a test failed, 2 could not run.

In JSON, list, capacity and write are the errors of the tests. A size of -1 is unknown.`,
		Example: `  blobio scr check-node
  blobio scr check-node --dir /dev/shm=64g --dir /l/ssd=800g`,
		Args: cli.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.checkDirs(dirs)
			if err != nil {
				return err
			}
			host, err := os.Hostname()
			if err != nil {
				return err
			}
			checked := []runloop.DirCheck{}
			for _, d := range list {
				c := runloop.CheckDir(vfs.OS, nil, d, a.Free)
				if c.Err() != nil {
					e.Code = cli.Findings
				}
				checked = append(checked, c)
			}
			if asJSON {
				return e.PrintJSON(map[string]any{"host": host, "dirs": checked})
			}
			t := e.NewTable("", "DIRECTORY", ">SIZE", ">FREE", ">WANTED", "RESULT")
			for _, c := range checked {
				result := "good"
				if err := c.Err(); err != nil {
					result = strings.TrimPrefix(err.Error(), c.Dir+": ")
				}
				t.Row(clean(c.Dir), sizeOr(c.Total, 0), sizeOr(c.Free, 0), sizeOr(c.Want, 1), result)
			}
			t.Flush()
			return nil
		},
	}
	fl := cmd.Flags()
	a.settings(cmd)
	fl.StringArrayVar(&dirs, "dir", nil, "test `DIR`, or DIR=SIZE such as /l/ssd=64g (repeatable)")
	cli.JSONFlag(cmd, &asJSON, map[string]any{"host": "", "dirs": []runloop.DirCheck{}})
	return cmd
}

// sizeOr formats a size, or "-" for an unknown size, which is below least.
func sizeOr(n, least int64) string {
	if n < least {
		return "-"
	}
	return cli.HumanBytes(n)
}

// checkDirs returns the directories to check.
func (a *scrAlloc) checkDirs(dirs []string) (out []config.Capacity, err error) {
	if len(dirs) == 0 {
		if err := a.load(true); err != nil {
			return nil, err
		}
		return runloop.Bases(a.Params)
	}
	for _, d := range dirs {
		c := config.Capacity{Dir: d}
		if i := strings.LastIndexByte(d, '='); i >= 0 {
			c.Dir = d[:i]
			if c.Bytes, err = config.ParseSize(d[i+1:]); err != nil {
				return nil, cli.Usagef("--dir %q, want DIR=SIZE: %v", d, err)
			}
		}
		if c.Dir == "" {
			return nil, cli.Usagef("--dir %q, want DIR or DIR=SIZE", d)
		}
		out = append(out, c)
	}
	return out, nil
}
