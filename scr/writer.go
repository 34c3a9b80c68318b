package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/scr/kvtree"
)

// writer puts the files of a dataset into the cache. Its work begins with Route and ends with the entry in the catalogues.
type writer struct {
	*job
	index      *index
	cache      *cache
	redundancy *redundancy
}

// writing is a dataset between Start and Complete.
type writing struct {
	*cachedSet
	ds      record.Dataset
	began   time.Time
	byOrig  map[string]string // for each absolute path of the application, the name in the cache
	dir     string            // with bypass: the folder of the last file
	reserve []string          // files that reserve names in the cache for this rank
	mapFile vfs.File          // with bypass: the file map, until Complete; nil if there are no files yet
	over    bool              // with bypass: a file with one of the final names exists and may belong to another dataset
	claims  *prefixdir.Claims // read only if a file already exists
	shared  bool              // several ranks may have written to a file of the prefix directory with the same name; the same on all ranks
	whole   bool              // with bypass: the prefix directory lists the dataset as whole, and its files will get their final names
}

// plan makes the record of a new dataset, which is the same on all ranks, and chooses its level. If the caches have an unusable
// dataset with the same name, plan deletes it. Collective.
func (wr *writer) plan(ctx context.Context, name string, flags Flags) (ds record.Dataset, l *level, err error) {
	next := wr.cache.ids
	next.set++
	if flags&Checkpoint != 0 {
		next.ckpt++
	}
	if name == "" {
		name = record.DefaultName(next.set)
	}
	created, err := wr.sameName(ctx, name, flags)
	if err != nil {
		return ds, nil, err
	}
	if d := wr.cache.find(name); d != nil {
		if err = wr.cache.drop(ctx, d); err != nil {
			return ds, nil, err
		}
	}
	ckpt := 0
	if flags&Checkpoint != 0 {
		ckpt = next.ckpt
	}
	ds = record.Dataset{
		ID: next.set, Name: name, User: wr.p.job.User, JobName: wr.p.jobName, JobID: wr.p.job.ID, Cluster: wr.p.cluster,
		Created: created, Ckpt: ckpt, Checkpoint: flags&Checkpoint != 0, Output: flags&Output != 0,
	}
	l, err = wr.cache.levels.choose(next.ckpt, flags)
	return ds, l, err
}

// sameName checks that all ranks passed the same valid name and the same valid flags. It returns rank 0's time in microseconds.
func (wr *writer) sameName(ctx context.Context, name string, flags Flags) (created time.Time, err error) {
	const head = 9 // bytes before the name
	own := append([]byte{byte(flags)}, binary.BigEndian.AppendUint64(nil, uint64(wr.cfg.Clock().UnixMicro()))...)
	b, err := wr.c.Bcast(ctx, 0, append(own, name...))
	if err != nil {
		return created, err
	}
	switch {
	case flags == 0 || flags&^(Checkpoint|Output) != 0:
		err = fault.Usage("flags %#x, want Checkpoint, Output or both", flags)
	case len(b) < head:
		err = fault.Usage("message of rank 0 has %d bytes, want at least %d", len(b), head)
	case b[0] != byte(flags):
		err = fault.Usage("flags %d, want %d as on rank 0", flags, b[0])
	case string(b[head:]) != name:
		err = fault.Usage("name of the dataset is %q, want %q as on rank 0", name, b[head:])
	case len(name) > 1023 || hasControl(name):
		err = fault.Usage("name of the dataset is %.80q, want at most 1023 bytes without control characters", name)
	case wr.cache.find(name) != nil && wr.cache.find(name).usable:
		err = fault.Usage("dataset %q is already in the cache", name)
	}
	if err = wr.agree(ctx, err); err != nil {
		return created, err
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:]))), nil
}

func hasControl(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return true
		}
	}
	return false
}

// begin makes room, creates the folder of a dataset, and adds the dataset to the catalogues as incomplete.
func (wr *writer) begin(ctx context.Context, ds record.Dataset, l *level, bypass bool) (*writing, error) {
	if err := wr.cache.makeRoom(ctx, l); err != nil {
		return nil, err
	}
	d := &cachedSet{
		Cached: cachedir.Cached{ID: ds.ID, Dataset: ds, Path: path.Join(l.dir, record.DefaultName(ds.ID)), Bypass: bypass},
		level:  l, maps: cachedir.NewFilemap(),
	}
	err := wr.cache.removeDir(l, d.Path) // a crashed run may have left a folder with this number
	if err == nil {
		if err = wr.cache.catalog.change(func(c *cachedir.Catalog) { c.Put(d.Cached) }); err != nil {
			err = fmt.Errorf("catalogue: %w", err)
		}
	}
	if err := wr.agree(ctx, err); err != nil {
		return nil, err
	}
	err = wr.cache.makeDir(l, d.Path)
	if err := wr.agree(ctx, err); err != nil {
		return nil, err
	}
	wr.cache.sets = append(wr.cache.sets, d)
	return &writing{cachedSet: d, ds: ds, began: wr.cfg.Clock(), byOrig: map[string]string{}}, nil
}

