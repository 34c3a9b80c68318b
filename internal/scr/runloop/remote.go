package runloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
)

// Remote runs checks on a node.
type Remote interface {
	// Echo runs a command that only prints a text.
	Echo(ctx context.Context, node string) error
	// CheckDirs runs CheckDir on the node. An error means that the check could not run.
	CheckDirs(ctx context.Context, node string, dirs []config.Capacity, free bool) ([]DirCheck, error)
}

// Shell runs commands on nodes through a program such as ssh or srun.
type Shell struct {
	// Argv precedes each command. In Argv, {node} stands for the node's name, as in ssh -o BatchMode=yes {node}.
	Argv []string
	// Joins is set if the program joins its arguments and passes them to a shell on the node, as ssh does. Then the
	// arguments are quoted.
	Joins bool
	// Blobio is the command line of blobio on a node; nil: blobio.
	Blobio []string
	Exec   Exec // nil: RunCommand
}

// SSH returns a Shell that uses ssh.
func SSH() *Shell {
	return &Shell{Argv: []string{"ssh", "-o", "BatchMode=yes", "{node}"}, Joins: true}
}

// Srun returns a Shell for a Slurm allocation.
func Srun() *Shell {
	return &Shell{Argv: []string{"srun", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist={node}"}}
}

// Name returns the name of the program that reaches nodes.
func (s *Shell) Name() string { return s.Argv[0] }

// ParseShell makes a Shell from a command line, which it splits at blanks. It sets Joins for ssh and similar programs.
func ParseShell(command string) *Shell {
	s := &Shell{Argv: strings.Fields(command)}
	if len(s.Argv) > 0 {
		switch strings.TrimSuffix(filepath.Base(s.Argv[0]), ".exe") {
		case "ssh", "gsissh", "rsh", "remsh", "pdsh", "clush", "oarsh":
			s.Joins = true
		}
	}
	return s
}

// Command returns the local command line that runs a command on a node.
func (s *Shell) Command(node string, args ...string) []string {
	var argv []string
	for _, a := range s.Argv {
		argv = append(argv, strings.ReplaceAll(a, "{node}", node))
	}
	for _, a := range args {
		if s.Joins {
			a = quote(a)
		}
		argv = append(argv, a)
	}
	return argv
}

// quote quotes a string as one word for a shell.
func quote(a string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if a != "" && strings.IndexFunc(a, func(r rune) bool { return !plain(r) }) < 0 {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}

// Run runs a command on a node.
func (s *Shell) Run(ctx context.Context, node string, args ...string) ([]byte, error) {
	run := s.Exec
	if run == nil {
		run = RunCommand
	}
	return run(ctx, s.Command(node, args...))
}

// blobio runs blobio on a node and parses its JSON output into to. A nonzero exit code is no failure, because it may mean
// findings. The command has failed if whole reports that the JSON is not the expected answer.
func (s *Shell) blobio(ctx context.Context, node string, to any, whole func() bool, args ...string) error {
	if s.Blobio == nil {
		args = append([]string{"blobio"}, args...)
	}
	out, err := s.Run(ctx, node, slices.Concat(s.Blobio, args)...)
	if jerr := json.Unmarshal(out, to); jerr == nil && whole() {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s on %s prints %q", strings.Join(args, " "), node, out[:min(len(out), 80)])
	}
	return err
}

// Echo implements Remote.
func (s *Shell) Echo(ctx context.Context, node string) error {
	out, err := s.Run(ctx, node, "echo", "up")
	if err == nil && !bytes.Contains(out, []byte("up")) {
		err = fmt.Errorf("the command \"echo up\" prints %q, want \"up\"", out)
	}
	if err != nil {
		return fmt.Errorf("%s cannot run a command on the node: %w", s.Name(), err)
	}
	return nil
}

// CheckDirs implements Remote. It runs blobio scr check-node --json on the node.
func (s *Shell) CheckDirs(ctx context.Context, node string, dirs []config.Capacity, free bool) ([]DirCheck, error) {
	args := []string{"scr", "check-node", "--json", "--free=" + strconv.FormatBool(free)}
	for _, d := range dirs {
		args = append(args, "--dir", d.Dir+"="+strconv.FormatInt(d.Bytes, 10))
	}
	var got struct {
		Dirs []DirCheck `json:"dirs"`
	}
	if err := s.blobio(ctx, node, &got, func() bool { return len(got.Dirs) == len(dirs) }, args...); err != nil {
		return nil, err
	}
	return got.Dirs, nil
}

// Here implements Remote for the nodes of Local, which are directories of this host.
type Here struct {
	Local *Local
	Space Statfs // nil: the call of the operating system
}

// Echo implements Remote. A node is up if its directory exists.
func (h *Here) Echo(_ context.Context, node string) error {
	dir := h.Local.NodeDir(node)
	if dir == "" {
		return nil
	}
	if _, err := vfs.OS.Stat(dir); err != nil {
		return fmt.Errorf("the node's directory %s: %s", dir, reason(err))
	}
	return nil
}

// CheckDirs implements Remote.
func (h *Here) CheckDirs(ctx context.Context, node string, dirs []config.Capacity, free bool) (out []DirCheck, err error) {
	for _, d := range dirs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if root := h.Local.NodeDir(node); root != "" {
			d.Dir = filepath.Join(root, below(d.Dir))
		}
		out = append(out, CheckDir(vfs.OS, h.Space, d, free))
	}
	return out, nil
}
