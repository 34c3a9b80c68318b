//go:build !windows && !plan9 && !js && !wasip1

package runlog

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test listens on a socket in place of the syslog service.
func TestSyslog(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	conn, err := net.ListenPacket("unixgram", name)
	if err != nil {
		t.Skipf("SKIPPED: no datagram sockets: %v", err)
	}
	defer conn.Close()
	s, err := dialSyslog("unixgram", name)
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{Host: "node0", JobID: "1", Sinks: []Sink{s}})
	if err := l.Put(Entry{Event: Halt, Note: "why"}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1024)
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, _, err := conn.ReadFrom(buf)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.TrimSpace(string(buf[:n]))
	// <190> is 23*8 + 6: the facility local7 is 23, and the level info is 6.
	if !strings.HasPrefix(got, "<190>") || !strings.Contains(got, " SCR[") || !strings.HasSuffix(got, `: host=node0, jobid=1, event=HALT, note="why"`) {
		t.Errorf("%q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
