package fti

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/cli"
)

type ffLsFlags struct {
	long, asJSON bool
}

func newFFLs(e *cli.Env) *cobra.Command {
	var f ffLsFlags
	cmd := &cobra.Command{
		Use:   "ls PATH...",
		Short: "Show the state, variables and map of a checkpoint file",
		Long: `Show layout, hashes, checkpoint, sizes, state and variables of checkpoint files, and a map of
each file. Each character of the map covers several bytes. It is the number of a variable, or
"." for unused reserved space. ls reads only metadata, so the state does not cover the data
("ff check" reads the data). Damaged files are shown as far as their records can be read; the
exit code is then 1. The exit code is 2 if no file is an FTI file.

For a directory, ls prints one line for each file that ends in .fti. For a store, it prints
one line for each checkpoint. For store@7, it prints one line for each rank of checkpoint 7.

In JSON, dptr is the offset in the variable and fptr the offset in the file. chunk is the
number of used bytes of a container, and size is its total size.`,
		Example: `  blobio ff ls Ckpt7-Rank0.fti
  blobio ff ls -l Ckpt7-Rank0.fti              # every container
  blobio ff ls global/l4                       # a directory
  blobio ff ls --json Ckpt7-Rank0.fti | jq '.files[].variables[]'`,
		Args: cli.MinArgs(1, "a checkpoint file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.long, "long", "l", false, "print every container")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"files": []*ffDesc{}, "stores": []*ffStoreDesc{}})
	return cmd
}

// The JSON output types that describe a checkpoint file.
type (
	ffDesc struct {
		Path       string     `json:"path"`
		Layout     string     `json:"layout,omitempty"`
		FTI        string     `json:"fti,omitempty"`
		Hash       string     `json:"hash,omitempty"`
		BlockSize  int        `json:"block_size,omitempty"`
		FTICanRead bool       `json:"fti_can_read"`
		Checkpoint int32      `json:"checkpoint,omitempty"`
		Timestamp  int64      `json:"timestamp,omitempty"`
		Bytes      int64      `json:"bytes"`
		Content    int64      `json:"content"`
		Empty      int64      `json:"empty"`
		Gap        int64      `json:"gap,omitempty"`
		Metadata   int64      `json:"metadata"`
		Parity     int64      `json:"parity,omitempty"`
		Lost       int64      `json:"lost,omitempty"`
		Damage     string     `json:"damage,omitempty"`
		Errors     int        `json:"errors"`
		Warnings   int        `json:"warnings"`
		Vars       []ffVar    `json:"variables"`
		Blocks     []ffBlock  `json:"blocks"`
		Extents    []ffExtent `json:"extents,omitempty"`

		file        *ffformat.File
		posix       *ffformat.PosixFile
		why         error // reason why the file cannot be read at all
		nContainers int
	}
	ffVar struct {
		ID         int32 `json:"id"`
		Bytes      int64 `json:"bytes"`
		Reserved   int64 `json:"reserved"`
		Containers int   `json:"containers"`
	}
	ffBlock struct {
		Offset     int64         `json:"offset"`
		Bytes      int64         `json:"bytes"`
		Containers []ffContainer `json:"containers"`
	}
	ffContainer struct {
		Var       int32  `json:"variable"`
		Container int32  `json:"container"`
		Content   bool   `json:"content"`
		HasCkpt   bool   `json:"has_ckpt"`
		Dptr      int64  `json:"dptr"`
		Fptr      int64  `json:"fptr"`
		Chunk     int64  `json:"chunk"`
		Size      int64  `json:"size"`
		Hash      string `json:"hash"`
	}
	ffExtent struct {
		Offset    int64  `json:"offset"`
		Bytes     int64  `json:"bytes"`
		Kind      string `json:"kind"`
		Var       *int32 `json:"variable,omitempty"`
		Block     *int   `json:"block,omitempty"`
		Container *int   `json:"container,omitempty"`
	}
)

func (f *ffLsFlags) run(cmd *cobra.Command, e *cli.Env, paths []string) error {
	ctx := cmd.Context()
	out := []*ffDesc{}
	stores := []*ffStoreDesc{}
	err := e.Each(cmd, paths, func(path string) (func() error, error) {
		if isFFStore(path) {
			d, err := describeFFStore(path)
			if err != nil {
				return nil, err
			}
			if stores = append(stores, d); f.asJSON {
				return nil, nil
			}
			return func() error { printFFStore(e, d); return nil }, nil
		}
		files, isDir, err := ffPaths(path)
		if err != nil {
			return nil, err
		}
		var found []*ffDesc
		for _, name := range files {
			d, err := f.one(ctx, name, isDir)
			if err != nil {
				return nil, err
			}
			switch {
			case errors.Is(d.why, ffformat.ErrNotFormat) && !amongOthers(name):
				e.Judge(cli.Failed)
			case d.Errors > 0 || d.Damage != "":
				e.Judge(cli.Findings)
			}
			found = append(found, d)
		}
		if out = append(out, found...); f.asJSON {
			return nil, nil
		}
		return func() error {
			if isDir {
				printFFDir(e, path, found, len(paths) > 1)
				return nil
			}
			return f.print(e, found[0])
		}, nil
	})
	if err != nil || !f.asJSON {
		return err
	}
	d := map[string]any{"files": out}
	if len(stores) > 0 {
		d["stores"] = stores
	}
	return e.PrintJSON(d)
}

// one describes a file. In a directory, an unreadable file is listed with the reason.
func (f *ffLsFlags) one(ctx context.Context, path string, inDir bool) (*ffDesc, error) {
	file, r, err := openForLs(path)
	if p, perr := posixOf(path, err); p != nil {
		return describePosix(ctx, path, p)
	} else if perr != nil {
		err = perr
	}
	if err != nil {
		if inDir && ctx.Err() == nil {
			return &ffDesc{Path: path, Bytes: fileSize(path), Damage: ffDamage(path, err), why: err, Errors: 1, Vars: []ffVar{}, Blocks: []ffBlock{}}, nil
		}
		return nil, err
	}
	defer file.Close()
	d := describeFF(r.File(), f.long || f.asJSON)
	list, err := ffFindings(ctx, file, &ffformat.Options{Quick: true})
	if err != nil {
		return nil, err
	}
	for _, x := range list {
		d.Errors += bit(x.Severity >= ffformat.Error)
		d.Warnings += bit(x.Severity == fault.Warning)
	}
	d.FTICanRead = r.File().Hash == ffformat.MD5 && d.Errors == 0 &&
		!slices.ContainsFunc(list, func(x ffformat.Finding) bool { return x.Severity == fault.Warning && x.Field == "FB.checksum" })
	return d, nil
}

// openForLs opens an FTI-FF file for its metadata.
func openForLs(path string) (*ffFile, *ffformat.Reader, error) {
	file, err := openFF(path)
	if err != nil {
		return nil, nil, err
	}
	r, err := file.reader(true)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, r, nil
}

// ffDamage describes the damage of a file in a line that does not repeat the file's name.
func ffDamage(path string, err error) string {
	if errors.Is(err, ffformat.ErrNotFormat) {
		return "no FTI-FF metadata found: the file has another format, is incomplete, or is of POSIX mode (ckpt_io = 1) without its Meta/<id>/l<level>/sector*-group*.fti"
	}
	var lines []string
	for l := range strings.Lines(err.Error()) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSpace(l), path+": "))
	}
	return strings.Join(lines, "; ")
}

