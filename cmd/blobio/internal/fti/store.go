package fti

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/blob"
	"blobio/ffformat/ffstore"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"

	"github.com/spf13/cobra"
)

// sealName is the file of a store that lists its checkpoints.
const sealName = "checkpoints"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// isFFStore reports whether a path is a checkpoint store.
func isFFStore(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && (exists(filepath.Join(path, sealName)) || exists(filepath.Join(path, "slot0")))
}

// ffPlace is a position in a store: dir, dir@checkpoint or dir@checkpoint/rank.
type ffPlace struct {
	dir        string
	checkpoint int32
	rank       int
	newest     bool // no checkpoint was named
	all        bool // no rank was named
}

// parseFFPlace parses a position in a store. An existing file with the full name takes precedence.
func parseFFPlace(path string) (p ffPlace, ok bool) {
	if isFFStore(path) {
		return ffPlace{dir: path, newest: true, all: true}, true
	}
	if _, err := os.Lstat(path); err == nil {
		return p, false
	}
	i := strings.LastIndexByte(path, '@')
	if i <= 0 || !isFFStore(path[:i]) {
		return p, false
	}
	id, rank, named := strings.Cut(path[i+1:], "/")
	n, err := strconv.ParseInt(id, 10, 32)
	if err != nil {
		return p, false
	}
	p = ffPlace{dir: path[:i], checkpoint: int32(n), all: !named}
	if named {
		if p.rank, err = strconv.Atoi(rank); err != nil || p.rank < 0 {
			return p, false
		}
	}
	return p, true
}

// files returns the files of a position, for one rank or all, and the checkpoint. It opens each file to check that the seal
// refers to it.
func (p *ffPlace) files(all bool) ([]string, error) {
	v, err := ffstore.OpenView(p.dir, nil)
	if err != nil {
		return nil, err
	}
	list := v.List()
	if p.newest && len(list) > 0 {
		p.checkpoint = list[len(list)-1].ID
	}
	var have []int
	for _, x := range append(list, v.Spares()...) {
		have = append(have, int(x.ID))
		if x.ID != p.checkpoint {
			continue
		}
		if p.rank >= x.Ranks {
			return nil, fmt.Errorf("no rank %d in %s, number of ranks: %d", p.rank, p.dir, x.Ranks)
		}
		ranks := []int{p.rank}
		if all && p.all {
			ranks = ranks[:0]
			for r := range x.Ranks {
				ranks = append(ranks, r)
			}
		}
		var out []string
		for _, rank := range ranks {
			_, f, err := v.Reader(x.ID, rank)
			if err != nil {
				return nil, err
			}
			f.Close()
			out = append(out, f.Name())
		}
		return out, nil
	}
	if len(have) == 0 {
		return nil, fmt.Errorf("no checkpoint in %s", p.dir)
	}
	slices.Sort(have)
	ids := strings.Trim(fmt.Sprint(slices.Compact(have)), "[]")
	return nil, fmt.Errorf("no checkpoint %d in %s, the checkpoints are %s", p.checkpoint, p.dir, strings.ReplaceAll(ids, " ", ", "))
}

// ffStoreDesc describes a store for JSON.
type ffStoreDesc struct {
	Path        string         `json:"path"`
	Layout      string         `json:"layout"`
	Hash        string         `json:"hash"`
	Ranks       int            `json:"ranks"`
	Slots       int            `json:"slots"`
	Bytes       int64          `json:"bytes"`
	Files       int            `json:"files"`
	Checkpoints []ffstore.Info `json:"checkpoints"`
	Spares      []ffstore.Info `json:"spares,omitempty"`
}

func describeFFStore(dir string) (*ffStoreDesc, error) {
	v, err := ffstore.OpenView(dir, nil)
	if err != nil {
		return nil, err
	}
	d := &ffStoreDesc{Path: dir, Layout: v.Layout().String(), Hash: "md5", Ranks: v.Ranks(), Slots: v.Slots(), Checkpoints: v.List(), Spares: v.Spares()}
	if v.Fast() {
		d.Hash = "fast"
	}
	if d.Checkpoints == nil {
		d.Checkpoints = []ffstore.Info{}
	}
	d.Files, d.Bytes, err = cli.TreeSize(dir)
	return d, err
}

