package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// foldFS ignores the case of names, like file systems of Windows and macOS. It lists names in lower case.
type foldFS struct{ vfs.FS }

func (f foldFS) Create(name string) (vfs.File, error)  { return f.FS.Create(strings.ToLower(name)) }
func (f foldFS) Open(name string) (vfs.File, error)    { return f.FS.Open(strings.ToLower(name)) }
func (f foldFS) OpenRW(name string) (vfs.File, error)  { return f.FS.OpenRW(strings.ToLower(name)) }
func (f foldFS) Remove(name string) error              { return f.FS.Remove(strings.ToLower(name)) }
func (f foldFS) Stat(name string) (fs.FileInfo, error) { return f.FS.Stat(strings.ToLower(name)) }
func (f foldFS) Rename(oldname, newname string) error {
	return f.FS.Rename(strings.ToLower(oldname), strings.ToLower(newname))
}

// TestNamesFold checks datasets with names that differ only in case, on a file system that ignores case. One replaces the other
// only if Force is set.
func TestNamesFold(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		for _, mode := range []int{dataset.CommitRename, dataset.CommitManifestOnly} {
			mem := vfs.NewMem()
			was, now := tinyModel(1, 1), tinyModel(2, 1)
			was.writeTo(t, mem, &dataset.Settings{Options: dataset.Options{Subfiles: 2}, Knobs: dataset.Knobs{Fs: mem}})
			if foreign {
				must(mem.Remove(subfile.ManifestName("d.nc")))
			}
			write := func(force bool) error {
				return run(now.ranks, func(ctx context.Context, c comm.Comm) error {
					return now.create(ctx, c, "D.NC", &dataset.Settings{Options: dataset.Options{Subfiles: 2, Renames: mode, Force: force}, Knobs: dataset.Knobs{Fs: foldFS{mem}}})
				})
			}
			if err := write(false); !errors.Is(err, dataset.ErrExist) {
				t.Errorf("foreign %v, %v: %v", foreign, mode, err)
			}
			readsAs(t, fmt.Sprintf("foreign %v, %v", foreign, mode), mem, "d.nc", was)
			if err := write(true); errors.Is(err, dataset.ErrExist) { // with Force, ErrExist is allowed too
				got, rerr := canonicalOf(mem, "d.nc")
				if rerr != nil || !bytes.Equal(got, was.canonical(false)) {
					t.Errorf("foreign %v, %v, refused: %v, files %v", foreign, mode, rerr, names(mem, "."))
				}
			} else if got, rerr := canonicalOf(foldFS{mem}, "D.NC"); err != nil || rerr != nil || !bytes.Equal(got, now.canonical(false)) {
				t.Errorf("foreign %v, %v, Force: %v, %v, files %v", foreign, mode, err, rerr, names(mem, "."))
			}
		}
	}
}
