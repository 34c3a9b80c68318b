package runlog

import (
	"errors"
	"os"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
)

// Sink is a destination of log entries.
type Sink interface {
	// Put writes an entry in one operation, so that entries of several writers do not mix.
	Put(e *Entry) error
	Close() error
}

// Logger adds time, host and allocation to entries and passes them to its sinks. A nil *Logger ignores all entries. A Logger is
// safe for concurrent use if its sinks are. All sinks of this package are safe for concurrent use.
type Logger struct {
	host, jobID string
	now         func() time.Time
	sinks       []Sink
}

// Options are the options of New.
type Options struct {
	Host  string           // "": the host name of the system
	JobID string           // allocation ID
	Clock func() time.Time // source of the time; nil: time.Now
	Sinks []Sink           // the logger's Close closes them
	Warn  func(err error)  // Open calls it if there is no syslog; nil: no warning
}

// New returns a logger. Without sinks it returns nil, which ignores all entries.
func New(o Options) *Logger {
	if len(o.Sinks) == 0 {
		return nil
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname() // a log without host names is better than none
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Logger{host: o.Host, jobID: o.JobID, now: o.Clock, sinks: o.Sinks}
}

// Open returns a logger with the sinks that the parameters select: the text file name, and syslog. It returns nil if the
// parameters select no sink.
func Open(p *config.Set, fsys vfs.FS, name string, o Options) (*Logger, error) {
	var on, text, system bool
	for name, to := range map[string]*bool{"SCR_LOG_ENABLE": &on, "SCR_LOG_TXT_ENABLE": &text, "SCR_LOG_SYSLOG_ENABLE": &system} {
		var err error
		if *to, err = p.Flag(name); err != nil {
			return nil, err
		}
	}
	if on && text {
		t, err := OpenText(fsys, name)
		if err != nil {
			return nil, err
		}
		o.Sinks = append(o.Sinks, t)
	}
	if on && system && HaveSyslog && fsys == vfs.OS {
		if l, err := OpenSyslog(); err == nil {
			o.Sinks = append(o.Sinks, l)
		} else if o.Warn != nil {
			o.Warn(err)
		}
	}
	return New(o), nil
}

// Put adds time, host and allocation to an entry if they are missing, and writes the entry to all sinks. It joins the errors of
// the sinks. A caller should continue the run if its log cannot be written.
func (l *Logger) Put(e Entry) error {
	if l == nil {
		return nil
	}
	if e.Time.IsZero() {
		e.Time = l.now()
	}
	e.Time = e.Time.Local()
	if e.Host == "" {
		e.Host = l.host
	}
	if e.JobID == "" {
		e.JobID = l.jobID
	}
	var errs []error
	for _, s := range l.sinks {
		errs = append(errs, s.Put(&e))
	}
	return errors.Join(errs...)
}

// Close closes the sinks.
func (l *Logger) Close() error {
	if l == nil {
		return nil
	}
	var errs []error
	for _, s := range l.sinks {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
