package bench

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pythonSource is the program that Python runs, wherever the binary is.
//
//go:embed tools/inplace.py
var pythonSource string

// FindPackage returns what is added to the environment of Python so that it finds the package blobio: in a checkout with Go, make and a C
// compiler its sources, and a library that is built in the directory dir; else nothing, and it must be installed.
func FindPackage(ctx context.Context, dir string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}} {{.Dir}}").Output()
	root, here := strings.CutPrefix(strings.TrimSpace(string(out)), "blobio ")
	if err != nil || !here || either("make") == "" || either("cc", "gcc") == "" {
		return nil, ctx.Err()
	}
	if dir, err = filepath.Abs(dir); err != nil { // make runs elsewhere
		return nil, err
	}
	build := exec.CommandContext(ctx, "make", "-s", "-C", filepath.Join(root, "capi"), "shared", "BUILD="+dir)
	if _, err := build.CombinedOutput(); err != nil {
		return nil, ctx.Err() // the workload says what is missing
	}
	return []string{"PYTHONPATH=" + filepath.Join(root, "python", "src"), "BLOBIO_LIBRARY=" + filepath.Join(dir, "libblobio.so.1")}, nil
}

// A python is an interpreter, and what it can import.
type python struct {
	path  string
	env   []string
	Has   map[string]string `json:"has"`   // versions
	Lacks map[string]string `json:"lacks"` // why not
}

// python finds the interpreter with the most modules. Debian's has them where they are packages of Debian.
func (s *session) python(ctx context.Context) (*python, error) {
	var best *python
	if either("python3") == "" { // a path that has none hides Debian's
		return nil, fmt.Errorf("no python3: %w", errSkip)
	}
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		p := &python{path: path, env: append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8"), s.Python...)}
		out, err := p.run(ctx, "has")
		if err == nil {
			err = json.Unmarshal(out, p)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && (best == nil || len(p.Has) > len(best.Has)) {
			best = p
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no python3: %w", errSkip)
	}
	return best, nil
}

func (p *python) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.path, append([]string{"-c", pythonSource}, args...)...)
	cmd.Env = p.env
	return output(ctx, cmd)
}

// versions are those of what rows are measured with.
func (p *python) versions() map[string]string {
	out := map[string]string{}
	for _, m := range []string{"netCDF4", "xarray", "zarr", "dask", "blobio"} {
		if v, ok := p.Has[m]; ok {
			out["python "+m] = v
		}
	}
	return out
}

// can is errSkip if a module is not there.
func (p *python) can(modules ...string) error {
	for _, m := range modules {
		if why, ok := p.Lacks[m]; ok {
			return fmt.Errorf("%s has no %s (%s): %w", p.path, m, why, errSkip)
		}
	}
	return nil
}

// level reads a level of T with a tool and compares it with what was put; -1 opens only.
func (p *python) level(ctx context.Context, tool, at string, level int64, scratch string) (t Took, err error) {
	if err := os.Remove(scratch); err != nil && !errors.Is(err, os.ErrNotExist) {
		return t, err
	}
	out, err := p.run(ctx, "level", tool, at, levelVar, fmt.Sprint(level), scratch)
	if err != nil {
		return t, err
	}
	if t, err = decodeTook(out); err != nil || level < 0 {
		return t, err
	}
	b, err := os.ReadFile(scratch)
	if err != nil {
		return t, err
	}
	return t, sameLevel(floats(b, binary.LittleEndian), at, level)
}

// mean computes the mean of a variable by dask in chunks, by dimension; Took.Note is the value.
func (p *python) mean(ctx context.Context, tool, at, name, chunks string, threads int) (Took, error) {
	out, err := p.run(ctx, "mean", tool, at, name, chunks, fmt.Sprint(threads))
	if err != nil {
		return Took{}, err
	}
	return decodeTook(bytes.TrimSpace(out))
}
