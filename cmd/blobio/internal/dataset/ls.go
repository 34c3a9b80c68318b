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
	"blobio/cdf5"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/subfile"
	"blobio/internal/view/cf"
)

func NewLs(e *cli.Env) *cobra.Command {
	var long, asJSON bool
	var stats statsFlags
	follow := follower{e: e, hopeless: (*blob.Watch).Hopeless}
	cmd := &cobra.Command{
		Use:   "ls PATH...",
		Short: "Show the layout, dimensions and variables of a dataset",
		Long: `Show layout, ranks, subfiles, records, size and state of a dataset, and its dimensions,
variables and decomposition maps. Only the first header is read, so ls is quick for
datasets of any size.

For a directory with several datasets, ls prints one line for each dataset.

--stats reads the data and prints minimum, maximum and mean of each variable, and the
numbers of values, fill values and NaN. --by-record prints them for each record, too.
Elements that no rank wrote count as fill values. Elements that missing_value or a valid
range excludes also count as fill values. Minimum, maximum and mean ignore fill values and NaN.
Packed values (scale_factor, add_offset, _Unsigned) are unpacked, and a note below the table
mentions the unpacking. Memory use is bounded. --vars and -d select a part, as in "blobio
dump".
` + followHelp + `
Other kinds of files are recognised by content and passed to the verb of their family, which
has its own flags. See "blobio --help".

In JSON, the state in status is "writing", "finished", "died", "writing or died", or
"unmarked". ranks and subfiles describe the first set. sets is present if appends or commits
have added sets; one entry covers count sets with the same numbers. The bytes of a variable
include all its records in canonical form. With --stats: {datasets: [{path, variables:
[{name, type, unpacked, notes, values, fill, nan, min, max, mean, records: [{record, values,
fill, nan, min, max, mean}]}]}]}. unpacked is the formula for values that differ from the
stored ones. min, max and mean are null if there are no values. Infinities are strings. With
--follow, each record is one line, {"record", "committed", "variables": [{name, unpacked,
notes, values, fill, nan, min, max, mean}]}, and the last line is {"status": {...}}.`,
		Example: `  blobio ls F_h0.nc          # all subfiles together
  blobio ls F_h0.nc.0000     # the same dataset, by one of its subfiles
  blobio ls -l run/F_h1.nc   # with long names and units
  blobio ls run              # a directory
  blobio ls --stats -v T,PS -d lev,71 F_h0.nc    # the lowest level
  blobio ls --json F_h0.nc | jq '.datasets[].variables[].name'
  blobio ls --follow run/F_h0.nc                     # new records
  blobio ls --follow -v T,PS --from 0 run/F_h0.nc    # all records of two variables
  blobio ls --follow --exec 'blobio plot -v T --rec "$BLOBIO_RECORD" "$BLOBIO_DATASET" -o "t$BLOBIO_RECORD.png"' run/F_h0.nc
  blobio ls --follow -v time run/F_h0.nc && sbatch postprocess.sh`,
		Args: cli.MinArgs(1, "a dataset, a file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := follow.check(cmd, args); err != nil {
				return err
			}
			if follow.on {
				follow.vars, follow.json = stats.vars, asJSON
				return follow.run(cmd.Context(), args[0])
			}
			if err := stats.check(cmd); err != nil {
				return err
			}
			if stats.on {
				return stats.run(cmd, e, args, asJSON)
			}
			return ls(cmd, e, args, long, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&long, "long", "l", false, "print long names and units of variables")
	stats.add(cmd)
	follow.add(cmd)
	cli.JSONFlag(cmd, &asJSON, map[string]any{"datasets": []*dataset{}})
	return cmd
}

// The JSON output types that describe a dataset.
type (
	dataset struct {
		Path     string       `json:"path"`
		Layout   string       `json:"layout,omitempty"`
		Format   string       `json:"format,omitempty"`
		Packed   bool         `json:"compressed,omitempty"`
		State    string       `json:"state"`
		Status   *blob.Status `json:"status,omitempty"`
		Records  int64        `json:"records"`
		Ranks    int          `json:"ranks"`
		Subfiles int          `json:"subfiles"`
		Bytes    int64        `json:"bytes"`
		Sets     []setDesc    `json:"sets,omitempty"`
		Missing  []string     `json:"missing,omitempty"`
		LeftOut  []string     `json:"left_out,omitempty"` // items of a netCDF-4 file that CDF-5 cannot hold, with the reasons
		Dims     []dimDesc    `json:"dims"`
		Maps     []mapDesc    `json:"maps"`
		Vars     []varDesc    `json:"variables"`

		why error // error of Open, unless only subfiles are missing
	}
	setDesc struct {
		First    int64 `json:"first"` // first record
		Records  int64 `json:"records"`
		Ranks    int   `json:"ranks"`
		Subfiles int   `json:"subfiles"` // in each set
		Count    int   `json:"count"`    // number of consecutive sets of this kind
	}
	dimDesc struct {
		Name      string `json:"name"`
		Length    int64  `json:"length"`
		Unlimited bool   `json:"unlimited,omitempty"`
	}
	mapDesc struct {
		Name  string   `json:"name"`
		Dims  []string `json:"dims"`
		Shape []int64  `json:"shape"`
	}
	varDesc struct {
		Name   string     `json:"name"`
		Type   string     `json:"type"`
		Dims   []string   `json:"dims"`
		Shape  []int64    `json:"shape"`
		Map    string     `json:"map,omitempty"`
		Record bool       `json:"record,omitempty"`
		Bytes  int64      `json:"bytes"`
		Atts   []cdf5.Att `json:"-"`
		AttMap jsonAtts   `json:"attributes,omitempty"`
	}
)

// ls prints every path, including the datasets of a directory.
func ls(cmd *cobra.Command, e *cli.Env, paths []string, long, asJSON bool) error {
	ctx := cmd.Context()
	out := []*dataset{}
	fsys := &listings{FS: vfs.OS}
	err := e.Each(cmd, paths, func(path string) (func() error, error) {
		found, isDir, err := lsPath(ctx, fsys, path)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if d.why != nil {
				e.Judge(e.VerdictOf(d.why))
			}
		}
		if out = append(out, found...); asJSON {
			return nil, nil
		}
		return func() error {
			if isDir {
				printDir(e, path, found, len(paths) > 1)
			} else {
				printDataset(e, found[0], long)
			}
			return nil
		}, nil
	})
	if err == nil && asJSON {
		return e.PrintJSON(map[string]any{"datasets": out})
	}
	return err
}

