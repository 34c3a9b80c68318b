package runlog

import (
	"errors"
	"os"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
)

// Sink is where entries go.
type Sink interface {
	// Put writes one entry at once: entries of several writers do not mix.
	Put(e *Entry) error
	Close() error
}

// Logger fills in time, host and allocation and passes entries to its sinks.
// The nil *Logger drops everything: logging that is off. It may be used by
// several goroutines if its sinks may (this package's may).
type Logger struct {
	host, jobID string
	now         func() time.Time
	sinks       []Sink
}

// Options of New.
type Options struct {
	Host  string           // "": the host name of the system
	JobID string           // allocation
	Clock func() time.Time // nil: time.Now
	Sinks []Sink           // closed by Close
	Warn  func(err error)  // Open: there is no syslog; nil: without a warning
}

// New returns a logger; nil, which drops everything, if there are no sinks.
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

// Open is New with the sinks that the parameters ask for: the text of a name, and syslog. It is nil if they ask for none.
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

// Put writes an entry to all sinks; it fills in a missing time, host and
// allocation. The errors of all sinks are joined. A run should go on when its
// log cannot be written.
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
