package scr

import (
	"context"
	"path"
	"strconv"
	"strings"
	"time"

	"blobio/scr/cachedir"
	"blobio/scr/prefixdir"
	"blobio/scr/record"
	"blobio/scr/runlog"
)

// writing is the dataset between Start and Complete.
type writing struct {
	*cachedSet
	ds      record.Dataset
	began   time.Time
	byOrig  map[string]string // absolute name of the application -> name in the cache
	reserve []string          // files that keep names in the cache for this rank
	older   map[string]bool   // bypass: files that were there before this dataset
	claims  *prefixdir.Claims // read when a file is found to be there
}

// Start begins a dataset, a collective (SCR_Start_output): from now on Route tells where its files are to be written.
// The oldest datasets of the store make room. name is unique in the prefix directory, "" for a default; a dataset of
// the same name there is replaced when this one is flushed. Other datasets of the prefix directory that have files of the
// same names are not complete any more once this one's are written; if they are output, it is an error (ErrExist).
func (s *Session) Start(ctx context.Context, name string, flags Flags) error {
	if err := s.need("Start", Idle); err != nil {
		return err
	}
	var err error
	if flags == 0 || flags&^(Checkpoint|Output) != 0 {
		err = pkg.Errorf("%w: flags %d", ErrUsage, flags)
	}
	if err = s.agree(ctx, err); err != nil {
		return err
	}
	s.offer, s.below = nil, 0 // room is made, perhaps by what was offered
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
	if s.levels[i].Bypass { // what is written now must find what those in the background have written
		if err := s.async.settleAll(ctx); err != nil {
			return err
		}
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
		err = pkg.Errorf("%w: dataset %q here, %q on rank 0", ErrUsage, name, b[1:])
	case path.IsAbs(name) || path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../") || len(name) > 1023 || hasControl(name):
		err = pkg.Errorf("%w: %q is no name of a dataset", ErrUsage, name)
	case s.find(name) != nil && s.find(name).usable:
		err = pkg.Errorf("%w: dataset %q is in the cache", ErrUsage, name)
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
		return nil, pkg.Errorf("catalogue: %w", err)
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
