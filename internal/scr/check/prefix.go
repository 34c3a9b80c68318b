package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

// Prefix finds all faults of a prefix directory. It compares sizes and checksums if the maps of the datasets have them.
func Prefix(ctx context.Context, dir string, o *Options) iter.Seq[Finding] {
	return check(ctx, dir, o, func(r *run) error {
		c := &checked{run: r}
		if err := c.prefix(prefixdir.Open(nil, dir)); err != nil {
			return err
		}
		return c.end()
	})
}

// prefix checks the metadata of a prefix directory and adds jobs for the files.
func (c *checked) prefix(d *prefixdir.Dir) error {
	if _, err := d.FS.ReadDir(d.Path); err != nil {
		return err
	}
	x, rebuilt, _, err := d.Index.Load()
	if err != nil {
		return err
	}
	found, err := d.Datasets.Survey()
	if err != nil {
		return err
	}
	if rebuilt {
		if _, err := d.Index.Read(); err != nil && !(errors.Is(err, fs.ErrNotExist) && x.Len() == 0) {
			bad := findingOf(Error, 0, d.File("index.scr"), err)
			bad.Wanted = "an index (scr index --rebuild makes it from the summaries)"
			c.add(bad)
		}
	} else {
		for _, s := range x.Lost(found) {
			c.say(Warning, s.ID, d.File("index.scr"), fmt.Sprintf("DSET/%d", s.ID), "absent", fmt.Sprintf("%s, which is %s (scr index --add %d lists it)", fault.Quoted(s.Summary.Dataset.Name), s.State(), s.ID))
		}
	}
	if c.o.Dataset > 0 && !has(c.o.Dataset, x, found) {
		return fmt.Errorf("%s: no dataset %d", d.Path, c.o.Dataset)
	}
	listed, gone, over := map[int]bool{}, map[int]bool{}, d.Overwritten(x)
	for _, en := range x.Entries() {
		listed[en.ID] = true
		if c.skips(en.ID) {
			continue
		}
		c.seen.Datasets++
		if en.Current && !en.Restartable() {
			c.say(Warning, en.ID, d.File("index.scr"), "CURRENT", fault.Quoted(en.Name)+", which is "+en.Unfit(), "a checkpoint to start from")
		}
		taken, err := over.Any(en)
		if err != nil {
			return err
		}
		switch {
		case en.Complete:
			c.dataset(d, en, taken)
		case taken != nil && !taken.Doubtful: // normal for all checkpoints but the last, if the program uses the same file names in each checkpoint
			gone[en.ID] = true
			c.say(Note, en.ID, d.File("index.scr"), fmt.Sprintf("DSET/%d/COMPLETE", en.ID), "0 ("+fault.Quoted(en.Name)+": "+taken.String()+")", "")
		default:
			c.say(Warning, en.ID, d.File("index.scr"), fmt.Sprintf("DSET/%d/COMPLETE", en.ID), "0 ("+fault.Quoted(en.Name)+" was not finished)", "1")
		}
	}
	for _, s := range found {
		if s.Err != nil && !listed[s.ID] && !c.skips(s.ID) {
			c.add(findingOf(Warning, s.ID, s.Meta, s.Err))
		}
	}
	if c.col.Stopped() {
		return nil
	}
	return c.others(d, x, gone)
}

// has reports whether the index or one of the found summaries lists the dataset.
func has(id int, x *prefixdir.Index, found []prefixdir.Found) bool {
	return slices.ContainsFunc(x.Entries(), func(en prefixdir.Entry) bool { return en.ID == id }) ||
		slices.ContainsFunc(found, func(s prefixdir.Found) bool { return s.ID == id })
}

