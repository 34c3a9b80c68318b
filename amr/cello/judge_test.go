package cello

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"blobio/internal/amr"
	"blobio/internal/amr/cellodir"
	"blobio/internal/base/testfiles"
)

// onDisk writes a case to a directory of the test.
func onDisk(t *testing.T, c *testCase, ranks int, o *Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "check")
	o.NoSync = true
	if err := c.write(context.Background(), ranks, false, dir, o); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestJudgeH5diff: h5diff finds no difference between Enzo-E's checkpoints and their copies made by this package, including the
// attributes.
func TestJudgeH5diff(t *testing.T) {
	for _, name := range realCheckpoints {
		dir := testfiles.Dir(t, "cello", name)
		out := filepath.Join(t.TempDir(), "copy")
		rewriteReal(t, context.Background(), dir, out, 2, 3)
		for i := range 3 {
			f := fmt.Sprintf("block_data-%d.h5", i)
			// The exit status reports differences. The output must be read too, because h5diff does not compare empty datasets.
			for line := range strings.Lines(testfiles.Run(t, "h5diff", "-c", filepath.Join(dir, f), filepath.Join(out, f))) {
				if s := strings.TrimSpace(line); s != "" && !strings.HasSuffix(s, "is an empty dataset") {
					t.Errorf("%s %s: %s", name, f, s)
				}
			}
		}
	}
}

