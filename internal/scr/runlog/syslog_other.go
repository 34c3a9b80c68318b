//go:build windows || plan9 || js || wasip1

package runlog

import (
	"blobio/internal/base/fault"
	"fmt"
)

// HaveSyslog reports whether this operating system has a syslog.
const HaveSyslog = false

// Syslog is a Sink for the system log, which this system does not have.
type Syslog struct{}

// OpenSyslog fails: this system has no syslog.
func OpenSyslog() (*Syslog, error) {
	return nil, fmt.Errorf("this system has no syslog: %w", fault.ErrUnsupported)
}

// Put implements Sink.
func (*Syslog) Put(*Entry) error { return nil }

// Close implements Sink.
func (*Syslog) Close() error { return nil }
