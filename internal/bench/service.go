package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A service is a process of blobio that shows a directory until it is ended: what others read through it begins with nothing open and
// nothing kept.
type service struct {
	cmd   *exec.Cmd
	at    string  // a directory, or a URL with a slash at its end
	ready float64 // seconds from its start until it said so
	point string  // directory of a mount, which goes with it
	errs  bytes.Buffer
}

// shown and by what a process says where it shows a directory.
const (
	shownAt = " is shown at "
	shownOn = " is shown on "
	until   = " (ctrl-C ends it)"
)

// serving starts blobio serve for a directory.
func (s *session) serving(ctx context.Context, dir string) (*service, error) {
	return s.service(ctx, "", "serve", "--listen", "127.0.0.1:0", "--log", "none", dir)
}

// mounting starts blobio mount for a directory, outside of it.
func (s *session) mounting(ctx context.Context, dir string) (*service, error) {
	point, err := os.MkdirTemp("", "blobio-mount-")
	if err != nil {
		return nil, err
	}
	return s.service(ctx, point, "mount", dir, point)
}

// passing starts a pass-through of a directory, mounted with the same options.
func (s *session) passing(ctx context.Context, dir string) (*service, error) {
	if len(s.Self) == 0 {
		return nil, errNoSelf
	}
	point, err := os.MkdirTemp("", "blobio-loopback-")
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(Work{Op: opLoopback, Path: dir, To: point})
	if err == nil {
		err = os.WriteFile(s.path("loopback.json"), b, 0o666)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(point))
	}
	return s.service(ctx, point, append(slices.Clone(s.Self[1:]), s.path("loopback.json"))...)
}

// errNoSelf: this program is no blobio that could be started again.
var errNoSelf = fmt.Errorf("needs processes of blobio: %w", errSkip)

// service starts this program with other arguments and waits until it says where it shows what.
func (s *session) service(ctx context.Context, point string, args ...string) (v *service, err error) {
	v = &service{point: point}
	defer func() {
		if err != nil && point != "" {
			err = errors.Join(err, os.Remove(point))
		}
	}()
	if len(s.Self) == 0 {
		return nil, errNoSelf
	}
	v.cmd = exec.CommandContext(ctx, s.Self[0], args...)
	v.cmd.Cancel = func() error { return v.cmd.Process.Signal(syscall.SIGTERM) }
	v.cmd.WaitDelay = 10 * time.Second
	v.cmd.Stderr = &v.errs
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	line, rerr := bufio.NewReader(out).ReadString('\n')
	v.ready = time.Since(start).Seconds()
	for _, words := range []string{shownAt, shownOn} {
		if i := strings.LastIndex(line, words); i >= 0 {
			v.at = strings.TrimSuffix(strings.TrimSpace(line[i+len(words):]), until)
		}
	}
	if v.at != "" {
		return v, nil
	}
	err = errors.Join(rerr, v.cmd.Process.Signal(syscall.SIGTERM), v.cmd.Wait())
	if said := lastLine(v.errs.Bytes()); strings.Contains(said, "not possible here") { // mount.ErrUnavailable
		err = fmt.Errorf("%s: %w", strings.TrimPrefix(said, "blobio: "), errSkip)
	} else {
		err = pkg.Errorf("%s does not come up: %w: %s", args[0], err, said)
	}
	return nil, err
}

// end ends the process and tells the most memory that it had, in bytes; 0: not known.
func (v *service) end() (peak int64, err error) {
	peak = peakOf(v.cmd.Process.Pid)
	kill := time.AfterFunc(20*time.Second, func() { _ = v.cmd.Process.Kill() })
	defer kill.Stop()
	err = v.cmd.Process.Signal(syscall.SIGTERM)
	if werr := v.cmd.Wait(); werr != nil {
		err = pkg.Errorf("what showed %s: %w: %s", v.at, werr, lastLine(v.errs.Bytes()))
	}
	if v.point != "" {
		err = errors.Join(err, os.Remove(v.point))
	}
	return peak, err
}