// dataset checks the metadata and the files of a dataset that the index lists as complete. It skips the files if a newer
// dataset has overwritten them.
func (c *checked) dataset(d *prefixdir.Dir, en prefixdir.Entry, taken *prefixdir.Taken) {
	at, err := d.Datasets.Locate(en)
	if err != nil {
		c.add(findingOf(Error, en.ID, d.Datasets.Dir(en.ID), err))
		return
	}
	sum, err := d.Datasets.ReadSummary(at)
	if err != nil {
		c.add(findingOf(Error, en.ID, at.Meta, err))
	} else {
		name := filepath.Join(at.Meta, "summary.scr")
		if !sum.Complete {
			c.say(Error, en.ID, name, "COMPLETE", "0", "1, as in the index")
		}
		a, b := sum.Dataset, en.Dataset
		for _, v := range []struct {
			key  string
			a, b any
		}{{"ID", a.ID, b.ID}, {"NAME", a.Name, b.Name}, {"CKPT", a.Ckpt, b.Ckpt}, {"FILES", a.Files, b.Files}, {"SIZE", a.Size, b.Size}} {
			if v.a != v.b && b.ID != 0 {
				c.say(Error, en.ID, name, "DSET/"+v.key, fault.Quoted(fmt.Sprint(v.a)), fault.Quoted(fmt.Sprint(v.b))+" as in the index")
			}
		}
	}
	m, err := d.Datasets.ReadMap(at)
	if err != nil {
		c.add(findingOf(Error, en.ID, at.Meta, err))
		return
	}
	if err := m.Check(en.Dataset); err != nil {
		c.add(findingOf(Error, en.ID, filepath.Join(at.Meta, "rank2file"), err))
	}
	if taken != nil && taken.Doubtful {
		c.say(Error, en.ID, filepath.Join(d.Path, filepath.FromSlash(taken.File)), "dataset", taken.String(), fmt.Sprintf("%d %s", en.ID, fault.Quoted(en.Name)))
		return
	}
	if taken != nil {
		c.say(Error, en.ID, filepath.Join(d.Path, filepath.FromSlash(taken.File)), "dataset", fmt.Sprintf("%d %s, which is newer", taken.By.ID, fault.Quoted(taken.By.Name)),
			fmt.Sprintf("%d %s, which the index lists as complete but which is overwritten", en.ID, fault.Quoted(en.Name)))
		return
	}
	var files, size int64
	whole := true
	for rank := range m.Ranks {
		for _, file := range m.Files[rank] {
			n, ok := c.file(d, at, en, rank, file)
			if !file.NoFetch {
				files++
				size += n
				whole = whole && ok
			}
		}
	}
	// If the map has no sizes, only the total size can be checked.
	if ds := en.Dataset; whole && files == ds.Files && size != ds.Size {
		c.say(Error, en.ID, at.Data, "size of the files of "+fault.Quoted(en.Name), fmt.Sprint(size), fmt.Sprint(ds.Size))
	}
}

// file checks that a file of a dataset exists, and adds a job that reads the file. It returns the size of the file's data.
func (c *checked) file(d *prefixdir.Dir, at prefixdir.Place, en prefixdir.Entry, rank int, x prefixdir.File) (size int64, ok bool) {
	c.seen.Files++
	bad := func(name, field string, found, wanted any) {
		c.add(differs(en.ID, name, field, found, wanted, nil))
	}
	name := filepath.Join(at.Data, filepath.FromSlash(x.Path))
	var parts []prefixdir.Segment
	if x.Segments == nil {
		info, err := d.FS.Stat(name)
		switch {
		case err != nil:
			b := findingOf(Error, en.ID, name, err)
			b.Wanted = fmt.Sprintf("a file of rank %d", rank)
			c.add(b)
			return 0, false
		case !info.Mode().IsRegular():
			bad(name, "", "no file ("+info.Mode().Type().String()+")", fmt.Sprintf("a file of rank %d", rank))
			return 0, false
		}
		size = info.Size()
		parts = []prefixdir.Segment{{File: x.Path, Length: size}}
	} else {
		for i, s := range x.Segments {
			part := filepath.Join(at.Data, filepath.FromSlash(s.File))
			info, err := d.FS.Stat(part)
			if err != nil {
				c.add(findingOf(Error, en.ID, part, err))
				return 0, false
			}
			if info.Size() < s.Offset+s.Length {
				bad(part, fmt.Sprintf("size (segment %d of %s)", i, fault.Quoted(x.Path)), info.Size(), fmt.Sprintf("at least %d", s.Offset+s.Length))
				return 0, false
			}
			size += s.Length
		}
		parts = x.Segments
	}
	if x.HasSize && size != x.Size {
		bad(name, "size", size, x.Size)
		return size, false
	}
	c.seen.Bytes += size
	if c.o.Quick {
		return size, true
	}
	f := storedFile{File: x, fs: d.FS, dir: at.Data, id: en.ID, name: name, parts: parts}
	c.jobs = append(c.jobs, job{size, x.HasCRC, f.read})
	return size, true
}

