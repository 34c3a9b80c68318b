package main

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
	"blobio/comm"
)

// copyDir copies the files of a directory: to the programs that look there, their writers are dead.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	check(t, os.MkdirAll(to, 0o777))
	list, err := os.ReadDir(from)
	check(t, err)
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(to, e.Name()), b, 0o666))
	}
}

// TestRecover: who is writing is told, a second writer refused, and what a dead one left is named by ls and check, and
// finished by recover.
func TestRecover(t *testing.T) {
	dir, canon, variable, _ := toys(t)
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
		bad(t, exitFailed, "in use by", "convert", "--force", "--to", "variable-centric", "--ranks", "3", canon, variable)
		bad(t, exitFailed, pid, "convert", "--force", "--to", "process-centric", "--ranks", "3", canon, variable)
		bad(t, exitFailed, pid, "recover", variable)
		if r := blobio(t, "recover", "-n", variable); r.code != exitFindings || !strings.Contains(r.out, "writing: ") || !strings.Contains(r.out, pid) {
			t.Errorf("recover -n while it is being written: %d\n%s%s", r.code, r.out, r.err)
		}
		if out := good(t, "ls", variable); !strings.Contains(out, "being written by") || !strings.Contains(out, pid) {
			t.Errorf("ls while it is being written:\n%s", out)
		}
		copyDir(t, here, dead)
		return nil
	})
	check(t, err)
	if out := good(t, "check", here); !strings.Contains(out, ": good") || strings.Contains(names(t, here), ".lock") {
		t.Errorf("after Abort: %s\n%s", names(t, here), out)
	}

	check(t, os.WriteFile(filepath.Join(dead, ".c.nc.0123abcd.partial"), []byte("CDF"), 0o666))
	if out := good(t, "ls", dead); !strings.Contains(out, "its next writer died") || !strings.Contains(out, "unfinished (blobio recover)") {
		t.Errorf("ls:\n%s", out)
	}
	if r := blobio(t, "check", filepath.Join(dead, "c.nc")); r.code != exitFindings || !strings.Contains(r.out, ".c.nc.0123abcd.partial: commit: the output was never finished") {
		t.Errorf("check of a conversion that was killed: %d\n%s%s", r.code, r.out, r.err)
	}
	if r := blobio(t, "check", "--strict", filepath.Join(dead, "toy.nc")); r.code != exitFindings || !strings.Contains(r.out, "has died") || !strings.Contains(r.out, "a partial subfile") {
		t.Errorf("check beside a dead writer: %d\n%s%s", r.code, r.out, r.err)
	}
	was := names(t, dead)
	r := blobio(t, "recover", "-n", dead)
	for _, want := range []string{"dead: ", ".manifest.next: remove", ".partial: remove", ".lock: remove", ".c.nc.0123abcd.partial: remove: of an output"} {
		if r.code != exitFindings || !strings.Contains(r.out, want) {
			t.Errorf("recover -n: %d, want %q in\n%s%s", r.code, want, r.out, r.err)
		}
	}
	if now := names(t, dead); now != was {
		t.Fatalf("recover -n has changed %s to %s", was, now)
	}
	var steps struct {
		Datasets []recovered `json:"datasets"`
	}
	check(t, json.Unmarshal([]byte(good(t, "recover", "--json", dead)), &steps))
	if len(steps.Datasets) != 2 || len(steps.Datasets[0].Steps) != 1 || len(steps.Datasets[1].Steps) < 3 {
		t.Errorf("recover --json: %+v", steps)
	}
	if now := names(t, dead); now != "toy.nc.0000 toy.nc.0001 toy.nc.manifest" {
		t.Errorf("left: %s", now)
	}
	if out := good(t, "recover", filepath.Join(dead, "toy.nc")); !strings.Contains(out, "nothing to do") {
		t.Errorf("again: %s", out)
	}
	good(t, "diff", filepath.Join(dead, "toy.nc"), canon)
}

// TestRecoverDirectories: what is left of outputs that are directories is named, and removed by the next run of the same output and by
// recover, whichever of its names is given.
func TestRecoverDirectories(t *testing.T) {
	dir, check1, native := mesh(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	hidden := func(name string) {
		t.Helper()
		left := at("." + name + ".0123abcd.partial")
		check(t, os.MkdirAll(filepath.Join(left, "mesh.partial"), 0o777))
		check(t, os.WriteFile(filepath.Join(left, "mesh.partial", "mesh.h5"), []byte("x"), 0o666))
	}
	was := names(t, dir)
	gone := func(what string) {
		t.Helper()
		if now := names(t, dir); now != was {
			t.Errorf("%s: left %q, want %q", what, now, was)
		}
	}
	for _, in := range []string{native, check1} {
		hidden("out")
		good(t, "amr", "convert", "--no-sync", "--to", "yt", in, at("out"))
		check(t, os.RemoveAll(at("out")))
		gone("the next run from " + in)
	}
	for _, name := range []string{"", "out"} {
		hidden("out")
		if r := blobio(t, "recover", "-n", at(name)); r.code != exitFindings || !strings.Contains(r.out, at(".out.0123abcd.partial")+": remove") {
			t.Errorf("recover -n %q: %d\n%s%s", name, r.code, r.out, r.err)
		}
		if out := good(t, "ls", dir); !strings.Contains(out, at("out")+" ") || !strings.Contains(out, "unfinished (blobio recover)") {
			t.Errorf("ls:\n%s", out)
		}
		good(t, "recover", at(name))
		gone("recover " + name)
	}
	hidden("out")
	check(t, os.Mkdir(at("out"), 0o777)) // it is there, of a run before
	check(t, os.WriteFile(at("out/of.me"), nil, 0o666))
	good(t, "recover", at("out"))
	if b := names(t, at("out")); b != "of.me" {
		t.Errorf("in the directory: %q", b)
	}
	check(t, os.RemoveAll(at("out")))
	gone("recover of what is there")

	for _, name := range []string{"", "dead", "dead.partial"} {
		check(t, os.CopyFS(at("dead.partial"), os.DirFS(check1)))
		check(t, os.Remove(at("dead.partial/check.file_list")))
		check(t, os.WriteFile(at("dead.partial/blobio.writing"), []byte("id\n"), 0o666))
		if r := blobio(t, "recover", "-n", at(name)); r.code != exitFindings || !strings.Contains(r.out, at("dead.partial")+": remove") || !there(at("dead.partial")) {
			t.Errorf("recover -n %q: %d\n%s%s", name, r.code, r.out, r.err)
		}
		good(t, "recover", at(name))
		gone("recover " + name)
	}
	check(t, os.Mkdir(at("mine.partial"), 0o777))
	check(t, os.WriteFile(at("mine.partial/blobio.writing"), nil, 0o666))
	check(t, os.WriteFile(at("mine.partial/notes"), nil, 0o666))
	bad(t, exitFailed, "notes in it is not of a writer", "recover", at("mine"))
	if !there(at("mine.partial/notes")) {
		t.Error("a file that is not of a writer is gone")
	}
}