// TestJudgeH5: h5dump and h5py read all files of Write and find the same content as package h5.
func TestJudgeH5(t *testing.T) {
	s := small()
	s.ghosts = true
	c := s.build(t)
	for _, files := range []int{5, 1, len(c.blocks) + 4} {
		if files != 5 && !testfiles.Asked("JUDGES") {
			continue
		}
		dir := onDisk(t, c, 3, &Options{Files: files, Ghosts: true})
		k, err := Open(context.Background(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		for i, f := range k.Files() {
			if i%8 == 0 || files < 8 && (testfiles.Asked("JUDGES") || i == 2) {
				testfiles.Run(t, "h5dump", "-H", filepath.Join(dir, f+cellodir.DataSuffix))
				testfiles.Run(t, "h5dump", "-o", filepath.Join(t.TempDir(), "x"), filepath.Join(dir, f+cellodir.DataSuffix))
			}
		}
		seen := map[string]bool{}
		want := contents(t, dir)
		for line := range strings.Lines(testfiles.Run(t, testfiles.JudgePython(t, "h5py"), "testdata/dump_h5.py", dir)) {
			line = strings.TrimSuffix(line, "\n")
			at := strings.LastIndexByte(line, ' ')
			head := strings.Fields(line[:at])
			name := head[0]
			if len(head) > 1 && strings.Contains(blockAndRootAttrs, " "+head[1]+" ") {
				name += " " + head[1]
			}
			if w, ok := want[name]; !ok || w[strings.LastIndexByte(w, ' ')+1:] != line[at+1:] {
				t.Fatalf("%s: h5py reads %.200s, want %.200s", name, line, w)
			}
			seen[name] = true
		}
		if len(seen) != len(want) {
			t.Errorf("h5py finds %d attributes and datasets, h5 %d", len(seen), len(want))
		}
	}
}

// blockAndRootAttrs holds all attribute names, separated by spaces.
var blockAndRootAttrs = func() string {
	s := " "
	for _, d := range blockAttrs {
		s += d.name + " "
	}
	for _, d := range rootAttrs {
		s += d.name + " "
	}
	return s
}()

// TestJudgeYT: yt loads the export and reads the written value of every cell.
func TestJudgeYT(t *testing.T) {
	py := testfiles.JudgePython(t, "yt")
	ctx := context.Background()
	specs := map[string]caseSpec{
		"3d":                {rank: 3, roots: [3]int{2, 2, 2}, block: [3]int{4, 4, 4}, ghost: 2, minLevel: -1, maxLevel: 2, refine: 0.3, seed: 3, typ: amr.Float64, ghosts: true},
		"3d without ghosts": {rank: 3, roots: [3]int{2, 2, 2}, block: [3]int{4, 6, 2}, ghost: 1, minLevel: -1, maxLevel: 1, refine: 0.4, seed: 4, typ: amr.Float32},
		"2d":                {rank: 2, roots: [3]int{4, 4}, block: [3]int{8, 4}, ghost: 3, minLevel: -2, maxLevel: 2, refine: 0.4, seed: 5, typ: amr.Float64},
	}
	check := func(t *testing.T, k *Checkpoint, fields []string) {
		dir := filepath.Join(t.TempDir(), "export")
		if err := WriteYT(ctx, k, dir, &Options{Fields: fields, NoSync: true}); err != nil {
			t.Fatal(err)
		}
		cells := 0
		m := k.Meta()
		got := map[string]string{}
		for line := range strings.Lines(testfiles.Run(t, py, append([]string{"testdata/yt_cells.py", filepath.Join(dir, "export.block_list")}, fields...)...)) {
			f := strings.Fields(line)
			got[f[0]+" "+f[1]] = strings.Join(f[2:], " ")
		}
		for i, info := range k.Blocks() {
			if info.Level < 0 {
				continue
			}
			b, err := k.Block(ctx, i)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range fields {
				f := b.Field(name)
				data := f.Data
				if f.Ghosts {
					data = make([]byte, m.FieldBytes(f.Spec, false))
					m.Strip(data, f.Data, f.Spec)
				}
				want := make([]byte, 0, 2*len(data))
				for k := 0; k < len(data); k += f.Spec.Type.Size() {
					v := 0.0
					if f.Spec.Type == amr.Float32 {
						v = float64(math.Float32frombits(binary.NativeEndian.Uint32(data[k:])))
					} else {
						v = math.Float64frombits(binary.NativeEndian.Uint64(data[k:]))
					}
					want = binary.LittleEndian.AppendUint64(want, math.Float64bits(v))
					cells++
				}
				if got[info.Name+" "+name] != hex.EncodeToString(want) {
					t.Fatalf("block %s, field %s: yt has %.200s, want %.200s", info.Name, name, got[info.Name+" "+name], hex.EncodeToString(want))
				}
			}
			lo, hi := info.Index.Bounds(&m.Geometry)
			edge := strings.Fields(got[info.Name+" edge"])
			for n, want := range [][3]float64{lo, hi} {
				raw, err := hex.DecodeString(edge[n])
				if err != nil || len(raw) != 24 {
					t.Fatal(edge, err)
				}
				for a := range m.Rank {
					if v := math.Float64frombits(binary.LittleEndian.Uint64(raw[8*a:])); math.Abs(v-want[a]) > 1e-12 {
						t.Fatalf("block %s: edge %d of axis %d is %v, want %v", info.Name, n, a, v, want[a])
					}
				}
			}
		}
		if cells == 0 {
			t.Error("nothing compared")
		}
	}
	for name, s := range specs {
		t.Run(name, func(t *testing.T) {
			c := s.build(t)
			finite(c)
			k, err := Open(ctx, onDisk(t, c, 2, &Options{Files: 3, Ghosts: s.ghosts}), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			check(t, k, []string{"density", "velocity_x"})
		})
	}
	t.Run("real", func(t *testing.T) {
		for _, name := range []string{"CheckA-10", "CheckP2-05"} {
			k, err := Open(ctx, testfiles.Dir(t, "cello", name), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			check(t, k, []string{"density", "velocity_x", "pressure"})
		}
	})
}

// finite replaces random bits with finite numbers.
func finite(c *testCase) {
	n := 0
	for _, b := range c.blocks {
		for i := range b.Fields {
			f := &b.Fields[i]
			for k := 0; k+f.Spec.Type.Size() <= len(f.Data); k += f.Spec.Type.Size() {
				n++
				switch f.Spec.Type {
				case amr.Float32:
					binary.NativeEndian.PutUint32(f.Data[k:], math.Float32bits(float32(n)))
				case amr.Float64:
					binary.NativeEndian.PutUint64(f.Data[k:], math.Float64bits(float64(n)+0.25))
				}
			}
		}
	}
}
