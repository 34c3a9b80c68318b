package fti_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/verbs"
	"blobio/comm"
	"blobio/ffformat/ffstore"
	"blobio/internal/cli"
)

// TestFFRepairStore: a store without its record is refused, told about, and made whole.
func TestFFRepairStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	ctx := context.Background()
	s, err := ffstore.Open(ctx, comm.Self(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Protect(1, make([]byte, 5000))
	for id := int32(1); id <= 2; id++ {
		if _, err := s.CheckpointDiff(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		code := verbs.Run(ctx, &cli.Env{Stdout: &out, Stderr: &errs, Args: args})
		return code, out.String(), errs.String()
	}
	if code, _, errs := do("ff", "repair", dir); code != cli.Failed || !strings.Contains(errs, "--force") {
		t.Errorf("a sound record: %d %s", code, errs)
	}
	if err := os.Remove(filepath.Join(dir, "checkpoints")); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"ls", "check", "dump"} {
		if code, out, errs := do("ff", verb, dir); code != cli.Failed || !strings.Contains(errs, "blobio ff repair remakes") {
			t.Errorf("%s without a record: %d %s%s", verb, code, out, errs)
		}
	}
	if code, out, errs := do("ff", "repair", "-n", dir); code > cli.Findings || !strings.Contains(out, "checkpoint 2") || !strings.Contains(out, "nothing was written") {
		t.Errorf("dry: %d %s%s", code, out, errs)
	}
	if code, out, errs := do("ff", "repair", "--json", dir); code > cli.Findings || !strings.Contains(out, `"written": true`) {
		t.Errorf("%d %s%s", code, out, errs)
	}
	if code, out, errs := do("ff", "check", dir); code != cli.Good {
		t.Errorf("check: %d %s%s", code, out, errs)
	}
	if code, _, errs := do("ff", "repair", t.TempDir()); code != cli.Failed || !strings.Contains(errs, "no store of checkpoints") || strings.Contains(errs, "blobio check") {
		t.Errorf("an empty directory: %d %s", code, errs)
	}
	record := filepath.Join(dir, "checkpoints")
	if code, _, errs := do("ff", "repair", "--workers", "-1", dir); code != cli.Failed || !strings.Contains(errs, "--workers") {
		t.Errorf("negative workers: %d %s", code, errs)
	}
	if err := os.WriteFile(record, []byte("nonsense\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := do("ff", "ls", dir); code != cli.Failed || !strings.Contains(errs, "blobio ff repair remakes") {
		t.Errorf("ls with a damaged record: %d %s%s", code, out, errs)
	}
	if code, out, errs := do("ff", "check", dir); code != cli.Findings || !strings.Contains(out, "blobio ff repair remakes") {
		t.Errorf("check with a damaged record: %d %s%s", code, out, errs)
	}
}
