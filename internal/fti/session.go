package fti

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"blobio/comm"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
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
	config configFile
	nodes  []string       // node names by rank
	lease  *durable.Lease // lease of the run, held by rank 0
	vars   variables
	names  names
	diffs  [levels + 1]*differential
	writes *pending // the checkpoint being written
	last   lastCheckpoint
	noted  bool // the configuration file marks the run for restart
	status int
	timer  timer

	regrouped bool // rank 0 of a restart: the run had other groups

	redundancy redundancy
}

// Open is a collective of all ranks. As the configuration file demands, it begins a run or finds the checkpoint from which a run
// restarts. It writes the state of the run to the configuration file. With ErrNothing the Session is still usable: the run begins
// anew under the old name.
func Open(ctx context.Context, c comm.Comm, config string, o *Options) (*Session, error) {
	if o == nil {
		o = &Options{}
	}
	f := &files{fs: vfs.OrOS(o.FS), stamps: stamps{}}
	s := &Session{files: f, c: c, clock: o.Clock, config: configFile{f.fs, config},
		names: names{files: f, ids: map[string]int32{}}, last: lastCheckpoint{files: f}}
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
	if err := s.choose(ctx); err != nil {
		if !errors.Is(err, ErrNothing) {
			return nil, errors.Join(err, s.release())
		}
		s.status = 0
		var topology error
		if c.Rank() == 0 {
			topology = s.writeTopology() // a later restart must find the number of ranks of the run that begins here
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
		text, err = s.config.read()
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	if text, err = s.c.Bcast(ctx, 0, text); err != nil {
		return err
	}
	s.cfg, err = ParseConfig(text, s.config.path, s.c.Size())
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
		err = s.names.load()
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
	s.redundancy = redundancy{files: s.files, c: s.c, nodes: s.nodes, nodeSize: s.cfg.NodeSize, size: s.cfg.GroupSize}
	if s.c.Rank() == 0 {
		if s.cfg.Failure == 0 {
			err = s.writeTopology()
		} else {
			err = s.checkTopology()
		}
		if err == nil {
			err = s.config.note(s.cfg.Failure, s.cfg.ExecID)
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

// Abandon is a collective: it ends the Session but not the run. The run can restart if it has a checkpoint; otherwise its
// directories are removed.
func (s *Session) Abandon(ctx context.Context) error {
	s.last.close()
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
		err = fault.Usage("the run ends during an incremental checkpoint")
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	s.last.close()
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
		err = s.config.note(failure, s.cfg.ExecID)
	}
	if err := comm.Agree(ctx, s.c, err); err != nil {
		return err
	}
	return comm.Agree(ctx, s.c, s.clean(keep))
}
