package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"blobio/internal/vfs"
	"blobio/kvtree"
	"blobio/scr/cachedir"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/runlog"
	"blobio/scr/transfer"
)

// fetch brings a checkpoint of the prefix directory into the caches, or checks it where it is if it is to be read there.
// Every byte is compared with its checksum. A checkpoint that cannot be fetched is marked as failed.
func (s *Session) fetch(ctx context.Context, e prefixdir.Entry) (*offer, error) {
	if err := s.step("fetch"); err != nil {
		return nil, err
	}
	began := s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.FetchStart, Dset: runlog.Num(int64(e.ID)), Name: e.Name})
	o, err := s.fetchFiles(ctx, e)
	ev := runlog.FetchSuccess
	if err != nil {
		ev = runlog.FetchFail
	}
	s.event(runlog.Entry{Event: ev, Dset: runlog.Num(int64(e.ID)), Name: e.Name, Took: s.took(began)})
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		// Marked only if the dataset is at fault, not the disk of a node.
		var merr error
		if s.c.Rank() == 0 && beyondRepair(err) || s.c.Rank() == 0 && isFormat(err) {
			merr = s.noteRestart(ctx, e.Name, false)
		}
		return nil, errors.Join(err, s.agree(ctx, merr))
	}
	s.xfer(runlog.Fetch, s.p.prefix, "", e.Dataset, e.Name, began)
	return o, s.step("fetched")
}

func (s *Session) fetchFiles(ctx context.Context, e prefixdir.Entry) (*offer, error) {
	var place prefixdir.Place
	var m *prefixdir.Map
	var ds record.Dataset
	err := func() (err error) {
		if s.c.Rank() != 0 {
			return nil
		}
		if place, err = s.prefix.Locate(e); err != nil {
			return err
		}
		sum, err := s.prefix.ReadSummary(place)
		if err != nil {
			return err
		}
		if ds = sum.Dataset; !sum.Complete || ds.ID == 0 {
			return pkg.Errorf("%s: %w: the summary says it is not complete", e.Name, ErrMissing)
		}
		if m, err = s.prefix.ReadMap(place); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: %w", ErrMissing, err)
			}
			return err
		}
		if err := m.Check(ds); err != nil {
			return err
		}
		if err := s.prefix.UpdateIndex(ctx, func(x *prefixdir.Index) error { return x.MarkFetched(e.Name, s.cfg.Clock()) }); err != nil {
			s.log.Warn("scr: the index cannot be told of the fetch", "err", err) // a prefix directory that is only read
		}
		return nil
	}()
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	if m, place, ds, err = s.shareMap(ctx, m, place, ds); err != nil {
		return nil, err
	}
	o := &offer{Restart: Restart{ID: e.ID, Ckpt: ds.Ckpt, Name: e.Name, Ranks: m.Ranks}, entry: e}
	if m.Ranks != s.c.Size() || s.p.global || s.p.fetchBypass {
		o.InPlace, o.place = true, &inPlace{m, place}
		return o, s.verifyInPlace(ctx, o.place)
	}
	if s.costs(e, ds) {
		// What a fetch that fails would have cost is still there then.
		if err := s.verifyInPlace(ctx, &inPlace{m, place}); err != nil {
			return nil, err
		}
	}
	if d := s.find(e.Name); d != nil {
		if err := s.drop(ctx, d); err != nil {
			return nil, err
		}
	}
	o.set, err = s.fetchToCache(ctx, ds, place, m.Files[s.c.Rank()])
	return o, err
}

// costs says whether a checkpoint of the caches that could serve has to go for the one that is to be fetched: that of its
// name, or one that makes room. The same on all ranks.
func (s *Session) costs(e prefixdir.Entry, ds record.Dataset) bool {
	if d := s.find(e.Name); d != nil && d.usable {
		return true
	}
	i, err := s.level(max(ds.Ckpt, 1), Checkpoint)
	if err != nil {
		return false
	}
	l, n, serve := &s.levels[i], int64(0), false
	for _, d := range s.cached {
		if path.Dir(d.Path) == l.dir {
			n, serve = n+1, serve || d.usable && d.Dataset.Checkpoint
		}
	}
	return serve && n >= max(l.count, 1)
}

