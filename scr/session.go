package scr

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
	"blobio/internal/scr/transfer"
	"blobio/scr/internal/outcome"
	"blobio/scr/kvtree"
)

// Session is one rank's part of a run that takes checkpoints. A process may have any number of sessions, one after another or
// at the same time. A session is not safe for concurrent use. A call at the wrong time fails with ErrState and changes nothing:
//
//	call                                            idle   writing  restoring  closed
//	NeedCheckpoint, ShouldExit, HaveRestart,        yes    error    error      error
//	Current, Drop, Delete, Flush
//	Start                                           -> writing
//	Complete                                        error  -> idle  error      error
//	StartRestart                                    -> restoring
//	CompleteRestart                                 error  error    -> idle    error
//	Route                                           returns the name unchanged; while writing or restoring, the path of the file
//	Close                                           -> closed, from any state
type Session struct {
	*job
	index     *index
	flushFile *flushFile
	halts     *halts
	scratch   *scratch
	cache     *cache
	writer    *writer
	flush     *flusher
	fetch     *fetcher

	state    state
	begun    bool     // Start or StartRestart has been called
	cur      *writing // set between Start and Complete
	offer    *offer   // result of HaveRestart
	restart  *offer   // set between StartRestart and CompleteRestart
	below    int      // number of a checkpoint that the application could not use; later offers must be older; 0: no such checkpoint
	pacer    *cadence.Pacer
	computed time.Time // time at which the computation after the last dataset began
}

// Open opens a session (SCR_Init). Collective. It examines the caches and the prefix directory and rebuilds lost files. The
// session can then restart or write. All ranks of c must pass the same Config, except FS, Node and NodeRoot. ctx applies to
// Open, and to background work until Close.
func Open(ctx context.Context, c comm.Comm, cfg *Config) (*Session, error) {
	return openWith(ctx, c, cfg, knobs{})
}

func openWith(ctx context.Context, c comm.Comm, cfg *Config, k knobs) (*Session, error) {
	s := &Session{job: newJob(c, cfg, k)}
	if err := s.open(ctx); err != nil {
		s.stop()
		if s.runs != nil {
			_ = s.runs.Close()
		}
		return nil, err
	}
	return s, nil
}

func (s *Session) open(ctx context.Context) (err error) {
	if s.set, s.p, err = loadParams(ctx, s.c, &s.cfg); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	if !s.p.enable {
		return ErrDisabled
	}
	if err := s.join(ctx); err != nil {
		return err
	}
	levels, err := formLevels(ctx, s.job)
	if err != nil {
		return err
	}
	lo := s.assemble(ctx, levels)
	if err := s.prepare(ctx); err != nil {
		return err
	}
	s.pacer = cadence.NewPacer(s.p.pace, s.cfg.Clock())
	if s.flush.outcomes, err = outcome.New(ctx, s.c, s.cfg.FS, s.index.dir); err != nil {
		return err
	}
	if err := lo.load(ctx); err != nil {
		return err
	}
	if s.p.flushRestart {
		if err := s.flush.rebuilt(ctx); err != nil {
			return err
		}
	}
	s.computed = s.cfg.Clock()
	s.event(runlog.Entry{Event: runlog.ComputeStart})
	return s.c.Barrier(ctx)
}

// assemble creates the parts of the session. It returns the loader, which only Open needs.
func (s *Session) assemble(ctx context.Context, levels levels) *loader {
	dir := prefixdir.Open(s.cfg.FS, s.p.prefix)
	dir.Logger, dir.Shared = s.log, s.cfg.Shared
	s.index = &index{job: s.job, dir: dir}
	s.flushFile = &flushFile{job: s.job, dir: dir}
	s.halts = &halts{job: s.job, dir: dir}
	s.scratch = &scratch{s.job}
	cat := &catalog{job: s.job, levels: levels}
	red := &redundancy{s.job}
	s.cache = &cache{job: s.job, levels: levels, catalog: cat, flushFile: s.flushFile}
	back := newBackground(ctx, s.job)
	s.flush = &flusher{job: s.job, background: back, index: s.index, flushFile: s.flushFile, cache: s.cache, redundancy: red,
		copier: &copier{job: s.job, index: s.index, courier: &courier{job: s.job, run: back.ctx}}}
	s.cache.flushes = s.flush
	s.writer = &writer{job: s.job, index: s.index, cache: s.cache, redundancy: red}
	s.fetch = &fetcher{job: s.job, index: s.index, flushFile: s.flushFile, cache: s.cache, writer: s.writer, redundancy: red, scratch: s.scratch}
	return &loader{job: s.job, index: s.index, flushFile: s.flushFile, catalog: cat, cache: s.cache, redundancy: red, mover: &mover{s.job},
		salvager: &salvager{job: s.job, index: s.index, catalog: cat, cache: s.cache}}
}

