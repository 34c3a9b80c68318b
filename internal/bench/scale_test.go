package bench

import (
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
)

// TestScaleSize: the 14.09 GiB of F h0 in production come out of the table of variables.
func TestScaleSize(t *testing.T) {
	f, err := atProduction()
	if err != nil {
		t.Fatal(err)
	}
	if got := f.bytes * 21600 * 100 >> 30; got != 1408 && got != 1409 || len(f.sizes) != 387 {
		t.Errorf("%d hundredths of a GiB in %d variables", got, len(f.sizes))
	}
}

// TestCountScale: the number of collectives does not depend on the number of ranks or subfiles, but that a flush of the same puts meets once
// where each rank writes its own and twice where windows are filled, as the size of the pieces has it.
func TestCountScale(t *testing.T) {
	for _, l := range layouts {
		var first scaleCounts
		for i, ranks := range [][2]int{{4, 2}, {12, 4}} {
			n, err := countScale(t.Context(), t.TempDir(), ranks[0], ranks[1], l)
			if err != nil {
				t.Fatal(err)
			}
			if n.World < 3 || n.Subfile < 1 || n.Told == 0 || n.NextWorld+n.NextSubfile < 1 || n.NextWorld >= n.World || n.OpenWorld < 1 {
				t.Errorf("%v: %+v", l, n)
			}
			if i == 0 {
				first = n
			} else if n.World != first.World || n.Subfile != first.Subfile || n.NextWorld > 2 || n.NextSubfile != first.NextSubfile || n.OpenWorld != first.OpenWorld {
				t.Errorf("%v: %+v, with fewer ranks %+v", l, n, first)
			}
		}
	}
}

// TestManifestModel: the bytes of a manifest are about what the model says.
func TestManifestModel(t *testing.T) {
	for _, l := range layouts {
		j := Job{Case: "F_h0", Ranks: 64, Float: true, FileMem: true, Subfiles: 8, Maps: MapSource{Ne: 2, Levels: 2}}
		k, err := j.load()
		if err != nil {
			t.Fatal(err)
		}
		data, err := k.fillAll()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x")
		if _, err := k.once(t.Context(), data, path, k.options(l)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + ".manifest")
		if err != nil {
			t.Fatal(err)
		}
		r := new(scaleCounts).Extrapolate(64, 8, 1000, 1, 3, 429, l)
		if x := float64(r.Manifest) / float64(info.Size()); x < 0.75 || x > 1.33 {
			t.Errorf("%v: %d bytes, the model says %d", l, info.Size(), r.Manifest)
		}
	}
}

// TestScaleWrites: what large pieces cost variable-centric, and blobs process-centric; small ones pass through windows.
// Process-centric 194 were counted with 64 ranks of 64 on a node, ne6 and 72 levels, with the header and the maps.
func TestScaleWrites(t *testing.T) {
	c := rankShare{sizes: []int64{10 << 10, 10 << 10, 300 << 10, 144, 1000}}
	if n := c.Writes(64, blob.VariableCentric); n != 64*2+2 {
		t.Errorf("variable-centric: %d writes", n)
	}
	if n := c.Writes(64, blob.ProcessCentric); n != 64*2 {
		t.Errorf("process-centric: %d writes", n)
	}
	c.sizes = []int64{144, 1000}
	for _, l := range layouts {
		if n := c.Writes(64, l); n != 1 {
			t.Errorf("%v, small: %d writes", l, n)
		}
	}
}
