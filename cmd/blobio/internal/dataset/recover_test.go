package dataset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/dataset"
	"blobio/comm"
	"blobio/internal/cli"
	"blobio/internal/subfile"
)

// copyDir copies the files of a directory, so that their writers appear dead.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	clitest.Check(t, os.MkdirAll(to, 0o777))
	list, err := os.ReadDir(from)
	clitest.Check(t, err)
	for _, e := range list {
		b := clitest.Read(t, filepath.Join(from, e.Name()))
		clitest.Check(t, os.WriteFile(filepath.Join(to, e.Name()), b, 0o666))
	}
}

// TestRecover checks that ls and check name an active writer, and that a second writer is rejected. ls and check name the remains
// of a dead writer, and recover finishes the dataset.
func TestRecover(t *testing.T) {
	dir, canon, variable, _ := clitest.Toys(t)
	here, dead := filepath.Dir(variable), filepath.Join(dir, "dead")
	pid := fmt.Sprintf("process %d, since", os.Getpid())
	err := comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		col := s.Dim("ncol", 6)
		s.Var("P0", cdf5.Double, []blob.DimID{col})
		w, err := blob.Create(ctx, c, variable, s, nil, &blob.Options{Force: true})
		if err != nil {
			return err
		}
		defer w.Abort()
		clitest.Bad(t, cli.Failed, "in use by", "convert", "--force", "--to", "variable-centric", "--ranks", "3", canon, variable)
		clitest.Bad(t, cli.Failed, pid, "convert", "--force", "--to", "process-centric", "--ranks", "3", canon, variable)
		clitest.Bad(t, cli.Failed, pid, "recover", variable)
		if r := clitest.Blobio(t, "recover", "-n", variable); r.Code != cli.Findings || !strings.Contains(r.Out, "writing: ") || !strings.Contains(r.Out, pid) {
			t.Errorf("recover -n while it is being written: %d\n%s%s", r.Code, r.Out, r.Err)
		}
		clitest.Holds(t, clitest.Good(t, "ls", variable), "being written by", pid)
		copyDir(t, here, dead)
		return nil
	})
	clitest.Check(t, err)
	if out := clitest.Good(t, "check", here); !strings.Contains(out, ": good") || strings.Contains(clitest.Names(t, here), ".lock") {
		t.Errorf("after Abort: %s\n%s", clitest.Names(t, here), out)
	}

	clitest.Check(t, os.WriteFile(filepath.Join(dead, ".c.nc.0123abcd.partial"), []byte("CDF"), 0o666))
	clitest.Holds(t, clitest.Good(t, "ls", dead), "its next writer died", "unfinished (blobio recover)")
	clitest.Bad(t, cli.Findings, ".c.nc.0123abcd.partial: commit: the output is unfinished", "check", filepath.Join(dead, "c.nc"))
	if r := clitest.Blobio(t, "check", "--strict", filepath.Join(dead, "toy.nc")); r.Code != cli.Findings || !strings.Contains(r.Out, "has died") || !strings.Contains(r.Out, "this partial subfile does not belong to the dataset") {
		t.Errorf("check beside a dead writer: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	was := clitest.Names(t, dead)
	r := clitest.Blobio(t, "recover", "-n", dead)
	for _, want := range []string{"dead: ", ".manifest.next: remove", ".partial: remove", ".lock: remove", ".c.nc.0123abcd.partial: remove: leftover of an unfinished output"} {
		if r.Code != cli.Findings || !strings.Contains(r.Out, want) {
			t.Errorf("recover -n: %d, want %q in\n%s%s", r.Code, want, r.Out, r.Err)
		}
	}
	if now := clitest.Names(t, dead); now != was {
		t.Fatalf("recover -n has changed %s to %s", was, now)
	}
	var steps struct {
		Datasets []dataset.Recovered `json:"datasets"`
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "recover", "--json", dead)), &steps))
	if len(steps.Datasets) != 2 || len(steps.Datasets[0].Steps) != 1 || len(steps.Datasets[1].Steps) < 3 {
		t.Errorf("recover --json: %+v", steps)
	}
	if now := clitest.Names(t, dead); now != "toy.nc.0000 toy.nc.0001 toy.nc.manifest" {
		t.Errorf("left: %s", now)
	}
	clitest.Shows(t, "nothing to do", "recover", filepath.Join(dead, "toy.nc"))
	clitest.Good(t, "diff", filepath.Join(dead, "toy.nc"), canon)

	was = clitest.Names(t, dead)
	for _, dry := range []string{"--dry-run=true", "--dry-run=false"} {
		clitest.Bad(t, cli.Failed, "none.nc: no file, dataset or unfinished output of this name", "recover", dry, filepath.Join(dead, "none.nc"))
		clitest.Bad(t, cli.Failed, "no file, dataset or unfinished output", "recover", dry, filepath.Join(dead, "none", "none.nc"))
	}
	if now := clitest.Names(t, dead); now != was {
		t.Errorf("recover of nothing has changed %s to %s", was, now)
	}
	clitest.Check(t, os.WriteFile(filepath.Join(dead, "new.nc.0000.partial"), []byte("CDF"), 0o666)) // remains of a writer without a manifest
	if out := clitest.Good(t, "recover", filepath.Join(dead, "new.nc")); !strings.Contains(out, "new.nc.0000.partial: remove") || clitest.Names(t, dead) != was {
		t.Errorf("recover of a first writer that died: %s\n%s", out, clitest.Names(t, dead))
	}
}

