package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/transfer"
	"blobio/scr/kvtree"
)

// copier does this rank's part of a flush. It copies the rank's files to the prefix directory, or lets a transfer process copy
// them.
type copier struct {
	*job
	index   *index
	courier *courier
}

// jobs returns the copies to the prefix directory that this rank has to make. Files written with bypass are not copied, because
// they are already in place. Collective.
func (cp *copier) jobs(ctx context.Context, d *cachedSet) ([]transfer.Job, error) {
	var jobs []transfer.Job
	var outside error // the caches may belong to a run with another prefix directory
	for _, f := range d.maps.Files() {
		j := transfer.Job{Src: f.Name, Dst: path.Join(f.Meta.Path, f.Meta.Name), Size: f.Meta.Size, CRC: f.Meta.CRC, HasCRC: f.Meta.HasCRC,
			Meta: cp.p.metadata}
		if _, err := cp.relative(j.Dst); err != nil && outside == nil {
			outside = err
		}
		jobs = append(jobs, j)
	}
	if err := cp.agree(ctx, outside); err != nil {
		return nil, err
	}
	if !cp.p.containers || d.Bypass {
		return jobs, nil
	}
	return jobs, cp.containers(ctx, d, jobs)
}

// copyOut copies the files of this rank to the prefix directory and returns their map entries. Background copies are limited in
// bandwidth and CPU time.
func (cp *copier) copyOut(ctx context.Context, d *cachedSet, jobs []transfer.Job, background bool) ([]prefixdir.File, error) {
	if err := cp.step("copy"); err != nil {
		return nil, err
	}
	jobs, hidden, err := cp.hide(d, jobs)
	if err != nil {
		return nil, err
	}
	res, err := cp.copied(ctx, d, jobs, background)
	if err != nil {
		return nil, err
	}
	var out []prefixdir.File
	for i, f := range d.maps.Files() {
		rel, err := cp.relative(path.Join(f.Meta.Path, f.Meta.Name))
		if err != nil {
			return nil, err
		}
		pf := prefixdir.File{Path: rel, Size: res[i].Size, HasSize: true, CRC: res[i].CRC, HasCRC: true}
		if !d.Bypass && jobs[i].Out != nil {
			for _, seg := range jobs[i].Out {
				at, err := cp.relative(seg.File)
				if err != nil {
					return nil, err
				}
				pf.Segments = append(pf.Segments, prefixdir.Segment{File: at, Offset: seg.Offset, Length: seg.Length})
			}
		}
		if hidden[i] {
			pf.Extra = kvtree.New()
			pf.Extra.Value(keyHidden).SetInt(1)
		}
		out = append(out, pf)
	}
	return out, nil
}

// keyHidden marks a file with a hidden name in messages between ranks. The map does not have this key.
const keyHidden = "HIDDEN"

// copied copies files, or lets a transfer process copy them. For files that the application has written with bypass, it checks
// that they have not changed since Complete.
func (cp *copier) copied(ctx context.Context, d *cachedSet, jobs []transfer.Job, background bool) ([]transfer.Result, error) {
	switch {
	case d.Bypass:
		return cp.compareBypassed(ctx, d)
	case background && cp.cfg.Daemon:
		return cp.courier.copy(ctx, jobs)
	}
	o := transfer.Options{FS: cp.fs, DstFS: cp.cfg.FS, Files: 1, Sync: !cp.cfg.NoSync}
	if background {
		o.Rate, o.CPU = float64(cp.p.rate)/float64(cp.c.Size()), cp.p.percent
	}
	e, err := transfer.New(o)
	if err != nil {
		return nil, err
	}
	// If an earlier flush of the dataset has copied a file and the file is whole, it is not copied again.
	return e.Resume(ctx, jobs)
}

func (cp *copier) compareBypassed(ctx context.Context, d *cachedSet) ([]transfer.Result, error) {
	var res []transfer.Result
	files := d.maps.Files()
	for _, f := range files {
		crc, size, err := syncFile(ctx, cp.cfg.FS, f.Name, true)
		if err != nil {
			return nil, err
		}
		if size != f.Meta.Size {
			return nil, fmt.Errorf("%s: %w: size %d, want %d as when Complete was called", f.Name, ErrCorrupt, size, f.Meta.Size)
		}
		if f.Meta.HasCRC && crc != f.Meta.CRC {
			return nil, fmt.Errorf("%s: %w: CRC-32 %#x, want %#x as when Complete was called", f.Name, ErrChecksum, crc, f.Meta.CRC)
		}
		res = append(res, transfer.Result{Size: size, CRC: crc})
	}
	return res, syncFolders(cp.cfg.FS, files)
}

// allowed returns an error if this rank must not write one of the files.
func (cp *copier) allowed(d *cachedSet, jobs []transfer.Job) error {
	if d.Bypass {
		return nil // install has already checked the files
	}
	files, err := cp.standing(jobs)
	if err != nil || len(files) == 0 {
		return err
	}
	c, err := cp.index.dir.Claims(d.Dataset)
	if err != nil {
		return err
	}
	return c.Check(slices.Sorted(maps.Keys(files))...)
}

