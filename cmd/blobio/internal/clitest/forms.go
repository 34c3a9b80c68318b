package clitest

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/ffformat/ffstore"
	"blobio/internal/scr/prefixdir"
	"blobio/versioned"
)

// Mesh makes a checkpoint directory and its netCDF file.
func Mesh(t *testing.T, args ...string) (dir, check, native string) {
	t.Helper()
	dir = t.TempDir()
	check1, native1 := filepath.Join(dir, "Check-00"), filepath.Join(dir, "mesh.nc")
	Good(t, append([]string{"amr", "gen", "shock", "--no-sync", "--cells", "4", "--files", "3", check1}, args...)...)
	Good(t, "amr", "convert", "--no-sync", check1, native1)
	return dir, check1, native1
}

// FFStore makes a store of two ranks with checkpoints 4 and 5.
func FFStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	Check(t, comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		s, err := ffstore.Open(ctx, c, dir, &ffstore.Options{Keep: 2, Durability: ffstore.DurableNone, Clock: func() time.Time { return now }})
		if err != nil {
			return err
		}
		defer s.Close(ctx)
		for _, id := range []int32{3, 4, 5} {
			data := bytes.Repeat([]byte{byte(c.Rank() + 1)}, 1000)
			data[id] = byte(id)
			if err := s.Protect(7, data); err != nil {
				return err
			}
			if _, err := s.CheckpointDiff(ctx, id); err != nil {
				return err
			}
		}
		return nil
	}))
	return dir
}

// ScrMade is the time of all datasets from ScrSets.
var ScrMade = time.Date(2026, 11, 21, 6, 30, 0, 0, time.Local)

// ScrSets makes a prefix directory with datasets 1 to n of two ranks; the last dataset is current. Rank 0 has a plain and a
// compressed file. Rank 1 has a plain file with the dataset's name, and a file split into two containers.
func ScrSets(t *testing.T, n int) string {
	t.Helper()
	d := prefixdir.Open(nil, t.TempDir())
	Check(t, d.Create())
	for id := 1; id <= n; id++ {
		name := fmt.Sprintf("ckpt.%d", id)
		put := func(file string, b []byte) {
			file = filepath.Join(d.Path, file)
			Check(t, os.MkdirAll(filepath.Dir(file), 0o777))
			Check(t, os.WriteFile(file, b, 0o666))
		}
		data := func(seed int) []byte { return []byte(strings.Repeat(fmt.Sprintf("%d.%d ", id, seed), 50)) }
		a, b, c := data(0), data(1), data(2)
		Check(t, d.Datasets.Create(id))
		put(name+"/a", a)
		put(name+"/b", b)
		put(name+"/c", c)
		put(name+"/ctr.0", append([]byte("head"), c[:100]...))
		put(name+"/ctr.1", c[100:])
		file := func(path string, b []byte) prefixdir.File {
			return prefixdir.File{Path: name + "/" + path, Size: int64(len(b)), HasSize: true, CRC: crc32.ChecksumIEEE(b), HasCRC: true}
		}
		fa, fb, fc, fs := file("a", a), file("b", b), file("c", c), file("s", c)
		fs.Segments = []prefixdir.Segment{{File: name + "/ctr.0", Offset: 4, Length: 100}, {File: name + "/ctr.1", Length: int64(len(c)) - 100}}
		ds := prefixdir.Dataset{ID: id, Name: name, Ckpt: id, Checkpoint: true, Files: 4, Size: int64(len(a) + len(b) + 2*len(c)), Complete: true, User: "u", JobID: "77", Created: ScrMade}
		Check(t, d.Datasets.WriteMap(id, 2, func(rank int) ([]prefixdir.File, error) {
			return [][]prefixdir.File{{fa, fb}, {fc, fs}}[rank], nil
		}))
		Check(t, d.Datasets.WriteSummary(ds, true))
		Check(t, os.Chtimes(filepath.Join(d.Datasets.Dir(id), "summary.scr"), ScrMade, ScrMade)) // a rebuilt index lists this time as FLUSHED
		Check(t, d.Index.Update(t.Context(), func(x *prefixdir.Index) error {
			if err := x.Add(ds, true); err != nil {
				return err
			}
			if err := x.MarkFlushed(name, ScrMade); err != nil {
				return err
			}
			return x.SetCurrent(name)
		}))
	}
	return d.Path
}

