package versions

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

type versionsLsFlags struct {
	key    versionsKey
	asJSON bool
}

func newVersionsLs(e *cli.Env) *cobra.Command {
	var f versionsLsFlags
	cmd := &cobra.Command{
		Use:   "ls STORE|ARRAY...",
		Short: "List the arrays of a store, or the versions of an array",
		Long: `List the arrays of a store with their newest versions and hierarchies, or list the versions of
one array. CHANGED is the size of the chunks that differ from the previous version. WRITTEN is
the size of the files of the version. NEWEST is the newest untainted version, at which programs
open the array. For the array of a level, ls shows the boxes, time and step of each version. For
the array of snapshots, it shows the versions of the levels in each snapshot. ls reads only
metadata. An encrypted store can be listed without its key, except for the boxes of levels. If
levels, snapshots or seals of arrays are lost, ls reports them and the exit code is 1.

In JSON, NaN is null.`,
		Example: `  blobio versions ls store
  blobio versions ls store/rho
  blobio versions ls store/amr.level2
  blobio versions ls --json store/rho | jq '.arrays[0].versions[-1].written'`,
		Args: cli.MinArgs(1, "the directory of a store or of an array"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	f.key.add(cmd)
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"arrays": []*arrayDesc{}, "hierarchies": []hierarchyDesc{}})
	return cmd
}

// The JSON output types that describe arrays.
type (
	arrayDesc struct {
		Array     string        `json:"array"`
		Path      string        `json:"path"`
		Type      string        `json:"type"`
		Shape     []int64       `json:"shape"`
		Chunk     int           `json:"chunk"`
		Encrypted bool          `json:"encrypted"`
		Bytes     int64         `json:"bytes"`
		Files     int           `json:"files"`
		Versions  []versionDesc `json:"versions"`

		damage error // a table could not be read
	}
	versionDesc struct {
		versioned.VersionInfo
		Level    *levelDesc    `json:"level,omitempty"`
		Snapshot *snapshotDesc `json:"snapshot,omitempty"`
	}
	levelDesc struct {
		Level int           `json:"level"`
		Boxes int           `json:"boxes"`
		Cells int64         `json:"cells"`
		Time  cli.JSONFloat `json:"time"`
		Dt    cli.JSONFloat `json:"dt"`
		Step  int64         `json:"step"`
		Epoch int64         `json:"epoch"`
		Dx    cli.JSONFloat `json:"dx"`
	}
	snapshotDesc struct {
		Time     float64 `json:"time"`
		Versions []int64 `json:"versions"`

		spec versioned.HierarchySpec
	}
	hierarchyDesc struct {
		Name       string   `json:"name"`
		Dim        int      `json:"dim"`
		Components []string `json:"components"`
		Levels     int      `json:"levels"`
		Ratio      int      `json:"ratio"`
		Snapshots  int      `json:"snapshots"`
		Lost       []int    `json:"lost_levels"` // missing from the store

		last int64 // last snapshot
		at   snapshotDesc
	}
)

func (f *versionsLsFlags) run(ctx context.Context, e *cli.Env, paths []string) error {
	key, err := f.key.read()
	if err != nil {
		return err
	}
	all, hs := []*arrayDesc{}, []hierarchyDesc{}
	var damage error
	for i, p := range paths {
		if i > 0 && !f.asJSON {
			fmt.Fprintln(e.Out)
		}
		a, h, err := f.list(ctx, e, p, key)
		if damage == nil {
			damage = err
		}
		all, hs = append(all, a...), append(hs, h...)
	}
	if f.asJSON && len(all) > 0 {
		if err := e.PrintJSON(map[string]any{"arrays": all, "hierarchies": hs}); err != nil {
			return err
		}
	}
	return damage
}

