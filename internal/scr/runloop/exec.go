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

// Exec runs a command to its end and returns its output. If there is no such command,
// the error wraps exec.ErrNotFound; other errors have the first line that the command
// wrote to its standard error.
type Exec func(ctx context.Context, argv []string) ([]byte, error)

// RunCommand is Exec by the operating system. When ctx ends, the command is
// ended with its process group.
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
		err = nil // it ended well, as ssh does that leaves a master connection behind
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
