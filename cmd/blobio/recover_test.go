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
