package check_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"blobio/comm"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/check"
	"blobio/internal/scr/record"
	"blobio/internal/scr/salvage"
	"blobio/scr/redset"
)

// cache makes a node whose cache holds all four ranks of a protected dataset. It returns the node and the dataset's folder.
func cache(t *testing.T, o redset.Options) (salvage.Node, string) {
	t.Helper()
	control := t.TempDir()
	dir := filepath.Join(control, "scr.dataset.1")
	must(t, os.MkdirAll(cachedir.MetaDir(dir), 0o777))
	o.SetSize = 4
	must(t, comm.Run(t.Context(), 4, nil, func(ctx context.Context, c comm.Comm) error {
		name, size := filepath.Join(dir, fmt.Sprint("rank_", c.Rank())), 1000+100*c.Rank()
		if err := os.WriteFile(name, make([]byte, size), 0o666); err != nil {
			return err
		}
		m := cachedir.NewFilemap()
		m.Put(cachedir.MapFile{Name: name, Meta: record.Meta{Size: int64(size), Complete: true, Ranks: 4}})
		if err := m.Write(vfs.OS, cachedir.FilemapName(dir, c.Rank())); err != nil {
			return err
		}
		s, err := redset.New(ctx, c, o)
		if err != nil {
			return err
		}
		return s.Encode(ctx, vfs.OS, []string{name}, cachedir.GroupFile(dir, cachedir.DataGroup, ""))
	}))
	for _, g := range []string{cachedir.MapGroup, cachedir.DataGroup} {
		must(t, cachedir.WriteState(vfs.OS, dir, g, cachedir.StateEncoded))
	}
	c := cachedir.NewCatalog()
	c.Put(cachedir.Cached{ID: 1, Path: dir, Dataset: record.Dataset{ID: 1, Name: "one", Files: 4, Size: 4600, Complete: true}})
	name := filepath.Join(control, cachedir.CatalogName)
	must(t, c.Write(vfs.OS, name))
	return salvage.Node{Name: "node", Catalog: filepath.ToSlash(name)}, dir
}

// errorsOf returns the findings that are errors.
func errorsOf(t *testing.T, nodes []salvage.Node, o *check.Options) (all []check.Finding) {
	t.Helper()
	for f := range check.Caches(t.Context(), nodes, o) {
		if f.Severity >= check.Error {
			all = append(all, f)
		}
	}
	return all
}

// A checksum detects a flipped byte in the redundancy file, and the finding names the node.
func TestCachesPayload(t *testing.T) {
	for _, c := range []struct {
		o    redset.Options
		part string
	}{
		{redset.Options{Scheme: redset.Partner}, "copy of file 0 of member 1"},
		{redset.Options{Scheme: redset.XOR}, "parity 0"},
		{redset.Options{Scheme: redset.RS, K: 2}, "parity 1"},
	} {
		good, _ := cache(t, c.o)
		node, dir := cache(t, c.o)
		nodes := []salvage.Node{good, node}
		if bad := errorsOf(t, nodes, nil); len(bad) != 0 {
			t.Fatalf("%v: %v", c.o.Scheme, bad)
		}
		names, err := filepath.Glob(filepath.Join(cachedir.MetaDir(dir), "reddesc.er.2.*.mem_*.redset"))
		must(t, err)
		if len(names) != 1 {
			t.Fatal(names)
		}
		flip(t, names[0], -5)
		bad := errorsOf(t, nodes, nil)
		if len(bad) != 1 {
			t.Fatalf("%v: %v", c.o.Scheme, bad)
		}
		if f := bad[0]; !f.Node.Is(1) || !f.Dataset.Is(1) || filepath.Base(f.File) != filepath.Base(names[0]) || f.Offset <= 0 || f.Field != c.part+": crc" || !errors.Is(f.Err, fault.ErrChecksum) {
			t.Errorf("%v: %+v", c.o.Scheme, f)
		}
		if bad := errorsOf(t, nodes, &check.Options{Quick: true}); len(bad) != 0 {
			t.Errorf("%v: a quick check read the payload: %v", c.o.Scheme, bad)
		}
		info, err := os.Stat(names[0])
		must(t, err)
		must(t, os.Truncate(names[0], info.Size()-1))
		if bad := errorsOf(t, nodes, &check.Options{Quick: true}); len(bad) != 1 || bad[0].Field != "payload" || !errors.Is(bad[0].Err, fault.ErrTruncated) {
			t.Errorf("%v: a payload that is cut: %v", c.o.Scheme, bad)
		}
	}
}

// Files that have no checksums are compared with their redundancy.
func TestCachesCompare(t *testing.T) {
	node, dir := cache(t, redset.Options{Scheme: redset.RS, K: 2})
	sums, err := filepath.Glob(filepath.Join(cachedir.MetaDir(dir), "*.redsum"))
	if err != nil || len(sums) != 4 {
		t.Fatalf("%d files of checksums, %v", len(sums), err)
	}
	for _, name := range sums {
		must(t, os.Remove(name))
	}
	notes := 0
	for f := range check.Caches(t.Context(), []salvage.Node{node}, nil) {
		if f.Field == "redundancy" && f.Severity == check.Note && strings.Contains(f.Found, "1 set") {
			notes++
		} else if f.Severity >= check.Error {
			t.Error(f)
		}
	}
	if notes != 1 {
		t.Errorf("%d notes of what was compared, want one", notes)
	}
	name := filepath.Join(dir, "rank_3")
	flip(t, name, 5)
	bad := errorsOf(t, []salvage.Node{node}, nil)
	if len(bad) != 1 || bad[0].File != name || !errors.Is(bad[0].Err, fault.ErrCorrupt) {
		t.Errorf("%v", bad)
	}
	if bad := errorsOf(t, []salvage.Node{node}, &check.Options{Quick: true}); len(bad) != 0 {
		t.Errorf("a quick check compared: %v", bad)
	}
}

func TestCachesNothing(t *testing.T) {
	none := salvage.Node{Name: "n7", Catalog: filepath.ToSlash(filepath.Join(t.TempDir(), cachedir.CatalogName))}
	good, _ := cache(t, redset.Options{Scheme: redset.XOR})
	all := slices.Collect(check.Caches(t.Context(), []salvage.Node{good, none}, nil))
	var why *check.LookError
	if len(all) == 0 || !errors.As(all[len(all)-1].Err, &why) || !strings.Contains(why.Error(), "n7: neither a catalogue") {
		t.Errorf("%v", all)
	}
	if all := slices.Collect(check.Caches(t.Context(), nil, nil)); len(all) != 0 {
		t.Errorf("no nodes: %v", all)
	}
}
