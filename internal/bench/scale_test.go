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

// TestScaleSeconds compares the model with what can be worked out by hand.
func TestScaleSeconds(t *testing.T) {
	q := &ScaleParams{Grow: 0.1, NodeRate: 1, Rounds: 0.5, PieceVC: 2e-3, PiecePC: 1e-3}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %.4f s, want %.4f", what, got, want)
		}
	}
	plan := func(change func(p *ScalePlan)) ScalePlan {
		p := ScalePlan{Nodes: 4, Subfiles: 4, Stripes: 1, Bytes: 4 * gib, Process: true, Growing: 4}
		change(&p)
		return p
	}
	wide, one, three := &ScaleSystem{Servers: 100, ServerRate: 1000}, &ScaleSystem{Servers: 1, ServerRate: 2}, &ScaleSystem{Servers: 3, ServerRate: 0.5}
	near("nodes are the limit", wide.Seconds(q, plan(func(p *ScalePlan) {})), 0.4+1)
	near("a server is the limit", one.Seconds(q, plan(func(p *ScalePlan) {})), 0.4+2)
	near("a server has two files", three.Seconds(q, plan(func(p *ScalePlan) {})), 0.4+4)
	near("one file on all servers", three.Seconds(q, plan(func(p *ScalePlan) { p.Subfiles, p.Stripes = 1, 100 })), 0.4+4/1.5)
	near("files cost, not nodes", wide.Seconds(q, plan(func(p *ScalePlan) { p.Growing = 1 })), 0.1+1)
	near("puts", wide.Seconds(q, plan(func(p *ScalePlan) { p.Pieces = 500 })), 0.4+0.5+1)
	near("variable-centric", wide.Seconds(q, plan(func(p *ScalePlan) { p.Pieces, p.Process = 500, false })), 0.4+0.5+1+1)
}

// TestFitScale: the fit is near the rates that it is made of, and knows no others.
func TestFitScale(t *testing.T) {
	cases, err := scaleCases()
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range [][2]func() *ScaleSystem{{cori, summit}, {summit, cori}} {
		x := tryScale(of[0](), of[1](), cases)
		for _, p := range x.Own {
			if math.Abs(p.Error()) > 0.06 {
				t.Errorf("%s %s on %s: the model says %.1f, published is %.1f", p.Case, p.Layout, p.System, p.Model, p.Published)
			}
		}
		other := of[1]()
		for i := range other.Published {
			other.Published[i].PnetCDF *= 3
			if other.Published[i].Case == "I" {
				other.Published[i].HDF5 *= 3
			}
		}
		for i, p := range tryScale(of[0](), other, cases).Points {
			if was := &x.Points[i]; p.Model != was.Model || p.Fitted != (p.Published == was.Published) {
				t.Errorf("%s, %s: the model knows rates that it was not fitted to", p.Case, p.Layout)
			}
		}
	}
}

// TestScaleInterval: a model that is off by half or by twice has an interval that says so.
func TestScaleInterval(t *testing.T) {
	list := []ScaleTest{{Points: []ScalePoint{{Published: 1, Model: 2}, {Published: 2, Model: 1}, {Published: 1, Model: 2}, {Published: 1, Model: 100, Fitted: true}}}}
	f, n := scaleInterval(list)
	if want := math.Exp(3.182 * math.Log(2) * math.Sqrt(4.0/3)); n != 3 || math.Abs(f-want) > 1e-9*want {
		t.Errorf("%.3f of %d, want %.3f of 3", f, n, want)
	}
	if lo, hi := list[0].Worst(); lo != -0.5 || hi != 1 {
		t.Errorf("%.2f to %.2f", lo, hi)
	}
}

// TestCountScale: the number of collectives does not depend on the number of ranks or subfiles, but that a flush of the same puts meets once
// where each rank writes its own and twice where windows are filled, as the size of the pieces has it.
func TestCountScale(t *testing.T) {
	for _, l := range layouts {
		var first scaleCounts
		for i, ranks := range [][2]int{{8, 4}, {32, 4}, {32, 16}} {
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
// Process-centric 194 were counted with 64 ranks of 64 on a node, ne6 and 72 levels, with the header and the maps.
func TestScaleWrites(t *testing.T) {
	c := scaleCase{sizes: []int64{10 << 10, 10 << 10, 300 << 10, 144, 1000}}
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
