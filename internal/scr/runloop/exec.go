package runloop

import (
	"blobio/internal/base/fault"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Exec runs a command and returns its output. The error wraps exec.ErrNotFound if the command does not exist. Other errors
// include the first line of the command's standard error.
type Exec func(ctx context.Context, argv []string) ([]byte, error)

// RunCommand is the Exec of the operating system. When ctx ends, it kills the command's process group.
func RunCommand(ctx context.Context, argv []string) ([]byte, error) {
	if len(argv) == 0 {
		return nil, fault.Usage("no command")
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	ownGroup(cmd)
	cmd.Cancel = func() error {
		if err := stillOurs(cmd.Process); err != nil {
			return err
		}
		endGroup(cmd.Process, true)
		return nil
	}
	cmd.WaitDelay = heldTime
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the command succeeded, but a process that it left, such as the master connection of ssh, holds the output open
	}
	if ctx.Err() != nil && err != nil {
		return out, ctx.Err()
	}
	var x *exec.ExitError
	if errors.As(err, &x) {
		if line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n"); line != "" {
			return out, fmt.Errorf("%w: %s", err, line)
		}
	}
	return out, err
}
