package blob

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOddName: a name that convert cannot write is a finding.
func TestOddName(t *testing.T) {
	ctx := context.Background()
	out := canonicalToy(t, 1)
	b, err := os.ReadFile(out)
	noError(t, err)
	b = bytes.Replace(b, []byte("FLUX"), []byte("FL\xb5X"), 1) // as older libraries wrote it, in Latin-1
	noError(t, os.WriteFile(out, b, 0o666))
	said := 0
	for f := range Check(ctx, out, nil) {
		if f.Severity == Warning && strings.Contains(f.Msg, "not UTF-8") {
			said++
		} else if f.Severity >= Error {
			t.Error(f)
		}
	}
	if said != 1 {
		t.Errorf("%d warnings about the name, want 1", said)
	}
	x, err := Open(ctx, out, nil)
	noError(t, err)
	defer x.Close()
	if err := x.Read(ctx, "FL\xb5X", nil, nil, make([]float64, toyCol)); err != nil {
		t.Error(err)
	}
	copied := filepath.Join(t.TempDir(), "d.nc")
	if err := Convert(ctx, x, copied, nil); err != nil { // as it is: whoever reads one reads the other
		t.Fatal(err)
	}
	y, err := Open(ctx, copied, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if _, ok := y.Schema().VarID("FL\xb5X"); !ok {
		t.Error("the copy has another name")
	}
}