// storedFile is a file of a dataset in the prefix directory.
type storedFile struct {
	prefixdir.File
	fs    vfs.FS
	dir   string // folder that the paths in the map are relative to
	id    int
	name  string              // name in findings
	parts []prefixdir.Segment // location of the bytes: in the file itself or in containers
}

// read reads the file and compares size and CRC-32.
func (x *storedFile) read(ctx context.Context, read func(int)) []Finding {
	bad := func(class error, field string, found, wanted any) []Finding {
		return []Finding{differs(x.id, x.name, field, found, wanted, class)}
	}
	var readers []io.Reader
	for _, p := range x.parts {
		f, err := x.fs.Open(filepath.Join(x.dir, filepath.FromSlash(p.File)))
		if err != nil {
			return []Finding{findingOf(Error, x.id, x.name, err)}
		}
		defer f.Close()
		readers = append(readers, &section{ctx, f, p.Offset, p.Offset + p.Length, read})
	}
	crc, n, err := crcOf(io.MultiReader(readers...))
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return []Finding{findingOf(Error, x.id, x.name, err)}
	case x.HasSize && n != x.Size:
		return bad(kvtree.ErrTruncated, "size", n, x.Size)
	case x.HasCRC && crc != x.CRC:
		return bad(kvtree.ErrChecksum, "crc", fmt.Sprintf("%#x", crc), fmt.Sprintf("%#x", x.CRC))
	}
	return nil
}

// others checks the remaining metadata files. gone holds the incomplete datasets whose files newer datasets have overwritten.
func (c *checked) others(d *prefixdir.Dir, x *prefixdir.Index, gone map[int]bool) error {
	if fl, err := d.Flush.Read(); err != nil {
		c.add(findingOf(Warning, 0, d.File("flush.scr"), err))
	} else {
		for _, en := range fl.Entries() {
			at, ok := x.Entry(en.Name)
			if !ok { // the user dropped the dataset from the index, but its files exist
				sum, err := d.Datasets.ReadSummary(d.Datasets.Place(en.ID))
				ok = err == nil && sum.Dropped && sum.Complete
				at.Complete = ok
			}
			if en.Location&prefixdir.PFS != 0 && (!ok || !at.Complete && !gone[at.ID]) {
				c.say(Warning, en.ID, d.File("flush.scr"), "LOCATION of "+fault.Quoted(en.Name), "PFS", "complete in the index")
			}
		}
	}
	if _, err := d.Halt.Read(c.ctx); err != nil {
		sev := Warning
		if errors.Is(err, kvtree.ErrNoLocks) {
			sev = Note
		}
		c.add(findingOf(sev, 0, d.File("halt.scr"), err))
	}
	if _, _, err := d.Nodes.Read(); err != nil {
		c.add(findingOf(Warning, 0, d.File("nodes.scr"), err))
	}
	if _, err := d.AppConf.Read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.add(findingOf(Warning, 0, d.File("app.conf"), err))
	}
	list, err := d.FS.ReadDir(filepath.Join(d.Path, prefixdir.MetaDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, en := range list {
		if durable.IsTemp(en.Name()) {
			c.say(Note, 0, d.File(en.Name()), "", "a file that was not finished (a crash left it, or it is being written)", "")
		}
	}
	return nil
}
