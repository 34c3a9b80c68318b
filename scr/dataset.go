package scr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"blobio/comm"
	"blobio/internal/vfs"
	"blobio/scr/cachedir"
	"blobio/scr/cadence"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/runlog"
	"blobio/scr/spath"
)

// writing is the dataset between Start and Complete.
type writing struct {
	*cachedSet
	ds      record.Dataset
	began   time.Time
	byOrig  map[string]string // absolute name of the application -> name in the cache
	reserve []string          // files that keep names in the cache for this rank
	older   map[string]bool   // bypass: files that were there before this dataset
}

// Start begins a dataset, a collective (SCR_Start_output): from now on Route tells where its files are to be written.
// The oldest datasets of the store make room. name is unique in the prefix directory, "" for a default; a dataset of
// the same name there is replaced when this one is flushed.
func (s *Session) Start(ctx context.Context, name string, flags Flags) error {
	if err := s.need("Start", Idle); err != nil {
		return err
	}
	var err error
	if flags == 0 || flags&^(Checkpoint|Output) != 0 {
		err = fmt.Errorf("scr: %w: flags %d", ErrUsage, flags)
	}
	if err = s.agree(ctx, err); err != nil {
		return err
	}
	s.offer = nil // room is made, perhaps by what was offered
	s.event(runlog.Entry{Event: runlog.ComputeEnd, Took: s.took(s.computed)})
	if err := s.step("start"); err != nil {
		return err
	}
	next := s.ids
	next.set++
	if flags&Checkpoint != 0 {
		next.ckpt++
	}
	if name == "" {
		name = record.DefaultName(next.set)
	}
	if err := s.sameName(ctx, name, flags); err != nil {
		return err
	}
	if d := s.find(name); d != nil {
		if err := s.drop(ctx, d); err != nil {
			return err
		}
	}
	ckpt := 0
	if flags&Checkpoint != 0 {
		ckpt = next.ckpt
	}
	ds := record.Dataset{
		ID: next.set, Name: name, User: s.p.user, JobName: s.p.jobName, JobID: s.p.jobID, Cluster: s.p.cluster,
		Created: s.cfg.Clock().Truncate(time.Microsecond), Ckpt: ckpt, Checkpoint: flags&Checkpoint != 0, Output: flags&Output != 0,
	}
	now, err := s.c.Bcast(ctx, 0, []byte(strconv.FormatInt(ds.Created.UnixMicro(), 10)))
	if err != nil {
		return err
	}
	us, _ := strconv.ParseInt(string(now), 10, 64)
	ds.Created = time.UnixMicro(us)
	i, err := s.level(next.ckpt, flags)
	if err != nil {
		return err
	}
	w, err := s.begin(ctx, ds, i, s.levels[i].Bypass)
	if err != nil {
		return err
	}
	s.ids, s.cur, s.state = next, w, Writing
	ev := runlog.OutputStart
	if ds.Checkpoint {
		ev = runlog.CheckpointStart
		s.pacer.Start(s.cfg.Clock())
	}
	s.event(runlog.Entry{Event: ev, Note: s.levels[i].Store, Dset: runlog.Num(int64(ds.ID)), Name: ds.Name})
	return nil
}

// sameName checks that all ranks gave the same name, and that it is one.
func (s *Session) sameName(ctx context.Context, name string, flags Flags) error {
	b, err := s.c.Bcast(ctx, 0, append([]byte{byte(flags)}, name...))
	if err != nil {
		return err
	}
	switch {
	case len(b) == 0 || string(b[1:]) != name || b[0] != byte(flags):
		err = fmt.Errorf("scr: %w: dataset %q here, %q on rank 0", ErrUsage, name, b[1:])
	case path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../") || len(name) > 1023 || hasControl(name):
		err = fmt.Errorf("scr: %w: %q is no name of a dataset", ErrUsage, name)
	case s.find(name) != nil && s.find(name).usable:
		err = fmt.Errorf("scr: %w: dataset %q is in the cache", ErrUsage, name)
	}
	return s.agree(ctx, err)
}

