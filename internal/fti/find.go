package fti

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// key identifies a checkpoint. The id is not unique: a program may use an id again, also after a restart.
type key struct {
	Level int
	ID    int32
	Stamp uint32 // low bits of the time; 0 in files of FTI, whose times differ between ranks
}

func (k key) String() string { return fmt.Sprintf("checkpoint %d of level %d", k.ID, k.Level) }

// copyOf describes one checkpoint file of a rank.
type copyOf struct {
	Key   key
	Fresh bool // the file does not have its committed name yet
	Diff  bool // the file is FTI's differential checkpoint
	Time  int64
}

// holding lists the files of one rank.
type holding struct {
	Files   []copyOf
	Backups []copyOf // levels 2 and 3: files that protect other ranks' files
}

// candidate is a checkpoint with files on at least one rank.
type candidate struct {
	key
	diff  bool
	time  int64 // ns; 0: unknown
	fresh bool  // some rank has not yet given its file the committed name
	first bool  // fresh, and FTI has written no checkpoint since
	whole bool  // all ranks have a file
	set   bool  // some rank has its backup
	bare  bool  // some rank lacks its backup, although the level has them
}

// before orders candidates, the newest first. A checkpoint whose commit was interrupted comes first, unless FTI has continued the
// run, because FTI does not see fresh names. The rest are ordered by level. A checkpoint removes the checkpoints of its level and
// of lower levels, so checkpoints of a lower level are newer. Checkpoints of one level are ordered by time, because programs reuse
// ids, and a node that returns may have an older checkpoint. FTI's differential checkpoints come last; place then moves them.
func (a candidate) before(b candidate) int {
	switch {
	case a.diff != b.diff && b.diff:
		return -1
	case a.diff != b.diff:
		return 1
	case a.first != b.first && a.first:
		return -1
	case a.first != b.first:
		return 1
	}
	return cmp.Or(a.Level-b.Level, cmp.Compare(b.time, a.time), cmp.Compare(b.ID, a.ID))
}

// place moves each of FTI's differential checkpoints before the first checkpoint with a lower number. Only the
// numbers give their order, because they remove no other checkpoint and their time is unknown.
func place(list []candidate) {
	n := slices.IndexFunc(list, func(c candidate) bool { return c.diff })
	for ; n >= 0 && n < len(list); n++ {
		d := list[n]
		if i := slices.IndexFunc(list[:n], func(c candidate) bool { return !c.fresh && c.ID < d.ID }); i >= 0 {
			copy(list[i+1:n+1], list[i:n])
			list[i] = d
		}
	}
}

// stamps are the stamps seen. By chance a file of FTI may have a timestamp that looks like a stamp, but not two files of FTI have the
// same. From own on, the number of files shows a checkpoint of blobio.
type stamps map[uint32]int

const own = 2

// fit reports whether a file with the stamp have may belong to a checkpoint with the stamp want.
func (s stamps) fit(have, want uint32) bool {
	return have == want || want == 0 && s[have] < own
}

// stampOf returns the stamp of a file that blobio wrote (see ffformat.OwnTime), and 0 for other files.
func stampOf(f *ffformat.File) uint32 {
	if uint16(f.FB.Timestamp) == uint16(ffformat.OwnTime(0)) {
		return uint32(f.FB.Timestamp)
	}
	return 0
}

// stampOfBackup returns the stamp of a copy or parity file with its final name, and 0 for a file of FTI.
func (s *files) stampOfBackup(name string) uint32 {
	f, err := s.fs.Open(name)
	if err != nil {
		return 0
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return 0
	}
	d, err := ffformat.Decode(f, size, name, nil)
	if err != nil { // a file of FTI's POSIX mode, or a damaged file
		return 0
	}
	return stampOf(d)
}

// hold lists the files of this rank. An unreadable file counts as lost; the errors give the reasons.
func (s *files) hold(ctx context.Context) (h holding, errs []error) {
	s.top = nil
	for level := 1; level <= levels; level++ {
		list, err := s.fs.ReadDir(s.p.level(level))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, e := range list {
			n, ok := s.p.parse(e.Name())
			if !ok {
				continue
			}
			if n.kind != ckpt {
				if (level == 2 || level == 3) && n.kind == backupOf(level) { // FTI may leave others
					if !n.fresh {
						n.stamp = s.stampOfBackup(filepath.Join(s.p.level(level), e.Name()))
					}
					h.Backups = append(h.Backups, copyOf{Key: key{level, n.id, n.stamp}, Fresh: n.fresh})
				}
				continue
			}
			if level == levels {
				s.top = append(s.top, e.Name())
			}
			f, err := s.open(ctx, filepath.Join(s.p.level(level), e.Name()))
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if !n.fresh {
				n.stamp = stampOf(f.r.File())
			}
			c := copyOf{Key: key{level, n.id, n.stamp}, Fresh: n.fresh}
			if info, err := e.Info(); err == nil { // files store only the low bits of their time, which overflow within 5 s
				c.Time = info.ModTime().UnixNano()
			}
			h.Files = append(h.Files, c)
			f.close()
		}
	}
	if f, err := s.open(ctx, s.p.diffFile()); err == nil {
		h.Files = append(h.Files, copyOf{Key: key{levels, f.r.File().FB.CkptID, 0}, Diff: true})
		f.close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		errs = append(errs, err)
	}
	return h, errs
}

