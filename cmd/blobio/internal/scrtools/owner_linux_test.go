package scrtools_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
)

// users are two users and a folder in which both may create files, like /dev/shm.
type users struct {
	t    *testing.T
	exe  string
	dir  string // sticky and writable for everybody
	home string // folder of the victim, closed to other users
}

const (
	attacker = 2001
	victim   = 2002
)

func twoUsers(t *testing.T) *users {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: wants root, to be two users")
	}
	root, err := os.MkdirTemp("", "blobio-users-") // not below t.TempDir, which other users cannot search
	clitest.Check(t, err)
	t.Cleanup(func() { clitest.Check(t, os.RemoveAll(root)) })
	clitest.Check(t, os.Chmod(root, 0o755))
	u := &users{t: t, exe: filepath.Join(root, "blobio"), dir: filepath.Join(root, "shm"), home: filepath.Join(root, "home")}
	self, err := os.Executable()
	clitest.Check(t, err)
	b := clitest.Read(t, self)
	clitest.Check(t, os.WriteFile(u.exe, b, 0o755))
	clitest.Check(t, os.Chmod(u.exe, 0o755))
	clitest.Check(t, os.Mkdir(u.dir, 0o777))
	clitest.Check(t, os.Chmod(u.dir, 0o777|fs.ModeSticky))
	clitest.Check(t, os.Mkdir(u.home, 0o700))
	clitest.Check(t, os.Chown(u.home, victim, victim))
	if r := u.as(victim, "--version"); r.Code != cli.Good {
		t.Skipf("SKIPPED: another user cannot run %s: %+v", u.exe, r)
	}
	return u
}

// run runs the test program as a user, with additional environment variables.
func (u *users) run(uid uint32, env string, args ...string) clitest.Result {
	u.t.Helper()
	// The attacker's files and folders are open to all.
	cmd := exec.Command("sh", append([]string{"-c", `umask 0; exec "$0" "$@"`, u.exe}, args...)...)
	if uid == victim {
		cmd = exec.Command(u.exe, args...)
	}
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(u.exe), &out, &errs
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), env}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Skipf("SKIPPED: %v", err)
	}
	return clitest.Result{Code: cmd.ProcessState.ExitCode(), Out: out.String(), Err: errs.String()}
}

func (u *users) as(uid uint32, args ...string) clitest.Result {
	u.t.Helper()
	return u.run(uid, "BLOBIO_TEST_MAIN=1", args...)
}

// own makes a file owned by a user.
func (u *users) own(uid int, name, text string, mode fs.FileMode) {
	u.t.Helper()
	clitest.Check(u.t, os.WriteFile(name, []byte(text), mode))
	clitest.Check(u.t, os.Chmod(name, mode))
	clitest.Check(u.t, os.Chown(name, uid, uid))
}

// mkdir makes a closed folder owned by a user, and its parents.
func (u *users) mkdir(uid int, name string) {
	u.t.Helper()
	rel, err := filepath.Rel(u.dir, name)
	clitest.Check(u.t, err)
	at := u.dir
	for _, n := range strings.Split(rel, "/") {
		at = filepath.Join(at, n)
		if err := os.Mkdir(at, 0o700); err == nil {
			clitest.Check(u.t, os.Chown(at, uid, uid))
		} else if !errors.Is(err, fs.ErrExist) {
			u.t.Fatal(err)
		}
	}
}