func hasControl(s string) bool {
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return true
		}
	}
	return false
}

// begin makes room and the folder of a dataset, and enters it in the catalogues as incomplete.
func (s *Session) begin(ctx context.Context, ds record.Dataset, lv int, bypass bool) (*writing, error) {
	l := &s.levels[lv]
	if err := s.makeRoom(ctx, l); err != nil {
		return nil, err
	}
	d := &cachedSet{
		Cached: cachedir.Cached{ID: ds.ID, Dataset: ds, Path: path.Join(l.dir, record.DefaultName(ds.ID)), Bypass: bypass, Packed: s.cfg.Packed},
		level:  lv, maps: cachedir.NewFilemap(),
	}
	// A crashed run may have left a folder of this number.
	err := s.removeDir(l, d.Path)
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	err = s.list(func(c *cachedir.Catalog) { c.Put(d.Cached) })
	if err := s.agree(ctx, err); err != nil {
		return nil, fmt.Errorf("scr: catalogue: %w", err)
	}
	err = s.makeDir(l, d.Path)
	if err := s.agree(ctx, err); err != nil {
		return nil, err
	}
	if d.Packed {
		s.fs.add(d.Path)
	}
	s.cached = append(s.cached, d)
	return &writing{cachedSet: d, ds: ds, began: s.cfg.Clock(), byOrig: map[string]string{}, older: map[string]bool{}}, nil
}

// makeRoom deletes the oldest datasets of a store until another one may come. What is being flushed is kept as long as
// there is something else to delete, and waited for otherwise.
func (s *Session) makeRoom(ctx context.Context, l *level) error {
	for {
		var in []*cachedSet
		for _, d := range s.cached {
			if path.Dir(d.Path) == l.dir {
				in = append(in, d)
			}
		}
		if int64(len(in)) < max(l.count, 1) {
			return nil
		}
		victim, err := s.victim(ctx, in)
		if err != nil {
			return err
		}
		if err := s.async.wait(ctx, victim.ID); err != nil {
			s.warn("scr: background flush", "dataset", victim.Dataset.Name, "err", err)
		}
		if err := s.drop(ctx, victim); err != nil {
			return err
		}
	}
}

// victim is the dataset to delete: one that is of no use, else the oldest that is not being flushed, but not the newest
// checkpoint as long as another one can be waited for.
func (s *Session) victim(ctx context.Context, in []*cachedSet) (*cachedSet, error) {
	for _, d := range in {
		if !d.usable {
			return d, nil
		}
	}
	newest := s.newest()
	for _, d := range in {
		busy, err := s.async.busy(ctx, d.ID)
		if err != nil {
			return nil, err
		}
		if !busy && d != newest {
			return d, nil
		}
	}
	return in[0], nil
}

// drop deletes a dataset from the caches: the files before the entry in the catalogue.
func (s *Session) drop(ctx context.Context, d *cachedSet) error {
	// Nobody deletes anything unless all are here: the error that led to this may be that somebody died.
	if err := s.c.Barrier(ctx); err != nil {
		return err
	}
	if err := s.step("delete"); err != nil {
		return err
	}
	d.usable = false // also if it can be deleted in part only
	err := s.removeDir(&s.levels[d.level], d.Path)
	if err := s.agree(ctx, err); err != nil {
		return fmt.Errorf("scr: delete %s: %w", d.Path, err)
	}
	err = s.list(func(c *cachedir.Catalog) { c.Remove(d.ID) })
	if err == nil {
		err = s.flushFile(ctx, func(f *flushEdit) error { return f.clear(d.ID) })
	}
	if err := s.agree(ctx, err); err != nil {
		return err
	}
	for i, e := range s.cached {
		if e == d {
			s.cached = append(s.cached[:i:i], s.cached[i+1:]...)
			break
		}
	}
	return nil
}

// removeDir deletes the folder of a dataset; the first rank of the device does.
func (s *Session) removeDir(l *level, dir string) error {
	s.fs.forget(dir)
	if l.dc.Rank() != 0 {
		return nil
	}
	return cachedir.Delete(s.bind, dir)
}

