package salvage_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
)

// TestScavengeOwner checks that Scavenge rejects source and prefix directories that other users own or may write to.
func TestScavengeOwner(t *testing.T) {
	root := t.TempDir()
	name := map[string]string{"control": filepath.Join(root, "c"), "cache": filepath.Join(root, "l"), "prefix": filepath.Join(root, "p")}
	for _, dir := range name {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	catalog := filepath.Join(name["control"], cachedir.CatalogName)
	if err := cachedir.NewCatalog().Write(prefixdir.Open(nil, root).FS, catalog); err != nil {
		t.Fatal(err)
	}
	save := func() error {
		_, err := salvage.Scavenge(t.Context(), salvage.ScavengeOptions{Node: salvage.Node{Catalog: catalog, Caches: []string{name["cache"]}},
			Prefix: prefixdir.Open(nil, name["prefix"]), ID: 1})
		return err
	}
	if err := save(); err != nil {
		t.Fatal(err)
	}
	for what, dir := range name {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := save(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("others may write to %s: %v", what, err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() != 0 {
			continue
		}
		for _, of := range []int{2001, 0} {
			if err := os.Chown(dir, of, of); err != nil {
				t.Fatal(err)
			}
			if err := save(); errors.Is(err, fs.ErrPermission) != (of != 0) {
				t.Errorf("%s of user %d: %v", what, of, err)
			}
		}
	}
}
