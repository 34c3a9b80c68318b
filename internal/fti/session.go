package fti

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/redset"
)

// ErrNothing is in the error chain if a restart finds no checkpoint that is whole on all ranks.
var ErrNothing = errors.New("no checkpoint to restart from")

// Options are the options of Open. nil means the defaults.
type Options struct {
	FS    vfs.FS           // default: the operating system's
	Clock func() time.Time // default: time.Now
}

// Session is the use of FTI by one rank, from FTI_Init to FTI_Finalize.
type Session struct {
	*files
	c      comm.Comm
	clock  func() time.Time
	cfg    *Config
	file   string         // path of the configuration file
	nodes  []string       // node names by rank
	lease  *durable.Lease // lease of the run, held by rank 0
	vars   variables
	names  names
	sets   [levels + 1]*redset.Set // redundancy sets of levels 2 and 3, made at first use
	diffs  [levels + 1]*differential
	stamps map[uint32]bool // stamps of all checkpoints seen
	writes *pending        // the checkpoint being written
	last   key             // the newest committed checkpoint, or the restart's; level 0: there is none
	half   bool            // files of last may still have their fresh names, or the files that it replaces may exist
	noted  bool            // the configuration file marks the run for restart
	stored *stored         // open file of last; nil if closed
	sizes  map[int32]int64 // sizes of the variables of last in bytes
	status int
	timer  timer
}

// Open is a collective of all ranks. As the configuration file demands, it begins a run or finds the checkpoint from which a run
// restarts. It writes the state of the run to the configuration file. With ErrNothing the Session is still usable: the run begins
// anew under the old name.
func Open(ctx context.Context, c comm.Comm, config string, o *Options) (*Session, error) {
	if o == nil {
		o = &Options{}
	}
	s := &Session{c: c, files: &files{fs: vfs.OrOS(o.FS)}, clock: o.Clock, file: config, stamps: map[uint32]bool{}, names: names{ids: map[string]int32{}}}
	if s.clock == nil {
		s.clock = time.Now
	}
	if err := s.configure(ctx); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, errors.Join(err, s.release())
	}
	s.status, s.noted = s.cfg.Failure, s.cfg.Failure != 0
	s.timer = timer{start: s.clock(), next: 1}
	if s.status == 0 {
		return s, nil
	}
	if err := s.choose(ctx, map[key]bool{}); err != nil {
		if !errors.Is(err, ErrNothing) {
			return nil, errors.Join(err, s.release())
		}
		s.status = 0
		var topology error
		if c.Rank() == 0 {
			topology = s.writeTopology(s.nodes) // a later restart must find the number of ranks of the run that begins here
		}
		if failed := comm.Agree(ctx, c, topology); failed != nil {
			return nil, errors.Join(failed, s.release())
		}
		return s, err
	}
	return s, nil
}

