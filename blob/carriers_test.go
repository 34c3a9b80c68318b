package blob

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/base/testfiles"
)

// filesOf lists the files of a dataset by the prefix of their names, like a user. If lock is set, the list includes the lease.
func filesOf(base string, lock bool) (list []string) {
	dir, name := filepath.Split(base)
	entries := need(os.ReadDir(dir))
	for _, e := range entries {
		n := e.Name()
		if strings.HasPrefix(n, name+".") || strings.HasPrefix(n, name+"+") || lock && strings.HasPrefix(n, "."+name+".lock") {
			list = append(list, filepath.Join(dir, n))
		}
	}
	return list
}

// renamedTo replaces the dataset name base in a file name by to.
func renamedTo(file, base, to string) string {
	return filepath.Join(filepath.Dir(to), strings.Replace(filepath.Base(file), filepath.Base(base), filepath.Base(to), 1))
}

// A carrier copies the files of a dataset to another name, or moves them if moves is set.
type carrier struct {
	name  string
	moves bool
	carry func(files []string, base, to string) error
}

func copyOne(from, to string) error {
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o666)
	}
	return err
}

// carriers copy and move with system calls, like mv, cp, rsync and tar.
var carriers = []carrier{
	{"mv", true, func(files []string, base, to string) (err error) {
		for _, f := range files {
			err = errors.Join(err, os.Rename(f, renamedTo(f, base, to)))
		}
		return err
	}},
	{"cp", false, func(files []string, base, to string) (err error) {
		for _, f := range files {
			err = errors.Join(err, copyOne(f, renamedTo(f, base, to)))
		}
		return err
	}},
	{"rsync", false, func(files []string, base, to string) (err error) {
		for _, f := range files {
			name := renamedTo(f, base, to)
			temp := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".aBcDeF")
			err = errors.Join(err, copyOne(f, temp), os.Rename(temp, name))
		}
		return err
	}},
	{"tar", false, func(files []string, base, to string) error {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, f := range files {
			content, err := os.ReadFile(f)
			must(err)
			must(w.WriteHeader(&tar.Header{Name: filepath.Base(f), Size: int64(len(content)), Mode: 0o666}))
			need(w.Write(content))
		}
		must(w.Close())
		for r := tar.NewReader(&b); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			must(err)
			content, err := io.ReadAll(r)
			must(errors.Join(err, os.WriteFile(renamedTo(h.Name, base, to), content, 0o666)))
		}
	}},
}

// programs returns carriers that run the programs mv, cp, rsync and tar.
func programs(t *testing.T) []carrier {
	each := func(command ...string) func(files []string, base, to string) error {
		return func(files []string, base, to string) (err error) {
			for _, f := range files {
				if out, xerr := exec.Command(command[0], append(command[1:], f, renamedTo(f, base, to))...).CombinedOutput(); xerr != nil {
					err = errors.Join(err, fmt.Errorf("%v %s: %w: %s", command, f, xerr, out))
				}
			}
			return err
		}
	}
	for _, p := range []string{"mv", "cp", "rsync", "tar"} {
		testfiles.Judge(t, p)
	}
	return []carrier{{"mv", true, each("mv")}, {"cp", false, each("cp")}, {"cp -a", false, each("cp", "-a")}, {"rsync", false, each("rsync", "-a")},
		{"tar", false, func(files []string, base, to string) error {
			ball := to + "-ball.tar"
			defer os.Remove(ball)
			args := []string{"-cf", ball, "-C", filepath.Dir(base)}
			for _, f := range files {
				args = append(args, "./"+filepath.Base(f))
			}
			quote := func(s string) string { return strings.ReplaceAll(s, ".", `\.`) }
			out, err := exec.Command("tar", args...).CombinedOutput()
			if err == nil {
				out, err = exec.Command("tar", "-xf", ball, "-C", filepath.Dir(to), "--transform", "s/"+quote(filepath.Base(base))+"/"+filepath.Base(to)+"/").CombinedOutput()
			}
			if err != nil {
				return fmt.Errorf("tar: %w: %s", err, out)
			}
			return nil
		}}}
}
