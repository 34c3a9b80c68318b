package prefixdir

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

// flush writes a dataset in the order that the package comment describes.
func flush(ctx context.Context, d *Dir, ds Dataset) error {
	if err := d.Index.Update(ctx, func(x *Index) error { return x.Add(ds, false) }); err != nil {
		return err
	}
	if err := d.FS.MkdirAll("p/" + ds.Name); err != nil {
		return err
	}
	file := ds.Name + "/rank_0"
	if err := vfs.WriteFile(d.FS, "p/"+file, []byte("0123456789")); err != nil {
		return err
	}
	for _, dir := range []string{"p/" + ds.Name, "p"} {
		if err := d.FS.SyncDir(dir); err != nil {
			return err
		}
	}
	err := d.Datasets.WriteMap(ds.ID, 2, func(rank int) ([]File, error) {
		if rank == 1 {
			return nil, nil
		}
		return []File{{Path: file, HasSize: true, Size: 10, HasCRC: true, CRC: 0xa684c7c6}}, nil
	})
	if err != nil {
		return err
	}
	if err := d.Datasets.WriteSummary(ds, true); err != nil {
		return err
	}
	return d.Index.Update(ctx, func(x *Index) error {
		return errors.Join(x.Add(ds, true), x.MarkFlushed(ds.Name, day), x.SetCurrent(ds.Name))
	})
}

// whole returns an error if a dataset cannot be fetched.
func whole(d *Dir, e Entry) error {
	p, err := d.Datasets.Locate(e)
	if err != nil {
		return err
	}
	s, err := d.Datasets.ReadSummary(p)
	if err != nil {
		return err
	}
	m, err := d.Datasets.ReadMap(p)
	if err != nil {
		return err
	}
	for _, path := range m.Paths() {
		b, err := vfs.ReadFile(d.FS, "p/"+path, 100)
		if err != nil || string(b) != "0123456789" {
			return fmt.Errorf("%s: %q, %v", path, b, err)
		}
	}
	return m.Check(s.Dataset)
}

// TestPlaceA reads a dataset folder of generation A. Its map is under a separate key and refers to the part by path.
func TestPlaceA(t *testing.T) {
	d := memDir()
	must(t, d.FS.MkdirAll("p/scr.dataset.18/.scr"))
	s := kvtree.New()
	s.Value("VERSION").SetInt(6)
	s.Value("COMPLETE").SetInt(1)
	ds := kvtree.New()
	for k, v := range map[string]string{"ID": "18", "NAME": "scr.dataset.18", "CKPT": "18", "FILES": "2", "SIZE": "21", "COMPLETE": "1"} {
		ds.Value(k).SetStr(v)
	}
	s.Set("DSET", ds)
	root := kvtree.New()
	root.Value("LEVEL").SetInt(1)
	root.Value("RANKS").SetInt(2)
	ref := root.SetKVInt("RANK", 0)
	ref.Value("FILE").SetStr(".scr/rank2file.0.0.scr")
	ref.Value("OFFSET").SetInt(0)
	leaf := kvtree.New()
	in := leaf.Touch("RANK2FILE")
	in.Value("LEVEL").SetInt(0)
	in.Value("RANKS").SetInt(2)
	for r := range 2 {
		f := in.SetKVInt("RANK", r).SetKV("FILE", fmt.Sprintf("rank_%d.ckpt", r))
		f.Value("SIZE").SetInt(10 + r)
		f.Value("CRC").SetStr("0x28eeb9e")
		x := in.GetKVInt("RANK", r).SetKV("FILE", fmt.Sprintf("%d_of_2_in_0.xor", r+1))
		x.Value("NOFETCH").SetInt(1)
	}
	for name, tree := range map[string]*kvtree.Tree{"summary.scr": s, "rank2file.scr": root, "rank2file.0.0.scr": leaf} {
		must(t, kvtree.WriteFile(d.FS, "p/scr.dataset.18/.scr/"+name, tree))
	}
	x, _, err := d.Index.Rebuild()
	must(t, err)
	e, ok := x.Newest(0)
	if !ok || e.ID != 18 || e.Dataset.Size != 21 {
		t.Fatalf("%+v", e)
	}
	p, err := d.Datasets.Locate(e)
	must(t, err)
	m, err := d.Datasets.ReadMap(p)
	must(t, err)
	must(t, m.Check(e.Dataset))
	if p.From != GenA || p.Data != "p/scr.dataset.18" || len(m.Paths()) != 4 || m.Files[1][0].Path == "" {
		t.Errorf("%+v %v", p, m.Paths())
	}
}

// TestSummary5 reads a summary of version 5, which contains the map.
func TestSummary5(t *testing.T) {
	d := memDir()
	must(t, d.FS.MkdirAll("p/ckpt5/.scr"))
	s := kvtree.New()
	s.Value("VERSION").SetInt(5)
	s.Value("COMPLETE").SetInt(1)
	s.Value("CKPT").SetInt(5)
	s.Value("RANKS").SetInt(2)
	for r := range 2 {
		rank := s.SetKVInt("RANK", r)
		rank.Value("FILES").SetInt(1)
		f := rank.SetKV("FILE", fmt.Sprintf("rank_%d", r))
		f.Value("SIZE").SetInt(7)
		f.Value("CRC").SetCRC32(0)
	}
	must(t, kvtree.WriteFile(d.FS, "p/ckpt5/.scr/summary.scr", s))
	x, _, err := d.Index.Rebuild()
	must(t, err)
	e, ok := x.Entry("ckpt5")
	if !ok || e.ID != 5 || !e.Restartable() || e.Dataset.Size != 14 || e.Dataset.Files != 2 {
		t.Fatalf("%+v", e)
	}
	p, err := d.Datasets.Locate(e)
	must(t, err)
	m, err := d.Datasets.ReadMap(p)
	must(t, err)
	if must(t, m.Check(e.Dataset)); !m.Files[0][0].HasCRC {
		t.Errorf("%+v", m)
	}
	s.GetKVInt("RANK", 1).Value("FILES").SetInt(2)
	must(t, kvtree.WriteFile(d.FS, "p/ckpt5/.scr/summary.scr", s))
	if _, err := d.Datasets.ReadMap(p); !errors.Is(err, fault.ErrMissing) {
		t.Errorf("a file too few: %v", err)
	}
}

// TestSummaryVersion checks that a summary of an unknown version is rejected.
func TestSummaryVersion(t *testing.T) {
	d := memDir()
	must(t, flush(t.Context(), d, ckpt(1)))
	p := d.Datasets.Place(1)
	name := filepath.Join(p.Meta, summaryName)
	for version, want := range map[int]error{summaryVersion: nil, summaryVersion + 1: fault.ErrVersion, summaryOld - 1: fault.ErrVersion} {
		s, err := kvtree.ReadFile(d.FS, name, nil)
		must(t, err)
		s.Value("VERSION").SetInt(version)
		must(t, kvtree.WriteFile(d.FS, name, s))
		if _, err := d.Datasets.ReadSummary(p); !errors.Is(err, want) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
}
