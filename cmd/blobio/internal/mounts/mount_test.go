//go:build linux && !386 && !arm

package mounts_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/verbs"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
)

// asBlobio makes the test binary act as the command, because a background mount starts its own binary again.
const asBlobio = "BLOBIO_TEST_AS_BLOBIO"

func TestMain(m *testing.M) {
	if os.Getenv(asBlobio) != "" {
		verbs.Main()
	}
	os.Exit(m.Run())
}

// blobio returns the command as a separate process.
func blobio(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	clitest.Check(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asBlobio+"=1")
	return cmd
}

// toys makes a directory with a dataset toy.nc in v, and returns Convert's output for it.
func toys(t *testing.T) (dir string, want []byte) {
	t.Helper()
	if f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		t.Skipf("no FUSE mounts here: %v", err)
	} else {
		f.Close()
	}
	_, _, variable, _ := clitest.Toys(t)
	out := filepath.Join(t.TempDir(), "out.nc")
	clitest.Good(t, "convert", "--no-sync", variable, out)
	return filepath.Dir(variable), clitest.Read(t, out)
}

// started starts a foreground mount in a separate process.
func started(t *testing.T, dir, at string, flags ...string) *exec.Cmd {
	t.Helper()
	return run(t, blobio(t, append([]string{"mount", dir, at}, flags...)...), at)
}

// run starts a mount.
func run(t *testing.T, cmd *exec.Cmd, at string) *exec.Cmd {
	t.Helper()
	var errs bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	out, err := cmd.StdoutPipe()
	clitest.Check(t, err)
	clitest.Check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = syscall.Unmount(at, syscall.MNT_DETACH) // fusermount3 may succeed where this user may not
		_ = exec.Command("fusermount3", "-u", "-z", "-q", at).Run()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, " is shown at ") {
		_ = cmd.Wait()
		if strings.Contains(errs.String(), "mounting is not possible here") {
			t.Skip(errs.String())
		}
		t.Fatalf("%q, %v, %s", line, err, errs.String())
	}
	return cmd
}

func reads(t *testing.T, at string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(at, "toy.nc"))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want %d; %v", len(got), len(want), err)
	}
}

func mountedAt(t *testing.T, at string) bool {
	t.Helper()
	b := clitest.Read(t, "/proc/self/mountinfo")
	return strings.Contains(string(b), " "+at+" ")
}

// TestForeground checks that the mount shows the dataset until an interrupt, which is a normal end. Afterwards nothing is
// mounted.
func TestForeground(t *testing.T) {
	dir, want := toys(t)
	at := t.TempDir()
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		cmd := started(t, dir, at)
		reads(t, at, want)
		clitest.Check(t, cmd.Process.Signal(sig))
		if err := cmd.Wait(); err != nil || cmd.Stderr.(*bytes.Buffer).Len() > 0 {
			t.Errorf("%v: %v: %s", sig, err, cmd.Stderr)
		}
		if mountedAt(t, at) {
			t.Fatalf("%v: still mounted", sig)
		}
	}
}

// TestUnmountedByOthers checks that the command ends when somebody unmounts.
func TestUnmountedByOthers(t *testing.T) {
	dir, want := toys(t)
	at := t.TempDir()
	cmd := started(t, dir, at)
	reads(t, at, want)
	if out, err := exec.Command("fusermount3", "-u", at).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		clitest.Check(t, syscall.Unmount(at, 0))
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, cmd.Stderr)
	}
}

// TestInterruptedInUse checks that open files delay the end only briefly.
func TestInterruptedInUse(t *testing.T) {
	dir, want := toys(t)
	at := t.TempDir()
	cmd := started(t, dir, at)
	f, err := os.Open(filepath.Join(at, "toy.nc"))
	clitest.Check(t, err)
	defer f.Close()
	b := make([]byte, len(want))
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	clitest.Check(t, cmd.Process.Signal(os.Interrupt))
	var ee *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &ee) || ee.ExitCode() != cli.Failed || !strings.Contains(cmd.Stderr.(*bytes.Buffer).String(), "unmounted while files were open") {
		t.Errorf("%v: %s", err, cmd.Stderr)
	}
	if mountedAt(t, at) {
		t.Error("still mounted")
	}
}

