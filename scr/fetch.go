package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/transfer"
	"blobio/scr/kvtree"
)

// fetcher finds checkpoints in the prefix directory. It fetches them into the caches, or lets the application read them in place.
type fetcher struct {
	*job
	index      *index
	flushFile  *flushFile
	cache      *cache
	writer     *writer
	redundancy *redundancy
	scratch    *scratch
}

// fetch fetches a checkpoint from the prefix directory into the caches. If the checkpoint is to be read in place, fetch only
// verifies it. In both cases it compares every byte with its checksum. If the checkpoint cannot be used, fetch marks it as
// failed.
func (fe *fetcher) fetch(ctx context.Context, e prefixdir.Entry) (*offer, error) {
	if err := fe.step("fetch"); err != nil {
		return nil, err
	}
	began := fe.cfg.Clock()
	fe.event(runlog.Entry{Event: runlog.FetchStart, Dset: runlog.Num(int64(e.ID)), Name: e.Name})
	o, err := fe.open(ctx, e)
	ev := runlog.FetchSuccess
	if err != nil {
		ev = runlog.FetchFail
	}
	fe.event(runlog.Entry{Event: ev, Dset: runlog.Num(int64(e.ID)), Name: e.Name, Took: fe.took(began)})
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		// Mark the dataset as failed only if the error is in the dataset, not on the disk of a node.
		return nil, errors.Join(err, fe.onRoot(ctx, func() error {
			if beyondRepair(err) || isFormat(err) {
				return fe.index.markRestart(ctx, e.Name, false)
			}
			return nil
		}))
	}
	fe.xfer(runlog.Fetch, fe.p.prefix, "", e.Dataset, e.Name, began)
	return o, fe.step("fetched")
}

// open offers a checkpoint of the prefix directory.
func (fe *fetcher) open(ctx context.Context, e prefixdir.Entry) (*offer, error) {
	m, dir, ds, err := fe.locate(ctx, e)
	if err != nil {
		return nil, err
	}
	o := &offer{Restart: Restart{ID: e.ID, Ckpt: ds.Ckpt, Name: e.Name, Ranks: m.Ranks}}
	if m.Ranks != fe.c.Size() || fe.p.global || fe.p.fetchBypass {
		o.InPlace, o.inPlace = true, &inPlace{m, dir}
		return o, fe.verifyInPlace(ctx, o.inPlace)
	}
	if fe.costs(e, ds) {
		// Fetching would delete a usable checkpoint from the caches. Verify the files first, so that a failed fetch does not lose
		// that checkpoint.
		if err := fe.verifyInPlace(ctx, &inPlace{m, dir}); err != nil {
			return nil, err
		}
	}
	if d := fe.cache.find(e.Name); d != nil {
		if err := fe.cache.drop(ctx, d); err != nil {
			return nil, err
		}
	}
	o.set, err = fe.toCache(ctx, ds, dir, m.Files[fe.c.Rank()])
	return o, err
}

// locate sends the summary and the map of a dataset to all ranks. Each rank needs only the entries of its own files, but for a
// restart in place it needs all entries.
func (fe *fetcher) locate(ctx context.Context, e prefixdir.Entry) (m *prefixdir.Map, at prefixdir.Place, ds record.Dataset, err error) {
	var t *kvtree.Tree
	if fe.c.Rank() == 0 {
		if m, at, ds, err = fe.readMap(ctx, e); err == nil {
			t, err = mapTree(m, at, ds)
		}
	}
	if t, err = fe.bcast(ctx, t, err); err == nil && fe.c.Rank() != 0 {
		m, at, ds, err = parseMapTree(t)
	}
	return m, at, ds, fe.agree(ctx, err)
}

// readMap reads the summary and the map of a dataset. Rank 0 only.
func (fe *fetcher) readMap(ctx context.Context, e prefixdir.Entry) (m *prefixdir.Map, dir prefixdir.Place, ds record.Dataset, err error) {
	if dir, err = fe.index.dir.Datasets.Locate(e); err != nil {
		return nil, dir, ds, err
	}
	sum, err := fe.index.dir.Datasets.ReadSummary(dir)
	if err != nil {
		return nil, dir, ds, err
	}
	if ds = sum.Dataset; !sum.Complete || ds.ID == 0 {
		return nil, dir, ds, fmt.Errorf("%s: %w: the dataset is incomplete according to its summary", e.Name, ErrMissing)
	}
	if m, err = fe.index.dir.Datasets.ReadMap(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrMissing, err)
		}
		return nil, dir, ds, err
	}
	if err := m.Check(ds); err != nil {
		return nil, dir, ds, err
	}
	if err := fe.index.dir.Index.Update(ctx, func(x *prefixdir.Index) error { return x.MarkFetched(e.Name, fe.cfg.Clock()) }); err != nil {
		fe.log.Warn("scr: the fetch cannot be recorded in the index", "err", err) // the prefix directory may be read-only
	}
	return m, dir, ds, nil
}

// costs reports whether fetching a checkpoint would delete a usable cached checkpoint, because it has the same name or to make
// room. All ranks get the same answer.
func (fe *fetcher) costs(e prefixdir.Entry, ds record.Dataset) bool {
	if d := fe.cache.find(e.Name); d != nil && d.usable {
		return true
	}
	l, err := fe.cache.levels.choose(max(ds.Ckpt, 1), Checkpoint)
	if err != nil {
		return false
	}
	n, serve := int64(0), false
	for _, d := range fe.cache.sets {
		if path.Dir(d.Path) == l.dir {
			n, serve = n+1, serve || d.usable && d.Dataset.Checkpoint
		}
	}
	return serve && n >= max(l.count, 1)
}