func fileSize(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

// describeFF describes the metadata. It includes records and extents, which may be numerous, only if records is set.
func describeFF(f *ffformat.File, records bool) *ffDesc {
	d := &ffDesc{Path: f.Name, Layout: f.Layout.String(), FTI: ffVersions[f.Layout], Hash: ffHash(f), BlockSize: f.BlockSize,
		Checkpoint: f.FB.CkptID, Timestamp: f.FB.Timestamp, Bytes: f.Size, Vars: []ffVar{}, Blocks: []ffBlock{}, file: f}
	if f.Damaged != nil {
		d.Damage = ffDamage(f.Name, f.Damaged)
	}
	extents := f.Extents()
	u := usage(extents)
	d.Content, d.Empty, d.Gap, d.Metadata = u["content"], u["empty"], u["gap"], u["metadata"]
	d.Parity, d.Lost = u["parity"], u["lost"]
	for _, v := range f.Vars() {
		d.Vars = append(d.Vars, ffVar{v.ID, v.Size, v.Reserved, v.Containers})
	}
	for i := range f.Blocks {
		d.nContainers += len(f.Blocks[i].Containers)
	}
	if !records {
		return d
	}
	for i := range f.Blocks {
		b := ffBlock{f.Blocks[i].Offset, f.Blocks[i].Size, []ffContainer{}}
		for _, c := range f.Blocks[i].Containers {
			b.Containers = append(b.Containers, ffContainer{c.ID, c.ContainerID, c.HasContent, c.HasCkpt, c.Dptr, c.Fptr, c.ChunkSize, c.ContainerSize, hex.EncodeToString(c.Hash[:])})
		}
		d.Blocks = append(d.Blocks, b)
	}
	for _, x := range extents {
		y := ffExtent{Offset: x.Off, Bytes: x.Len, Kind: x.Kind}
		if x.Block >= 0 {
			y.Block = &x.Block
		}
		if x.Container >= 0 {
			y.Container, y.Var = &x.Container, &x.ID
		}
		d.Extents = append(d.Extents, y)
	}
	return d
}

// summary describes a file in a line.
func (d *ffDesc) summary() string {
	s := []string{fmt.Sprintf("FTI-FF layout %s (FTI %s)", d.Layout, d.FTI)}
	if d.Hash == "fast" {
		s = append(s, fmt.Sprintf("fast hashes of %d-byte blocks (FTI refuses such files)", d.BlockSize))
	}
	if d.Parity > 0 {
		s = append(s, "parity of level 3")
	}
	if d.Checkpoint != 0 {
		s = append(s, fmt.Sprintf("checkpoint %d", d.Checkpoint))
	}
	return strings.Join(append(s, cli.HumanBytes(d.Bytes)), ", ")
}

// state describes the condition of a file without reading the data.
func (d *ffDesc) state() string {
	switch {
	case d.Damage != "":
		return "damaged: " + d.Damage
	case d.Errors+d.Warnings > 0:
		var s []string
		if d.Errors > 0 {
			s = append(s, cli.Plural(d.Errors, "error"))
		}
		if d.Warnings > 0 {
			s = append(s, cli.Plural(d.Warnings, "warning"))
		}
		return strings.Join(s, ", ") + " (see ff check)"
	}
	return "metadata good"
}

// written returns the time of the checkpoint. Layouts E and F store only its low 32 bits, so the result is "".
func (d *ffDesc) written() string {
	if d.Timestamp <= 1<<32 {
		return ""
	}
	return time.Unix(0, d.Timestamp).UTC().Format("2006-01-02 15:04:05 UTC")
}

func ffShare(n, of int64) string {
	if of <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(of))
}