func printFFStore(e *cli.Env, d *ffStoreDesc) {
	what := ""
	if d.Hash == "fast" {
		what = ", fast hashes (FTI refuses such files)"
	}
	fmt.Fprintf(e.Out, "%s: store of checkpoints, FTI-FF layout %s%s, %s, %s, %s in %s\n\n", d.Path, d.Layout, what,
		cli.Plural(d.Ranks, "rank"), cli.Plural(d.Slots, "slot"), cli.HumanBytes(d.Bytes), cli.Plural(d.Files, "file"))
	t := e.NewTable("", ">CHECKPOINT", "WRITTEN", ">VARIABLES", ">DATA", ">FILES", ">SLOT")
	for _, c := range d.Checkpoints {
		t.Row(c.ID, c.Time.UTC().Format("2006-01-02 15:04:05 UTC"), c.Vars, cli.HumanBytes(c.Data), cli.HumanBytes(c.Bytes), c.Slot)
	}
	t.Flush()
	for _, c := range d.Spares {
		fmt.Fprintf(e.Out, "spare: checkpoint %d in slot %d; Recover can use it until a new checkpoint overwrites the slot\n", c.ID, c.Slot)
	}
}

// store checks a whole store.
func (f *ffCheckFlags) store(ctx context.Context, e *cli.Env, dir string) (*ffChecked, error) {
	p := e.NewProgress()
	defer p.End()
	c := &ffChecked{Path: dir}
	for x := range ffstore.Check(ctx, dir, &ffstore.Options{Quick: f.Quick, Workers: f.Workers,
		Progress: func(done, total int64) { p.At("check "+dir, done, total) }}) {
		if errors.Is(x.Err, fs.ErrPermission) || errors.Is(x.Err, blob.ErrNotCommitted) {
			return nil, x.AsError()
		}
		c.Add(x)
	}
	return c, ctx.Err()
}

// store rebuilds the seal of a store from the files in its slots.
func (f *ffRepairFlags) store(cmd *cobra.Command, e *cli.Env, dir string) error {
	if err := cli.NotGiven(cmd, "is for a checkpoint file, "+dir+" is a directory", "bad", "layout", "checkpoint", "no-sync"); err != nil {
		return err
	}
	o := ffstore.Options{DryRun: f.dry, Force: f.force, Workers: f.workers}
	list, left, err := ffstore.Rebuild(cmd.Context(), dir, &o)
	if err != nil {
		if errors.Is(err, ffstore.ErrExist) {
			return cli.WithHint(err, "ff check verifies the seal; --force replaces it")
		}
		return errors.Join(append(left, err)...)
	}
	if len(left) > 0 {
		e.Code = cli.Findings
	}
	if f.asJSON {
		why := make([]string, len(left))
		for i, l := range left {
			why[i] = l.Error()
		}
		return e.PrintJSON(map[string]any{"store": dir, "written": !o.DryRun, "checkpoints": list, "left": why})
	}
	for _, l := range left {
		fmt.Fprintln(e.Out, "skipped:", l)
	}
	for _, i := range list {
		fmt.Fprintf(e.Out, "checkpoint %d in slot %d: %s of %s, %s\n", i.ID, i.Slot, cli.HumanBytes(i.Data), cli.Plural(i.Ranks, "rank"), i.Time.Format("2006-01-02 15:04:05"))
	}
	if o.DryRun {
		fmt.Fprintf(e.Out, "%s: %s; nothing was written\n", dir, cli.Plural(len(list), "checkpoint"))
	} else {
		fmt.Fprintf(e.Out, "%s: a seal of %s was written\n", dir, cli.Plural(len(list), "checkpoint"))
	}
	return nil
}

// Knows reports whether a path is an FTI checkpoint file, a store, or a position in a store. A file that ends in .fti always
// counts, because its metadata are at the end and may be torn. Other files are searched for metadata. The search is slow, so
// files that begin like netCDF or HDF5 files are not searched.
func Knows(path string) bool {
	if _, ok := parseFFPlace(path); ok {
		return true
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		list, _, err := ffPaths(path)
		return err == nil && len(list) > 0
	case !info.Mode().IsRegular():
		return false
	case filepath.Ext(path) == ".fti":
		return true
	}
	if b, _ := vfs.ReadStream(path, 4); strings.HasPrefix(string(b), "CDF") || string(b) == "\x89HDF" {
		return false
	}
	f, _, err := openForLs(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
