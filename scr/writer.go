package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/internal/vfs"
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
	defer s.flush.launch()
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
	err := s.writer.seal(ctx, w, valid)
	if w.ds.Checkpoint {
		s.pacer.Done(s.cfg.Clock())
	}
	if err != nil {
		if fatal(ctx, err) {
			return nil, err
		}
		return nil, errors.Join(err, s.writer.discard(ctx, w))
	}
	w.usable = true
	s.writer.logEnd(w)
	err = s.flushFile.setCached(w.Dataset)
	if err == nil && s.c.Rank() == 0 && w.ds.Checkpoint {
		err = s.halts.countdown(ctx)
	}
	if err = s.agree(ctx, err); err != nil {
		return w.cachedSet, err
	}
	if err := s.flush.due(ctx, w.cachedSet); err != nil {
		return w.cachedSet, err
	}
	return w.cachedSet, nil
}

// discard deletes what a failed dataset left, but with bypass not what was there before it: nobody knows whether the
// application has written to that.
func (wr *writer) discard(ctx context.Context, w *writing) error {
	if w.Bypass {
		for _, f := range w.maps.Files() {
			if w.older[f.Name] {
				continue
			}
			if err := wr.cfg.FS.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				wr.warn("scr: delete", "file", f.Name, "err", err)
			}
		}
	}
	return wr.cache.drop(ctx, w.cachedSet)
}

// seal measures the files, protects them and commits the dataset in the caches.
func (wr *writer) seal(ctx context.Context, w *writing, valid bool) error {
	verdict, err := wr.unanimous(ctx, valid, "dataset "+w.ds.Name)
	if err == nil {
		err = verdict
	}
	if err != nil {
		return err
	}
	var mine error
	var size, count int64
	for _, f := range w.maps.Files() {
		m, err := vfs.MetaOf(wr.fileFS(w.cachedSet), f.Name)
		if err != nil {
			if mine == nil {
				mine = fmt.Errorf("scr: dataset %s: %s: %w", w.ds.Name, f.Meta.Orig, err)
			}
			continue
		}
		f.Meta.Size, f.Meta.Complete, f.Meta.Stat, f.Meta.HasStat = m.Size, true, m, true
		w.maps.Put(f)
		size, count = size+m.Size, count+1
	}
	if err := wr.agree(ctx, mine); err != nil {
		return err
	}
	total, err := wr.c.AllreduceInt64(ctx, []int64{size, count}, comm.Sum)
	if err != nil {
		return err
	}
	w.ds.Size, w.ds.Files, w.ds.Complete = total[0], total[1], true
	for _, n := range w.reserve {
		if err := wr.fs.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) {
			mine = err
		}
	}
	if err := wr.agree(ctx, mine); err != nil {
		return err
	}
	if !w.Bypass {
		if err := wr.separateNames(ctx, w, true); err != nil {
			return err
		}
	}
	began := wr.cfg.Clock()
	if err := wr.redundancy.protect(ctx, w.cachedSet, w.ds); err != nil {
		return err
	}
	if err := wr.sameContent(ctx, w); err != nil {
		return err
	}
	wr.xfer(runlog.Encode, w.level.Store, w.Path, w.ds, "", began)
	return wr.cache.commit(ctx, w.cachedSet, w.ds)
}

// sameContent is a collective: an error if several ranks have written different bytes to files that are one in the prefix
// directory. In the cache each has its own; a flush could keep but one of them.
func (wr *writer) sameContent(ctx context.Context, w *writing) error {
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
	all, err := wr.c.Allgather(ctx, mine)
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
			err = fmt.Errorf("scr: dataset %s: %s: %w: ranks %d and %d have written different bytes to it", w.ds.Name, f.Meta.Orig, ErrUsage, first[h].rank, r)
		}
	}
	return wr.agree(ctx, err)
}

// logEnd logs the end of a dataset.
func (wr *writer) logEnd(w *writing) {
	ev, kind := runlog.OutputEnd, runlog.Output
	if w.ds.Checkpoint {
		ev, kind = runlog.CheckpointEnd, runlog.Checkpoint
	}
	store := w.level.Store
	wr.event(runlog.Entry{Event: ev, Note: store, Dset: runlog.Num(int64(w.ds.ID)), Name: w.ds.Name, Took: wr.took(w.began)})
	wr.xfer(kind, store, w.Path, w.ds, w.ds.Name, w.began)
}