func printFFDir(e *cli.Env, dir string, list []*ffDesc, head bool) {
	if head {
		fmt.Fprintf(e.Out, "%s:\n", dir)
	}
	t := e.NewTable("", "FILE", "LAYOUT", "HASH", ">CHECKPOINT", ">VARIABLES", ">CONTAINERS", ">SIZE", ">DEAD", "STATE")
	for _, d := range list {
		name, err := filepath.Rel(dir, d.Path)
		if err != nil || !filepath.IsLocal(name) { // a position in a store
			name = filepath.Base(d.Path)
		}
		if d.Layout == "" {
			t.Row(name, "-", "-", "-", "-", "-", cli.HumanBytes(d.Bytes), "-", d.state())
			continue
		}
		ckpt := "-"
		if d.Checkpoint != 0 {
			ckpt = fmt.Sprint(d.Checkpoint)
		}
		t.Row(name, d.Layout, d.Hash, ckpt, len(d.Vars), d.nContainers, cli.HumanBytes(d.Bytes), ffShare(d.Empty+d.Gap, d.Bytes), d.state())
	}
	t.Flush()
}

func (f *ffLsFlags) print(e *cli.Env, d *ffDesc) error {
	if d.posix != nil {
		return d.printPosix(e)
	}
	fmt.Fprintf(e.Out, "%s: %s\nstate: %s\n", d.Path, d.summary(), d.state())
	if w := d.written(); w != "" {
		fmt.Fprintf(e.Out, "written: %s\n", w)
	}
	fmt.Fprintf(e.Out, "space: content %s, reserved but unused %s (%s)", cli.HumanBytes(d.Content), cli.HumanBytes(d.Empty), ffShare(d.Empty, d.Bytes))
	if d.Gap > 0 {
		fmt.Fprintf(e.Out, ", outside of containers %s", cli.HumanBytes(d.Gap))
	}
	if d.Parity > 0 {
		fmt.Fprintf(e.Out, ", parity %s", cli.HumanBytes(d.Parity))
	}
	fmt.Fprintf(e.Out, ", metadata %s\n", cli.HumanBytes(d.Metadata))
	if d.Lost > 0 {
		fmt.Fprintf(e.Out, "past the end of the file: %s\n", cli.HumanBytes(d.Lost))
	}
	symbols := mapSymbols(d.file)
	if len(d.Vars) > 0 {
		fmt.Fprintf(e.Out, "blocks: %d, containers: %d\n\n", len(d.file.Blocks), d.nContainers)
		t := e.NewTable("", ">VARIABLE", "MAP", ">SIZE", ">RESERVED", ">CONTAINERS")
		for _, v := range d.Vars {
			t.Row(v.ID, string(symbols[v.ID]), cli.HumanBytes(v.Bytes), cli.HumanBytes(v.Reserved), v.Containers)
		}
		t.Flush()
	}
	if f.long && len(d.Blocks) > 0 {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", ">BLOCK", ">VARIABLE", ">CONTAINER", "CONTENT", ">IN VARIABLE", ">IN FILE", ">CHUNK", ">CONTAINER SIZE", "HASH")
		for i, b := range d.Blocks {
			for _, c := range b.Containers {
				content := "yes"
				if !c.Content {
					content = "no"
				}
				t.Row(i, c.Var, c.Container, content, c.Dptr, c.Fptr, c.Chunk, c.Size, c.Hash)
			}
		}
		t.Flush()
	}
	fmt.Fprintln(e.Out)
	return writeMap(e.Out, d.file, mapColumns, mapLines)
}