// shareMap gives the map to all ranks. Each needs its own files only, but a restart in place those of all.
func (s *Session) shareMap(ctx context.Context, m *prefixdir.Map, at prefixdir.Place, ds record.Dataset) (*prefixdir.Map, prefixdir.Place, record.Dataset, error) {
	var b []byte
	var err error
	if s.c.Rank() == 0 {
		t := kvtree.New()
		t.SetInt("RANKS", m.Ranks)
		t.SetStr("META", at.Meta)
		t.SetStr("DATA", at.Data)
		t.SetInt("ID", at.ID)
		t.SetAt(ds.Tree(), "DSET")
		for r, files := range m.Files {
			var ft *kvtree.Tree
			if ft, err = prefixdir.FilesTree(files); err != nil {
				break
			}
			t.SetAt(ft, "RANK", strconv.Itoa(r))
		}
		if err == nil {
			b, err = t.Pack()
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return nil, at, ds, err
	}
	if b, err = s.c.Bcast(ctx, 0, b); err != nil {
		return m, at, ds, err
	}
	if s.c.Rank() == 0 {
		return m, at, ds, s.agree(ctx, nil)
	}
	out := &prefixdir.Map{Files: map[int][]prefixdir.File{}}
	err = func() error {
		t, err := kvtree.Unpack(b, nil)
		if err != nil {
			return err
		}
		if out.Ranks, err = t.Int("RANKS"); err != nil {
			return err
		}
		at.Meta, _ = t.Str("META")
		at.Data, _ = t.Str("DATA")
		if at.ID, err = t.Int("ID"); err != nil {
			return err
		}
		if ds, err = record.ParseDataset(t.Get("DSET"), ""); err != nil {
			return err
		}
		for key, ft := range t.Get("RANK").All() {
			r, err := strconv.Atoi(key)
			if err != nil {
				return err
			}
			if out.Files[r], err = prefixdir.ParseFiles(ft, "rank "+key); err != nil {
				return err
			}
		}
		return nil
	}()
	return out, at, ds, s.agree(ctx, err)
}

// verifyInPlace compares the files of a dataset in the prefix directory with their checksums; the ranks share the work.
func (s *Session) verifyInPlace(ctx context.Context, p *inPlace) error {
	e, err := transfer.New(transfer.Options{FS: s.cfg.FS, DstFS: s.fs, Files: 1})
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	n := 0
	var bad error
	for _, r := range sortedRanks(p.m) {
		for _, f := range p.m.Files[r] {
			if f.NoFetch {
				continue
			}
			if n++; n%s.c.Size() != s.c.Rank() || bad != nil {
				continue
			}
			if err := ctx.Err(); err != nil {
				bad = err
				continue
			}
			if f.Zstd > 0 || f.Segments != nil {
				tmp := path.Join(s.p.control, "restart."+strconv.Itoa(s.c.Rank()), "verify")
				_, bad = e.Copy(ctx, fetchJob(p.at, f, tmp))
				_ = s.fs.Remove(tmp)
				continue
			}
			crc, size, err := sumFile(s.cfg.FS, path.Join(p.at.Data, f.Path))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				bad = pkg.Errorf("%s: %w", f.Path, ErrMissing)
			case err != nil:
				bad = err
			case f.HasSize && size != f.Size:
				bad = pkg.Errorf("%s: %w: %d bytes, the map says %d", f.Path, ErrCorrupt, size, f.Size)
			case f.HasCRC && crc != f.CRC:
				bad = pkg.Errorf("%s: %w: CRC-32 %#x, the map says %#x", f.Path, ErrChecksum, crc, f.CRC)
			}
		}
	}
	return s.agree(ctx, bad)
}

func sortedRanks(m *prefixdir.Map) []int {
	var out []int
	for r := range m.Files {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// fetchToCache copies the files of this rank into the cache and protects them, as if they had just been written.
func (s *Session) fetchToCache(ctx context.Context, ds record.Dataset, at prefixdir.Place, files []prefixdir.File) (*cachedSet, error) {
	lv, err := s.level(max(ds.Ckpt, 1), Checkpoint)
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	w, err := s.begin(ctx, ds, lv, false)
	if err != nil {
		return nil, err
	}
	err = s.fetchAll(ctx, w, at, files)
	if err == nil {
		err = s.protect(ctx, w.cachedSet, w.ds)
	}
	if err == nil {
		ds.Complete = true
		err = s.commit(ctx, w.cachedSet, ds)
	}
	if err == nil {
		err = s.agree(ctx, s.flushFile(ctx, func(f *flushEdit) error {
			if err := f.cached(ds); err != nil {
				return err
			}
			return f.moved(ds.ID, true)
		}))
	}
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		return nil, errors.Join(err, s.drop(ctx, w.cachedSet))
	}
	w.usable = true
	// An older dataset than others in the cache: they stay in the order of their numbers.
	slices.SortFunc(s.cached, func(a, b *cachedSet) int { return a.ID - b.ID })
	return w.cachedSet, nil
}

func (s *Session) fetchAll(ctx context.Context, w *writing, at prefixdir.Place, files []prefixdir.File) error {
	err := func() error {
		for _, f := range files {
			if f.NoFetch {
				continue
			}
			abs := path.Join(s.p.prefix, f.Path)
			name, err := s.cacheName(w, abs)
			if err != nil {
				return err
			}
			w.maps.Put(cachedir.MapFile{Name: name, Meta: record.Meta{Orig: f.Path, Path: path.Dir(abs), Name: path.Base(abs),
				Ranks: s.c.Size(), Size: f.Size, Complete: true}})
		}
		return nil
	}()
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	if err := s.apart(ctx, w, false); err != nil {
		return err
	}
	err = w.maps.Write(s.fs, cachedir.FilemapName(w.Path, s.c.Rank()))
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	for _, n := range w.reserve {
		if rerr := s.fs.Remove(n); rerr != nil && err == nil {
			err = rerr
		}
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	err = s.window(ctx, s.p.fetchWidth, func() error {
		if err := s.step("fetch copy"); err != nil {
			return err
		}
		e, err := transfer.New(transfer.Options{FS: s.cfg.FS, DstFS: s.fs, Files: 1})
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
			j.Meta = s.p.metadata
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
			m, err := vfs.MetaOf(s.fs, f.Name)
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
