package bench

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"blobio/blob"
)

// TestScaleCases: the sizes that E3SM-IO has for the three cases come out of the tables of variables.
func TestScaleCases(t *testing.T) {
	cases, err := scaleCases()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name  string
		hundr int64 // of a GiB
		puts  int64
	}{{"F", 1409, 387}, {"G", 7969, 41}, {"I", 8611, 127933}} {
		c := cases[i]
		if got := int64(math.Round(float64(c.Bytes) / gib * 100)); c.Name != want.name || got != want.hundr || c.Pieces != want.puts {
			t.Errorf("%+v: %d hundredths of a GiB, want %+v", c, got, want)
		}
	}
}

// flat is a plan in which nothing stands in the way.
func flat() ScalePlan {
	return ScalePlan{Nodes: 4, RanksPerNode: 1, Subfiles: 4, Aggregators: 1, Bytes: 4 * gib, Process: true, Window: 16 << 20, Stripes: 1, Dealt: true}
}

// TestSimulate compares the simulation with what can be worked out by hand.
func TestSimulate(t *testing.T) {
	q := &ScaleParams{Open: 1, Rounds: 0.5, NodeRate: 1, PieceVC: 2e-3, PiecePC: 1e-3}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.02*want {
			t.Errorf("%s: %.4f s, want %.4f", what, got, want)
		}
	}
	wide := &ScaleSystem{Servers: 100, ServerRate: 1000}
	near("nodes are the limit", wide.Simulate(q, flat()), 1+1)
	one := &ScaleSystem{Servers: 1, ServerRate: 2}
	near("a server is the limit", one.Simulate(q, flat()), 1+2)
	p := flat()
	p.Pieces = 500
	near("puts", wide.Simulate(q, p), 1+0.5+1)
	p.Process = false
	near("variable-centric", wide.Simulate(q, p), 1.5+1+1)
	p = flat()
	p.Stream, p.Aggregators = 0.25, 2
	near("aggregators", wide.Simulate(q, p), 1+2)
	p = flat()
	p.Make = 0.1
	near("files are made", wide.Simulate(q, p), 1+1+0.4)
	// Four nodes write one file on one server: its lock goes round with every write.
	p = flat()
	p.Subfiles, p.Lock = 1, 0.01
	near("a lock", one.Simulate(q, p), 1+2+256*0.01)
	// Windows across units of two servers want two locks each.
	two := &ScaleSystem{Servers: 2, ServerRate: 1}
	p.Stripes, p.Dealt = 2, true
	apart := two.Simulate(q, p)
	p.Across = true
	if across := two.Simulate(q, p); across <= apart {
		t.Errorf("across units %.3f s, else %.3f", across, apart)
	}
	// More bytes never take less.
	last := 0.0
	for _, n := range []int64{1, 2, 4, 8, 64} {
		p := flat()
		p.Bytes = n * gib
		x := wide.Simulate(q, p)
		if x < last {
			t.Errorf("%d GiB: %.3f s, less than before", n, x)
		}
		last = x
	}
}

// TestFitScale: the fit is near the rates that it is made of, and of no others.
func TestFitScale(t *testing.T) {
	cases, err := scaleCases()
	if err != nil {
		t.Fatal(err)
	}
	s := cori()
	q := fitScale(s, cases)
	for _, p := range s.Points(&q, cases) {
		if math.Abs(p.Error()) > 0.05 {
			t.Errorf("%s %s on Cori: the model says %.1f, published is %.1f", p.Case, p.Layout, p.Model, p.Published)
		}
	}
	other := summit()
	before := other.Points(&q, cases)
	for i := range other.Published {
		other.Published[i].HDF5 *= 3
	}
	for i, p := range other.Points(&q, cases) {
		if p.Model != before[i].Model {
			t.Error("the model of Summit knows its rates")
		}
	}
}

// TestCountScale: the number of collectives does not depend on the number of ranks or subfiles.
func TestCountScale(t *testing.T) {
	for _, l := range layouts {
		var first scaleCounts
		for i, ranks := range [][2]int{{8, 4}, {32, 4}, {32, 16}} {
			n, err := countScale(t.Context(), t.TempDir(), ranks[0], ranks[1], l)
			if err != nil {
				t.Fatal(err)
			}
			if n.World < 3 || n.Subfile < 1 || n.Told == 0 {
				t.Errorf("%v: %+v", l, n)
			}
			if i == 0 {
				first = n
			} else if n.World != first.World || n.Subfile != first.Subfile {
				t.Errorf("%v: %+v, with fewer ranks %+v", l, n, first)
			}
		}
	}
}

// TestManifestModel: the bytes of a manifest are about what the model says.
func TestManifestModel(t *testing.T) {
	for _, l := range layouts {
		j := Job{Case: "F_h0", Ranks: 64, Float: true, FileMem: true, Subfiles: 8, Maps: MapSource{Ne: 2, Levels: 2}}
		w := Work{Job: j, Layout: l.String(), Path: filepath.Join(t.TempDir(), "x")}
		if _, err := w.Do(t.Context(), Goroutines(j.Ranks)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(w.Path + ".manifest")
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
// Counted with 64 ranks of 64 on a node, ne6 and 72 levels: 4,189 and 194 with the header and the maps.
func TestScaleWrites(t *testing.T) {
	c := scaleCase{sizes: []int64{10 << 10, 10 << 10, 300 << 10, 144, 1000}}
	if n := c.Writes(64, blob.VariableCentric); n != 64*(1+1+2)+1 {
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