// Route tells where a file is to be written, or read. It is not collective.
//
// Between Start and Complete it enters the file in the dataset, and returns the name by which this rank must write it:
// in the cache, or with bypass in the prefix directory. The file must lie below the prefix directory (ErrOutside); a
// relative name starts in Config.Dir. Equal base names in different folders are kept apart.
//
// Between StartRestart and CompleteRestart it returns the name by which the file can be read; see RouteOwned for files
// of other ranks. In other states the name is returned unchanged.
func (s *Session) Route(name string) (string, error) {
	switch {
	case s.off:
		return "", fmt.Errorf("scr: Route: %w", ErrDisabled)
	case s.state == Writing:
		return s.routeWrite(name)
	case s.state == Restoring:
		return s.routeRead(name)
	}
	return name, nil
}

// absolute is the absolute, clean form of a name of the application, below the prefix directory.
func (s *Session) absolute(name string) (string, error) {
	if name == "" || len(name) > 4095 {
		return "", fmt.Errorf("scr: %w: file name of %d bytes", ErrUsage, len(name))
	}
	abs := filepath.ToSlash(name)
	if !path.IsAbs(abs) && !filepath.IsAbs(name) {
		abs = path.Join(filepath.ToSlash(s.cfg.Dir), abs)
	}
	abs = path.Clean(abs)
	in := spath.IsChild(s.p.prefix, abs)
	if !in && s.cfg.FS == vfs.OS {
		// The way there may lead through links.
		ok, err := spath.Inside(s.p.prefix, abs)
		if err != nil {
			return "", fmt.Errorf("scr: %w", err)
		}
		if ok {
			return "", fmt.Errorf("scr: %s: %w %s by that name: links lead there", name, ErrOutside, s.p.prefix)
		}
	}
	if in && spath.IsChild(s.prefix.File(""), abs) {
		in = false
	}
	if !in {
		return "", fmt.Errorf("scr: %s: %w %s", name, ErrOutside, s.p.prefix)
	}
	return abs, nil
}

func (s *Session) routeWrite(name string) (string, error) {
	if err := s.step("route"); err != nil {
		return "", err
	}
	abs, err := s.absolute(name)
	if err != nil {
		return "", err
	}
	w := s.cur
	if at, ok := w.byOrig[abs]; ok {
		return s.real(w.cachedSet, at), nil
	}
	at := abs
	if w.Bypass {
		if err := mkdirDurable(s.cfg.FS, path.Dir(abs)); err != nil {
			return "", fmt.Errorf("scr: %w", err)
		}
		if _, err := s.cfg.FS.Stat(abs); err == nil {
			w.older[abs] = true
		}
	} else if at, err = s.cacheName(w, abs); err != nil {
		return "", err
	}
	w.maps.Put(cachedir.MapFile{Name: at, Meta: record.Meta{Orig: name, Path: path.Dir(abs), Name: path.Base(abs), Ranks: s.c.Size()}})
	// On disk before the file is: what is in the map may exist, and what is not in it does not.
	if err := w.maps.Write(s.fs, cachedir.FilemapName(w.Path, s.c.Rank())); err != nil {
		w.maps.Remove(at)
		return "", fmt.Errorf("scr: file map: %w", err)
	}
	w.byOrig[abs] = at
	return s.real(w.cachedSet, at), nil
}

// real is the name in Config.FS of a file of a dataset.
func (s *Session) real(d *cachedSet, name string) string {
	if d.Bypass {
		return name
	}
	return s.bind.Real(name)
}