// TestKilled checks that nothing blocks after a kill: programs get an error, and either the next mount at this mount point or
// fusermount3 clears the old mount.
func TestKilled(t *testing.T) {
	dir, want := toys(t)
	at := t.TempDir()
	cmd := started(t, dir, at)
	reads(t, at, want)
	f, err := os.Open(filepath.Join(at, "toy.nc"))
	clitest.Check(t, err)
	defer f.Close()
	clitest.Check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, look := range []func() error{
		func() error { _, err := os.ReadDir(at); return err },
		func() error { _, err := os.Open(filepath.Join(at, "toy.nc")); return err },
		func() error { return syscall.Statfs(at, new(syscall.Statfs_t)) },
	} {
		if err := look(); !errors.Is(err, syscall.ENOTCONN) && !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("%v, want that nobody is there", err)
		}
	}
	if _, err := f.ReadAt(make([]byte, 10), 0); err != nil && !errors.Is(err, syscall.ENOTCONN) && !errors.Is(err, syscall.EIO) { // the kernel may still cache it
		t.Errorf("what was open: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link") // by any name
	clitest.Check(t, os.Symlink(filepath.Dir(at), link))
	again := started(t, dir, filepath.Join(link, filepath.Base(at)))
	reads(t, at, want)
	clitest.Check(t, again.Process.Kill())
	_ = again.Wait()
	if out, err := exec.Command("fusermount3", "-u", at).CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		clitest.Check(t, syscall.Unmount(at, 0))
	} else if err != nil {
		t.Errorf("fusermount3: %v: %s", err, out)
	}
	if mountedAt(t, at) {
		t.Error("still mounted")
	}
}

// TestDaemon checks that the command returns when the mount is ready, and reports errors of the background process.
func TestDaemon(t *testing.T) {
	dir, want := toys(t)
	at := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	damaged := filepath.Join(dir, "bad.nc.manifest")
	b := clitest.Read(t, filepath.Join(dir, "toy.nc.manifest"))
	b[len(b)/4] ^= 1 // damage both copies
	b[3*len(b)/4] ^= 1
	clitest.Check(t, os.WriteFile(damaged, b, 0o666))
	cmd := blobio(t, "mount", "--daemon", "--log", log, "--only-datasets", "--memory", "64M", "--workers", "2", dir, at)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	m := regexp.MustCompile(`process (\d+), log (\S+);`).FindStringSubmatch(string(out))
	if m == nil || m[2] != log {
		t.Fatalf("it says %q", out)
	}
	pid, err := strconv.Atoi(m[1])
	clitest.Check(t, err)
	alive := func() bool {
		b, err := os.ReadFile(filepath.Join("/proc", m[1], "stat"))
		return err == nil && !strings.Contains(string(b), ") Z ")
	}
	t.Cleanup(func() {
		if alive() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_ = syscall.Unmount(at, syscall.MNT_DETACH)
		}
	})
	reads(t, at, want)
	if _, err := os.ReadFile(filepath.Join(at, "bad.nc")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a damaged one: %v", err)
	}
	said, err := os.ReadFile(log)
	for end := time.Now().Add(time.Minute); len(said) == 0 && err == nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
		said, err = os.ReadFile(log)
	}
	if line := string(said); err != nil || strings.Count(line, "\n") != 1 || !strings.Contains(line, " blobio mount: open bad.nc: input/output error: ") || !strings.Contains(line, damaged) {
		t.Errorf("the log: %q, %v", line, err)
	}
	if out, err := blobio(t, "mount", "--daemon", "--log", log, dir, at).CombinedOutput(); err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "already mounted") {
		t.Errorf("a second one: %v, %q", err, out)
	}
	clitest.Check(t, syscall.Kill(pid, syscall.SIGTERM))
	for end := time.Now().Add(time.Minute); alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not end")
		}
	}
	if mountedAt(t, at) {
		t.Error("still mounted")
	}
}

