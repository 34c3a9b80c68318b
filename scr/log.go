package scr

import (
	"time"

	"blobio/internal/vfs"
	"blobio/scr/record"
	"blobio/scr/runlog"
)

// openLog opens the log, if there is to be one. Rank 0.
func (s *Session) openLog() error {
	if !s.p.logOn {
		return nil
	}
	var sinks []runlog.Sink
	if s.p.logText {
		name := s.prefix.File("log")
		var t *runlog.Text
		var err error
		if s.cfg.FS == vfs.OS {
			t, err = runlog.OpenText(name)
		} else {
			t, err = runlog.OpenTextFS(s.cfg.FS, name)
		}
		if err != nil {
			return err
		}
		sinks = append(sinks, t)
	}
	if s.p.logSyslog && runlog.HaveSyslog && s.cfg.FS == vfs.OS {
		if l, err := runlog.OpenSyslog(); err == nil {
			sinks = append(sinks, l)
		} else {
			s.log.Warn("scr: no syslog", "err", err)
		}
	}
	if len(sinks) > 0 {
		s.runs = runlog.New(runlog.Options{Host: s.node.name, JobID: s.p.jobID, Clock: s.cfg.Clock, Sinks: sinks})
	}
	return nil
}

// event writes to the log. A run goes on when its log cannot be written.
func (s *Session) event(e runlog.Entry) {
	if s.runs == nil {
		return
	}
	if err := s.runs.Put(e); err != nil {
		s.log.Warn("scr: log", "err", err)
	}
}

func (s *Session) took(since time.Time) *time.Duration {
	return runlog.Num(s.cfg.Clock().Sub(since))
}

// xfer logs a transfer of a dataset.
func (s *Session) xfer(kind, from, to string, ds record.Dataset, name string, began time.Time) {
	s.event(runlog.Entry{Xfer: kind, From: from, To: to, Dset: runlog.Num(int64(ds.ID)), Name: name,
		Took: s.took(began), Bytes: runlog.Num(ds.Size), Files: runlog.Num(ds.Files)})
}

// logComplete logs the end of a dataset.
func (s *Session) logComplete(w *writing) {
	ev, kind := runlog.OutputEnd, runlog.Output
	if w.ds.Checkpoint {
		ev, kind = runlog.CheckpointEnd, runlog.Checkpoint
	}
	store := s.levels[w.level].Store
	s.event(runlog.Entry{Event: ev, Note: store, Dset: runlog.Num(int64(w.ds.ID)), Name: w.ds.Name, Took: s.took(w.began)})
	s.xfer(kind, store, w.Path, w.ds, w.ds.Name, w.began)
}
