//go:build !windows && !plan9 && !js && !wasip1

package runlog

import "log/syslog"

// HaveSyslog reports whether this operating system has a syslog.
const HaveSyslog = true

// Syslog is a Sink for the system log.
type Syslog struct{ w *syslog.Writer }

// OpenSyslog connects to the syslog of this host. Messages have facility local7, level info and tag SCR. It fails if no
// syslog service is running.
func OpenSyslog() (*Syslog, error) { return dialSyslog("", "") }

func dialSyslog(network, addr string) (*Syslog, error) {
	w, err := syslog.Dial(network, addr, syslog.LOG_LOCAL7|syslog.LOG_INFO, "SCR")
	if err != nil {
		return nil, err
	}
	return &Syslog{w: w}, nil
}

// Put implements Sink.
func (s *Syslog) Put(e *Entry) error { return s.w.Info(string(e.AppendFields(nil))) }

// Close implements Sink.
func (s *Syslog) Close() error { return s.w.Close() }
