package trace

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const privilegedName = "BLOBIO_TEST_PRIVILEGED"

// TestPrivileged: a program of another owner that its file makes run with his rights writes no trace for its caller.
func TestPrivileged(t *testing.T) {
	if name := os.Getenv(privilegedName); name != "" { // the program
		_, err := newLog(name)
		fmt.Printf("uid %d as %d: %s\n", os.Getuid(), os.Geteuid(), said(err))
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make such a program")
	}
	const caller = 2001
	dir, err := os.MkdirTemp("", "blobio") // others can look into it, unlike into t.TempDir
	ok(t, err)
	defer os.RemoveAll(dir)
	ok(t, os.Chmod(dir, 0o755))
	program, open := filepath.Join(dir, "program"), filepath.Join(dir, "open")
	ok(t, os.Mkdir(open, 0o777))
	ok(t, os.Chmod(open, 0o777))
	b, err := os.ReadFile(os.Args[0])
	ok(t, err)
	ok(t, os.WriteFile(program, b, 0o755))
	run := func(file string) string {
		cmd := exec.Command(program, "-test.run=^TestPrivileged$")
		cmd.Dir = open
		cmd.Env = []string{privilegedName + "=" + filepath.Join(open, file)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: caller, Gid: caller}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("as user %d: %v\n%s", caller, err, out)
		}
		return string(out)
	}
	if out := run("own"); !strings.Contains(out, "uid 2001 as 2001: no error") {
		t.Errorf("without such rights: %s", out)
	}
	ok(t, os.Chmod(program, 0o755|os.ModeSetuid))
	out := run("lent")
	if strings.Contains(out, "uid 2001 as 2001") {
		t.Skipf("SKIPPED: programs get no rights of their owners in %s", dir)
	}
	if !strings.Contains(out, errSecure.Error()) {
		t.Errorf("setuid: %s", out)
	}
	if _, err := os.Lstat(filepath.Join(open, "lent")); err == nil {
		t.Error("a file was made")
	}
}

func said(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
