package runlog

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
)

func TestLoggerFillsIn(t *testing.T) {
	fsys := vfs.NewMem()
	text, err := OpenText(fsys, "log")
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{Host: "node7", JobID: "42", Clock: func() time.Time { return when }, Sinks: []Sink{text}})
	for _, e := range []Entry{{Event: Start}, {Event: Halt, Host: "other", Time: when.Add(time.Minute)}} {
		if err := l.Put(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(fsys, "log")
	if err != nil || len(got.Entries) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	a, b := got.Entries[0], got.Entries[1]
	if a.Host != "node7" || a.JobID != "42" || !a.Time.Equal(when) || b.Host != "other" || !b.Time.Equal(when.Add(time.Minute)) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestLoggerOff(t *testing.T) {
	l := New(Options{})
	if l != nil {
		t.Fatal("a logger without sinks")
	}
	if err := errors.Join(l.Put(Entry{Event: Start}), l.Close()); err != nil {
		t.Error(err)
	}
}

// A writer that appends to a log after an incomplete line must not lose its own first line. The reader counts the
// incomplete line.
func TestTornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	whole := lines()[0].text + "\n"
	if err := os.WriteFile(name, []byte(whole+whole[:len(whole)-3]), 0o666); err != nil {
		t.Fatal(err)
	}
	before, err := ReadFile(vfs.OS, name)
	if err != nil || len(before.Entries) != 1 || before.Skipped != 1 || !before.Torn {
		t.Errorf("%+v, %v", before, err)
	}
	text, err := OpenText(vfs.OS, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := text.Put(&Entry{Time: when, Event: Halt}); err != nil {
		t.Fatal(err)
	}
	if err := text.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := ReadFile(vfs.OS, name)
	if err != nil || after.Torn || after.Entries[len(after.Entries)-1].Event != Halt {
		t.Errorf("%+v, %v", after, err)
	}
}

// Several writers share one file, each with its own handle.
func TestSharedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			text, err := OpenText(vfs.OS, name)
			if err != nil {
				t.Error(err)
				return
			}
			defer text.Close()
			for i := range 50 {
				if err := text.Put(&Entry{Time: when, Event: CheckpointEnd, Dset: Num(int64(w*50 + i)), Note: strings.Repeat("x", 300)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	l, err := ReadFile(vfs.OS, name)
	if err != nil || l.Skipped != 0 || len(l.Entries) != 200 {
		t.Fatalf("%d entries, %d skipped, %v", len(l.Entries), l.Skipped, err)
	}
	seen := map[int64]bool{}
	for _, e := range l.Entries {
		seen[*e.Dset] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d different entries", len(seen))
	}
}

func TestSinkErrors(t *testing.T) {
	boom := errors.New("boom")
	bad, err := OpenText(vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite {
			return boom
		}
		return nil
	}), "log")
	if err != nil {
		t.Fatal(err)
	}
	fsys := vfs.NewMem()
	good, err := OpenText(fsys, "log")
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{Host: "h", Sinks: []Sink{bad, good}})
	if err := l.Put(Entry{Event: Start}); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
	if got, err := ReadFile(fsys, "log"); err != nil || len(got.Entries) != 1 {
		t.Errorf("a sink that fails keeps the others from their entry: %+v, %v", got, err)
	}
}

func TestReadLongAndOddLines(t *testing.T) {
	ok := lines()[0].text + "\n"
	long := "2026-11-21T00:06:12: event=" + strings.Repeat("x", 3*maxLine) + "\n"
	for _, c := range []struct {
		text             string
		entries, skipped int
		torn             bool
	}{
		{"", 0, 0, false},
		{"\n\n" + ok + "\r\n", 1, 0, false},
		{ok + long + ok, 2, 1, false},
		{ok + long[:len(long)-1], 1, 1, true},
		{"junk\x00\n" + ok, 1, 1, false},
		{strings.TrimSuffix(ok, "\n"), 0, 1, true},
	} {
		l, err := Read(strings.NewReader(c.text), time.UTC)
		if err != nil || len(l.Entries) != c.entries || l.Skipped != c.skipped || l.Torn != c.torn {
			t.Errorf("%.40q: %d entries, %d skipped, torn %v, %v; want %+v", c.text, len(l.Entries), l.Skipped, l.Torn, err, c)
		}
	}
}

// TestOpen checks which sinks the parameters select. It also checks the errors for an invalid parameter and for a log
// that cannot be created.
func TestOpen(t *testing.T) {
	for _, tc := range []struct {
		set  []string
		dir  string
		want string
	}{
		{[]string{"SCR_LOG_ENABLE=0"}, ".", "off"},
		{[]string{"SCR_LOG_ENABLE=1", "SCR_LOG_TXT_ENABLE=0", "SCR_LOG_SYSLOG_ENABLE=1"}, ".", "off"}, // syslog works only if the system runs the service
		{[]string{"SCR_LOG_ENABLE=1", "SCR_LOG_TXT_ENABLE=1"}, ".", "text"},
		{[]string{"SCR_LOG_ENABLE=1", "SCR_LOG_TXT_ENABLE=1"}, "missing", "error"},
		{[]string{"SCR_LOG_ENABLE=perhaps"}, ".", "error"},
	} {
		fsys := vfs.NewMem()
		p, err := config.Load(config.Sources{Environ: tc.set, FS: fsys, Dir: "."})
		if err != nil {
			t.Fatal(err)
		}
		l, err := Open(p, fsys, path.Join(tc.dir, "log"), Options{})
		got := "text"
		switch {
		case err != nil:
			got = "error"
		case l == nil:
			got = "off"
		}
		if got != tc.want {
			t.Errorf("%v: %s, %v", tc.set, got, err)
		}
		_ = l.Close()
	}
}