// lsPath describes the dataset at a path, or all datasets of a directory.
func lsPath(ctx context.Context, fsys vfs.FS, path string) (found []*dataset, isDir bool, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		sets, err := subfile.ListAll(fsys, path)
		if err != nil {
			return nil, true, err
		}
		left, err := blob.Unfinished(path)
		if err != nil {
			return nil, true, err
		}
		if len(sets) != 1 || slices.ContainsFunc(left, func(name string) bool { return name != sets[0].Base }) {
			found, err := lsDir(ctx, fsys, path, sets, left)
			return found, true, err
		}
	}
	d, err := lsOne(ctx, fsys, path)
	return []*dataset{d}, false, err
}

// lsDir describes all datasets of a directory and leaves out other files. For an unreadable dataset, the state is the reason.
// left are the names of unfinished outputs.
func lsDir(ctx context.Context, fsys vfs.FS, dir string, sets []*subfile.Set, left []string) ([]*dataset, error) {
	var out []*dataset
	for _, s := range sets {
		d, err := lsOne(ctx, fsys, s.Base)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			if s.Single && (errors.Is(err, blob.ErrNotFormat) || errors.Is(err, blob.ErrTruncated)) {
				continue
			}
			d = &dataset{Path: s.Base, State: "unreadable: " + cli.ErrorText(err), why: err}
			if errors.Is(err, blob.ErrNotCommitted) {
				d.State, d.why = "not committed, "+unfinishedState(s.Base), nil
			}
		}
		out = append(out, d)
	}
	listed := map[string]bool{}
	for _, d := range out {
		listed[d.Path] = true
	}
	for _, name := range left {
		if !listed[name] {
			out = append(out, &dataset{Path: name, State: unfinishedState(name)})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no dataset in this directory", dir)
	}
	return out, nil
}

// unfinishedState describes the state of an unfinished output: either a program is writing it, or its writer died.
func unfinishedState(name string) string {
	if holder, state, err := blob.WriterOf(name); err == nil && state == "writing" {
		return "being written by " + holder
	}
	return "unfinished (blobio recover)"
}

