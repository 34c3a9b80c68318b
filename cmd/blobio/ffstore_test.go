package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/ffstore"
)

// ffStore makes a store of two ranks with checkpoints 4 and 5.
func ffStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	check(t, comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := ffstore.Open(ctx, c, dir, &ffstore.Options{Keep: 2, Durability: ffstore.DurableNone, Clock: func() time.Time { return now }})
		if err != nil {
			return err
		}
		defer s.Close(ctx)
		for _, id := range []int32{3, 4, 5} {
			data := bytes.Repeat([]byte{byte(c.Rank() + 1)}, 1000)
			data[id] = byte(id)
			if err := s.Protect(7, data); err != nil {
				return err
			}
			if _, err := s.CheckpointDiff(ctx, id); err != nil {
				return err
			}
		}
		return nil
	}))
	return dir
}

func TestFFStore(t *testing.T) {
	dir := ffStore(t)
	out := good(t, "ff", "ls", dir)
	for _, w := range []string{dir + ": store of checkpoints, FTI-FF layout F, 2 ranks, 3 slots, ", "\n         4  2026-01-02 03:04:05 UTC          2  1.95 KiB  ", "\n         5  "} {
		if !strings.Contains(out, w) {
			t.Errorf("ff ls has no %q:\n%s", w, out)
		}
	}
	if out := good(t, "ff", "ls", dir+"@4"); !strings.Contains(out, "dCPFile-Rank0.fti") || !strings.Contains(out, "dCPFile-Rank1.fti") {
		t.Errorf("ff ls of a checkpoint:\n%s", out)
	}
	if out := good(t, "ff", "ls", dir+"@4/1"); !strings.Contains(out, "checkpoint 4") || !strings.Contains(out, "map:") {
		t.Errorf("ff ls of a rank:\n%s", out)
	}
	var d struct {
		Stores []struct {
			Ranks, Slots, Files int
			Checkpoints         []struct{ ID, Data int64 }
		}
	}
	check(t, json.Unmarshal([]byte(good(t, "ff", "ls", "--json", dir)), &d))
	if len(d.Stores) != 1 || d.Stores[0].Ranks != 2 || len(d.Stores[0].Checkpoints) != 2 || d.Stores[0].Checkpoints[1].ID != 5 {
		t.Errorf("ff ls --json: %+v", d)
	}
	if out := good(t, "ff", "dump", "--var", "7", "--type", "u1", "--elements", "4:7", "--plain", dir); out != "1\n5\n1\n" {
		t.Errorf("ff dump of the newest: %q", out)
	}
	if out := good(t, "ff", "dump", "--var", "7", "--type", "u1", "--elements", "4", "--plain", dir+"@4/1"); out != "4\n" {
		t.Errorf("ff dump of a rank: %q", out)
	}
	r := blobio(t, "ff", "diff", dir+"@4/1", dir+"@5/1")
	if r.code != exitFindings || !strings.Contains(r.out, "variable 7: 2 of 1000 bytes differ") {
		t.Errorf("ff diff: %+v", r)
	}
	x := t.TempDir()
	good(t, "ff", "extract", dir+"@5/1", "-o", x)
	good(t, "ff", "convert", "--no-sync", "--layout", "B", dir+"@5/1", filepath.Join(x, "b.fti"))
	for _, verb := range []string{"convert", "compact", "repair"} { // a file of the store is not replaced by itself
		bad(t, exitFailed, "input and output are one file", "ff", verb, "--force", dir+"@5/1", ffstore.FileName(dir, 2, 1))
	}
	if !strings.Contains(out, "\nspare: checkpoint 3 in slot 0, ") {
		t.Errorf("ff ls names no spare:\n%s", out)
	}
	if out := good(t, "ff", "dump", "--var", "7", "--type", "u1", "--elements", "3", "--plain", dir+"@3/1"); out != "3\n" {
		t.Errorf("ff dump of a spare: %q", out)
	}
	bad(t, exitFailed, "no checkpoint 2 in "+dir+", there are 3, 4, 5", "ff", "ls", dir+"@2")
	bad(t, exitFailed, "no rank 2", "ff", "dump", dir+"@4/2")
	bad(t, exitFailed, "no such file", "ff", "dump", dir+"@x")

	if out := good(t, "ff", "check", "--strict", dir); out != dir+": good\n" {
		t.Errorf("ff check: %s", out)
	}

	for _, slot := range []string{"slot0", "slot1", "slot2"} {
		file := filepath.Join(dir, slot, "dCPFile-Rank1.fti")
		b, err := os.ReadFile(file)
		check(t, err)
		b[0] ^= 1
		check(t, os.WriteFile(file, b, 0o666))
	}
	r = blobio(t, "ff", "check", "--json", dir)
	var c struct {
		Checked []struct {
			Errors   int
			Findings []struct {
				Dataset, Rank, Var int
				Severity           string
			}
		}
	}
	check(t, json.Unmarshal([]byte(r.out), &c))
	if r.code != exitFindings || c.Checked[0].Errors != 2 || c.Checked[0].Findings[0].Dataset != 4 || c.Checked[0].Findings[0].Rank != 1 || c.Checked[0].Findings[0].Var != 7 {
		t.Errorf("ff check of a damaged store: %d\n%s", r.code, r.out)
	}
	check(t, os.Remove(filepath.Join(dir, "checkpoints")))
	bad(t, exitFailed, "not committed", "ff", "ls", dir)
	bad(t, exitFailed, "not committed", "ff", "check", dir)
}