// TestScrTransferOfAnotherUser checks that nobody, not even root, obeys a transfer file that another user made, linked, or can
// write to.
func TestScrTransferOfAnotherUser(t *testing.T) {
	u := twoUsers(t)
	rc := filepath.Join(u.home, ".bashrc")
	u.own(victim, rc, "mine", 0o600)
	evil := filepath.Join(u.dir, "evil")
	u.own(attacker, evil, "EVIL", 0o666)
	control := filepath.Join(u.dir, "x", "scr.77")
	u.mkdir(attacker, control)
	if r := u.as(attacker, "scr", "transfer", "--add", evil+"="+rc, "--command", "run", control); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	for _, n := range []string{control, filepath.Dir(control)} {
		clitest.Check(t, os.Chmod(n, 0o777))
	}
	clitest.Check(t, os.Chmod(filepath.Join(control, "transfer.scrinfo"), 0o666))
	unhurt := func(what string, r clitest.Result) {
		t.Helper()
		if r.Code != cli.Failed || !strings.Contains(r.Err, u.dir) {
			t.Errorf("%s: %+v", what, r)
		}
		info, err := os.Stat(rc)
		clitest.Check(t, err)
		if b, err := os.ReadFile(rc); err != nil || string(b) != "mine" || info.Mode() != 0o600 {
			t.Fatalf("%s: %q, mode %v, %v", what, b, info.Mode(), err)
		}
	}
	serve := []string{"scr", "transfer", "--once", "--prefix", u.home}
	unhurt("a folder of another user", u.as(victim, append(serve, control)...))
	unhurt("the file itself", u.as(victim, append(serve, filepath.Join(control, "transfer.scrinfo"))...))
	unhurt("root", clitest.Blobio(t, append(serve, control)...))
	unhurt("status", u.as(victim, "scr", "transfer", "--status", control))
	unhurt("a command", u.as(victim, "scr", "transfer", "--command", "run", control))

	// The folder belongs to the victim. Its parent belongs to the attacker, who could replace the folder.
	inside := filepath.Join(u.dir, "x", "scr.78")
	u.mkdir(victim, inside)
	unhurt("in a folder of another user", u.as(victim, append(serve, inside)...))

	// First the folder, then the file is replaced by a link.
	mine := filepath.Join(u.dir, "v")
	u.mkdir(victim, mine)
	clitest.Check(t, os.Symlink(control, filepath.Join(mine, "scr.1")))
	unhurt("a link to the folder", u.as(victim, append(serve, filepath.Join(mine, "scr.1"))...))
	u.mkdir(victim, filepath.Join(mine, "scr.2"))
	clitest.Check(t, os.Symlink(filepath.Join(control, "transfer.scrinfo"), filepath.Join(mine, "scr.2", "transfer.scrinfo")))
	unhurt("a link to the file", u.as(victim, append(serve, filepath.Join(mine, "scr.2"))...))

	unhurt("a command through a link", u.as(victim, "scr", "transfer", "--command", "stop", filepath.Join(mine, "scr.2")))
	unhurt("the status through a link", u.as(victim, "scr", "transfer", "--status", filepath.Join(mine, "scr.2")))

	// The file belongs to the victim, but everybody can write to it.
	open := filepath.Join(mine, "scr.3")
	u.mkdir(victim, open)
	clitest.Check(t, os.Chmod(open, 0o777))
	unhurt("a folder that all may write to", u.as(victim, append(serve, open)...))
}