func lsOne(ctx context.Context, fsys vfs.FS, path string) (*dataset, error) {
	r, refused := blob.Open(ctx, path, &blob.OpenOptions{FS: fsys})
	if errors.Is(refused, blob.ErrNotFormat) {
		return nil, refused
	}
	if refused != nil {
		var err error
		if r, err = blob.Open(ctx, path, &blob.OpenOptions{FS: fsys, AllowMissing: true}); err != nil {
			return nil, err
		}
	}
	defer r.Close()
	for _, m := range r.Missing() {
		if filepath.Clean(m) == filepath.Clean(path) { // path is a missing subfile
			return nil, fmt.Errorf("%s: this subfile of %s is missing (blobio check lists the existing files): %w", path, r.Base(), fs.ErrNotExist)
		}
	}
	d := describe(fsys, r)
	var fe *cdf5.FormatError
	if refused != nil && (len(r.Missing()) == 0 || errors.As(refused, &fe) && fe.Field == "manifest") {
		d.State, d.why = cli.ErrorText(refused), refused
	}
	return d, nil
}

// describe describes a dataset by its first header and the directory.
func describe(fsys vfs.FS, r *blob.Reader) *dataset {
	d := describeVars(r)
	if r.Form().Layout != blob.Canonical {
		d.Status = statusOf(fsys, r.Base())
	}
	d.Layout, d.Format, d.State, d.Packed, d.Missing = r.Form().Layout.String(), r.Form().Version.String(), state(fsys, r, d.Status), r.Form().Compressed, r.Missing()
	if r.Form().Layout == blob.ProcessCentric {
		d.Format = "HDF5"
	} else if r.Form().NetCDF4 {
		d.Format = "netCDF-4"
	}
	d.Subfiles, d.Ranks = r.Subfiles()
	for _, f := range r.Inspect().Files() {
		d.Bytes += f.Size
	}
	for _, err := range r.LeftOut() {
		d.LeftOut = append(d.LeftOut, cli.ErrorText(err))
	}
	if m := r.Manifest(); m != nil && len(m.Sets) > 1 {
		d.Sets = setsOf(m)
	}
	return d
}

// describeVars describes the schema of a dataset, or of a part of one.
func describeVars(r cf.Source) *dataset {
	s := r.Schema()
	d := &dataset{Path: r.Base(), Records: r.Records(), Dims: []dimDesc{}, Maps: []mapDesc{}, Vars: []varDesc{}}
	dims := s.Dims()
	for _, dim := range dims {
		n := dim.Len
		if n == blob.Unlimited {
			n = r.Records()
		}
		d.Dims = append(d.Dims, dimDesc{dim.Name, n, dim.Len == blob.Unlimited})
	}
	for k := range s.NumDecomps() {
		m := mapDesc{Name: fmt.Sprintf("D%d", k+1), Shape: s.DecompDims(blob.DecompID(k + 1)), Dims: []string{}}
		for _, id := range s.DecompDimIDs(blob.DecompID(k + 1)) {
			m.Dims = append(m.Dims, dims[id].Name)
		}
		d.Maps = append(d.Maps, m)
	}
	for i, v := range s.Vars() {
		vd := varDesc{Name: v.Name, Type: v.Type.String(), Dims: []string{}, Shape: []int64{}, Record: v.Record, Atts: v.Atts, AttMap: v.Atts}
		vd.Bytes = s.Elems(blob.VarID(i)) * int64(v.Type.Size())
		if v.Record {
			vd.Bytes *= r.Records()
		}
		if v.Decomp != 0 {
			vd.Map = fmt.Sprintf("D%d", v.Decomp)
		}
		for _, id := range v.Dims {
			vd.Dims = append(vd.Dims, dims[id].Name)
			vd.Shape = append(vd.Shape, d.Dims[id].Length)
		}
		d.Vars = append(d.Vars, vd)
	}
	return d
}

// setsOf lists the sets added by appends and commits, with their writers. Consecutive sets with the same numbers are one entry.
func setsOf(m *subfile.Manifest) (out []setDesc) {
	for k := range m.Sets {
		s := &m.Sets[k]
		ranks, _ := m.MapsOf(s)
		if n := len(out) - 1; n >= 0 && out[n].Ranks == ranks && out[n].Subfiles == len(s.Subfiles) {
			out[n].Records += s.Records
			out[n].Count++
			continue
		}
		out = append(out, setDesc{s.First, s.Records, ranks, len(s.Subfiles), 1})
	}
	return out
}

// writers returns the numbers of ranks that wrote the dataset, and the number of subfiles of all sets.
func (d *dataset) writers() (ranks string, subfiles int) {
	least, most, subfiles := d.Ranks, d.Ranks, d.Subfiles
	for k, s := range d.Sets {
		least, most = min(least, s.Ranks), max(most, s.Ranks)
		if subfiles += s.Subfiles * s.Count; k == 0 {
			subfiles -= d.Subfiles
		}
	}
	if least == most {
		return fmt.Sprint(most), subfiles
	}
	return fmt.Sprintf("%d to %d", least, most), subfiles
}

