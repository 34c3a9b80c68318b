package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// lustre runs Lustre's lfs on the directory of a sweep. Tests replace lfs.
type lustre struct {
	here bool // the directory is on Lustre
	run  func(ctx context.Context, args ...string) (string, error)
}

func newLustre(dir string) lustre {
	system, _ := fileSystem(dir)
	return lustre{here: system == "lustre", run: runLfs}
}

func runLfs(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "lfs", args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out), err
}

// targets returns the number of targets of the file system, 0 if unknown.
func (l *lustre) targets(ctx context.Context, dir string) int {
	if !l.here {
		return 0
	}
	text, _ := l.run(ctx, "osts", dir)
	return countTargets(text)
}

// countTargets counts the lines "0: scratch-OST0000_UUID ACTIVE" of lfs osts.
func countTargets(text string) (n int) {
	for line := range strings.Lines(text) {
		number, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if _, err := strconv.Atoi(number); ok && err == nil && strings.Contains(rest, " ACTIVE") {
			n++
		}
	}
	return n
}

// setStripe sets stripe size and number of targets for new files in a directory.
func (l *lustre) setStripe(ctx context.Context, dir string, size, count int) error {
	if !l.here || size == 0 && count == 0 {
		return nil
	}
	args := []string{"setstripe"}
	if size > 0 {
		args = append(args, "-S", strconv.Itoa(size))
	}
	if count > 0 {
		args = append(args, "-c", strconv.Itoa(count))
	}
	if _, err := l.run(ctx, append(args, dir)...); err != nil {
		return fmt.Errorf("lfs setstripe: %w", err)
	}
	return nil
}
