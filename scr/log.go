package scr

import (
	"time"

	"blobio/internal/scr/record"
	"blobio/internal/scr/runlog"
)

// openLog opens the log, if there is to be one; name is that of the text. Rank 0.
func (j *job) openLog(name string) error {
	var err error
	j.runs, err = runlog.Open(j.set, j.cfg.FS, name, runlog.Options{Host: j.node.name, JobID: j.p.job.ID, Clock: j.cfg.Clock,
		Warn: func(err error) { j.log.Warn("scr: no syslog", "err", err) }})
	return err
}

// event writes to the log. A run goes on when its log cannot be written.
func (j *job) event(e runlog.Entry) {
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
