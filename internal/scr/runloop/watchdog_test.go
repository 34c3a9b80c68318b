package runloop

import (
	"strings"
	"testing"
	"time"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/prefixdir"
)

// A run without progress is ended after the timeout, which may depend on what it is writing.
func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		name  string
		beats int  // number of checks at which the mark changes
		write bool // the run is writing to the parallel file system
		want  string
		lasts time.Duration
	}{
		{"dead from the begin", 0, false, "no progress for 1m0s, want progress within 1m0s", time.Minute},
		{"dies", 10, false, "no progress for 1m0s, want progress within 1m0s", time.Minute + 9*6*time.Second},
		{"slow file system", 0, true, "no progress for 10m0s while it writes to the parallel file system, want progress within 10m0s", 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := newClock()
			began := clock.Now()
			looks := 0
			l := &fakeLauncher{run: func(Launch, *fakeJob) {}}
			rep, err := Run(t.Context(), Options{Launcher: l, Launch: Launch{Args: []string{"x"}}, Nodes: five, Dir: memDir(t), Clock: clock,
				Watchdog: &Watchdog{Timeout: time.Minute, TimeoutPFS: 10 * time.Minute, Beat: func() Beat {
					looks++
					return Beat{strings.Repeat("x", min(looks, c.beats)), c.write}
				}}})
			if err != nil || rep.Stop != NoRunsLeft || len(rep.Runs) != 1 {
				t.Fatal(rep, err)
			}
			if rep.Runs[0].Hung != c.want {
				t.Errorf("watchdog says %q, want %q", rep.Runs[0].Hung, c.want)
			}
			if d := clock.Now().Sub(began); d < c.lasts || d > c.lasts+10*time.Second { // c.lasts plus the grace time
				t.Errorf("the run lasted %v of the fake clock, want %v", d, c.lasts)
			}
		})
	}
}

// The watchdog does not end a run that ends by itself. It measures the next run from its start.
func TestWatchdogLeavesGoodRuns(t *testing.T) {
	clock := newClock()
	l := &fakeLauncher{run: func(l Launch, j *fakeJob) {
		if l.Run > 1 {
			j.finish(0)
		}
	}}
	rep, err := Run(t.Context(), Options{Launcher: l, Launch: Launch{Args: []string{"x"}}, Nodes: five, Dir: memDir(t), Clock: clock, Runs: 5,
		Watchdog: &Watchdog{Timeout: time.Minute, Beat: func() Beat { return Beat{} }}})
	if err != nil || rep.Stop != Done || len(rep.Runs) != 2 || rep.Runs[0].Hung == "" || rep.Runs[1].Hung != "" {
		t.Fatal(rep, err)
	}
}

// A change of a file in the prefix directory, or of another given file, is progress.
func TestFileBeat(t *testing.T) {
	d := memDir(t)
	if err := d.Create(); err != nil {
		t.Fatal(err)
	}
	beat := FileBeat(d, "/p/out")
	last := beat()
	if again := beat(); again != last || again.Writing {
		t.Fatal(again, last)
	}
	write := func(name string, text string) func() error {
		return func() error { return vfs.WriteFile(d.FS, name, []byte(text)) }
	}
	for _, step := range []struct {
		name    string
		do      func() error
		writing bool
	}{
		{"log", write("/p/.scr/log", "x"), false},
		{"a file of the program", write("/p/out", "x"), false},
		{"flush file", func() error { return flushAt(d, prefixdir.Cache) }, false},
		{"a flush begins", func() error { return flushAt(d, prefixdir.Cache|prefixdir.SyncFlushing) }, true},
		{"the index", func() error { return d.Index.Write(d.Index.New()) }, true},
		{"a flush ends", func() error { return flushAt(d, prefixdir.Cache|prefixdir.PFS) }, false},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		b := beat()
		if b == last || b.Writing != step.writing {
			t.Errorf("%s: beat %v after %v, want another one and writing %v", step.name, b, last, step.writing)
		}
		last = b
	}
}

func flushAt(d *prefixdir.Dir, at prefixdir.Location) error {
	f, err := d.Flush.Read()
	if err != nil {
		return err
	}
	if err := f.Put(prefixdir.Dataset{ID: 1, Name: "ckpt.1", Checkpoint: true}, at); err != nil {
		return err
	}
	return d.Flush.Write(f)
}

// Without timeouts there is no watchdog. SCR_WATCHDOG requires a timeout.
func TestWatchdogParams(t *testing.T) {
	for env, want := range map[string]time.Duration{
		"":                                      0,
		"SCR_WATCHDOG=0":                        0,
		"SCR_WATCHDOG=1":                        -1,
		"SCR_WATCHDOG_TIMEOUT=9":                0,
		"SCR_WATCHDOG=1 SCR_WATCHDOG_TIMEOUT=9": 9 * time.Second,
		"SCR_WATCHDOG=1 SCR_WATCHDOG_TIMEOUT=9 SCR_WATCHDOG_TIMEOUT_PFS=90": 9 * time.Second,
	} {
		var o Options
		err := o.FromParams(params(t, strings.Fields(env)...))
		switch {
		case want < 0:
			if err == nil {
				t.Errorf("%s: no error", env)
			}
		case err != nil:
			t.Errorf("%s: %v", env, err)
		case want == 0 && o.Watchdog != nil, want > 0 && (o.Watchdog == nil || o.Watchdog.Timeout != want):
			t.Errorf("%s: %+v", env, o.Watchdog)
		}
	}
}
