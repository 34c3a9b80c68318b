package scrtools_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/record"
	"blobio/scr/redset"
)

// protectedCache makes the cache of a node with all four ranks of a dataset, protected by a scheme with checksums. It returns the
// control folder and the dataset's folder.
func protectedCache(t *testing.T, scheme redset.Scheme) (control, dir string) {
	t.Helper()
	control = t.TempDir()
	dir = filepath.Join(control, "scr.dataset.1")
	clitest.Check(t, os.MkdirAll(cachedir.MetaDir(dir), 0o777))
	err := comm.Run(t.Context(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		name := filepath.Join(dir, fmt.Sprintf("rank_%d", c.Rank()))
		if err := os.WriteFile(name, make([]byte, 1000+100*c.Rank()), 0o666); err != nil {
			return err
		}
		m := cachedir.NewFilemap()
		m.Put(cachedir.MapFile{Name: name, Meta: record.Meta{Size: int64(1000 + 100*c.Rank()), Complete: true, Ranks: 4}})
		if err := m.Write(vfs.OS, cachedir.FilemapName(dir, c.Rank())); err != nil {
			return err
		}
		s, err := redset.New(ctx, c, redset.Options{Scheme: scheme, SetSize: 4})
		if err != nil {
			return err
		}
		return s.Encode(ctx, vfs.OS, []string{name}, cachedir.GroupFile(dir, cachedir.DataGroup, ""))
	})
	clitest.Check(t, err)
	for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
		clitest.Check(t, cachedir.WriteState(vfs.OS, dir, g, cachedir.StateEncoded))
	}
	c := cachedir.NewCatalog()
	c.Put(cachedir.Cached{ID: 1, Path: dir, Dataset: record.Dataset{ID: 1, Name: "one", Files: 4, Size: 4600, Complete: true}})
	clitest.Check(t, c.Write(vfs.OS, filepath.Join(control, cachedir.CatalogName)))
	return control, dir
}

// The checksums beside parity must reveal a flipped parity byte without the protected files.
func TestScrCheckFlippedParity(t *testing.T) {
	for _, scheme := range []redset.Scheme{redset.Partner, redset.XOR, redset.RS} {
		control, dir := protectedCache(t, scheme)
		clitest.Good(t, "scr", "check", "--control", control)
		names := clitest.Glob(t, filepath.Join(cachedir.MetaDir(dir), "reddesc.er.2.*.mem_*.redset"))
		if len(names) != 1 {
			t.Fatal(names)
		}
		clitest.FlipByte(t, names[0], -5)
		finds(t, []string{"--control", control}, filepath.Base(names[0]), ": crc: 0x", "want 0x")
		clitest.Good(t, "scr", "check", "--quick", "--control", control)
		clitest.Check(t, os.Truncate(names[0], 60))
		finds(t, []string{"--quick", "--control", control}, filepath.Base(names[0]), "file size: ")
	}
}