func (d *dataset) summary() string {
	var parts []string
	if d.Layout != "canonical" {
		what := d.Layout + " blobs"
		if d.Packed {
			what += ", compressed (for blobio only)"
		}
		ranks, subfiles := d.writers()
		if ranks += " ranks"; ranks == "1 ranks" {
			ranks = "1 rank"
		}
		parts = append(parts, what, ranks, cli.Plural(subfiles, "subfile"))
	} else {
		parts = append(parts, "ordinary netCDF, "+d.Format)
	}
	return strings.Join(append(parts, cli.Plural(d.Records, "record"), cli.HumanBytes(d.Bytes)), ", ")
}

func printDir(e *cli.Env, dir string, sets []*dataset, head bool) {
	if head {
		fmt.Fprintf(e.Out, "%s:\n", cli.Plain(dir))
	}
	t := e.NewTable("", "DATASET", "LAYOUT", ">RANKS", ">SUBFILES", ">RECORDS", ">VARIABLES", ">SIZE", "STATE")
	for _, d := range sets {
		if d.Layout == "" {
			t.Row(d.Path, "-", "-", "-", "-", "-", "-", d.State)
			continue
		}
		ranks, subfiles := d.writers()
		t.Row(d.Path, d.Layout, ranks, subfiles, d.Records, len(d.Vars), cli.HumanBytes(d.Bytes), d.State)
	}
	t.Flush()
}

func printDataset(e *cli.Env, d *dataset, long bool) {
	fmt.Fprintf(e.Out, "%s: %s\n", cli.Plain(d.Path), d.summary())
	fmt.Fprintf(e.Out, "state: %s\n", cli.Plain(d.State))
	if len(d.Sets) > 1 {
		var sets []string
		for _, s := range d.Sets {
			what := "no records"
			if s.Records > 0 {
				what = fmt.Sprintf("records %d to %d", s.First, s.First+s.Records-1)
			}
			sets = append(sets, fmt.Sprintf("%s by %s in %s", what, cli.Plural(s.Ranks, "rank"), cli.Plural(s.Subfiles*s.Count, "subfile")))
		}
		fmt.Fprintf(e.Out, "sets: %s\n", strings.Join(sets, "; "))
	}
	for _, m := range d.Missing {
		fmt.Fprintf(e.Out, "missing: %s\n", cli.Plain(m))
	}
	for _, text := range d.LeftOut {
		fmt.Fprintf(e.Out, "left out: %s\n", cli.Plain(text))
	}
	var dims []string
	for _, dim := range d.Dims {
		s := fmt.Sprintf("%s %d", dim.Name, dim.Length)
		if dim.Unlimited {
			s += " (unlimited)"
		}
		dims = append(dims, s)
	}
	fmt.Fprintf(e.Out, "dims: %s\n", cli.Plain(strings.Join(dims, ", ")))
	if len(d.Maps) > 0 {
		var maps []string
		for _, m := range d.Maps {
			maps = append(maps, m.Name+shapeText(m.Dims, m.Shape))
		}
		fmt.Fprintf(e.Out, "maps: %s\n", cli.Plain(strings.Join(maps, ", ")))
	}
	if len(d.Vars) == 0 {
		return
	}
	fmt.Fprintln(e.Out)
	heads := []string{"VARIABLE", "TYPE", "MAP", ">SIZE", "DIMENSIONS"}
	if long {
		heads = append(heads, "UNITS", "LONG NAME")
	}
	t := e.NewTable("", heads...)
	for _, v := range d.Vars {
		m := v.Map
		if m == "" {
			m = "-"
		}
		cells := []any{v.Name, v.Type, m, cli.HumanBytes(v.Bytes), shapeText(v.Dims, v.Shape)}
		if long {
			cells = append(cells, textAtt(v.Atts, "units"), textAtt(v.Atts, "long_name"))
		}
		t.Row(cells...)
	}
	t.Flush()
}

// shapeText returns a shape such as (time=3, lev=72, ncol=866).
func shapeText(names []string, shape []int64) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = fmt.Sprintf("%s=%d", n, shape[i])
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func textAtt(atts []cdf5.Att, name string) string {
	if a := cdf5.FindAtt(atts, name); a != nil {
		if s, ok := a.Value.(string); ok {
			return strings.TrimRight(s, "\x00")
		}
	}
	return "-"
}
