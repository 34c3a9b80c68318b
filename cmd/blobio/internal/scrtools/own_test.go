package scrtools_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/cli"
	"blobio/internal/scr/config"
	"blobio/scr"
)

// ownCluster lets the library write checkpoints 1 and 2 of four ranks, each on its own node. Checkpoint 2 is flushed and in the
// caches. ownCluster returns the prefix directory, and the nodes for --control.
func ownCluster(t *testing.T, change func(c *scr.Config), env ...string) (prefix string, controls []string) {
	t.Helper()
	root := t.TempDir()
	prefix = filepath.Join(root, "prefix")
	clitest.Check(t, os.Mkdir(prefix, 0o777))
	set, err := config.Load(config.Sources{Environ: append([]string{"SCR_PREFIX=" + prefix, "SCR_CNTL_BASE=/local", "SCR_CACHE_BASE=/local", "SCR_CACHE_SIZE=1",
		"SCR_CACHE_BYPASS=0", "SCR_SET_SIZE=4", "SCR_FLUSH=2", "SCR_USER_NAME=u", "SCR_JOB_ID=1", "SCR_LOG_SYSLOG_ENABLE=0"}, env...)})
	clitest.Check(t, err)
	for i := range 4 {
		clitest.Check(t, os.MkdirAll(filepath.Join(root, fmt.Sprint("n", i), "local"), 0o777))
		controls = append(controls, "/local/u/scr.1="+filepath.Join(root, fmt.Sprint("n", i), "local/u/scr.1"))
	}
	clitest.Check(t, comm.Run(t.Context(), 4, &comm.Options{RanksPerNode: 1}, func(ctx context.Context, c comm.Comm) error {
		node := fmt.Sprint("n", c.Rank())
		o := &scr.Config{Params: set, Dir: prefix, Node: node, NodeRoot: filepath.Join(root, node), NoCacheSync: true, NoSync: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
		if change != nil {
			change(o)
		}
		s, err := scr.Open(ctx, c, o)
		if err != nil {
			return err
		}
		for id := range 2 {
			if err := s.Start(ctx, fmt.Sprint("ckpt.", id+1), scr.Checkpoint); err != nil {
				return err
			}
			for i := range 2 {
				name, err := s.Route(fmt.Sprintf("ckpt.%d/rank_%d.%d", id+1, c.Rank(), i))
				if err != nil {
					return err
				}
				b := make([]byte, 900+37*c.Rank()+i)
				rand.New(rand.NewSource(int64(id*100 + c.Rank()*10 + i))).Read(b)
				if err := os.WriteFile(name, b, 0o666); err != nil {
					return err
				}
			}
			if err := s.Complete(ctx, true); err != nil {
				return err
			}
		}
		return s.Close(ctx)
	}))
	return prefix, controls
}

// Files that the library writes must be good, in all schemes and layouts; check must find a flipped byte in any of these files.
func TestScrCheckFindsEachByte(t *testing.T) {
	for _, c := range crashtest.Some(t, 2, []struct {
		name   string
		change func(c *scr.Config)
		env    []string
	}{
		{"single", nil, []string{"SCR_COPY_TYPE=SINGLE"}},
		{"partner", nil, []string{"SCR_COPY_TYPE=PARTNER"}},
		{"xor", nil, []string{"SCR_COPY_TYPE=XOR"}},
		{"rs", nil, []string{"SCR_COPY_TYPE=RS", "SCR_SET_FAILURES=2"}},
		{"xor bypass", nil, []string{"SCR_COPY_TYPE=XOR", "SCR_CACHE_BYPASS=1"}},
		{"containers", nil, []string{"SCR_COPY_TYPE=XOR", "SCR_USE_CONTAINERS=1", "SCR_CONTAINER_SIZE=3000"}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != "rs" {
				t.Skip("SKIPPED: -short")
			}
			prefix, controls := ownCluster(t, c.change, c.env...)
			all := []string{"scr", "check", "--strict", "--notes", prefix}
			for _, n := range controls {
				all = append(all, "--control", n)
			}
			got := clitest.Good(t, all...)
			if strings.Count(got, ": good; ") != 5 || strings.Count(got, "all bytes match their checksums") != 5 || strings.Count(got, "\n") != 5 {
				t.Fatalf("whole:\n%s", got)
			}
			_, node, _ := strings.Cut(controls[1], "=")
			tried := 0
			for _, place := range []struct {
				dir  string
				args []string
			}{{prefix, []string{prefix}}, {node, []string{"--control", controls[1]}}} {
				args := append([]string{"scr", "check", "--strict"}, place.args...)
				clitest.Check(t, filepath.WalkDir(place.dir, func(name string, e fs.DirEntry, err error) error {
					if err != nil || e.IsDir() || e.Name() == "index.lock" || e.Name() == "log" {
						return err
					}
					b, err := os.ReadFile(name)
					if err != nil || len(b) == 0 {
						return err
					}
					tried++
					at := rand.New(rand.NewSource(int64(tried))).Intn(len(b))
					clitest.FlipByte(t, name, at)
					if r := clitest.Blobio(t, args...); r.Code != cli.Findings {
						t.Errorf("%s: byte %d of %d: exit code %d\n%s%s", name, at, len(b), r.Code, r.Out, r.Err)
					}
					clitest.FlipByte(t, name, at)
					if c.name != "xor" {
						return nil
					}
					clitest.Check(t, os.Rename(name, name+".away"))
					r := clitest.Blobio(t, args...)
					if may := absenceIsLegal(e.Name()); (r.Code == cli.Findings) == may && r.Code != cli.Failed {
						t.Errorf("%s is gone: exit code %d\n%s%s", name, r.Code, r.Out, r.Err)
					}
					return os.Rename(name+".away", name)
				}))
			}
			if tried < 12 {
				t.Errorf("only %d files", tried)
			}
			clitest.Good(t, all...)
		})
	}
}

// absenceIsLegal reports whether a missing file is not an error.
func absenceIsLegal(name string) bool {
	switch name {
	case "flush.scr", "halt.scr", "nodes.scr", "app.conf": // optional files
		return true
	}
	return strings.HasSuffix(name, ".redsum") // SCR does not write these files
}
