package blob

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/comm"
)

// TestOddName: a name that convert cannot write is a finding.
func TestOddName(t *testing.T) {
	ctx := context.Background()
	toy := newToy(1)
	dir := t.TempDir()
	name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "c.nc")
	if err := comm.Run(ctx, 1, nil, func(ctx context.Context, c comm.Comm) error { return toy.write(ctx, c, name, 1, nil) }); err != nil {
		t.Fatal(err)
	}
	r, err := Open(ctx, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Convert(ctx, r, out, nil); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte("FLUX"), []byte("FL\xb5X"), 1) // as older libraries wrote it, in Latin-1
	if err := os.WriteFile(out, b, 0o666); err != nil {
		t.Fatal(err)
	}
	said := 0
	for f := range Check(ctx, out, nil) {
		if f.Severity == Warning && strings.Contains(f.Msg, "not UTF-8") {
			said++
		} else if f.Severity == Error {
			t.Error(f)
		}
	}
	if said != 1 {
		t.Errorf("%d warnings about the name, want 1", said)
	}
	x, err := Open(ctx, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Read(ctx, "FL\xb5X", nil, nil, make([]float64, toyCol)); err != nil {
		t.Error(err)
	}
	if err := Convert(ctx, x, filepath.Join(dir, "d.nc"), nil); err == nil {
		t.Error("convert writes it: check need not warn any more")
	}
}