// VersionStore writes a store: rho (2x3x4 float64, three versions), n (5 int16, encrypted), and a hierarchy of two levels.
func VersionStore(t *testing.T) (dir, key string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	key = filepath.Join(filepath.Dir(dir), "key")
	Check(t, os.Mkdir(dir, 0o777))
	Check(t, os.WriteFile(key, []byte("000102030405060708090a0b0c0d0e0f\n"), 0o600))
	secret := make([]byte, 16)
	for i := range secret {
		secret[i] = byte(i)
	}
	st := &versioned.Store{Dir: dir}
	Check(t, comm.Run(t.Context(), 2, nil, func(ctx context.Context, c comm.Comm) error {
		o := &versioned.Options{Durability: versioned.DurableNone}
		a, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "rho", Type: versioned.TypeOf[float64](), Shape: []int64{2, 3, 4}, Chunk: 512}, o)
		if err != nil {
			return err
		}
		for v := 1; v <= 3; v++ {
			if c.Rank() == 0 {
				x := make([]float64, 24)
				for i := range x {
					x[i] = float64(i) / 2
				}
				if v == 3 {
					x[5], x[6], x[23] = -0.5, math.NaN(), 100
				}
				if err := versioned.Put(ctx, a, []int64{0, 0, 0}, []int64{2, 3, 4}, x); err != nil {
					return err
				}
			}
			if _, err := a.Inc(ctx, int64(v), "step "+string(rune('0'+v))); err != nil { // 1, 3, 6
				return err
			}
		}
		n, err := versioned.Create(ctx, c, st, versioned.Spec{Name: "n", Type: versioned.TypeOf[int16](), Shape: []int64{5}}, &versioned.Options{Durability: versioned.DurableNone, Key: secret})
		if err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := versioned.Put(ctx, n, []int64{0}, []int64{5}, []int16{-1, 2, -3, 4, -5}); err != nil {
				return err
			}
		}
		if _, err := n.Inc(ctx, 1, ""); err != nil {
			return err
		}
		h, err := versioned.CreateHierarchy(ctx, c, st, versioned.HierarchySpec{Name: "amr", Dim: 2, Comps: []string{"u", "v"}, Dx: 0.5, Chunk: 512,
			Subcycling: versioned.Subcycling{Levels: 2, Ratio: 2}, Config: versioned.Config{Cadence: versioned.Cadence{1, 1}}}, o)
		if err != nil {
			return err
		}
		for save := range 4 {
			for l := range 2 {
				if save%3 == 0 {
					boxes := []versioned.BoxInfo{{Lo: [3]int32{0, 4}, Hi: [3]int32{2, 7}}, {Lo: [3]int32{int32(save), 0}, Hi: [3]int32{int32(save), 0}, Owner: 1}}
					if _, err := h.Regrid(ctx, l, boxes); err != nil {
						return err
					}
				}
				own := map[int][]float64{0: make([]float64, 24)}
				own[0][13] = float64(save / 2)
				if c.Rank() == 1 {
					own = map[int][]float64{1: {7, 8}}
				}
				if _, err := h.Save(ctx, l, float64(save)/4, 0.25, int64(save), own); err != nil {
					return err
				}
			}
			if save == 1 {
				if _, err := h.Snapshot(ctx); err != nil {
					return err
				}
			}
		}
		return h.Close(ctx)
	}))
	return dir, key
}

// FlipByte changes one byte of a file. A negative at counts from the end.
func FlipByte(t *testing.T, name string, at int) {
	t.Helper()
	b, err := os.ReadFile(name)
	Check(t, err)
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 0x10
	Check(t, os.WriteFile(name, b, 0o666))
}
