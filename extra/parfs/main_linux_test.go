package parfs

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"blobio/internal/base/crashtest"
)

const (
	envWanted = "BLOBIO_PARFS"
	envInside = "BLOBIO_PARFS_INSIDE" // the directory of the servers, for the program in its namespaces
	envRole   = "BLOBIO_PARFS_ROLE"   // the role of a process on another machine
)

// serverIP is where servers listen: MooseFS does not serve 127.0.0.1, GlusterFS wants a name.
const serverIP = "10.77.0.1"

// absent is the reason why no test can run here.
var absent string

func TestMain(m *testing.M) {
	switch inside := os.Getenv(envInside); {
	case os.Getenv(envRole) != "":
		os.Exit(play(os.Getenv(envRole), os.Args[1:]))
	case inside != "" && os.Getpid() == 1:
		if err := settle(inside); err != nil {
			fmt.Fprintln(os.Stderr, "parfs:", err)
			os.Exit(1)
		}
		os.Exit(first())
	case inside != "": // most of them wait, for others to count as dead
		flag.Parse()
		_ = flag.Set("test.parallel", "16")
	case os.Getenv(envWanted) == "":
	default:
		if absent = lacking(); absent == "" {
			os.Exit(enter())
		}
	}
	os.Exit(m.Run())
}

// need skips a test where the file systems were not asked for, and loudly where they cannot run.
func need(t *testing.T) {
	t.Helper()
	if absent != "" {
		t.Skip("SKIPPED: ", absent)
	}
	if os.Getenv(envInside) == "" {
		t.Skip("set BLOBIO_PARFS=1 to run it")
	}
}

func lacking() string {
	if os.Getuid() != 0 {
		return "not root: no file system can be mounted"
	}
	for _, tool := range []string{"glusterd", "gluster", "glusterfs", "mfsmaster", "mfschunkserver", "mfsmount"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed"
		}
	}
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err.Error()
	}
	f.Close()
	return ""
}

// deadline is the time at which everything is killed: a call to a file system with stuck servers cannot be interrupted.
var deadline = crashtest.Times(8*time.Minute, 30*time.Minute)

// first is the first process of the namespaces: it starts the tests and touches none of the file systems, so that it can always end, and all other
// processes, mounts and servers with it.
func first() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "parfs:", err)
		return 1
	}
	time.AfterFunc(deadline, func() {
		fmt.Fprintln(os.Stderr, "parfs: not done after", deadline)
		_ = cmd.Process.Signal(unix.SIGQUIT) // prints the place where it hangs
		time.Sleep(5 * time.Second)
		os.Exit(1)
	})
	for { // daemons are its children too
		var st unix.WaitStatus
		pid, err := unix.Wait4(-1, &st, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			fmt.Fprintln(os.Stderr, "parfs:", err)
			return 1
		case pid == cmd.Process.Pid && st.Exited():
			return st.ExitStatus()
		case pid == cmd.Process.Pid:
			return 1
		}
	}
}

// enter runs this program again in namespaces of its own. When either ends, all processes there do.
func enter() int {
	dir, err := os.MkdirTemp("", "parfs")
	if err != nil {
		fmt.Fprintln(os.Stderr, "parfs:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	runtime.LockOSThread() // Pdeathsig is of the thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), envInside+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWUTS, Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1)
	} else if err != nil {
		fmt.Fprintln(os.Stderr, "parfs: namespaces:", err)
		return 1
	}
	return 0
}

// settle makes the namespaces a place for servers.
func settle(dir string) error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=10g"); err != nil { // only measurements take much of it
		return fmt.Errorf("%s: %w", dir, err)
	}
	// The daemons of GlusterFS have files at fixed places.
	for from, to := range map[string]string{"lib": "/var/lib/glusterd", "log": "/var/log/glusterfs", "run": "/run"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, from, "groups"), 0o755), os.MkdirAll(filepath.Join(dir, from, "gluster"), 0o755), os.MkdirAll(to, 0o755)); err != nil {
			return err
		}
		if err := unix.Mount(filepath.Join(dir, from), to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	hosts := filepath.Join(dir, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+serverIP+" server\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount(hosts, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("/etc/hosts: %w", err)
	}
	if err := unix.Sethostname([]byte("server")); err != nil {
		return fmt.Errorf("hostname: %w", err)
	}
	return loopback()
}

// loopback brings the only network up, with the address of the servers.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	up, err := unix.NewIfreq("lo")
	if err == nil {
		up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, up)
	}
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	alias, err := unix.NewIfreq("lo:1")
	if err == nil {
		err = alias.SetInet4Addr([]byte{10, 77, 0, 1})
	}
	if err == nil {
		err = unix.IoctlIfreq(s, unix.SIOCSIFADDR, alias)
	}
	if err != nil {
		return fmt.Errorf("lo:1: %w", err)
	}
	return nil
}
