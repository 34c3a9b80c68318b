package blob

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
)

// TestLogEmptied: sets whose entries are gone from the log are commits that are lost: an error of readers, Check and Recover, which removes none of them
// unless it is forced, and then has all their records.
func TestLogEmptied(t *testing.T) {
	ctx, tried := context.Background(), 0
	for _, sc := range sessionCases() {
		m := sc.model(4)
		files, have := sc.diedIn(t, m, false)
		if files["d.nc+2.0000"] == nil {
			continue // its commits are no sets, or do not begin with the second
		}
		tried++
		files = maps.Clone(files)
		for name := range files {
			if strings.HasSuffix(name, ".log") {
				files[name] = nil
			}
		}
		mem := memOf(t, files)
		if _, err := openWith(ctx, "d.nc", nil, knobs{fs: mem}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Open: %v", sc.name, err)
		}
		if len(checkErrors(mem, "d.nc")) == 0 {
			t.Errorf("%s: Check finds no error", sc.name)
		}
		if _, err := recoverWith(ctx, "d.nc", nil, knobs{fs: mem}); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Recover: %v", sc.name, err)
		}
		for name := range files {
			if _, err := mem.Stat(name); err != nil {
				t.Errorf("%s: %v", sc.name, err)
			}
		}
		if _, err := recoverWith(ctx, "d.nc", &RecoverOptions{Force: true}, knobs{fs: mem}); err != nil {
			t.Errorf("%s: forced: %v", sc.name, err)
		} else if got := recordsSeen(t, mem, "forced", m); got != have {
			t.Errorf("%s: %d records, want %d", sc.name, got, have)
		}
	}
	if tried == 0 {
		t.Error("no case has commits that are sets")
	}
}