// TestOtherUser checks that any user can mount with fusermount3, and that only this user can see the files.
func TestOtherUser(t *testing.T) {
	dir, want := toys(t)
	if os.Geteuid() != 0 {
		t.Skip("wants root, to be another user; as any other, all tests here are this one")
	}
	testfiles.Judge(t, "fusermount3")
	const user = 65534
	top, err := os.MkdirTemp("", "blobio-mount-") // not below t.TempDir, which other users cannot search
	clitest.Check(t, err)
	t.Cleanup(func() { clitest.Check(t, os.RemoveAll(top)) })
	clitest.Check(t, os.Chmod(top, 0o755))
	exe, at, data := filepath.Join(top, "blobio"), filepath.Join(top, "at"), filepath.Join(top, "data")
	self, err := os.Executable()
	clitest.Check(t, err)
	b := clitest.Read(t, self)
	clitest.Check(t, os.WriteFile(exe, b, 0o755))
	clitest.Check(t, os.CopyFS(data, os.DirFS(dir)))
	clitest.Check(t, os.Mkdir(at, 0o755))
	for _, name := range []string{at, data} {
		clitest.Check(t, os.Chmod(name, 0o755))
		clitest.Check(t, os.Chown(name, user, user))
	}
	as := func(args ...string) (string, error) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env, cmd.Dir = append(os.Environ(), asBlobio+"=1"), top
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := as(exe, "mount", "--daemon", "--log", filepath.Join(data, "log"), data, at); err != nil {
		if strings.Contains(out, "permission denied") || strings.Contains(out, "not permitted") {
			t.Skipf("no FUSE mounts for other users here: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := as("fusermount3", "-u", "-z", at); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	if out, err := as("cat", filepath.Join(at, "toy.nc")); err != nil || out != string(want) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if _, err := os.ReadDir(at); !errors.Is(err, os.ErrPermission) {
		t.Errorf("another user, even root: %v", err)
	}
	if out, err := as(exe, "mount", "--allow-other", data, filepath.Join(data, "none")); err == nil || strings.Count(out, "\n") != 1 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestYT checks that yt reads the same data from an exported mesh through a mount as directly.
func TestYT(t *testing.T) {
	py := testfiles.JudgePython(t, "yt")
	toys(t) // skips the test without FUSE
	dir, check1, _ := clitest.Mesh(t)
	clitest.Good(t, "amr", "convert", "--no-sync", "--to", "yt", check1, filepath.Join(dir, "yt"))
	at := t.TempDir()
	started(t, dir, at)
	sums := func(root string) string {
		cmd := exec.Command(py, "-c", `import sys, glob, yt
yt.set_log_level("error")
ds = yt.load(glob.glob(sys.argv[1] + "/yt/*.block_list")[0])
ad = ds.all_data()
print(ds.index.num_grids, [(f, float(ad[f].sum()), ad[f].size) for f in sorted(ds.field_list)])`, root)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		return string(out)
	}
	if got, want := sums(at), sums(dir); got != want || len(got) < 20 {
		t.Errorf("through the mount %s, want %s", got, want)
	}
}

// TestWrongCommandLines checks that each error is one line.
func TestWrongCommandLines(t *testing.T) {
	dir, _ := toys(t)
	at := t.TempDir()
	for _, c := range []struct{ words, args string }{
		{"a directory and a mount point", "mount " + dir},
		{"--memory", "mount --memory 1M " + dir + " " + at},
		{"no such file or directory", "mount " + dir + "/none " + at},
		{"no such file or directory", "mount " + dir + " " + at + "/none"},
		{"one contains the other", "mount " + dir + " " + dir},
		{"is not a directory", "mount " + dir + "/toy.nc.0000 " + at},
		{"want cdf5, cdf2, cdf1", "mount --format hdf5 " + dir + " " + at},
	} {
		clitest.Bad(t, cli.Failed, c.words, strings.Fields(c.args)...)
	}
	if mountedAt(t, at) {
		t.Error("mounted")
	}
}

// TestNobodyReads checks that a mount works, also with errors, if nobody reads its stderr pipe.
func TestNobodyReads(t *testing.T) {
	dir, want := toys(t)
	name := filepath.Join(dir, "toy.nc.0000")
	b, err := os.ReadFile(name)
	clitest.Check(t, err)
	at := t.TempDir()
	cmd := blobio(t, "mount", dir, at)
	cmd.Stderr = clitest.Deaf(t)
	run(t, cmd, at)
	reads(t, at, want)
	clitest.Check(t, os.WriteFile(name, b[:len(b)/2], 0o666))
	for i := range 300 { // each error is a new line
		if f, err := os.Open(filepath.Join(at, "toy.nc")); err == nil {
			_, _ = f.ReadAt(make([]byte, 1), int64(len(want)-1-i%64))
			f.Close()
		}
	}
	clitest.Check(t, os.WriteFile(name, b, 0o666))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if got, err := os.ReadFile(filepath.Join(at, "toy.nc")); bytes.Equal(got, want) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

// TestFewFilesWrite checks that many ranks in one process, each with its own subfile, can write by any method within a lower
// limit of open files.
func TestFewFilesWrite(t *testing.T) {
	ranks, limits := crashtest.Times("100", "300"), crashtest.Times([]int{60, 80}, []int{60, 128})
	for i, args := range [][]string{{}, {"--async"}, {"--stripe-size", "64K", "--stripe-count", "2"}} {
		all := append([]string{"replay", "--case", "F", "--history", "h1", "--ranks", ranks, "--subfiles", ranks, "--no-convert", "--no-progress"}, args...)
		if said, err := clitest.Limited(t, blobio(t, all...), limits[i%2]).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%.500s", args, err, said)
		}
	}
}

// TestFewFiles checks datasets with more subfiles than the limit of open files: their files in the mount and the verbs must
// work.
func TestFewFiles(t *testing.T) {
	dir := t.TempDir()
	out := t.TempDir()
	var want []byte
	names, subfiles := []string{"v.nc", "p.nc", "w.nc"}, crashtest.Times(100, 600)
	n := strconv.Itoa(subfiles)
	for i, name := range names {
		canon := clitest.Many(t, []string{"variable-centric", "process-centric"}[i%2], subfiles, filepath.Join(dir, name))
		b, err := os.ReadFile(canon)
		clitest.Check(t, err)
		want = b
	}
	for _, limit := range crashtest.Times([]int{64}, []int{64, 256, 1024}) {
		for i, name := range names[:2] {
			in, to := filepath.Join(dir, name), filepath.Join(out, name)
			for _, args := range [][]string{{"check", in}, {"ls", "--stats", in}, {"convert", "--no-sync", "--force", in, to}, {"diff", in, to}, {"recover", in},
				{"convert", "--no-sync", "--force", "--to", "variable-centric", "--ranks", n, "--subfiles", n, in, filepath.Join(out, "again.nc")}} {
				said, err := clitest.Limited(t, blobio(t, args...), limit).CombinedOutput()
				if err != nil {
					t.Errorf("%d files: blobio %s: %v\n%.500s", limit, strings.Join(args, " "), err, said)
				}
			}
			if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d files, %d: converted %d bytes, want %d, %v", limit, i, len(got), len(want), err)
			}
		}
	}
	toys(t) // skips the test without FUSE
	for _, limit := range crashtest.Times([]int{64}, []int{64, 1024}) {
		at := t.TempDir()
		run(t, clitest.Limited(t, blobio(t, "mount", dir, at), limit), at)
		for range 2 {
			for _, name := range names {
				if got, err := os.ReadFile(filepath.Join(at, name)); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d files: %s: %d bytes, want %d; %v", limit, name, len(got), len(want), err)
				}
			}
		}
	}
}