// mapTree returns a map as a tree that can be sent to other ranks and read by parseMapTree.
func mapTree(m *prefixdir.Map, at prefixdir.Place, ds record.Dataset) (*kvtree.Tree, error) {
	t := kvtree.New()
	t.Value("RANKS").SetInt(m.Ranks)
	t.Value("META").SetStr(at.Meta)
	t.Value("DATA").SetStr(at.Data)
	t.Value("ID").SetInt(at.ID)
	t.SetAt(ds.Tree(), "DSET")
	for r, files := range m.Files {
		ft, err := prefixdir.FilesTree(files)
		if err != nil {
			return nil, err
		}
		t.SetAt(ft, "RANK", strconv.Itoa(r))
	}
	return t, nil
}

func parseMapTree(t *kvtree.Tree) (m *prefixdir.Map, at prefixdir.Place, ds record.Dataset, err error) {
	f := record.Fields{Tree: t}
	m = &prefixdir.Map{Ranks: f.Int("RANKS", 0), Files: map[int][]prefixdir.File{}}
	at.ID, at.Meta, at.Data = f.Int("ID", 0), f.Str("META"), f.Str("DATA")
	if err = f.Err(); err != nil {
		return m, at, ds, err
	}
	if ds, err = record.ParseDataset(t.Get("DSET"), ""); err != nil {
		return m, at, ds, err
	}
	for key, ft := range t.Get("RANK").All() {
		r, err := strconv.Atoi(key)
		if err != nil {
			return m, at, ds, err
		}
		if m.Files[r], err = prefixdir.ParseFiles(ft, "rank "+key); err != nil {
			return m, at, ds, err
		}
	}
	return m, at, ds, nil
}

// toCache copies the files of this rank into the cache and protects them as if the application had written them.
func (fe *fetcher) toCache(ctx context.Context, ds record.Dataset, at prefixdir.Place, files []prefixdir.File) (*cachedSet, error) {
	l, err := fe.cache.levels.choose(max(ds.Ckpt, 1), Checkpoint)
	if err := fe.agree(ctx, err); err != nil {
		return nil, err
	}
	w, err := fe.writer.begin(ctx, ds, l, false)
	if err != nil {
		return nil, err
	}
	err = fe.copyIn(ctx, w, at, files)
	if err == nil {
		err = fe.redundancy.protect(ctx, w.cachedSet, w.ds, nil)
	}
	if err == nil {
		ds.Complete = true
		err = fe.cache.commit(ctx, w.cachedSet, ds)
	}
	if err == nil {
		err = fe.agree(ctx, fe.flushFile.setBoth(ds))
	}
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		return nil, errors.Join(err, fe.cache.drop(ctx, w.cachedSet))
	}
	w.usable = true
	// Keep the order of numbers, because the fetched dataset may be older than others in the cache.
	slices.SortFunc(fe.cache.sets, func(a, b *cachedSet) int { return a.ID - b.ID })
	return w.cachedSet, nil
}

func (fe *fetcher) copyIn(ctx context.Context, w *writing, at prefixdir.Place, files []prefixdir.File) error {
	err := func() error {
		for _, f := range files {
			if f.NoFetch {
				continue
			}
			abs := path.Join(fe.p.prefix, f.Path)
			name, err := fe.writer.cacheName(w, abs)
			if err != nil {
				return err
			}
			w.maps.Put(cachedir.MapFile{Name: name, Meta: record.Meta{Orig: f.Path, Path: path.Dir(abs), Name: path.Base(abs),
				Ranks: fe.c.Size(), Size: f.Size, Complete: true}})
		}
		return nil
	}()
	if err := fe.agree(ctx, err); err != nil {
		return err
	}
	if err := fe.writer.separateNames(ctx, w, false); err != nil {
		return err
	}
	for _, n := range w.reserve {
		if rerr := fe.fs.Remove(n); rerr != nil && err == nil {
			err = rerr
		}
	}
	if err := fe.agree(ctx, err); err != nil {
		return err
	}
	err = fe.window(ctx, fe.p.fetchWidth, func() error {
		if err := fe.step("fetch copy"); err != nil {
			return err
		}
		e, err := transfer.New(transfer.Options{FS: fe.cfg.FS, DstFS: fe.fs, Files: 1})
		if err != nil {
			return err
		}
		var jobs []transfer.Job
		source := map[string]prefixdir.File{}
		for _, f := range files {
			source[f.Path] = f
		}
		list := w.maps.Files()
		for _, f := range list {
			j := fetchJob(at, source[f.Meta.Orig], f.Name)
			j.Meta = fe.p.metadata
			jobs = append(jobs, j)
		}
		res, err := e.CopyAll(ctx, jobs)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrMissing, err)
		}
		if err != nil {
			return err
		}
		for i, f := range list {
			m, err := vfs.MetaOf(fe.fs, f.Name)
			if err != nil {
				return err
			}
			f.Meta.Size, f.Meta.Stat, f.Meta.HasStat = m.Size, m, true
			f.Meta.CRC, f.Meta.HasCRC = res[i].CRC, true
			w.maps.Put(f)
		}
		return nil
	})
	return err
}