// cacheName finds a free name for a file in the folder of the dataset: its base name, as the reference, unless another
// file has that already; then in a folder of this rank. Ranks that share the folder find out by files whose names can
// be made only once.
func (s *Session) cacheName(w *writing, abs string) (string, error) {
	l := &s.levels[w.level]
	base := path.Base(abs)
	at := path.Join(w.Path, base)
	_, taken := w.maps.File(at)
	free := base != prefixdir.MetaDir && !taken && !rankFolder.MatchString(base)
	if free && l.dc.Size() > 1 {
		keep := path.Join(cachedir.MetaDir(w.Path), "name."+base)
		f, err := s.fs.Create(keep)
		switch {
		case err == nil:
			w.reserve = append(w.reserve, keep)
			if err := f.Close(); err != nil {
				return "", err
			}
		case errors.Is(err, fs.ErrExist):
			free = false
		default:
			return "", fmt.Errorf("scr: cache: %w", err)
		}
	}
	if free {
		return at, nil
	}
	if at = s.ownName(w, base); at == "" {
		return "", fmt.Errorf("scr: cache: %w: too many files %s", ErrUsage, base)
	}
	if err := mkdirDurable(s.fs, path.Dir(at)); err != nil {
		return "", fmt.Errorf("scr: cache: %w", err)
	}
	return at, nil
}

// rankFolder matches the folders of ownName.
var rankFolder = regexp.MustCompile(`^rank\.\d+\.\d+$`)

// ownName is a free name for a file in a folder that no other rank uses.
func (s *Session) ownName(w *writing, base string) string {
	for n := range 1 << 20 {
		at := path.Join(w.Path, fmt.Sprintf("rank.%d.%d", s.c.Rank(), n), base)
		if _, taken := w.maps.File(at); !taken {
			return at
		}
	}
	return ""
}

// apart gives files that have the name of a file of another rank, on whichever node, names of their own: ranks that are
// brought together by a restart share a folder. moved says that the files are there already.
func (s *Session) apart(ctx context.Context, w *writing, moved bool) error {
	var mine []byte
	for _, f := range w.maps.Files() {
		if path.Dir(f.Name) == w.Path {
			mine = binary.BigEndian.AppendUint64(mine, xxh3.HashString(path.Base(f.Name)))
		}
	}
	all, err := s.c.Allgather(ctx, mine)
	if err != nil {
		return err
	}
	count := map[uint64]int{}
	for _, b := range all {
		for ; len(b) >= 8; b = b[8:] {
			count[binary.BigEndian.Uint64(b)]++
		}
	}
	for _, f := range w.maps.Files() {
		if path.Dir(f.Name) != w.Path || count[xxh3.HashString(path.Base(f.Name))] < 2 {
			continue
		}
		if err = s.rename(w, f, moved); err != nil {
			break
		}
	}
	return s.agree(ctx, err)
}

// rename gives a file of the cache a name of this rank's own. Both names are in the map on disk meanwhile.
func (s *Session) rename(w *writing, f cachedir.MapFile, moved bool) error {
	old := f.Name
	if f.Name = s.ownName(w, path.Base(old)); f.Name == "" {
		return fmt.Errorf("scr: cache: %w: too many files %s", ErrUsage, path.Base(old))
	}
	if err := mkdirDurable(s.fs, path.Dir(f.Name)); err != nil {
		return fmt.Errorf("scr: cache: %w", err)
	}
	w.maps.Put(f)
	if moved {
		if err := w.maps.Write(s.fs, cachedir.FilemapName(w.Path, s.c.Rank())); err != nil {
			return fmt.Errorf("scr: file map: %w", err)
		}
		if err := s.fs.Rename(old, f.Name); err != nil {
			return fmt.Errorf("scr: cache: %w", err)
		}
	}
	w.maps.Remove(old)
	return nil
}

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
	h, err := s.prefix.ReadHalt(ctx)
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
				mine = fmt.Errorf("scr: dataset %s: %s: %w", w.ds.Name, f.Meta.Orig, err)
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
	if err := s.protect(ctx, w.cachedSet); err != nil {
		return err
	}
	s.xfer(runlog.Encode, s.levels[w.level].Store, w.Path, w.ds, "", began)
	return s.commit(ctx, w.cachedSet, w.ds)
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

// fileFS is where the files of a dataset are.
func (s *Session) fileFS(d *cachedSet) vfs.FS {
	if d.Bypass {
		return s.cfg.FS
	}
	return s.fs
}
