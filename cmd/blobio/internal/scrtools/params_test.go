package scrtools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/internal/cli"
	"blobio/internal/scr/config"
)

// paramsDir makes a user file and removes SCR's variables from the environment.
func paramsDir(t *testing.T, text string) (dir string) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "SCR_") {
			t.Setenv(name, "")
			clitest.Check(t, os.Unsetenv(name))
		}
	}
	dir = t.TempDir()
	clitest.Check(t, os.WriteFile(filepath.Join(dir, "user.conf"), []byte(text), 0o666))
	return dir
}

func TestScrParams(t *testing.T) {
	dir := paramsDir(t, "SCR_FLUSH=7\nSCR_FLUSH_WIDTH=3\nCKPT=1 INTERVAL=4 TYPE=XOR\nCKPT=0 INTERVAL=1 TYPE=PARTNER\n")
	t.Setenv("SCR_FLUSH_WIDTH", "9")
	user := filepath.Join(dir, "user.conf")
	args := func(more ...string) []string {
		return append([]string{"scr", "params", "--user-file", user, "--system-file", "", "--dir", dir}, more...)
	}
	got := clitest.Good(t, args("--changed")...)
	want := strings.ReplaceAll(`
NAME             VALUE  SET BY
SCR_FLUSH        7      USER:1
SCR_FLUSH_WIDTH  9      environment

LINE                          SET BY
CKPT=1 INTERVAL=4 TYPE=XOR    USER:3
CKPT=0 INTERVAL=1 TYPE=PARTNER  USER:4
`[1:], "USER", user)
	want = strings.Replace(want, "LINE                          SET", "LINE                            SET", 1)
	want = strings.Replace(want, "TYPE=XOR    ", "TYPE=XOR      ", 1)
	if got != want {
		t.Errorf("found\n%swant\n%s", got, want)
	}
	if got := clitest.Good(t, args("SCR_FLUSH")...); strings.Count(got, "\n") != 2 {
		t.Errorf("one: %s", got)
	}
	clitest.Shows(t, "SCR_FLUSH = 7   ("+user+":1; default ", args("--long", "scr_flush")...)
	var out struct {
		Params []scrtools.ScrParam
		Lines  []scrtools.ScrConfLine
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, args("--json")...)), &out))
	if len(out.Params) < len(config.Params())-3 || len(out.Lines) != 2 { // parameters for passwords are not listed
		t.Errorf("JSON: %d parameters of %d, %d lines", len(out.Params), len(config.Params()), len(out.Lines))
	}
	clitest.Bad(t, cli.Failed, `no parameter "frob"`, args("frob")...)
	clitest.Holds(t, clitest.Good(t, args("--manual")...), "  SCR_FLUSH=10 ", "CKPT=NUMBER")
}

func TestScrParamsFaults(t *testing.T) {
	dir := paramsDir(t, "SCR_FLUSH=often\nSCR_COPY_TYPE=FILE\nCKPT=0 TYPE=RAID\n")
	user := filepath.Join(dir, "user.conf")
	r := clitest.Blobio(t, "scr", "params", "--changed", "--user-file", user, "--system-file", "")
	if r.Code != cli.Findings || !strings.Contains(r.Out, "error: ") || !strings.Contains(r.Out, user+":1") || !strings.Contains(r.Out, user+":3") {
		t.Errorf("%+v", r)
	}
	clitest.Check(t, os.WriteFile(user, []byte("SCR_FLUSH=5\n= 3\n"), 0o666))
	clitest.Bad(t, cli.Failed, user+":2", "scr", "params", "--user-file", user)
	clitest.Bad(t, cli.Failed, "no such file", "scr", "params", "--user-file", filepath.Join(dir, "nowhere"))
}

// TestScrParamsOnce checks that a fault shared by parameters and descriptors is reported once.
func TestScrParamsOnce(t *testing.T) {
	paramsDir(t, "")
	t.Setenv("SCR_COPY_TYPE", "RAID6")
	r := clitest.Blobio(t, "scr", "params", "--changed", "--system-file", "")
	if r.Code != cli.Findings || strings.Count(r.Out, "error: ") != 1 {
		t.Errorf("%+v", r)
	}
	clitest.Bad(t, cli.Failed, "no such file", "scr", "params", "--dir", filepath.Join(t.TempDir(), "none"))
}
