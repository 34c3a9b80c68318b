package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Mount is a line of the table of mounted file systems.
type Mount struct {
	Device  string `json:"device"`
	Point   string `json:"point"`
	Type    string `json:"type"`
	Options string `json:"options"`
}

// ToolText is what a tool of the file system printed.
type ToolText struct {
	Command string `json:"command"`
	Output  string `json:"output,omitempty"`
	Error   string `json:"error,omitempty"`
}

// tools asks the tools of file systems. Tests set others.
type tools struct {
	system string // of the directory
	mount  *Mount
	run    func(ctx context.Context, name string, args ...string) (string, error)
}

func newTools(dir string) tools {
	system, _ := fileSystem(dir)
	return tools{system: system, mount: mountOf(dir), run: runTool}
}

// gpfsPath is where the commands of GPFS are if they are not in PATH.
const gpfsPath = "/usr/lpp/mmfs/bin"

// mostTool bounds the output of a tool that is kept.
const mostTool = 64 << 10

func runTool(ctx context.Context, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && strings.HasPrefix(name, "mm") {
		path, err = exec.LookPath(filepath.Join(gpfsPath, name))
	}
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if len(out) > mostTool {
		out = append(out[:mostTool:mostTool], "..."...)
	}
	return strings.TrimRight(string(out), "\n"), err
}

// facts are what the tools tell of a directory, and how many targets the file system has, 0 if they do not tell.
func (t *tools) facts(ctx context.Context, dir string) (list []ToolText, targets int) {
	ask := func(name string, args ...string) string {
		out, err := t.run(ctx, name, args...)
		x := ToolText{Command: strings.Join(append([]string{name}, args...), " "), Output: out}
		if err != nil {
			x.Error = err.Error()
		}
		list = append(list, x)
		return out
	}
	switch t.system {
	case "lustre":
		ask("lfs", "--version")
		ask("lfs", "getstripe", "-d", dir)
		targets = countTargets(ask("lfs", "osts", dir))
	case "gpfs":
		ask("mmlsattr", "-L", dir)
		if t.mount != nil {
			ask("mmlsfs", t.mount.Device)
		}
	}
	return list, targets
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

// setStripe gives the files that are made in a directory of Lustre units and a number of targets.
func (t *tools) setStripe(ctx context.Context, dir string, size, count int) error {
	if t.system != "lustre" || size == 0 && count == 0 {
		return nil
	}
	args := []string{"setstripe"}
	if size > 0 {
		args = append(args, "-S", strconv.Itoa(size))
	}
	if count > 0 {
		args = append(args, "-c", strconv.Itoa(count))
	}
	if _, err := t.run(ctx, "lfs", append(args, dir)...); err != nil {
		return fmt.Errorf("lfs setstripe: %w", err)
	}
	return nil
}

// striping of a file of Lustre; "" elsewhere.
func (t *tools) striping(ctx context.Context, file string) string {
	if t.system != "lustre" {
		return ""
	}
	out, err := t.run(ctx, "lfs", "getstripe", file)
	if err != nil {
		return err.Error()
	}
	return out
}

// mountOf finds the file system that a directory is on in the table of mounts; nil if there is none.
func mountOf(dir string) *Mount {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return findMount(b, dir)
}

// findMount is the last line of mountinfo whose mount point is the longest that holds dir.
func findMount(table []byte, dir string) (m *Mount) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range bytes.Lines(table) {
		// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
		head, tail, ok := strings.Cut(strings.TrimRight(string(line), "\n"), " - ")
		h, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(h) < 6 || len(t) < 3 {
			continue
		}
		point := unescape.Replace(h[4])
		if dir != point && point != "/" && !strings.HasPrefix(dir, point+"/") {
			continue
		}
		if m == nil || len(point) >= len(m.Point) {
			m = &Mount{Device: unescape.Replace(t[1]), Point: point, Type: t[0], Options: h[5] + "," + t[2]}
		}
	}
	return m
}