// scan is a collective: it lists the candidates, the newest first. why holds the read errors of this rank.
func (s *Session) scan(ctx context.Context) (list []candidate, why error, err error) {
	h, errs := s.hold(ctx)
	b, err := json.Marshal(h)
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return nil, nil, err
	}
	parts, err := s.c.Allgather(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	all := make([]holding, len(parts))
	for r, b := range parts {
		if err := json.Unmarshal(b, &all[r]); err != nil {
			return nil, nil, err
		}
	}
	return candidates(all, s.stamps), errors.Join(errs...), nil
}

// candidates merges the holdings of the ranks and records the stamps.
func candidates(all []holding, stamps stamps) (list []candidate) {
	at := func(k key, diff bool) *candidate {
		i := slices.IndexFunc(list, func(c candidate) bool { return c.key == k && c.diff == diff })
		if i < 0 {
			i, list = len(list), append(list, candidate{key: k, diff: diff})
		}
		return &list[i]
	}
	for _, h := range all {
		for _, f := range h.Files {
			c := at(f.Key, f.Diff)
			c.fresh, c.time = c.fresh || f.Fresh, max(c.time, f.Time)
			stamps[f.Key.Stamp]++
			if f.Fresh {
				stamps[f.Key.Stamp] = own
			}
		}
		for _, b := range h.Backups {
			c := at(b.Key, false)
			c.set, c.fresh = true, c.fresh || b.Fresh
		}
	}
	for _, c := range list {
		stamps[c.Stamp] = max(stamps[c.Stamp], 1)
	}
	for i := range list {
		c := &list[i]
		c.whole = !slices.ContainsFunc(all, func(h holding) bool { return !c.in(h.Files, stamps) })
		c.bare = (c.Level == 2 || c.Level == 3) && slices.ContainsFunc(all, func(h holding) bool { return !c.in(h.Backups, stamps) })
	}
	for i := range list {
		c := &list[i]
		c.first = c.fresh && !slices.ContainsFunc(list, func(x candidate) bool { return x.Stamp == 0 && !x.fresh && !x.diff && x.time > c.time })
	}
	slices.SortStableFunc(list, candidate.before)
	place(list)
	return list
}

// in reports whether the files of a rank have one of the checkpoint. Files of FTI are recognized by level and id.
func (c *candidate) in(files []copyOf, stamps stamps) bool {
	return slices.ContainsFunc(files, func(f copyOf) bool {
		same := f.Key == c.key || !f.Fresh && f.Key.Level == c.Level && f.Key.ID == c.ID && stamps.fit(f.Key.Stamp, c.Stamp)
		return same && f.Diff == c.diff
	})
}

// choose is a collective. It opens the newest checkpoint that is whole on all ranks, or can be rebuilt. All its bytes are verified,
// because Recover is not a collective and cannot take another one. If there is none, the error is of class ErrNothing.
func (s *Session) choose(ctx context.Context) error {
	list, why, err := s.scan(ctx)
	if err != nil {
		return err
	}
	if err := comm.Agree(ctx, s.c, s.regroup(list)); err != nil {
		return err
	}
	for _, c := range list {
		if !c.whole && !c.set {
			continue
		}
		f, err := s.sound(ctx, &c)
		if errors.Is(err, fault.ErrBroken) {
			return err
		}
		if err != nil {
			why = errors.Join(why, fmt.Errorf("%v: %w", c.key, err))
			continue
		}
		if c.fresh {
			if err := s.commit(ctx, c.key, false); err != nil {
				f.close()
				return err
			}
		}
		if c.bare {
			if err := s.protectAgain(ctx, c.key); errors.Is(err, fault.ErrBroken) {
				f.close()
				return err
			}
		}
		s.last.adopt(c.key, f)
		if f.posix != nil {
			for _, v := range f.posix.Vars {
				s.names.add(v.Name, v.ID)
			}
		}
		s.timer.id = c.ID
		return nil
	}
	all := comm.Agree(ctx, s.c, why) // a rank without a reason gets the reason of another rank
	if errors.Is(all, fault.ErrBroken) {
		return all
	}
	if all != nil {
		return fmt.Errorf("%w: %w", ErrNothing, all)
	}
	return fmt.Errorf("run %s: %w in %s, %s", s.cfg.ExecID, ErrNothing, s.p.local, s.p.global)
}

// stored is an open file of a checkpoint.
type stored struct {
	f     vfs.File
	r     *ffformat.Reader
	posix *ffformat.PosixFile // metadata of a file of FTI's POSIX mode; nil for an FTI-FF file
}

func (f *stored) close() { _ = f.f.Close() } // the file was only read

// verify reads all variables. In FTI's POSIX mode open has done so.
func (s *files) verify(ctx context.Context, f *stored, stamp uint32) error {
	file := f.r.File()
	if !s.stamps.fit(stampOf(file), stamp) {
		return fault.At(file.Name, -1, "timestamp", fault.ErrCorrupt, "%#x, want %#x", stampOf(file), stamp)
	}
	if f.posix != nil {
		return nil
	}
	for _, v := range file.Vars() {
		if err := f.r.CopyVar(ctx, v.ID, io.Discard); err != nil {
			return err
		}
	}
	return nil
}

// open opens an FTI-FF file, or a file of FTI's POSIX mode with its separate metadata.
func (s *files) open(ctx context.Context, name string) (*stored, error) {
	f, err := s.fs.Open(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r, err := ffformat.NewReader(f, size, name, nil)
	var p *ffformat.PosixFile
	if err != nil && s.fs == vfs.OS {
		var perr error
		if p, perr = ffformat.FindPosix(name); perr == nil && p != nil {
			r, err = p.NewReader(ctx, f, size, name, false)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stored{f, r, p}, nil
}
