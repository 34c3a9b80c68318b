package scrtools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/comm"
	"blobio/internal/cli"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/scr"
)

// crashed leaves a checkpoint of four ranks in the caches of four nodes, as after a crash.
func crashed(t *testing.T, prefix, root string) (file func(rank int) (name string, want []byte)) {
	t.Helper()
	for name, v := range map[string]string{"SCR_PREFIX": prefix, "SCR_CNTL_BASE": "/local", "SCR_CACHE_BASE": "/local", "SCR_CACHE_BYPASS": "0", "SCR_FLUSH": "0", "SCR_COPY_TYPE": "XOR", "SCR_JOB_ID": "7"} {
		t.Setenv(name, v)
	}
	set, err := config.Load(config.Sources{})
	clitest.Check(t, err)
	file = func(rank int) (string, []byte) {
		return filepath.Join(prefix, "step1", fmt.Sprintf("rank_%d", rank)), bytes.Repeat([]byte{byte('a' + rank)}, 1000+rank)
	}
	clitest.Check(t, comm.Run(t.Context(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		node := fmt.Sprintf("n%d", c.Rank()+1)
		s, err := scr.Open(ctx, c, &scr.Config{Params: set, Node: node, NodeRoot: filepath.Join(root, node)})
		if err != nil {
			return err
		}
		if err := s.Start(ctx, "step1", scr.Checkpoint); err != nil {
			return err
		}
		name, data := file(c.Rank())
		to, err := s.Route(name)
		if err != nil {
			return err
		}
		// Route returns the name on the node. The simulated disk of the node is below root/node.
		if !strings.HasPrefix(to, root) {
			to = filepath.Join(root, node, to)
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			return err
		}
		return s.Complete(ctx, true) // without Close
	}))
	return file
}

// A node is lost with its caches. postrun must save the checkpoint and rebuild the lost file, and run would start from it.
func TestScrPostrunSaves(t *testing.T) {
	prefix, root := allocation(t), t.TempDir()
	clitest.Good(t, "scr", "run", "--only", "prerun", "-s", "SCR_CNTL_BASE=/local", "-s", "SCR_CACHE_BASE=/local", "--nodes", "n[1-4]", "--node-root", root, "--prefix", prefix)
	file := crashed(t, prefix, root)
	clitest.Check(t, os.RemoveAll(filepath.Join(root, "n3")))
	r := clitest.Blobio(t, "scr", "run", "--only", "postrun", "--nodes", "n[1-4]", "--node-root", root, "--json", "--prefix", prefix)
	var got struct {
		Down     []struct{ Node string }
		Datasets []scrtools.ScrRebuilt
		Current  string
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || r.Code != cli.Good {
		t.Fatal(r, err)
	}
	if len(got.Down) != 1 || got.Down[0].Node != "n3" || len(got.Datasets) != 1 || !got.Datasets[0].OK || len(got.Datasets[0].Rebuilt) != 1 || got.Current != "step1" {
		t.Errorf("%s", r.Out)
	}
	for rank := range 4 {
		name, want := file(rank)
		if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
	x, err := prefixdir.Open(nil, prefix).Index.Read()
	if err != nil || x.Current() != "step1" {
		t.Error(err)
	}
	clitest.Shows(t, "nothing to save", "scr", "run", "--only", "postrun", "--nodes", "n[1-4]", "--node-root", root, "--prefix", prefix)
}

// Two lost nodes of four are too many for XOR. postrun must report this, and list nothing as complete.
func TestScrPostrunCannot(t *testing.T) {
	prefix, root := allocation(t), t.TempDir()
	crashed(t, prefix, root)
	r := clitest.Blobio(t, "scr", "run", "--only", "postrun", "--nodes", "n[1-4]", "--node-root", root, "--down", "n1,n3", "--prefix", prefix)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "is not saved") {
		t.Error(r)
	}
}

// scr run must save the checkpoint at its end, even if no run ended normally.
func TestScrRunSaves(t *testing.T) {
	prefix, root := allocation(t), t.TempDir()
	ready, done := filepath.Join(prefix, "ready"), filepath.Join(prefix, "done")
	over := make(chan clitest.Result, 1)
	t.Setenv("SCR_CNTL_BASE", "/local")
	t.Setenv("SCR_CACHE_BASE", "/local")
	t.Setenv("SCR_JOB_ID", "7")
	go func() {
		over <- clitest.Blobio(t, "scr", "run", "--prefix", prefix, "--nodes", "n[1-4]", "--node-root", root, "--", "sh", "-c",
			": > "+ready+"; while test -e "+ready+" && ! test -e "+done+"; do sleep 0.01; done; exit 3")
	}()
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		select {
		case r := <-over:
			t.Fatal(r)
		default:
		}
	}
	file := crashed(t, prefix, root) // writes what the program would write during its run
	clitest.Check(t, os.RemoveAll(filepath.Join(root, "n2")))
	clitest.Check(t, os.WriteFile(done, nil, 0o644))
	r := <-over
	if r.Code != cli.Findings || !strings.Contains(r.Err, "step1 is complete") || !strings.Contains(r.Err, "starts from step1") {
		t.Error(r)
	}
	for rank := range 4 {
		name, want := file(rank)
		if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
}

// The caches name the prefix directory by its real path. postrun must accept a link to that directory. For a moved directory,
// the error must name scr scavenge --was.
func TestScrPostrunOtherNames(t *testing.T) {
	prefix, root := allocation(t), t.TempDir()
	file := crashed(t, prefix, root)
	moved := filepath.Join(t.TempDir(), "moved")
	clitest.Check(t, os.CopyFS(moved, os.DirFS(prefix)))
	r := clitest.Blobio(t, "scr", "run", "--only", "postrun", "--nodes", "n[1-4]", "--node-root", root, "--json", "--prefix", moved)
	var got struct {
		Failed []struct{ Node, Error string }
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || r.Code != cli.Findings || len(got.Failed) != 4 || got.Failed[2].Node != "n3" ||
		!strings.Contains(got.Failed[2].Error, "see scr scavenge --was") {
		t.Errorf("%v: %+v", err, r)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(prefix, link); err != nil {
		t.Skip(err)
	}
	clitest.Shows(t, "dataset 1 step1 is complete", "scr", "run", "--only", "postrun", "--nodes", "n[1-4]", "--node-root", root, "--prefix", link)
	for rank := range 4 {
		name, want := file(rank)
		if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
}