// prepare creates the directories, opens the log and records the number of nodes.
func (s *Session) prepare(ctx context.Context) error {
	err := func() error {
		if s.c.Rank() == 0 {
			if err := s.index.dir.Create(); err != nil {
				return err
			}
			if err := s.index.dir.CheckLocks(); errors.Is(err, kvtree.ErrNoLocks) {
				s.remark("scr: %v: the run continues without a lock; do not change anything with \"blobio scr halt\" or \"index\" during the run", err)
			} else if err != nil {
				return err
			}
			if err := s.openLog(s.index.dir.File("log")); err != nil {
				return err
			}
			if err := s.index.dir.FinishInstalls(ctx); err != nil {
				return err
			}
			if err := s.index.dir.WithdrawUnfinished(); err != nil {
				return err
			}
			if err := s.index.begin(ctx); err != nil {
				return err
			}
			if err := s.index.dir.Nodes.Write(s.node.count); err != nil {
				return err
			}
			if err := s.index.writeAppConf(); err != nil {
				return err
			}
			if s.p.prefixPurge {
				if err := s.index.purge(ctx); err != nil {
					return err
				}
			}
		}
		if s.node.c.Rank() == 0 {
			if err := s.ownDir(s.p.job.Control, false); err != nil {
				return err
			}
			for _, name := range []string{s.cache.catalog.file(), path.Join(s.p.job.Control, transfer.FileName)} {
				if err := vfs.CheckOwner(s.cfg.FS, s.fs.Real(name), vfs.AnyMode); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			s.scratch.clearLeft()
		}
		for _, l := range s.cache.levels {
			if l.Enabled && l.dc.Rank() == 0 {
				if err := s.ownDir(l.dir, l.shared); err != nil {
					return err
				}
			}
		}
		return s.flush.copier.courier.stop(ctx)
	}()
	if err := s.agree(ctx, err); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	unlocked, err := s.rootSays(ctx, s.index.dir.NoLock)
	if err != nil {
		return err
	}
	if unlocked { // rank 0 has determined this
		s.index.dir.NoLock = true
	}
	s.event(runlog.Entry{Event: runlog.Start, Procs: runlog.Num(int64(s.c.Size())), Nodes: runlog.Num(int64(s.node.count))})
	return nil
}

// Close ends the session (SCR_Finalize). Collective. It waits for the flushes that have begun. It also flushes output that is
// not in the prefix directory, and, if flushing is enabled, the newest checkpoint. It records in the halt file that the run
// succeeded. Close may be called in any state. It drops an incomplete dataset. After Close the session is unusable.
func (s *Session) Close(ctx context.Context) error {
	if s.state == closed {
		return nil
	}
	var errs []error
	if s.state == inDataset {
		if err := s.complete(ctx, false); err != nil && !errors.Is(err, ErrInvalid) {
			errs = append(errs, err)
		}
	}
	if s.state == inRestart {
		s.restart = nil
		s.scratch.clear()
	}
	s.state = closed
	clear(s.flush.failed) // the errors are already logged, and the newest checkpoint is flushed next
	errs = append(errs, s.flush.settleAll(ctx))
	newest := s.cache.newest()
	for _, d := range s.cache.sets {
		if d.usable && d.Dataset.Output || d == newest && s.p.flush > 0 {
			errs = append(errs, s.flush.now(ctx, d))
		}
	}
	errs = append(errs, s.flush.failures(""))
	err := s.onRoot(ctx, func() error { return s.halts.setReason(ctx, cadence.FinalizeCalled, false) })
	s.event(runlog.Entry{Event: runlog.Halt, Note: cadence.FinalizeCalled}) // for analysis of the log: the next run does not follow a failure; SCR does the same
	errs = append(errs, err)
	s.stop()
	if s.runs != nil {
		errs = append(errs, s.runs.Close())
	}
	errs = append(errs, s.c.Barrier(ctx))
	return errors.Join(errs...)
}

func (s *Session) stop() {
	if s.flush != nil {
		s.flush.stop()
	}
}

// Params returns the effective parameters. The caller must not change them.
func (s *Session) Params() *config.Set { return s.set }

// Notes returns important warnings of Open, for example that a scheme is not possible.
func (s *Session) Notes() []string { return s.notes }