// noteMap writes the file map of this rank in place. Complete replaces it. Only a rank that is killed inside the write of a map
// longer than a page can leave a damaged map. Then the next run does not remove the hidden files of the rank.
func (wr *writer) noteMap(w *writing) error {
	b, err := kvtree.Encode(w.maps.Tree())
	if err != nil {
		return err
	}
	if w.mapFile == nil {
		if w.mapFile, err = wr.fs.Create(cachedir.FilemapName(w.Path, wr.c.Rank())); err != nil {
			return err
		}
	}
	_, err = w.mapFile.WriteAt(b, 0)
	return err
}

// seal measures the files, protects them, and commits the dataset to the caches.
func (wr *writer) seal(ctx context.Context, w *writing, valid bool) error {
	var mine error
	if w.mapFile != nil {
		mine = w.mapFile.Close()
	}
	var size, count int64
	for _, f := range w.maps.Files() {
		m, err := vfs.MetaOf(wr.fileFS(w.cachedSet), f.Name)
		if err != nil {
			if mine == nil {
				mine = fmt.Errorf("dataset %s: %s: %w", w.ds.Name, f.Meta.Orig, err)
			}
			continue
		}
		f.Meta.Size, f.Meta.Complete, f.Meta.Stat, f.Meta.HasStat = m.Size, true, m, true
		w.maps.Put(f)
		size, count = size+m.Size, count+1
	}
	sums := []int64{size, count, 0, 0}
	if mine != nil {
		sums[2] = 1
	}
	if !valid {
		sums[3] = 1
	}
	total, err := wr.c.AllreduceInt64(ctx, sums, comm.Sum)
	switch {
	case err != nil:
		return errors.Join(mine, err)
	case total[3] > 0:
		verdict, err := wr.unanimous(ctx, valid, "dataset "+w.ds.Name)
		return errors.Join(err, verdict)
	case total[2] > 0:
		return wr.agree(ctx, mine)
	}
	w.ds.Size, w.ds.Files, w.ds.Complete = total[0], total[1], true
	for _, n := range w.reserve { // all ranks have called Complete, and no more names are given out
		if err := wr.fs.Remove(n); err != nil && !errors.Is(err, fs.ErrNotExist) && mine == nil {
			mine = err
		}
	}
	if !w.Bypass {
		if err := wr.separateNames(ctx, w, true); err != nil {
			return err
		}
	}
	began := wr.cfg.Clock()
	if w.Bypass {
		if err := wr.install(ctx, w); err != nil {
			return err
		}
		if err := wr.renameAll(w); mine == nil {
			mine = err
		}
	}
	if err := wr.redundancy.protect(ctx, w.cachedSet, w.ds, mine); err != nil {
		return err
	}
	if err := wr.sameContent(ctx, w); err != nil {
		return err
	}
	wr.xfer(runlog.Encode, w.level.Store, w.Path, w.ds, "", began)
	return wr.cache.commit(ctx, w.cachedSet, w.ds)
}

// sameContent returns an error if ranks have written different bytes to the same file of the prefix directory. In the cache each
// rank has a copy of its own, but a flush could keep only one of them. Collective.
func (wr *writer) sameContent(ctx context.Context, w *writing) error {
	if w.Bypass || !w.shared {
		return nil
	}
	type sum struct {
		rank int
		size int64
		crc  uint32
	}
	var mine []byte
	var bad error
	for _, f := range w.maps.Files() {
		crc := f.Meta.CRC
		if wr.p.noSums && bad == nil { // such files are rare, so they are read
			crc, _, bad = vfs.SumFile(ctx, wr.fs, f.Name)
		}
		mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(path.Join(f.Meta.Path, f.Meta.Name)))
		mine = binary.BigEndian.AppendUint64(mine, uint64(f.Meta.Size))
		mine = binary.BigEndian.AppendUint32(mine, crc)
	}
	if wr.p.noSums {
		if err := wr.agree(ctx, bad); err != nil {
			return err
		}
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
			err = fmt.Errorf("dataset %s: %s: %w: ranks %d and %d have written different bytes to this file", w.ds.Name, f.Meta.Orig, fault.ErrUsage, first[h].rank, r)
		}
	}
	if len(other) == 0 { // the same on all ranks
		return nil
	}
	return wr.agree(ctx, err)
}

func (wr *writer) logEnd(w *writing) {
	ev, kind := runlog.OutputEnd, runlog.Output
	if w.ds.Checkpoint {
		ev, kind = runlog.CheckpointEnd, runlog.Checkpoint
	}
	store := w.level.Store
	wr.event(runlog.Entry{Event: ev, Note: store, Dset: runlog.Num(int64(w.ds.ID)), Name: w.ds.Name, Took: wr.took(w.began)})
	wr.xfer(kind, store, w.Path, w.ds, w.ds.Name, w.began)
}

// discard deletes the files of a failed dataset. With bypass these files have hidden names. If all files of the dataset were
// whole, they are kept and will be renamed later.
func (wr *writer) discard(ctx context.Context, w *writing) error {
	if w.Bypass && !w.whole {
		if err := wr.onRoot(ctx, func() error { return wr.index.dir.Withdraw(w.ds.ID) }); err != nil {
			return err
		}
		for _, f := range w.maps.Files() {
			if err := wr.cfg.FS.Remove(f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				wr.warn("scr: delete", "file", f.Name, "err", err)
			}
		}
	}
	return wr.cache.drop(ctx, w.cachedSet)
}
