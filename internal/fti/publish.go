package fti

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// files finds and names the checkpoint files of one rank.
type files struct {
	fs     vfs.FS
	p      *places
	keepL4 bool
	stamps stamps
	top    []string // base names of this rank's files at level 4, so that the directory of all ranks' files is not listed again
}

// publish gives this rank's file of a checkpoint its committed name after all ranks have complete files. It removes the
// checkpoints of the same level that the checkpoint replaces. It may be repeated. With spare, a replaced file becomes the spare.
func (s *files) publish(k key, spare bool) error {
	kinds := []kind{ckpt}
	if k.Level == 2 || k.Level == 3 {
		kinds = append(kinds, backupOf(k.Level))
	}
	var waiting []kind
	keep := map[string]bool{}
	for _, kind := range kinds {
		_, err := s.fs.Stat(s.p.fresh(k, kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		keep[s.p.fresh(k, kind)] = true
		if err == nil {
			waiting = append(waiting, kind)
		}
		final := s.p.final(k, kind)
		// Beside a waiting checkpoint file, the backup with the final name is older, unless the file was rebuilt.
		if len(waiting) == 0 || err != nil && kind != ckpt && s.stampOfBackup(final) == k.Stamp {
			keep[final] = true
		}
	}
	err := s.eachOwn(k.Level, func(name string, n named) error {
		switch {
		case keep[name]:
			return nil
		case n.fresh || n.kind != ckpt:
			return s.fs.Remove(name)
		case k.Level == levels && s.keepL4:
			return s.toArchive(name)
		case spare:
			return s.fs.Rename(name, s.p.spare(k.Level))
		}
		return s.fs.Remove(name)
	})
	if err != nil {
		return err
	}
	for _, kind := range waiting {
		if err := s.fs.Rename(s.p.fresh(k, kind), s.p.final(k, kind)); err != nil {
			return err
		}
	}
	if k.Level < levels {
		return s.fs.SyncDir(s.p.level(k.Level))
	}
	s.top = []string{filepath.Base(s.p.final(k, ckpt))}
	if err := s.fs.SyncDir(s.p.level(k.Level)); err != nil {
		return err
	}
	return durable.Remove(s.fs, s.p.diffFile())
}

// commit is a collective: it publishes a checkpoint after all ranks have complete files. A restart prefers fresh names and then lower
// levels. So commit first removes the files of lower levels, while all ranks' files have their fresh names, and fresh names of higher
// levels, which a failed checkpoint or rebuild has left.
func (s *Session) commit(ctx context.Context, k key, spare bool) error {
	var err error
	for level := levels; level > 0 && err == nil; level-- {
		if level != k.Level {
			err = s.removeLevel(level, level > k.Level)
		}
	}
	if k.Level > 1 {
		if err := comm.Agree(ctx, s.c, err); err != nil {
			return err
		}
	}
	if err == nil {
		err = s.publish(k, spare)
	}
	return comm.Agree(ctx, s.c, err)
}

// eachOwn calls f with the name of each file of this rank at a level.
func (s *files) eachOwn(level int, f func(name string, n named) error) error {
	var names []string
	if level == levels {
		names = s.top
	} else {
		list, err := s.fs.ReadDir(s.p.level(level))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range list {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		if n, ok := s.p.parse(name); ok {
			if err := f(filepath.Join(s.p.level(level), name), n); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// removeLevel durably removes this rank's files of all checkpoints of a level, or only those with fresh names. Otherwise an older
// checkpoint could reappear after a crash, and a restart would prefer it.
func (s *files) removeLevel(level int, fresh bool) error {
	n := 0
	err := s.eachOwn(level, func(name string, x named) error {
		if fresh && !x.fresh {
			return nil
		}
		err := s.fs.Remove(name)
		if err == nil {
			n++
		}
		return err
	})
	if err != nil || n == 0 {
		return err
	}
	return s.fs.SyncDir(s.p.level(level))
}

// toArchive moves a file of level 4 to the archive.
func (s *files) toArchive(name string) error {
	dir := s.p.archive()
	if err := durable.MkdirAll(s.fs, dir, true); err != nil {
		return err
	}
	if err := s.fs.Rename(name, filepath.Join(dir, filepath.Base(name))); err != nil {
		return err
	}
	return s.fs.SyncDir(dir)
}

// archiveAll archives this rank's file of level 4 at the end of the run.
func (s *files) archiveAll() error {
	return s.eachOwn(levels, func(name string, n named) error {
		if n.fresh {
			return nil
		}
		return s.toArchive(name)
	})
}

// flush is a collective: it copies the last checkpoint to level 4.
func (s *Session) flush(ctx context.Context) error {
	if err := s.directory(ctx, levels); err != nil {
		return err
	}
	k := s.last.key
	k.Level = levels
	err := s.names.save()
	if err == nil {
		err = s.copyFile(ctx, s.p.final(s.last.key, ckpt), k)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if err := s.commit(ctx, k, false); err != nil {
		return err
	}
	s.last.key = k
	return nil
}

// copyFile copies the variables of a checkpoint file to the fresh name of another level and verifies them. The copy is an FTI-FF
// file even if the checkpoint is in FTI's POSIX mode, whose files are unreadable without separate metadata.
func (s *files) copyFile(ctx context.Context, from string, k key) error {
	f, err := s.open(ctx, from)
	if err != nil {
		return err
	}
	defer f.close()
	name := s.p.partial(k.Level, ckpt)
	if err := durable.Remove(s.fs, name); err != nil {
		return err
	}
	to, err := s.fs.Create(name)
	if err != nil {
		return err
	}
	_, err = ffformat.Compact(ctx, f.r, to, &ffformat.Options{Layout: ffformat.LayoutF, CkptID: k.ID})
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, durable.Remove(s.fs, name))
	}
	return s.ready(k)
}

// ready durably gives a complete and synced file its fresh name. At levels 2 and 3, the redundancy files get their names later in
// the same directory, and only then is it synced.
func (s *files) ready(k key) error {
	if err := s.fs.Rename(s.p.partial(k.Level, ckpt), s.p.fresh(k, ckpt)); err != nil {
		return err
	}
	if k.Level == levels {
		s.top = append(s.top, filepath.Base(s.p.fresh(k, ckpt)))
	}
	if k.Level == 2 || k.Level == 3 {
		return nil
	}
	return s.fs.SyncDir(s.p.level(k.Level))
}
