package scrtools_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/cli"
	"blobio/scr/kvtree"
)

func transferDo(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	if i := len(args) - 1; i >= 0 {
		t.Setenv("SCR_PREFIX", filepath.Dir(args[i]))
	}
	return clitest.Blobio(t, append([]string{"scr", "transfer"}, args...)...)
}

// scr transfer makes a list, processes the list once, and prints it.
func TestScrTransfer(t *testing.T) {
	dir := t.TempDir()
	ctl := filepath.Join(dir, "ctl")
	clitest.Check(t, os.Mkdir(ctl, 0o777))
	data := bytes.Repeat([]byte("checkpoint "), 10_000)
	var args []string
	for _, n := range []string{"a", "b"} {
		clitest.Check(t, os.WriteFile(filepath.Join(dir, n), data, 0o666))
		args = append(args, "--add", filepath.Join(dir, n)+"="+filepath.Join(dir, "prefix", "sub", n))
	}
	if r := transferDo(t, "--status", ctl); r.Code != cli.Failed {
		t.Errorf("nothing there: %+v", r)
	}
	if r := transferDo(t, append(args, ctl)...); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	// Without a command nothing is copied.
	if r := transferDo(t, "--once", ctl); r.Code != cli.Good {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "prefix")); err == nil {
		t.Error("copied without a command")
	}
	clitest.Check(t, os.WriteFile(filepath.Join(dir, "c"), nil, 0o640))
	if r := transferDo(t, "--add", filepath.Join(dir, "a")+"="+filepath.Join(dir, "prefix", "a"), "--add", filepath.Join(dir, "c")+"="+filepath.Join(dir, "prefix", "c"), "--command", "run", ctl); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	if r := transferDo(t, "--once", "--bw", "1G", "--files", "2", ctl); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	got, err := os.ReadFile(filepath.Join(dir, "prefix", "sub", "b"))
	if err != nil || !bytes.Equal(got, data) {
		t.Error("b differs", err)
	}
	for _, name := range []string{"a", "c"} {
		if _, err := os.Stat(filepath.Join(dir, "prefix", name)); err != nil {
			t.Error(err)
		}
	}
	r := transferDo(t, "--status", ctl)
	if r.Code != cli.Good || !strings.Contains(r.Out, "command RUN, state STOPPED, done") || !strings.Contains(r.Out, "3 files") {
		t.Errorf("%+v", r)
	}
	r = transferDo(t, "--status", "--json", filepath.Join(ctl, "transfer.scrinfo"))
	var v struct {
		Command, State string
		Done, Failed   bool
		Files          []struct {
			Whole   bool
			Size    int64
			Written int64
			CRC     string
		}
	}
	if err := json.Unmarshal([]byte(r.Out), &v); err != nil || !v.Done || v.Failed || len(v.Files) != 3 || !v.Files[0].Whole || v.Files[1].Written != int64(len(data)) || v.Files[1].CRC == "" {
		t.Errorf("%v %+v", err, v)
	}
	// A file added later is still pending.
	clitest.Good(t, "scr", "transfer", "--add", filepath.Join(dir, "c")+"="+filepath.Join(dir, "prefix", "c2"), ctl)
	if r := transferDo(t, "--status", ctl); r.Code != cli.Good || strings.Contains(r.Out, ", done") {
		t.Errorf("%+v", r)
	}
	if r := transferDo(t, "--once", ctl); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "prefix", "c2")); err != nil {
		t.Error(err)
	}
	// A file that has disappeared is a finding.
	clitest.Check(t, os.Remove(filepath.Join(dir, "b")))
	clitest.Check(t, os.Remove(filepath.Join(dir, "prefix", "sub", "b")))
	if r := transferDo(t, "--once", ctl); r.Code != cli.Findings || !strings.Contains(r.Out, filepath.Join(dir, "b")) {
		t.Errorf("%+v", r)
	}
	if r := transferDo(t, "--status", ctl); r.Code != cli.Findings || !strings.Contains(r.Out, "failed") {
		t.Errorf("%+v", r)
	}
	// EXIT ends a process that would otherwise wait.
	if r := transferDo(t, "--command", "exit", ctl); r.Code != cli.Good {
		t.Errorf("%+v", r)
	}
	if r := transferDo(t, "--poll", "1ms", ctl); r.Code != cli.Good {
		t.Errorf("%+v", r)
	}
	if r := transferDo(t, "--status", ctl); !strings.Contains(r.Out, "EXITING") {
		t.Errorf("%+v", r)
	}
}

func TestScrTransferUsage(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{}, {dir, dir}, {"--status", "--command", "run", dir}, {"--json", dir}, {"--files", "0", dir},
		{"--cpu", "-1", dir}, {"--poll", "0s", dir}, {"--command", "jump", dir}, {"--add", "x", dir}, {"--add", "/none=/y", dir},
		{"--add", dir + "=/y", dir}, {"--once", "--status", dir}, {filepath.Join(dir, "none")},
	} {
		if r := transferDo(t, args...); r.Code != cli.Failed {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestScrTransferOfAnotherFile checks that a file of another kind never becomes a transfer file.
func TestScrTransferOfAnotherFile(t *testing.T) {
	dir := t.TempDir()
	text, tree := filepath.Join(dir, "input.txt"), filepath.Join(dir, "index.scr")
	clitest.Check(t, os.WriteFile(text, []byte("precious\n"), 0o666))
	other := kvtree.New()
	other.SetKV("CURRENT", "ckpt.1")
	clitest.Check(t, kvtree.WriteFile(nil, tree, other))
	for _, name := range []string{text, tree} {
		was := clitest.Read(t, name)
		for _, args := range [][]string{{"--once", name}, {"--command", "run", name}, {"--add", text + "=" + text + "2", name}, {"--status", name}} {
			clitest.Bad(t, cli.Failed, "not a transfer file", append([]string{"scr", "transfer"}, args...)...)
		}
		if is, err := os.ReadFile(name); err != nil || !bytes.Equal(is, was) {
			t.Errorf("%s is changed: %q, %v", name, is, err)
		}
	}
	// A file torn by a crash is accepted.
	torn := filepath.Join(dir, "transfer.scrinfo")
	clitest.Good(t, "scr", "transfer", "--command", "stop", torn)
	b := clitest.Read(t, torn)
	clitest.Check(t, os.WriteFile(torn, b[:len(b)-5], 0o666))
	clitest.Good(t, "scr", "transfer", "--command", "run", torn)
	clitest.Shows(t, "command RUN", "scr", "transfer", "--status", torn)
}
