package decomps

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/decomp"
	"blobio/decomp/mapfile"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

func newDecompCheck(e *cli.Env) *cobra.Command {
	var f cli.CheckFlags
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check maps for errors",
		Long: `Check map files. check reads each file to its end. It reports elements that several ranks
own, elements that one rank owns twice, indices past the end of the array, and processes
without a list of elements. Elements without an owner give a note. For a dataset of blobs,
check verifies the maps and the structure, like "blobio check --quick".`,
		Example: `  blobio decomp check map_f_case_16p.nc
  blobio decomp check --notes piodecomp*.dat
  blobio decomp check run/F_h0.nc          # the maps of a dataset`,
		Args: cli.MinArgs(1, "a map file or a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			k := cli.Checking[*checkedMaps]{Flags: &f, Count: len(args),
				One:   func(path string) (*checkedMaps, error) { return checkMaps(ctx, path) },
				Print: func(c *checkedMaps) { f.Print(e, c.Path, &c.Found) }}
			return k.Run(cmd, e, args)
		},
	}
	f.Add(cmd, "", "", checkedMaps{})
	return cmd
}

type checkedMaps struct {
	Path string `json:"path"`
	cli.Found
}

func checkMaps(ctx context.Context, path string) (*checkedMaps, error) {
	c := &checkedMaps{Path: path}
	blobs := isBlobs(ctx, path)
	if blobs || KnowsCDF(path) {
		for x := range blob.Check(ctx, path, &blob.CheckOptions{Quick: blobs}) {
			if errors.Is(x.Err, fs.ErrPermission) || errors.Is(x.Err, fs.ErrNotExist) {
				return nil, x.Err
			}
			c.Add(x)
		}
	}
	if blobs {
		return c, ctx.Err()
	}
	file, err := mapfile.Open(path)
	if fault.IsDamage(err) {
		c.Refuse(path, err)
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	for k := range file.Maps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := file.Maps[k].Map(file.Procs, mapfile.Options{})
		if err != nil {
			c.Add(fault.Of(fault.Error, path, fault.In(path, mapName(k), fault.ErrCorrupt, "%s", err)))
			continue
		}
		if err := c.look(&file.Maps[k], m, mapName(k)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// isBlobs reports whether a path is a blob dataset, damaged or not.
func isBlobs(ctx context.Context, path string) bool {
	set, err := subfile.Find(vfs.OS, path)
	if err != nil || !set.Single {
		return err == nil
	}
	r, err := blob.Open(ctx, path, &blob.OpenOptions{AllowMissing: true})
	if err != nil {
		return false
	}
	defer r.Close()
	return r.Form().Layout != blob.Canonical
}

func mapName(k int) string { return fmt.Sprintf("D%d", k+1) }

func sharedText(n int64) string {
	return cli.Plural(int(n), "element") + " owned by several ranks: the value of the highest rank is kept"
}

func beyondText(n, elems int64) string {
	if n == 1 {
		return fmt.Sprintf("1 index is past the end of the array of %d elements and counts as a hole", elems)
	}
	return fmt.Sprintf("%d indices are past the end of the array of %d elements and count as holes", n, elems)
}

// WarnShared prints warnings about elements with several owners before the maps are used to write.
func WarnShared(e *cli.Env, maps []*decomp.Map) error {
	for k, m := range maps {
		cov, err := m.Coverage()
		if err != nil {
			return err
		}
		if n := m.Shared(&cov, m.Repeats()); n > 0 && e.Root() {
			fmt.Fprintf(e.Stderr, "blobio: warning: %s: %s\n", mapName(k), sharedText(n))
		}
	}
	return nil
}

// look checks one map.
func (c *checkedMaps) look(raw *mapfile.Raw, m *decomp.Map, name string) error {
	cov, err := m.Coverage()
	if err != nil {
		return err
	}
	say := func(sev fault.Severity, class error, format string, args ...any) {
		c.Add(fault.Of(sev, c.Path, fault.In(c.Path, name, class, format, args...)))
	}
	if raw.Beyond > 0 {
		say(fault.Warning, nil, "%s", beyondText(raw.Beyond, m.Elems()))
	}
	again := m.Repeats()
	if again.Again > 0 {
		say(fault.Warning, nil, "%v; the first is index %d of rank %d", again, again.Off, again.Rank)
	}
	if n := m.Shared(&cov, again); n > 0 {
		say(fault.Warning, nil, "%s", sharedText(n))
	}
	switch {
	case raw.Unlisted > 0 && cov.Uncovered > 0:
		say(fault.Error, fault.ErrTruncated, "%d of %d processes have no list of elements, and %d of %d elements have no owner: the file is truncated, or its writer omits empty lists", raw.Unlisted, m.Ranks(), cov.Uncovered, m.Elems())
	case cov.Uncovered > 0:
		say(fault.Note, nil, "%d of %d elements have no owner and read as fill values", cov.Uncovered, m.Elems())
	}
	return nil
}
