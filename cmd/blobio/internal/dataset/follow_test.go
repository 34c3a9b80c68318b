package dataset_test

import (
	"context"
	"encoding/json"
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
)

// TestFollowNothing checks that the verb describes a dataset without commits and with an unreadable lease, and ends.
func TestFollowNothing(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	name := filepath.Join(t.TempDir(), "d.nc")
	clitest.Check(t, os.WriteFile(name+".0000.w0123abcd.partial", nil, 0o666))
	clitest.Check(t, os.WriteFile(filepath.Join(filepath.Dir(name), ".d.nc.lock"), nil, 0))
	looks := 0
	code, out, err := dataset.Waited(t.Context(), name, func() bool { looks++; return looks > 1 })
	if err != nil || code != cli.Findings || looks != 2 || !strings.Contains(out, "nothing committed yet, and its writer (an unknown writer) is alive or has died") {
		t.Errorf("%d, %q, %v after %d looks", code, out, err, looks)
	}
}

// TestFollow checks that the verb prints each record once, in order, during the writing, and runs a command for each record.
// The verb ends with the writer, and its exit code shows how the writer ended.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	here, dead := filepath.Join(dir, "here"), filepath.Join(dir, "dead")
	clitest.Check(t, os.Mkdir(here, 0o777))
	name, list := filepath.Join(here, "d.nc"), filepath.Join(dir, "list")
	const records = 4
	told := make(chan clitest.Result, 1)
	go func() {
		told <- clitest.Blobio(t, "ls", "--follow", "--json", "--wait", "--from", "0", "--exec", `echo "$BLOBIO_RECORD" >> `+list, name)
	}()
	err := comm.Run(t.Context(), 1, nil, func(ctx context.Context, c comm.Comm) error {
		s := blob.NewSchema()
		time := s.Dim("time", blob.Unlimited)
		v := s.Var("level", cdf5.Double, []blob.DimID{time})
		w, err := blob.Create(ctx, c, name, s, nil, nil)
		if err != nil {
			return err
		}
		defer w.Abort()
		for rec := range int64(records) {
			clitest.Check(t, blob.Put(w, v, rec, []float64{float64(rec) + 0.5}))
			clitest.Check(t, w.Commit(ctx))
			if rec == 1 {
				copyDir(t, here, dead)
			}
		}
		return w.Close(ctx)
	})
	clitest.Check(t, err)
	r := <-told
	if r.Code != cli.Good {
		t.Errorf("ls --follow: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	lines := strings.Split(strings.TrimSpace(r.Out), "\n")
	if len(lines) != records+1 {
		t.Fatalf("%d lines, want %d and the end:\n%s", len(lines), records, r.Out)
	}
	for rec, l := range lines[:records] {
		var x struct {
			Record    int
			Variables []struct {
				Name           string
				Min, Max, Mean float64
				Values         int
			}
		}
		if err := json.Unmarshal([]byte(l), &x); err != nil || x.Record != rec || len(x.Variables) != 1 || x.Variables[0].Mean != float64(rec)+0.5 || x.Variables[0].Values != 1 {
			t.Errorf("record %d: %s: %v", rec, l, err)
		}
	}
	if !strings.Contains(lines[records], `"state":"finished"`) {
		t.Errorf("the end: %s", lines[records])
	}
	if b, err := os.ReadFile(list); string(b) != "0\n1\n2\n3\n" {
		t.Errorf("commands: %q, %v", b, err)
	}
	left := filepath.Join(dead, "d.nc")
	r = clitest.Blobio(t, "ls", "--follow", "--from", "1", left)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "its writer died after commit 2, 2 records") || !strings.Contains(r.Out, "level") || strings.Contains(r.Out, "0.5 ") {
		t.Errorf("follow of the dead: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r = clitest.Blobio(t, "check", "--json", left); !strings.Contains(r.Out, `"state": "died"`) || !strings.Contains(r.Out, `"commit": 2`) {
		t.Errorf("check of the dead: %s%s", r.Out, r.Err)
	}
	if r = clitest.Blobio(t, "ls", "--follow", "--from", "3", "--exec", "exit 3", name); r.Code != cli.Findings || !strings.Contains(r.Err, "record 3: the command of --exec failed") {
		t.Errorf("a command that fails: %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if code, err := dataset.Followed(blob.Status{State: blob.Writing}); code != cli.Good || err != nil {
		t.Errorf("the next writer has begun: %d, %v", code, err)
	}
	clitest.Bad(t, cli.Failed, "file does not exist", "ls", "--follow", filepath.Join(dir, "none.nc"))
	clitest.Bad(t, cli.Failed, "no variable", "ls", "--follow", "-v", "none", name)
	clitest.Bad(t, cli.Failed, "one dataset, found 2", "ls", "--follow", name, left)
	clitest.Bad(t, cli.Failed, "--stats and --follow cannot be combined", "ls", "--follow", "--stats", name)
	clitest.Bad(t, cli.Failed, "--from needs --follow", "ls", "--from", "1", name)
}
