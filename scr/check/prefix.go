package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"blobio/internal/durable"
	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/scr/prefixdir"
)

type scrCheckFlags struct {
	quick, strict, notes, asJSON bool
	workers                      int
	control, cache               []string
	id                           int
}

func newScrCheck(e *env) *cobra.Command {
	var f scrCheckFlags
	cmd := &cobra.Command{
		Use:   "check [PREFIX]",
		Short: "Look for everything that is wrong with a prefix directory, or with caches",
		Long: `Look for everything that is wrong with a prefix directory: the index, the summary
and the map of each dataset, and that each file is there, has its size, and matches
its CRC-32 (where the map has one: SCR 3 writes none, and then only the sum of the
sizes is known). Nothing is changed.

With --control, the caches of nodes are looked at instead (or as well, if PREFIX is
named): catalogue, file maps, files, and the redundancy files with their payload. A
node is named as for "scr scavenge". Files without checksums, as SCR 3 writes them,
are compared with their redundancy: name all nodes for that (--notes tells what was).

Findings are printed one per line: severity, file, field, what was found and what is
wanted. An error means that data or their protection are lost or cannot be trusted;
a warning that something is not as it should be; a note (shown with --notes) that
something is worth knowing.

Exit codes: 0 nothing found, 1 errors (with --strict: or warnings), 2 could not run.

JSON: {"checked": [{path, datasets, files, bytes, verified, errors, warnings, notes,
findings: [{severity, dataset, file, field, found, wanted, class}]}]}; verified are
the bytes that match a checksum.`,
		Example: `  blobio scr check /p/sim
  blobio scr check --quick /p/sim           # do not read the files of the application
  blobio scr check --id 12 --notes /p/sim
  blobio scr check --control /dev/shm/$USER/scr.$JOB      # the caches of this node
  blobio scr check --control /local/c=/mnt/n0/c --json | jq '.checked[].findings[]'`,
		Args: maxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVarP(&f.quick, "quick", "q", false, "metadata and sizes only: do not read the files")
	fl.BoolVar(&f.strict, "strict", false, "warnings count as errors in the exit code")
	fl.BoolVarP(&f.notes, "notes", "n", false, "print notes, too")
	fl.IntVar(&f.workers, "workers", 0, "files read at once (default: number of CPUs, at most 16)")
	fl.IntVar(&f.id, "id", 0, "look at the files of this dataset only")
	fl.StringArrayVar(&f.control, "control", nil, "control `DIR` of a node, or THERE=HERE; as often as there are nodes")
	fl.StringArrayVar(&f.cache, "cache", nil, "cache `DIR`, or THERE=HERE, of all these nodes")
	jsonFlag(cmd, &f.asJSON)
	return cmd
}

// scrChecked is what was found in a prefix directory or on a node.
type scrChecked struct {
	Path     string `json:"path"`
	Datasets int    `json:"datasets"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Verified int64  `json:"verified"`
	tally
	Findings []scrFinding `json:"findings"`

	jobs []scrJob
}

func (c *scrChecked) add(list ...scrFinding) {
	for _, f := range list {
		switch f.Severity {
		case sevError:
			c.Errors++
		case sevWarning:
			c.Warnings++
		default:
			c.Notes++
		}
		c.Findings = append(c.Findings, f)
	}
}

func (c *scrChecked) say(sev string, id int, file, field, found, wanted string) {
	c.add(scrFinding{Severity: sev, Dataset: id, File: file, Field: field, Found: found, Wanted: wanted})
}

func (f *scrCheckFlags) run(ctx context.Context, e *env, args []string) error {
	if f.workers < 0 {
		return usagef("--workers %d, want a positive number", f.workers)
	}
	if f.id < 0 {
		return usagef("--id %d, want the number of a dataset", f.id)
	}
	if len(f.cache) > 0 && len(f.control) == 0 {
		return usagef("--cache goes with --control")
	}
	out := []*scrChecked{}
	if len(args) > 0 || len(f.control) == 0 {
		d, err := scrPrefix(args)
		if err != nil {
			return err
		}
		c := &scrChecked{Path: d.Path, Findings: []scrFinding{}}
		if err := f.prefix(ctx, c, d); err != nil {
			return err
		}
		out = append(out, c)
	}
	if len(f.control) > 0 {
		nodes, err := scrNodes(f.control, f.cache)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			c := &scrChecked{Path: n.Name, Findings: []scrFinding{}}
			if err := f.node(c, n); err != nil {
				return err
			}
			out = append(out, c)
		}
		if !f.quick {
			if err := f.compare(ctx, nodes, out[len(out)-len(nodes):]); err != nil {
				return err
			}
		}
	}
	for _, c := range out {
		list, verified, err := e.runJobs(ctx, "check "+c.Path, f.workers, c.jobs)
		if err != nil {
			return err
		}
		c.Verified += verified
		c.add(list...)
		if c.Errors > 0 || f.strict && c.Warnings > 0 {
			e.code = exitFindings
		}
		if !f.asJSON {
			f.print(e, c)
		}
	}
	if f.asJSON {
		return e.printJSON(map[string]any{"checked": out})
	}
	return nil
}

func (f *scrCheckFlags) print(e *env, c *scrChecked) {
	for _, x := range c.Findings {
		if x.Severity != sevNote || f.notes {
			fmt.Fprintln(e.out, x)
		}
	}
	verdict := c.verdict(f.notes)
	verdict += fmt.Sprintf("; %s, %s, %s", plural(c.Datasets, "dataset"), plural(c.Files, "file"), humanBytes(c.Bytes))
	switch {
	case f.quick:
		verdict += ", data not read"
	case c.Bytes == 0:
	case c.Verified == c.Bytes && c.Errors > 0:
		verdict += ", what was read matches checksums"
	case c.Verified == c.Bytes:
		verdict += ", all of it matches checksums"
	case c.Verified == 0:
		verdict += ", there are no checksums"
	default:
		verdict += fmt.Sprintf(", checksums of %s", humanBytes(c.Verified))
	}
	fmt.Fprintf(e.out, "%s: %s\n", c.Path, verdict)
}

// prefix looks at the metadata of a prefix directory, and makes jobs of the files.
func (f *scrCheckFlags) prefix(ctx context.Context, c *scrChecked, d *prefixdir.Dir) error {
	if _, err := os.ReadDir(d.Path); err != nil {
		return err
	}
	x, rebuilt, _, err := d.LoadIndex()
	if err != nil {
		return err
	}
	found, err := d.Survey()
	if err != nil {
		return err
	}
	if rebuilt {
		if _, err := d.ReadIndex(); err != nil && !(errors.Is(err, fs.ErrNotExist) && x.Len() == 0) {
			bad := findingOf(sevError, 0, d.File("index.scr"), err)
			bad.Wanted = "an index (scr index --rebuild makes it from the summaries)"
			c.add(bad)
		}
	} else {
		for _, s := range x.Lost(found) {
			c.say(sevWarning, s.ID, d.File("index.scr"), fmt.Sprintf("DSET/%d", s.ID), "absent", fmt.Sprintf("%s, which is %s (scr index --add %d lists it)", clean(s.Summary.Dataset.Name), scrWhole(s), s.ID))
		}
	}
	if f.id > 0 && !f.has(x, found) {
		return fmt.Errorf("%s: no dataset %d", d.Path, f.id)
	}
	listed := map[int]bool{}
	for _, en := range x.Entries() {
		listed[en.ID] = true
		if f.id > 0 && f.id != en.ID {
			continue
		}
		c.Datasets++
		if en.Current && !en.Restartable() {
			c.say(sevWarning, en.ID, d.File("index.scr"), "CURRENT", clean(en.Name)+", which is "+scrWhyNot(en), "a checkpoint to start from")
		}
		if !en.Complete {
			c.say(sevWarning, en.ID, d.File("index.scr"), fmt.Sprintf("DSET/%d/COMPLETE", en.ID), "0 ("+clean(en.Name)+" was not finished)", "1")
			continue
		}
		f.dataset(c, d, en)
	}
	for _, s := range found {
		if s.Err != nil && !listed[s.ID] && (f.id == 0 || f.id == s.ID) {
			bad := findingOf(sevWarning, s.ID, s.Meta, s.Err)
			c.add(bad)
		}
	}
	return f.others(ctx, c, d, x)
}

func (f *scrCheckFlags) has(x *prefixdir.Index, found []prefixdir.Found) bool {
	for _, en := range x.Entries() {
		if en.ID == f.id {
			return true
		}
	}
	for _, s := range found {
		if s.ID == f.id {
			return true
		}
	}
	return false
}

// dataset looks at the metadata of a dataset that the index calls complete.
func (f *scrCheckFlags) dataset(c *scrChecked, d *prefixdir.Dir, en prefixdir.Entry) {
	at, err := d.Locate(en)
	if err != nil {
		c.add(findingOf(sevError, en.ID, d.DatasetDir(en.ID), err))
		return
	}
	sum, err := d.ReadSummary(at)
	if err != nil {
		c.add(findingOf(sevError, en.ID, at.Meta, err))
	} else {
		name := filepath.Join(at.Meta, "summary.scr")
		if !sum.Complete {
			c.say(sevError, en.ID, name, "COMPLETE", "0", "1, as in the index")
		}
		a, b := sum.Dataset, en.Dataset
		for _, v := range []struct {
			key  string
			a, b any
		}{{"ID", a.ID, b.ID}, {"NAME", a.Name, b.Name}, {"CKPT", a.Ckpt, b.Ckpt}, {"FILES", a.Files, b.Files}, {"SIZE", a.Size, b.Size}} {
			if v.a != v.b && b.ID != 0 {
				c.say(sevError, en.ID, name, "DSET/"+v.key, clean(fmt.Sprint(v.a)), clean(fmt.Sprint(v.b))+" as in the index")
			}
		}
	}
	m, err := d.ReadMap(at)
	if err != nil {
		c.add(findingOf(sevError, en.ID, at.Meta, err))
		return
	}
	if err := m.Check(en.Dataset); err != nil {
		c.add(findingOf(sevError, en.ID, filepath.Join(at.Meta, "rank2file"), err))
	}
	var files, size int64
	whole := true
	for rank := range m.Ranks {
		for _, file := range m.Files[rank] {
			n, ok := f.file(c, at, en, rank, file)
			if !file.NoFetch {
				files++
				size += n
				whole = whole && ok
			}
		}
	}
	// Without sizes in the map, the sum is all that is known.
	if ds := en.Dataset; whole && files == ds.Files && size != ds.Size {
		c.say(sevError, en.ID, at.Data, "size of the files of "+clean(en.Name), fmt.Sprint(size), fmt.Sprint(ds.Size))
	}
}

// file looks for a file of a dataset and makes a job of reading it. It returns the size of the data.
func (f *scrCheckFlags) file(c *scrChecked, at prefixdir.Place, en prefixdir.Entry, rank int, x prefixdir.File) (size int64, ok bool) {
	c.Files++
	bad := func(name, field string, found, wanted any) {
		c.say(sevError, en.ID, name, field, fmt.Sprint(found), fmt.Sprint(wanted))
	}
	name := filepath.Join(at.Data, filepath.FromSlash(x.StoredPath()))
	var parts []prefixdir.Segment
	if x.Segments == nil {
		info, err := vfs.OS.Stat(name)
		switch {
		case err != nil:
			b := findingOf(sevError, en.ID, name, err)
			b.Wanted = fmt.Sprintf("a file of rank %d", rank)
			c.add(b)
			return 0, false
		case !info.Mode().IsRegular():
			bad(name, "", "no file ("+info.Mode().Type().String()+")", fmt.Sprintf("a file of rank %d", rank))
			return 0, false
		}
		size = info.Size()
		if x.Zstd > 0 && size != x.Zstd {
			bad(name, "size", size, fmt.Sprintf("%d, compressed", x.Zstd))
			return 0, false
		}
		parts = []prefixdir.Segment{{File: x.StoredPath(), Length: size}}
	} else {
		for i, s := range x.Segments {
			part := filepath.Join(at.Data, filepath.FromSlash(s.File))
			info, err := vfs.OS.Stat(part)
			if err != nil {
				c.add(findingOf(sevError, en.ID, part, err))
				return 0, false
			}
			if info.Size() < s.Offset+s.Length {
				bad(part, fmt.Sprintf("size (segment %d of %s)", i, clean(x.Path)), info.Size(), fmt.Sprintf("at least %d", s.Offset+s.Length))
				return 0, false
			}
			size += s.Length
		}
		parts = x.Segments
	}
	if x.Zstd > 0 {
		size = x.Size
	} else if x.HasSize && size != x.Size {
		bad(name, "size", size, x.Size)
		return size, false
	}
	c.Bytes += size
	if f.quick {
		return size, true
	}
	c.jobs = append(c.jobs, scrJob{size, x.HasCRC, func(ctx context.Context, read func(int)) []scrFinding {
		return readStored(ctx, read, at, en.ID, name, parts, x)
	}})
	return size, true
}

// readStored reads a file of a dataset, from containers or expanded if need be, and compares size and CRC-32.
func readStored(ctx context.Context, read func(int), at prefixdir.Place, id int, name string, parts []prefixdir.Segment, x prefixdir.File) []scrFinding {
	bad := func(class error, field string, found, wanted any) []scrFinding {
		return []scrFinding{{sevError, id, name, field, fmt.Sprint(found), fmt.Sprint(wanted), classOf(class)}}
	}
	var readers []io.Reader
	for _, p := range parts {
		f, err := vfs.OS.Open(filepath.Join(at.Data, filepath.FromSlash(p.File)))
		if err != nil {
			return []scrFinding{findingOf(sevError, id, name, err)}
		}
		defer f.Close()
		readers = append(readers, &section{ctx, f, p.Offset, p.Offset + p.Length, read})
	}
	r := io.MultiReader(readers...)
	if x.Zstd > 0 {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return bad(kvtree.ErrCorrupt, "zstd", err, "")
		}
		defer z.Close()
		r = io.LimitReader(z, x.Size+1)
	}
	crc, n, err := crcOf(r)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && x.Zstd > 0:
		return bad(kvtree.ErrCorrupt, "zstd", err, "")
	case err != nil:
		return []scrFinding{findingOf(sevError, id, name, err)}
	case x.HasSize && n != x.Size:
		return bad(kvtree.ErrTruncated, "size", n, x.Size)
	case x.HasCRC && crc != x.CRC:
		return bad(kvtree.ErrChecksum, "crc", fmt.Sprintf("%#x", crc), fmt.Sprintf("%#x", x.CRC))
	}
	return nil
}

// others looks at the remaining files of the metadata.
func (f *scrCheckFlags) others(ctx context.Context, c *scrChecked, d *prefixdir.Dir, x *prefixdir.Index) error {
	if fl, err := d.ReadFlush(); err != nil {
		c.add(findingOf(sevWarning, 0, d.File("flush.scr"), err))
	} else {
		for _, en := range fl.Entries() {
			at, ok := x.Entry(en.Name)
			if !ok { // dropped by a person: its files are there
				sum, err := d.ReadSummary(d.Place(en.ID))
				ok = err == nil && sum.Dropped && sum.Complete
				at.Complete = ok
			}
			if en.Location&prefixdir.PFS != 0 && (!ok || !at.Complete) {
				c.say(sevWarning, en.ID, d.File("flush.scr"), "LOCATION of "+clean(en.Name), "PFS", "complete in the index")
			}
		}
	}
	if _, err := d.ReadHalt(ctx); err != nil {
		sev := sevWarning
		if errors.Is(err, kvtree.ErrNoLocks) {
			sev = sevNote
		}
		c.add(findingOf(sev, 0, d.File("halt.scr"), err))
	}
	if _, _, err := d.ReadNodes(); err != nil {
		c.add(findingOf(sevWarning, 0, d.File("nodes.scr"), err))
	}
	if _, err := d.ReadAppConf(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.add(findingOf(sevWarning, 0, d.File("app.conf"), err))
	}
	list, err := os.ReadDir(filepath.Join(d.Path, prefixdir.MetaDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, en := range list {
		if durable.IsTemp(en.Name()) {
			c.say(sevNote, 0, d.File(en.Name()), "", "a file that was not finished (a crash left it, or it is being written)", "")
		}
	}
	return nil
}