// list describes an array, or the arrays of a store and their hierarchies. It prints the descriptions unless JSON is
// requested.
func (f *versionsLsFlags) list(ctx context.Context, e *cli.Env, dir string, key []byte) (all []*arrayDesc, hs []hierarchyDesc, damage error) {
	if arrays.Is(dir, nil) {
		d, err := describeArray(ctx, dir, key, true)
		if err != nil {
			return nil, nil, err
		}
		if !f.asJSON {
			d.print(e)
		}
		return []*arrayDesc{d}, nil, d.damage
	}
	names, err := storeArrays(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		d, err := describeArray(ctx, filepath.Join(dir, name), key, f.asJSON)
		if cli.IsFormatError(err) { // the other arrays are still listed
			if damage == nil {
				damage = err
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if damage == nil {
			damage = d.damage
		}
		all = append(all, d)
	}
	members, err := checkHierarchies(ctx, dir, nil, key)
	if err != nil {
		return nil, nil, err
	}
	hs = hierarchies(all, members)
	for _, m := range members {
		if damage == nil && m.Severity >= fault.Error {
			damage = fault.In(m.Array, "hierarchy", versioned.ErrMissing, "%s", m.Msg)
		}
	}
	if f.asJSON || len(all) == 0 {
		return all, hs, damage
	}
	t := e.NewTable("", "ARRAY", "TYPE", "SHAPE", ">VERSIONS", ">NEWEST", "LABEL", "COMMITTED", ">FILES", ">SIZE")
	for _, d := range all {
		x := d.newest()
		size := cli.HumanBytes(d.Bytes)
		if d.Encrypted {
			size += ", encrypted"
		}
		t.Row(d.Array, d.Type, extentText(x.Shape), len(d.Versions), x.Number, labelText(x.Label), nanosText(x.Time), d.Files, size)
	}
	t.Flush()
	for _, h := range hs {
		h.print(e, all)
	}
	return all, hs, damage
}

// newest returns the newest untainted version. If all versions are tainted, it returns the newest version.
func (d *arrayDesc) newest() *versionDesc {
	return &d.Versions[newestOf(len(d.Versions), func(i int) bool { return d.Versions[i].Tainted })]
}

// describeArray reads the seal of an array, and the tables of all its versions or of the newest one.
func describeArray(ctx context.Context, dir string, key []byte, allTables bool) (*arrayDesc, error) {
	v, err := openVersions(dir, key)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	s := v.Spec()
	d := &arrayDesc{Array: s.Name, Path: dir, Type: s.Type.String(), Chunk: s.Chunk, Encrypted: v.Encrypted()}
	d.Bytes, d.Files = v.Bytes()
	list := v.Versions()
	for _, x := range list {
		d.Versions = append(d.Versions, versionDesc{VersionInfo: x})
	}
	for i := range list {
		if x := &d.Versions[i]; allTables || x == d.newest() {
			if err := d.describe(ctx, v, x); err != nil && d.damage == nil {
				d.damage = err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	d.Shape = d.newest().Shape
	return d, nil
}

// describe adds the description of a level, or of the snapshots, in a version.
func (d *arrayDesc) describe(ctx context.Context, v *versioned.View, x *versionDesc) error {
	name, level := arrays.Member(d.Array)
	if name == "" || x.Number == 0 {
		return nil
	}
	if level < 0 {
		s, err := v.Snapshot(ctx, x.Number)
		if err != nil {
			return otherwise(err)
		}
		x.Snapshot = &snapshotDesc{s.Time, s.Versions, s.Spec}
		return nil
	}
	t, err := v.Table(ctx, x.Number)
	if err != nil {
		return otherwise(err)
	}
	x.Level = &levelDesc{Level: t.Level, Boxes: len(t.Boxes), Time: cli.JSONFloat(t.Time), Dt: cli.JSONFloat(t.Dt), Step: t.Step, Epoch: t.Epoch, Dx: cli.JSONFloat(t.Dx)}
	for i := range t.Boxes {
		x.Level.Cells += t.Boxes[i].Cells()
	}
	return nil
}

// otherwise ignores the error of an array that is not a level despite its name, or whose key is unknown.
func otherwise(err error) error {
	if errors.Is(err, versioned.ErrNotFormat) || errors.Is(err, versioned.ErrKey) {
		return nil
	}
	return err
}

func (d *arrayDesc) print(e *cli.Env) {
	x := d.newest()
	crypt := ""
	if d.Encrypted {
		crypt = ", encrypted"
	}
	fmt.Fprintf(e.Out, "%s: %s %s, chunks of %s, %s in %s, %s%s\n\n", d.Array, d.Type, extentText(x.Shape), cli.HumanBytes(int64(d.Chunk)),
		cli.Plural(len(d.Versions), "version"), cli.Plural(d.Files, "file"), cli.HumanBytes(d.Bytes), crypt)
	isLevel, isGlobal, tainted := false, false, false
	for i := range d.Versions {
		tainted = tainted || d.Versions[i].Tainted
		isLevel, isGlobal = isLevel || d.Versions[i].Level != nil, isGlobal || d.Versions[i].Snapshot != nil
	}
	heads := []string{">VERSION", "LABEL", "COMMITTED", ">GENERATION", "SHAPE", ">CHANGED", ">WRITTEN"}
	if isLevel {
		heads = append(heads, ">BOXES", ">CELLS", ">TIME", ">STEP", ">REGRID")
	} else if isGlobal {
		heads = append(heads, ">TIME", "VERSIONS OF THE LEVELS")
	}
	if tainted {
		heads = append(heads, "TAINTED")
	}
	t := e.NewTable("", heads...)
	for i := range d.Versions {
		x := &d.Versions[i]
		row := []any{x.Number, labelText(x.Label), nanosText(x.VersionInfo.Time), x.Generation, extentText(x.Shape), cli.HumanBytes(x.Changed), cli.HumanBytes(x.Written)}
		switch {
		case x.Level != nil:
			l := x.Level
			row = append(row, l.Boxes, l.Cells, cli.NumberText(float64(l.Time)), l.Step, l.Epoch)
		case isLevel:
			row = append(row, "-", "-", "-", "-", "-")
		case x.Snapshot != nil:
			row = append(row, cli.NumberText(x.Snapshot.Time), strings.Trim(fmt.Sprint(x.Snapshot.Versions), "[]"))
		case isGlobal:
			row = append(row, "-", "-")
		}
		if tainted && x.Tainted {
			row = append(row, "yes")
		} else if tainted {
			row = append(row, "-")
		}
		t.Row(row...)
	}
	t.Flush()
}

// hierarchies returns the hierarchies whose snapshots are among the arrays. members are the findings about lost parts.
func hierarchies(all []*arrayDesc, members []memberFinding) (out []hierarchyDesc) {
	for _, d := range all {
		name, level := arrays.Member(d.Array)
		s := d.newest().Snapshot
		if level >= 0 || s == nil {
			continue
		}
		n := len(d.Versions)
		if d.Versions[0].Number == 0 {
			n--
		}
		lost := []int{}
		for _, m := range members {
			if m.Hierarchy == name && m.Level >= 0 && m.Absent {
				lost = append(lost, m.Level)
			}
		}
		out = append(out, hierarchyDesc{Name: name, Lost: lost, Dim: s.spec.Dim, Components: s.spec.Comps, Levels: len(s.Versions), Ratio: s.spec.Subcycling.Ratio,
			Snapshots: n, last: d.newest().Number, at: *s})
	}
	return out
}

func (h *hierarchyDesc) print(e *cli.Env, all []*arrayDesc) {
	fmt.Fprintf(e.Out, "\nhierarchy %s: %s of ratio %d, %s, %s; %s, the last one %d at time %s\n\n", h.Name, cli.Plural(h.Levels, "level"), h.Ratio,
		cli.Plural(h.Dim, "dimension"), strings.Join(h.Components, " "), cli.Plural(h.Snapshots, "snapshot"), h.last, cli.NumberText(h.at.Time))
	at := map[int]*versionDesc{}
	for _, d := range all {
		if name, level := arrays.Member(d.Array); name == h.Name {
			at[level] = d.newest()
		}
	}
	t := e.NewTable("", ">LEVEL", ">NEWEST", ">BOXES", ">CELLS", ">TIME", ">STEP", ">IN THE SNAPSHOT")
	for level, in := range h.at.Versions {
		x := at[level]
		switch {
		case x == nil:
			t.Row(level, "lost", "-", "-", "-", "-", in)
		case x.Level == nil:
			t.Row(level, x.Number, "-", "-", "-", "-", in)
		default:
			t.Row(level, x.Number, x.Level.Boxes, x.Level.Cells, cli.NumberText(float64(x.Level.Time)), x.Level.Step, in)
		}
	}
	t.Flush()
}