// hide gives a file a hidden name if it would overwrite a file of a complete dataset. publish renames the hidden files when all
// are whole.
func (cp *copier) hide(d *cachedSet, jobs []transfer.Job) ([]transfer.Job, map[int]bool, error) {
	if d.Bypass {
		return jobs, nil, nil // install has already hidden the files
	}
	files, err := cp.standing(jobs)
	if err != nil || len(files) == 0 {
		return jobs, nil, err
	}
	c, err := cp.index.dir.ClaimsAndWaiting(d.Dataset)
	if err != nil {
		return nil, nil, err
	}
	jobs, hidden := slices.Clone(jobs), map[int]bool{}
	for name, i := range files {
		if err := c.Check(name); err != nil {
			return nil, nil, err
		}
		owned, err := c.Owned(name)
		if err != nil {
			return nil, nil, err
		}
		at := prefixdir.Hidden(jobs[i].Dst)
		if owned {
			jobs[i].Dst, hidden[i] = at, true
		} else if err := cp.cfg.FS.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) { // the file is left from a failed flush
			return nil, nil, err
		}
	}
	return jobs, hidden, nil
}

// standing returns the files to flush that already exist in the prefix directory under their final or hidden names. Its keys
// are paths, and its values are indexes of jobs.
func (cp *copier) standing(jobs []transfer.Job) (map[string]int, error) {
	files := map[string]int{}
	for i, j := range jobs {
		if j.Dst == "" {
			continue // the file is in a container of this dataset
		}
		if _, err := vfs.Lstat(cp.cfg.FS, j.Dst); err != nil {
			if _, err := vfs.Lstat(cp.cfg.FS, prefixdir.Hidden(j.Dst)); err != nil {
				continue
			}
		}
		rel, err := cp.relative(path.Clean(j.Dst))
		if err != nil {
			return nil, err
		}
		files[rel] = i
	}
	return files, nil
}

// sweep removes unfinished files of killed flushes from the folders that this rank writes to. If all ranks write to one folder,
// rank 0 removes them.
func (cp *copier) sweep(ctx context.Context, jobs []transfer.Job) error {
	dirs := map[string]bool{}
	for _, j := range jobs {
		if j.Dst != "" {
			dirs[path.Dir(j.Dst)] = true
		}
	}
	first := ""
	for d := range dirs {
		if first == "" || d < first {
			first = d
		}
	}
	b, err := cp.c.Bcast(ctx, 0, []byte(first))
	if err != nil {
		return err
	}
	if cp.c.Rank() != 0 {
		delete(dirs, string(b))
	}
	for d := range dirs {
		if _, err := durable.Sweep(cp.cfg.FS, d, cp.opened); err != nil {
			cp.log.Warn("scr: cannot remove leftovers of a flush", "dir", d, "err", err)
		}
	}
	return nil
}

// bypassed collects on rank 0 the names of files that the ranks wrote directly to the prefix directory. Collective.
func (cp *copier) bypassed(ctx context.Context, d *cachedSet) (map[string]bool, error) {
	if !d.Bypass {
		return nil, nil
	}
	var files []prefixdir.File
	var err error
	for _, f := range d.maps.Files() {
		var rel string
		if rel, err = cp.relative(path.Join(f.Meta.Path, f.Meta.Name)); err != nil {
			break
		}
		files = append(files, prefixdir.File{Path: rel})
	}
	if err := cp.agree(ctx, err); err != nil {
		return nil, err
	}
	parts, err := cp.gatherFiles(ctx, files)
	if err != nil {
		return nil, err
	}
	names, err := filesIn(parts) // on rank 0
	return names, cp.agree(ctx, err)
}

// filesIn lists the files of all ranks from the result of gatherFiles. The value is true for files that have hidden names.
func filesIn(parts [][]byte) (map[string]bool, error) {
	names := map[string]bool{}
	for r, b := range parts {
		t, err := kvtree.Unpack(b, nil)
		if err != nil {
			return nil, err
		}
		files, err := prefixdir.ParseFiles(t, fmt.Sprintf("rank %d", r))
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			names[f.Path] = names[f.Path] || f.Extra.Has(keyHidden)
		}
	}
	return names, nil
}

// gatherFiles collects the map entries of all ranks on rank 0. The result has one packed tree for each rank.
func (j *job) gatherFiles(ctx context.Context, files []prefixdir.File) ([][]byte, error) {
	b, err := packFiles(files)
	if err := j.agree(ctx, err); err != nil {
		return nil, err
	}
	return j.c.Gather(ctx, 0, b)
}

func packFiles(files []prefixdir.File) ([]byte, error) {
	t, err := prefixdir.FilesTree(files)
	if err != nil {
		return nil, err
	}
	return kvtree.Pack(t)
}
