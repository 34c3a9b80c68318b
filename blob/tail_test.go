package blob

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"blobio/comm"
)

// TestUnwrittenTail: a canonical file that ends within its last variable, as
// PnetCDF leaves it, is read; one that ends before is truncated.
func TestUnwrittenTail(t *testing.T) {
	ctx := context.Background()
	out := canonicalToy(t, 2)
	whole, err := os.ReadFile(out)
	noError(t, err)
	const last = 4 * toyCol // NEVER, int
	for _, c := range []struct {
		cut      int
		severity Severity
		ok       bool
	}{{0, Note, true}, {4, Warning, true}, {last, Warning, true}, {last + 4, Error, false}} {
		noError(t, os.WriteFile(out, whole[:len(whole)-c.cut], 0o666))
		worst := Note
		for f := range Check(ctx, out, nil) {
			worst = max(worst, f.Severity)
		}
		if worst != c.severity {
			t.Errorf("%d bytes cut: check says %v, want %v", c.cut, worst, c.severity)
		}
		x, err := Open(ctx, out, nil)
		noError(t, err)
		want := int64(c.cut)
		if !c.ok {
			want = 0
		}
		if got := x.Unwritten(); got != want {
			t.Errorf("%d bytes cut: Unwritten = %d, want %d", c.cut, got, want)
		}
		got := make([]int32, 2*toyCol)
		err = x.Read(ctx, "NEVER", nil, nil, got)
		if c.ok {
			for i, v := range got {
				want := int32(-99)
				if i >= 2*toyCol-c.cut/4 {
					want = 0
				}
				if err != nil || v != want {
					t.Fatalf("%d bytes cut: NEVER[%d] = %d, %v, want %d", c.cut, i, v, err, want)
				}
			}
		} else {
			date := make([]byte, 16)
			if err := x.Read(ctx, "date_written", nil, nil, date); !errors.Is(err, ErrTruncated) {
				t.Errorf("%d bytes cut: the variable before the last: %v, want ErrTruncated", c.cut, err)
			}
		}
		x.Close()
	}
}

// TestNumbersWithAMissingSubfile: the blobs that are there keep their numbers.
func TestNumbersWithAMissingSubfile(t *testing.T) {
	ctx := context.Background()
	for _, l := range []Layout{VariableCentric, ProcessCentric} {
		toy := newToy(8)
		name := filepath.Join(t.TempDir(), "a")
		noError(t, comm.Run(ctx, 8, nil, func(ctx context.Context, c comm.Comm) error {
			return toy.write(ctx, c, name, 1, &settings{Options: Options{Layout: l, Subfiles: 4}})
		}))
		noError(t, os.Remove(name+".0002"))
		r, err := Open(ctx, name, &OpenOptions{AllowMissing: true})
		noError(t, err)
		var ranks []int
		for b, err := range r.Blobs(ctx, "T", 0) {
			noError(t, err)
			ranks = append(ranks, b.Rank)
		}
		if want := []int{0, 1, 2, 3, 6, 7}; len(ranks) != 6 || ranks[4] != want[4] || ranks[5] != want[5] {
			t.Errorf("%v: ranks %v, want %v", l, ranks, want)
		}
		r.Close()
	}
}

// canonicalToy writes a toy with as many records as ranks, converts it, and returns the name of the canonical file.
func canonicalToy(t *testing.T, ranks int) string {
	t.Helper()
	ctx := context.Background()
	toy, dir := newToy(ranks), t.TempDir()
	name, out := filepath.Join(dir, "a.nc"), filepath.Join(dir, "c.nc")
	noError(t, comm.Run(ctx, ranks, nil, func(ctx context.Context, c comm.Comm) error {
		return toy.write(ctx, c, name, int64(ranks), new(settings))
	}))
	r, err := Open(ctx, name, nil)
	noError(t, err)
	defer r.Close()
	noError(t, Convert(ctx, r, out, nil))
	return out
}
