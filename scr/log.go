package scr

import (
	"time"

	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
	"blobio/internal/vfs"
)

// openLog opens the log, if there is to be one; name is that of the text. Rank 0.
func (j *job) openLog(name string) error {
	if !j.p.logOn {
		return nil
	}
	var sinks []runlog.Sink
	if j.p.logText {
		var t *runlog.Text
		var err error
		if j.cfg.FS == vfs.OS {
			t, err = runlog.OpenText(name)
		} else {
			t, err = runlog.OpenTextFS(j.cfg.FS, name)
		}
		if err != nil {
			return err
		}
		sinks = append(sinks, t)
	}
	if j.p.logSyslog && runlog.HaveSyslog && j.cfg.FS == vfs.OS {
		if l, err := runlog.OpenSyslog(); err == nil {
			sinks = append(sinks, l)
		} else {
			j.log.Warn("scr: no syslog", "err", err)
		}
	}
	if len(sinks) > 0 {
		j.runs = runlog.New(runlog.Options{Host: j.node.name, JobID: j.p.jobID, Clock: j.cfg.Clock, Sinks: sinks})
	}
	return nil
}

// event writes to the log. A run goes on when its log cannot be written.
func (j *job) event(e runlog.Entry) {
	if j.runs == nil {
		return
	}
	if err := j.runs.Put(e); err != nil {
		j.log.Warn("scr: log", "err", err)
	}
}

func (j *job) took(since time.Time) *time.Duration {
	return runlog.Num(j.cfg.Clock().Sub(since))
}

// xfer logs a transfer of a dataset.
func (j *job) xfer(kind, from, to string, ds record.Dataset, name string, began time.Time) {
	j.event(runlog.Entry{Xfer: kind, From: from, To: to, Dset: runlog.Num(int64(ds.ID)), Name: name,
		Took: j.took(began), Bytes: runlog.Num(ds.Size), Files: runlog.Num(ds.Files)})
}
