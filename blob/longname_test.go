package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/subfile"
)

// TestLongNames checks names that are so long that the names of auxiliary files exceed the limit, although the names of
// subfiles do not. The writer must fail at its beginning.
func TestLongNames(t *testing.T) {
	ctx := context.Background()
	toy := newToy(1)
	works := 0
	for n := 220; n <= 235; n++ {
		dir := t.TempDir()
		base := filepath.Join(dir, strings.Repeat("n", n))
		foreign := subfile.Name(base, 0)
		for _, there := range []bool{false, true} {
			if there {
				noError(t, os.WriteFile(foreign, []byte("of another program"), 0o666))
			}
			err := toy.write(ctx, comm.Self(), base, 1, &dataset.Settings{Options: dataset.Options{Force: true}})
			if err == nil {
				works++
				toy.check(t, base, 1)
				break
			}
			if !errors.Is(err, syscall.ENAMETOOLONG) {
				t.Fatalf("%d: %v", n, err)
			}
			if !there {
				if l, err := os.ReadDir(dir); err != nil || len(l) > 0 {
					t.Errorf("%d: left %v, %v", n, l, err)
				}
			} else if b, err := os.ReadFile(foreign); err != nil || string(b) != "of another program" {
				t.Errorf("%d: %q, %v", n, b, err)
			}
			if there && !strings.Contains(fmt.Sprint(err), "longer") {
				t.Errorf("%d: only after it began: %v", n, err)
			}
		}
	}
	if works == 0 || works == 16 {
		t.Errorf("%d of 16 lengths work: the test sees one side only", works)
	}
}
