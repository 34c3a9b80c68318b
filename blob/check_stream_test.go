package blob

import (
	"testing"

	"blobio/internal/vfs"
	"blobio/subfile"
)

// The first finding comes out before the last file is opened, and what comes after it is not looked at if nobody asks.
func TestCheckStreams(t *testing.T) {
	const files = 40
	toy := newToy(files)
	s := writeSample(t, toy, VariableCentric, files, true, 1)
	first := subfile.Name(sampleBase, 0)
	if len(s.files[first]) == 0 {
		t.Fatalf("no %s", first)
	}
	s.files[first][0] ^= 1
	opens := func(want int) (n int64) {
		c := vfs.Count(memOf(t, s.files))
		for range checkWith(t.Context(), sampleBase, &CheckOptions{Workers: 2}, knobs{fs: c}) {
			if want--; want == 0 {
				break
			}
		}
		return c.Kind(vfs.OpOpen)
	}
	if one, all := opens(1), opens(-1); all-one < files/2 {
		t.Errorf("%d files are opened before the first finding, %d in all", one, all)
	}
}