// TestScrTransferOwn checks that files made by the transfer process for its own user have the mode of their source. Nothing is
// written through links or outside the prefix directory.
func TestScrTransferOwn(t *testing.T) {
	u := twoUsers(t)
	control, prefix := filepath.Join(u.dir, "v", "scr.77"), filepath.Join(u.home, "sim")
	clitest.Check(t, os.Mkdir(prefix, 0o755))
	clitest.Check(t, os.Chown(prefix, victim, victim))
	u.mkdir(victim, filepath.Join(u.dir, "v", "scr.77"))
	outside := filepath.Join(u.home, "precious")
	u.own(victim, outside, "mine", 0o600)
	in := func(name string) string { return filepath.Join(prefix, name) }
	clitest.Check(t, os.Symlink(outside, in("link")))
	clitest.Check(t, os.Symlink(u.home, in("up")))
	u.own(victim, in("closed"), "old", 0o600)
	args := []string{"scr", "transfer", "--command", "run"}
	for _, x := range []struct {
		from, to string
		mode     fs.FileMode
	}{
		{"a", in("a"), 0o640}, {"b", in("b"), 0o666}, {"c", in("closed"), 0o644}, {"d", in("link"), 0o600}, {"e", outside, 0o644},
		{"f", in("up/precious"), 0o644}, {"g", in("../precious"), 0o644}, {"h", in("new/dir/h"), 0o600},
	} {
		from := filepath.Join(u.home, x.from)
		u.own(victim, from, "new", x.mode)
		args = append(args, "--add", from+"="+x.to)
	}
	if r := u.as(victim, append(args, control)...); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	r := u.as(victim, "scr", "transfer", "--once", "--prefix", prefix, control)
	if r.Code != cli.Findings || strings.Count(r.Out, "not below the prefix directory") != 3 || strings.Count(r.Out, "\n") != 3 {
		t.Errorf("%+v", r)
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "mine" {
		t.Errorf("outside of the prefix directory: %q %v", b, err)
	}
	for name, mode := range map[string]fs.FileMode{"a": 0o640, "b": 0o644, "closed": 0o600, "link": 0o600, "new/dir/h": 0o600} {
		info, err := os.Lstat(in(name))
		clitest.Check(t, err)
		if b, err := os.ReadFile(in(name)); err != nil || string(b) != "new" || info.Mode() != mode {
			t.Errorf("%s: %q, mode %v, want %v, %v", name, b, info.Mode(), mode, err)
		}
	}
	if info, err := os.Stat(control); err != nil || info.Mode().Perm() != 0o700 {
		t.Error("control directory", info.Mode(), err)
	}
	// Others may write to a folder in the prefix directory, and could put links there.
	clitest.Check(t, os.Chmod(in("new/dir"), 0o777))
	if r := u.as(victim, "scr", "transfer", "--add", filepath.Join(u.home, "a")+"="+in("new/dir/a"), control); r.Code != cli.Good {
		t.Fatalf("%+v", r)
	}
	if r := u.as(victim, "scr", "transfer", "--once", "--prefix", prefix, control); !strings.Contains(r.Out, "lets users other than the owner write") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(in("new/dir/a")); err == nil {
		t.Error("written where others may lay links")
	}
}

// TestScrOpenOfAnotherUser checks that a session rejects directories that another user owns or may write to.
func TestScrOpenOfAnotherUser(t *testing.T) {
	u := twoUsers(t)
	open := func(uid uint32, more ...string) clitest.Result {
		return u.run(uid, strings.Join(append([]string{"BLOBIO_TEST_OPEN=" + u.dir}, more...), ""))
	}
	fresh := func() {
		for _, n := range []string{"prefix", "cntl", "cache"} {
			name := filepath.Join(u.dir, n)
			clitest.Check(t, os.RemoveAll(name))
			clitest.Check(t, os.Mkdir(name, 0o755))
			clitest.Check(t, os.Chown(name, victim, victim))
		}
	}
	fresh()
	for range 2 {
		if r := open(victim); r.Code != 0 {
			t.Fatalf("%+v", r)
		}
	}
	for _, n := range []string{"cntl/x/scr.77", "cache/x/scr.77"} {
		info, err := os.Stat(filepath.Join(u.dir, n))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", n, info, err)
		}
	}
	theirs := func(n string) {
		clitest.Check(t, os.MkdirAll(filepath.Join(u.dir, n), 0o755))
		clitest.Check(t, os.Chown(filepath.Join(u.dir, n), attacker, attacker))
		clitest.Check(t, os.Chmod(filepath.Join(u.dir, n), 0o755))
	}
	for _, n := range []string{"prefix", "prefix/.scr", "cntl/x/scr.77", "cntl/x", "cache/x/scr.77", "cache/x", "cntl"} {
		fresh()
		if n[0] == 'c' { // the contents of this directory belong to the victim
			u.mkdir(victim, filepath.Join(u.dir, n[:strings.IndexByte(n+"/", '/')], "x", "scr.77"))
		}
		theirs(n)
		if r := open(victim); r.Code == 0 || !strings.Contains(r.Err, "belongs to user 2001") {
			t.Errorf("%s is another user's: %+v", n, r)
		}
		fresh()
		u.mkdir(victim, filepath.Join(u.dir, n))
		clitest.Check(t, os.Chmod(filepath.Join(u.dir, n), 0o777))
		if r := open(victim); r.Code == 0 || !strings.Contains(r.Err, "lets users other than the owner write") {
			t.Errorf("others may write to %s: %+v", n, r)
		}
	}
	fresh()
	u.mkdir(victim, filepath.Join(u.dir, "cntl", "x"))
	theirs("other")
	clitest.Check(t, os.Symlink(filepath.Join(u.dir, "other"), filepath.Join(u.dir, "cntl", "x", "scr.77")))
	if r := open(victim); r.Code == 0 || !strings.Contains(r.Err, "link") {
		t.Errorf("a link in the place of the control directory: %+v", r)
	}
}

// TestScrOpenShared checks that some prefix directories are accepted only on request: if the group can write to the directory,
// or if it is sticky and everybody can write to it.
func TestScrOpenShared(t *testing.T) {
	dir := t.TempDir()
	prefix := filepath.Join(dir, "prefix")
	clitest.Check(t, os.Chmod(dir, 0o700))
	clitest.Check(t, os.Mkdir(prefix, 0o700))
	clitest.Check(t, os.Chmod(prefix, 0o777|fs.ModeSticky))
	if err := openSession(dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a sticky prefix directory for all: %v", err)
	}
	var o *vfs.OwnerError
	if err := openSession(dir); !errors.As(err, &o) || o.Name != prefix {
		t.Errorf("%v", err)
	}
	t.Setenv("BLOBIO_SHARED", "1")
	if err := openSession(dir); err != nil {
		t.Error(err)
	}
	clitest.Check(t, os.Chmod(prefix, 0o777))
	if err := openSession(dir); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a prefix directory for all: %v", err)
	}
}
