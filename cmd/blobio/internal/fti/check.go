package fti

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

type ffCheckFlags struct{ cli.CheckFlags }

func newFFCheck(e *cli.Env) *cobra.Command {
	var f ffCheckFlags
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check FTI checkpoint files for errors",
		Long: `Check checkpoint files: the file block, every record (including records without a checksum),
the hash of every chunk, and the checksum of the file by the rules of FTI's writer and reader.
check also reports files that FTI wrote but cannot restart from, with the reason. For files of
the POSIX mode, check compares the size and the MD5. In a directory, it checks all files that
end in .fti. If there are none, it checks the directories of FTI runs below it, such as
Local/node0/<id>/l3. In a store, it checks the seal, the files of all checkpoints and ranks,
and the side files.

In JSON, var is the id of a variable and dataset is the number of a checkpoint.`,
		Example: `  blobio ff check Ckpt7-Rank0.fti
  blobio ff check --quick global/l4        # metadata only
  blobio ff check --notes dCPFile-Rank0.fti
  blobio ff check --json l1/*.fti | jq '.checked[].findings[]'`,
		Args: cli.MinArgs(1, "a checkpoint file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	f.Add(cmd, "check only metadata, do not read the data", "number of chunks hashed in parallel (default: number of CPUs)", ffChecked{})
	return cmd
}

type ffChecked struct {
	Path string `json:"path"`
	cli.Found
}

func (f *ffCheckFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	var files []string
	count := len(paths)
	lost := map[string]*ffChecked{} // by the metadata file that lists the lost file
	for _, path := range paths {
		if isFFStore(path) { // check the store as a whole
			files = append(files, path)
			continue
		}
		list, isDir, err := ffPaths(path)
		if err != nil {
			list = []string{path} // f.one reports the error later
		}
		files = append(files, list...)
		if isDir && err == nil {
			for _, c := range lostOf(list) {
				files = append(files, c.Path)
				lost[c.Path] = c
			}
		}
	}
	k := cli.Checking[*ffChecked]{Flags: &f.CheckFlags, Count: max(count, len(files)),
		One: func(path string) (*ffChecked, error) {
			if c := lost[path]; c != nil {
				return c, nil
			}
			return f.one(ctx, e, path, !slices.Contains(paths, path))
		},
		Print: func(c *ffChecked) { f.print(e, c) }}
	return k.Run(cmd, e, files)
}

// one checks a file or a store. found means that the file was found in a directory.
func (f *ffCheckFlags) one(ctx context.Context, e *cli.Env, path string, found bool) (*ffChecked, error) {
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
	list, err := ffFindings(ctx, &counted, &ffformat.Options{Quick: f.Quick, Workers: f.Workers})
	if err != nil {
		return nil, err
	}
	c := &ffChecked{Path: path}
	for _, x := range list {
		if errors.Is(x.Err, ffformat.ErrNotFormat) && !(found && amongOthers(path)) { // the file may be a sound file of another format
			x.Severity = fault.Unchecked
		}
		c.Add(x)
	}
	return c, nil
}

// amongOthers reports whether the directory has another file that is an FTI-FF checkpoint.
func amongOthers(path string) bool {
	dir := filepath.Dir(path)
	list, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, name := range ffIn(dir, list) {
		if name == filepath.Clean(path) {
			continue
		}
		if f, _, err := openForLs(name); err == nil {
			f.Close()
			return true
		}
	}
	return false
}

func (f *ffCheckFlags) print(e *cli.Env, c *ffChecked) {
	f.Print(e, c.Path, &c.Found)
	for _, x := range c.Findings {
		if x.Severity >= ffformat.Error && filepath.Base(x.File) == sealName {
			fmt.Fprintf(e.Out, "%s: %s\n", c.Path, ffRebuildHint)
			return
		}
	}
}

// countingReader reports the number of bytes read from a file.
type countingReader struct {
	vfs.File
	size  int64
	p     *cli.Progress
	stage string
	done  atomic.Int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.File.ReadAt(b, off)
	c.p.At(c.stage, min(c.done.Add(int64(n)), c.size), c.size)
	return n, err
}
