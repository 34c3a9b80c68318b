package fti

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// newRun makes the metadata directory of a new run under a name that no other run has.
func newRun(fsys vfs.FS, meta string, now time.Time) ([]byte, error) {
	if err := durable.MkdirAll(fsys, meta, true); err != nil {
		return nil, err
	}
	name := now.Format("2006-01-02_15-04-05")
	for n := 0; ; n++ {
		id := name
		if n > 0 {
			id = fmt.Sprintf("%s.%d", name, n)
		}
		err := fsys.Mkdir(filepath.Join(meta, id))
		if err == nil {
			return []byte(id), fsys.SyncDir(meta)
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
}

// writeTopology writes the names of the nodes, which FTI needs for a restart, and the number of ranks and their groups.
func (s *Session) writeTopology() error {
	text := []byte("[topology]\n")
	for n, name := range slices.Compact(slices.Clone(s.nodes)) {
		text = fmt.Appendf(text, "%d = %s\n", n, name)
	}
	text = fmt.Appendf(text, "[blobio]\nranks = %d\ngroups = %s\n", len(s.nodes), s.groups())
	return durable.Replace(s.fs, s.p.topology(), text, durable.ReplaceOptions{Sync: true, SyncDir: true})
}

// groups returns a text that identifies the groups of levels 2 and 3. It does not depend on the names of nodes.
func (s *Session) groups() string {
	numbers, h := map[string]int{}, crc32.NewIEEE()
	for _, name := range s.nodes {
		if _, ok := numbers[name]; !ok {
			numbers[name] = len(numbers)
		}
		_, _ = fmt.Fprintf(h, "%d ", numbers[name])
	}
	return fmt.Sprintf("%d of %d %08x", s.cfg.GroupSize, s.cfg.NodeSize, h.Sum32())
}

// checkTopology returns an error if the run to restart had another number of ranks. Fewer ranks would each find a file, and the rest of
// the data would be lost silently. It notes whether the run had other groups. Topology files of FTI have neither.
func (s *Session) checkTopology() error {
	text, err := vfs.ReadFile(s.fs, s.p.topology(), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, ranks := &fields{name: s.p.topology(), values: map[string]string{}}, int64(len(s.nodes))
	settings(text, func(s setting) { f.values[s.section+":"+s.key] = s.value })
	if n := f.whole("blobio:ranks", ranks); n != ranks {
		f.fail("blobio:ranks", fault.ErrUsage, "the run has %d ranks, the restart %d: want the same", n, ranks)
	}
	groups, ok := f.values["blobio:groups"]
	s.regrouped = ok && groups != s.groups()
	return f.err
}

// regroup returns an error if the run has copies or parity of other groups. A copy does not have the number of its rank, so
// another rank would get its data.
func (s *Session) regroup(list []candidate) error {
	if !s.regrouped {
		return nil
	}
	for _, c := range list {
		if c.set {
			return fault.At(s.p.topology(), -1, "blobio:groups", fault.ErrUsage, "%v has copies or parity of other groups of ranks: want node_size, group_size and the order of ranks as before", c.key)
		}
	}
	return s.writeTopology()
}

// cleanLocal removes the node's directory of the run. If files of the run are kept, it removes only the directories of levels,
// because the global directory may lie in the node's directory.
func (s *files) cleanLocal(keeps bool) error {
	if !keeps {
		return vfs.RemoveAll(s.fs, s.p.local)
	}
	for level := 1; level < levels; level++ {
		if err := vfs.RemoveAll(s.fs, s.p.level(level)); err != nil {
			return err
		}
	}
	return s.removeEmpty(s.p.local)
}

// removeEmpty removes a directory if it is empty.
func (s *files) removeEmpty(dir string) error {
	if err := s.fs.Remove(dir); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// clean removes the directories of the run that are not kept. One rank of each node removes the local directories, and rank 0
// removes the shared ones.
func (s *Session) clean(keep bool) error {
	var errs []error
	if keep {
		errs = append(errs, durable.Remove(s.fs, s.p.spare(levels)), durable.Remove(s.fs, s.p.partial(levels, ckpt)))
	}
	if slices.Index(s.nodes, s.nodes[s.c.Rank()]) == s.c.Rank() {
		errs = append(errs, s.cleanLocal(keep || s.cfg.KeepL4))
	}
	if s.c.Rank() != 0 {
		return errors.Join(errs...)
	}
	switch {
	case keep:
	case s.cfg.KeepL4:
		errs = append(errs, vfs.RemoveAll(s.fs, s.p.level(levels)), vfs.RemoveAll(s.fs, s.p.diffDir()))
	default:
		errs = append(errs, vfs.RemoveAll(s.fs, s.p.global))
	}
	errs = append(errs, s.release())
	switch {
	case keep:
	case s.cfg.KeepL4:
		errs = append(errs, s.names.remove(s.c.Size()), durable.Remove(s.fs, s.p.topology()), s.removeEmpty(s.p.meta))
	default:
		errs = append(errs, vfs.RemoveAll(s.fs, s.p.meta))
	}
	return errors.Join(errs...)
}