// TestRecoverDirectories checks that ls and check name the remains of outputs that are directories. The next run with the same
// output removes the remains; recover removes them by any of their names.
func TestRecoverDirectories(t *testing.T) {
	dir, check1, _ := clitest.Mesh(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	hidden := func(name string) {
		t.Helper()
		left := at("." + name + ".0123abcd.partial")
		clitest.Check(t, os.MkdirAll(filepath.Join(left, "mesh.partial"), 0o777))
		clitest.Check(t, os.WriteFile(filepath.Join(left, "mesh.partial", "mesh.h5"), []byte("x"), 0o666))
	}
	was := clitest.Names(t, dir)
	gone := func(what string) {
		t.Helper()
		if now := clitest.Names(t, dir); now != was {
			t.Errorf("%s: left %q, want %q", what, now, was)
		}
	}
	for _, name := range []string{"", "out"} {
		hidden("out")
		if r := clitest.Blobio(t, "recover", "-n", at(name)); r.Code != cli.Findings || !strings.Contains(r.Out, at(".out.0123abcd.partial")+": remove") {
			t.Errorf("recover -n %q: %d\n%s%s", name, r.Code, r.Out, r.Err)
		}
		if out := clitest.Good(t, "ls", dir); !strings.Contains(out, at("out")+" ") || !strings.Contains(out, "unfinished (blobio recover)") {
			t.Errorf("ls:\n%s", out)
		}
		clitest.Good(t, "recover", at(name))
		gone("recover " + name)
	}
	hidden("out")
	clitest.Check(t, os.Mkdir(at("out"), 0o777)) // left by an earlier run
	clitest.Check(t, os.WriteFile(at("out/of.me"), nil, 0o666))
	clitest.Good(t, "recover", at("out"))
	if b := clitest.Names(t, at("out")); b != "of.me" {
		t.Errorf("in the directory: %q", b)
	}
	clitest.Check(t, os.RemoveAll(at("out")))
	gone("recover of what is there")

	for _, name := range []string{"", "dead", "dead.partial"} {
		clitest.Check(t, os.CopyFS(at("dead.partial"), os.DirFS(check1)))
		clitest.Check(t, os.Remove(at("dead.partial/check.file_list")))
		clitest.Check(t, os.WriteFile(at("dead.partial/blobio.writing"), []byte("id\n"), 0o666))
		if r := clitest.Blobio(t, "recover", "-n", at(name)); r.Code != cli.Findings || !strings.Contains(r.Out, at("dead.partial")+": remove") || !clitest.There(at("dead.partial")) {
			t.Errorf("recover -n %q: %d\n%s%s", name, r.Code, r.Out, r.Err)
		}
		clitest.Good(t, "recover", at(name))
		gone("recover " + name)
	}
	clitest.Check(t, os.Mkdir(at("mine.partial"), 0o777))
	clitest.Check(t, os.WriteFile(at("mine.partial/blobio.writing"), nil, 0o666))
	clitest.Check(t, os.WriteFile(at("mine.partial/notes"), nil, 0o666))
	clitest.Bad(t, cli.Failed, "notes in this directory was not written by this program", "recover", at("mine"))
	if !clitest.There(at("mine.partial/notes")) {
		t.Error("a file that is not of a writer is gone")
	}
}

// TestCommitted checks a dataset that is committed several times during the writing. ls and check show whether its writer is
// alive or dead, and at which commit. During the writing, committed data can be dumped and converted. recover finishes the
// dataset of a dead writer.
func TestCommitted(t *testing.T) {
	dir := t.TempDir()
	here, dead := filepath.Join(dir, "here"), filepath.Join(dir, "dead")
	clitest.Check(t, os.Mkdir(here, 0o777))
	name := filepath.Join(here, "d.nc")
	err := comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		time := s.Dim("time", blob.Unlimited)
		v := s.Var("level", cdf5.Double, []blob.DimID{time})
		w, err := blob.Create(ctx, c, name, s, nil, nil)
		if err != nil {
			return err
		}
		defer w.Abort()
		for rec := range int64(3) {
			clitest.Check(t, blob.Put(w, v, rec, []float64{float64(rec) + 0.5}))
			clitest.Check(t, w.Commit(ctx))
		}
		clitest.Holds(t, clitest.Good(t, "ls", name), "being written by", "at commit 3, 3 records")
		clitest.Good(t, "check", name)
		clitest.Good(t, "convert", name, filepath.Join(dir, "then.nc"))
		copyDir(t, here, dead)
		clitest.Check(t, blob.Put(w, v, 3, []float64{3.5}))
		return w.Close(ctx)
	})
	clitest.Check(t, err)
	left := filepath.Join(dead, "d.nc")
	clitest.Shows(t, "its writer died after commit 3, 3 records", "ls", left)
	if r := clitest.Blobio(t, "check", left); !strings.Contains(r.Out, "commit 3 is in force, with 3 records") {
		t.Errorf("check of the dead: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	clitest.Bad(t, cli.Findings, "merge into the manifest", "recover", "-n", dead)
	clitest.Good(t, "recover", dead)
	if out := clitest.Good(t, "ls", left); strings.Contains(out, "died") || strings.Contains(clitest.Names(t, dead), ".log") {
		t.Errorf("recovered: %s\n%s", clitest.Names(t, dead), out)
	}
	clitest.Good(t, "convert", left, filepath.Join(dir, "now.nc"))
	clitest.Good(t, "diff", filepath.Join(dir, "then.nc"), filepath.Join(dir, "now.nc"))
	if out := clitest.Good(t, "ls", here); strings.Contains(out, "died") || strings.Contains(out, "being written") {
		t.Errorf("closed:\n%s", out)
	}
}

// TestLsLostManifest checks a dataset with a lost manifest. ls must report the error of other readers, not a foreign dataset.
func TestLsLostManifest(t *testing.T) {
	_, _, variable, process := clitest.Toys(t)
	for _, name := range []string{process, variable} {
		clitest.Continue(t, name, 2, 1, nil)
		clitest.Continue(t, name, 2, 2, nil)
	}
	clitest.Check(t, os.Remove(subfile.ManifestName(process)))
	dir := filepath.Dir(process)
	for _, args := range [][]string{{"ls", process}, {"ls", "--json", process}, {"ls", dir}, {"ls", "--json", dir}} {
		clitest.Bad(t, cli.Findings, "sets that need a manifest", args...)
	}
	clitest.Bad(t, cli.Findings, "sets that need a manifest", "dump", process)
	clitest.Good(t, "ls", variable)
}