// configure reads the configuration on rank 0 and sends it to all ranks.
func (s *Session) configure(ctx context.Context) error {
	var text []byte
	var err error
	if s.c.Rank() == 0 {
		if s.fs == vfs.OS {
			if at, err := filepath.EvalSymlinks(s.file); err == nil {
				s.file = at // replace the file later, not the link
			}
		}
		text, err = vfs.ReadFile(s.fs, s.file, maxConfig)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if text, err = s.c.Bcast(ctx, 0, text); err != nil {
		return err
	}
	s.cfg, err = ParseConfig(text, s.file, s.c.Size())
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if s.c.Rank() == 0 {
		for _, w := range s.cfg.Warnings {
			slog.Warn("fti: " + w.Error())
		}
	}
	if s.cfg.Failure != 0 {
		return nil
	}
	var id []byte
	if s.c.Rank() == 0 {
		id, err = newRun(s.fs, s.cfg.MetaDir, s.clock())
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	id, err = s.c.Bcast(ctx, 0, id)
	s.cfg.ExecID = string(id)
	return err
}

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

// settle makes the directories of the run and takes the lease.
func (s *Session) settle(ctx context.Context) error {
	s.p, s.keepL4 = newPlaces(s.cfg, s.c.Rank()), s.cfg.KeepL4
	name := fmt.Sprintf("node%d", s.c.Rank()/s.cfg.NodeSize)
	var err error
	if !s.cfg.LocalTest {
		name, err = os.Hostname()
	}
	if err == nil {
		err = durable.MkdirAll(s.fs, s.p.local, true)
	}
	if s.c.Rank() == 0 && err == nil {
		err = s.take(ctx)
	}
	if err == nil && s.cfg.Failure != 0 {
		err = s.loadNames()
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	all, err := s.c.Allgather(ctx, []byte(name))
	if err != nil {
		return err
	}
	for _, b := range all {
		s.nodes = append(s.nodes, string(b))
	}
	if s.c.Rank() == 0 {
		if s.cfg.Failure == 0 {
			err = s.writeTopology(s.nodes)
		} else {
			err = s.checkTopology(len(s.nodes))
		}
		if err == nil {
			err = s.note(s.cfg.Failure)
		}
	}
	return comm.Agree(ctx, s.c, err)
}

// take makes the directories that all ranks see and takes the lease of the run.
func (s *Session) take(ctx context.Context) (err error) {
	for _, dir := range []string{s.p.meta, s.p.global} {
		if err := durable.MkdirAll(s.fs, dir, true); err != nil {
			return err
		}
	}
	s.lease, err = durable.Acquire(ctx, s.fs, filepath.Join(s.p.meta, "run"), durable.LeaseOptions{})
	return err
}

// writeTopology writes the names of the nodes, which FTI needs for a restart.
func (s *files) writeTopology(nodes []string) error {
	text := []byte("[topology]\n")
	for n, name := range slices.Compact(slices.Clone(nodes)) {
		text = fmt.Appendf(text, "%d = %s\n", n, name)
	}
	text = fmt.Appendf(text, "[blobio]\nranks = %d\n", len(nodes))
	return durable.Replace(s.fs, s.p.topology(), text, durable.ReplaceOptions{Sync: true, SyncDir: true})
}

// checkTopology returns an error if the run to restart had another number of ranks. Fewer ranks would each find a file, and the rest of
// the data would be lost silently. Topology files of FTI do not have the number.
func (s *files) checkTopology(ranks int) error {
	text, err := vfs.ReadFile(s.fs, s.p.topology(), maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f := &fields{name: s.p.topology(), values: map[string]string{}}
	settings(text, func(s setting) { f.values[s.section+":"+s.key] = s.value })
	if n := f.whole("blobio:ranks", int64(ranks)); n != int64(ranks) {
		f.fail("blobio:ranks", fault.ErrUsage, "the run has %d ranks, the restart %d: want the same", n, ranks)
	}
	return f.err
}

// note writes the state and the name of the run to the configuration file.
func (s *Session) note(failure int) error {
	text, err := vfs.ReadFile(s.fs, s.file, maxConfig)
	if err != nil {
		return err
	}
	return durable.Replace(s.fs, s.file, SetRestart(text, failure, s.cfg.ExecID), durable.ReplaceOptions{Sync: true, SyncDir: true})
}

// Status returns 1 or 2 in a restart until Recover has filled the variables, else 0. 2 means a restart from the checkpoint that a
// finished run kept.
func (s *Session) Status() int { return s.status }

// Mode returns the value of ckpt_io in the configuration file.
func (s *Session) Mode() int { return s.cfg.Mode }

// release releases the lease.
func (s *Session) release() error {
	if s.lease == nil {
		return nil
	}
	l := s.lease
	s.lease = nil
	return l.Release()
}

// Abandon is a collective: it ends the Session as the death of the program would. The run can restart if it has a checkpoint;
// otherwise its directories are removed.
func (s *Session) Abandon(ctx context.Context) error {
	s.closeStored()
	var err error
	if s.writes != nil {
		err = s.writes.giveUp()
	}
	if s.noted {
		return comm.Agree(ctx, s.c, errors.Join(err, s.release()))
	}
	return comm.Agree(ctx, s.c, errors.Join(err, s.clean(false)))
}

// Close is a collective: it ends the run. It removes the files of the run unless the configuration keeps the last checkpoint or
// all checkpoints of level 4.
func (s *Session) Close(ctx context.Context) error {
	var err error
	if s.writes != nil {
		err = fault.Usage("the end of the run during an incremental checkpoint")
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	s.closeStored()
	keep := s.cfg.KeepLast && s.last.Level > 0
	if keep {
		if err := s.conclude(ctx, false); err != nil {
			return err
		}
	}
	if keep && s.last.Level < levels {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	if !keep && s.cfg.KeepL4 {
		err = s.archiveAll()
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if s.c.Rank() == 0 { // before the files are removed, so that a restart does not look for them
		failure := 0
		if keep {
			failure = 2
		}
		err = s.note(failure)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	return comm.Agree(ctx, s.c, s.clean(keep))
}

// cleanLocal removes the node's directory of the run. If files of the run are kept, it removes only the directories of levels,
// because the global directory may lie in it.
func (s *Session) cleanLocal(keeps bool) error {
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

// clean removes the directories of the run that are not kept. One rank of each node removes the local directories, and one rank
// of all removes the shared ones.
func (s *Session) clean(keep bool) error {
	var errs []error
	if keep {
		errs = append(errs, durable.Remove(s.fs, s.p.spare(levels)), durable.Remove(s.fs, s.p.partial(levels)))
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
		errs = append(errs, s.removeNames(), durable.Remove(s.fs, s.p.topology()), s.removeEmpty(s.p.meta))
	default:
		errs = append(errs, vfs.RemoveAll(s.fs, s.p.meta))
	}
	return errors.Join(errs...)
}
