package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"path"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/scr/cachedir"
	"blobio/scr/cadence"
	"blobio/scr/record"
	"blobio/scr/runlog"
)

// Complete ends a dataset, a collective (SCR_Complete_output): valid says whether the files of this rank are good. If
// all are, they are protected by redundancy, and flushed when it is time. If not, the dataset is deleted and the error
// is ErrInvalid on all ranks. A rank may have no files. After an error the dataset is gone, unless the error is that of
// a flush: then it stays in the caches.
func (s *Session) Complete(ctx context.Context, valid bool) error {
	if err := s.need("Complete", Writing); err != nil {
		return err
	}
	defer s.async.launch()
	d, err := s.complete(ctx, valid)
	s.computed = s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.ComputeStart})
	if err != nil || d == nil {
		return err
	}
	return s.c.Barrier(ctx)
}

func (s *Session) complete(ctx context.Context, valid bool) (*cachedSet, error) {
	w := s.cur
	if err := s.step("complete"); err != nil {
		return nil, err
	}
	s.state, s.cur = Idle, nil
	err := s.seal(ctx, w, valid)
	if w.ds.Checkpoint {
		s.pacer.Done(s.cfg.Clock())
	}
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		return nil, errors.Join(err, s.discard(ctx, w))
	}
	w.usable = true
	s.logComplete(w)
	err = s.flushFile(ctx, func(f *flushEdit) error { return f.cached(w.Dataset) })
	if err == nil && s.c.Rank() == 0 && w.ds.Checkpoint {
		err = s.countdown(ctx)
	}
	if err = s.agree(ctx, err); err != nil {
		return w.cachedSet, err
	}
	if err := s.flushDue(ctx, w.cachedSet); err != nil {
		return w.cachedSet, err
	}
	return w.cachedSet, nil
}

// discard deletes what a failed dataset left, but with bypass not what was there before it: nobody knows whether the
// application has written to that.
func (s *Session) discard(ctx context.Context, w *writing) error {
	if w.Bypass {
		for _, f := range w.maps.Files() {
			if w.older[f.Name] {
				continue
			}
			if err := s.cfg.FS.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.warn("scr: delete", "file", f.Name, "err", err)
			}
		}
	}
	return s.drop(ctx, w.cachedSet)
}

// countdown takes the checkpoint off the halt file.
func (s *Session) countdown(ctx context.Context) error {
	h, err := s.readHalt(ctx)
	if err != nil || !h.Countdown(1) {
		return err
	}
	return s.prefix.UpdateHalt(ctx, func(h *cadence.Halt) error { h.Countdown(1); return nil })
}

// seal measures the files, protects them and commits the dataset in the caches.
func (s *Session) seal(ctx context.Context, w *writing, valid bool) error {
	verdict, err := s.unanimous(ctx, valid, "dataset "+w.ds.Name)
	if err == nil {
		err = verdict
	}
	if err != nil {
		return err
	}
	var mine error
	var size, count int64
	for _, f := range w.maps.Files() {
		m, err := vfs.MetaOf(s.fileFS(w.cachedSet), f.Name)
		if err != nil {
			if mine == nil {
				mine = pkg.Errorf("dataset %s: %s: %w", w.ds.Name, f.Meta.Orig, err)
			}
			continue
		}
		f.Meta.Size, f.Meta.Complete, f.Meta.Stat, f.Meta.HasStat = m.Size, true, m, true
		w.maps.Put(f)
		size, count = size+m.Size, count+1
	}
	if err := s.agree(ctx, mine); err != nil {
		return err
	}
	total, err := s.c.AllreduceInt64(ctx, []int64{size, count}, comm.Sum)
	if err != nil {
		return err
	}
	w.ds.Size, w.ds.Files, w.ds.Complete = total[0], total[1], true
	for _, n := range w.reserve {
		if err := s.fs.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			mine = err
		}
	}
	if err := s.agree(ctx, mine); err != nil {
		return err
	}
	if !w.Bypass {
		if err := s.apart(ctx, w, true); err != nil {
			return err
		}
	}
	began := s.cfg.Clock()
	if err := s.protect(ctx, w.cachedSet, w.ds); err != nil {
		return err
	}
	if err := s.sameContent(ctx, w); err != nil {
		return err
	}
	s.xfer(runlog.Encode, s.levels[w.level].Store, w.Path, w.ds, "", began)
	return s.commit(ctx, w.cachedSet, w.ds)
}

// sameContent is a collective: an error if several ranks have written different bytes to files that are one in the prefix
// directory. In the cache each has its own; a flush could keep but one of them.
func (s *Session) sameContent(ctx context.Context, w *writing) error {
	if w.Bypass {
		return nil
	}
	type sum struct {
		rank int
		size int64
		crc  uint32
	}
	var mine []byte
	for _, f := range w.maps.Files() {
		mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(path.Join(f.Meta.Path, f.Meta.Name)))
		mine = binary.BigEndian.AppendUint64(mine, uint64(f.Meta.Size))
		mine = binary.BigEndian.AppendUint32(mine, f.Meta.CRC)
	}
	all, err := s.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	first, other := map[uint64]sum{}, map[uint64]int{}
	for r, b := range all {
		for ; len(b) >= 20; b = b[20:] {
			h, x := binary.BigEndian.Uint64(b), sum{r, int64(binary.BigEndian.Uint64(b[8:])), binary.BigEndian.Uint32(b[16:])}
			if a, ok := first[h]; !ok {
				first[h] = x
			} else if a.size != x.size || a.crc != x.crc {
				other[h] = r
			}
		}
	}
	for _, f := range w.maps.Files() {
		h := xxh3.HashString(path.Join(f.Meta.Path, f.Meta.Name))
		if r, ok := other[h]; ok && err == nil {
			err = pkg.Errorf("dataset %s: %s: %w: ranks %d and %d have written different bytes to it", w.ds.Name, f.Meta.Orig, ErrUsage, first[h].rank, r)
		}
	}
	return s.agree(ctx, err)
}

// commit enters a dataset as complete in the catalogues of all nodes: from then on a restart may use it.
func (s *Session) commit(ctx context.Context, d *cachedSet, ds record.Dataset) error {
	if err := s.step("commit"); err != nil {
		return err
	}
	d.Dataset = ds
	err := s.list(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	return s.agree(ctx, err)
}
