package blob

import (
	"errors"
	"io/fs"
	"testing"

	"blobio/internal/vfs"
)

// A directory that can be listed once, to find the dataset, and not again, to
// look for what is left over: the check must say that it did not look.
func TestCheckSaysWhatItCouldNotList(t *testing.T) {
	s := otherSample(t, VariableCentric, 2, 1, nil)
	mem := memOf(t, s.files)
	c := vfs.Count(mem)
	for range checkWith(t.Context(), sampleBase, &CheckOptions{Workers: 1}, knobs{fs: c}) {
	}
	lists := c.Kind(vfs.OpReadDir)
	for n := int64(1); n <= lists; n++ {
		said := false
		fsys := vfs.NewFault(mem, vfs.FailOn(vfs.OpReadDir, "", n, fs.ErrPermission))
		for f := range checkWith(t.Context(), sampleBase, &CheckOptions{Workers: 1}, knobs{fs: fsys}) {
			said = said || errors.Is(f.Err, fs.ErrPermission)
		}
		if !said {
			t.Errorf("listing %d of %d failed and no finding says so", n, lists)
		}
	}
}
