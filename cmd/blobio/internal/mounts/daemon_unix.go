//go:build unix

package mounts

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"blobio/internal/cli"
)

// readyFD is the file descriptor on which the background process reports that the mount is ready.
const readyFD = 3

const readyText = "ready\n"

// detach starts the same command line in the background, in its own session, and returns when the mount is ready.
func (f *mountFlags) detach(e *cli.Env, dir, at string) error {
	name := f.log
	if name == "" {
		name = filepath.Clean(at) + ".log"
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args, err := f.child(dir, at, name)
	if err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles, cmd.Dir = log, log, []*os.File{w}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return err
	}
	told, err := io.ReadAll(io.LimitReader(r, int64(len(readyText))))
	if err == nil && string(told) == readyText {
		fmt.Fprintf(e.Out, "%s is shown at %s (process %d, log %s; fusermount3 -u %s ends it)\n", cli.Plain(dir), cli.Plain(at), cmd.Process.Pid, cli.Plain(name), cli.Plain(at))
		return cmd.Process.Release()
	}
	_ = cmd.Wait() // the output of the process is in the log
	said, rerr := io.ReadAll(io.NewSectionReader(log, begin, 1<<16))
	if text := strings.TrimSpace(strings.TrimPrefix(string(said), "blobio: ")); text != "" && rerr == nil {
		return cli.WithHint(fmt.Errorf("%s", text), "")
	}
	return fmt.Errorf("the background process ended before the mount was ready: see %s", name)
}

// tellReady signals the process that waits in detach.
func tellReady() error {
	f := os.NewFile(readyFD, "ready")
	_, err := f.WriteString(readyText)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
