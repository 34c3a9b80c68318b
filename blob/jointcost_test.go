package blob

import (
	"context"
	"fmt"
	"testing"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/vfs"
	"blobio/internal/comm/commtest"
)

// scattered returns a map in which each rank has the given number of requests, two elements each, far from each other.
func scattered(ranks, pairs int) *decomp.Map {
	b := decomp.NewBuilder([]int64{int64(ranks), 2 * int64(pairs)}, ranks)
	for r := range ranks {
		reqs := make([]decomp.Req, pairs)
		for i := range reqs {
			reqs[i] = decomp.Req{Offset: 2 * int64(i*ranks+r), Length: 2}
		}
		must(b.Set(r, reqs))
	}
	return need(b.Map())
}

// scatteredDataset writes a variable with map m, in two records.
func scatteredDataset(m *decomp.Map, layout dataset.Layout, subfiles int) *vfs.Mem {
	s := dataset.NewSchema()
	tm := s.Dim("time", dataset.Unlimited)
	y, x := s.Dim("y", m.Dims()[0]), s.Dim("x", m.Dims()[1])
	d := s.Decomp(y, x)
	s.Var("T", cdf5.Float, []dataset.DimID{tm, y, x}, dataset.Decomposed(d))
	mem := vfs.NewMem()
	must(run(m.Ranks(), func(ctx context.Context, c comm.Comm) error {
		w := need(write.CreateWith(ctx, c, "d", s, []write.Part{{Decomp: d, Runs: m.AppendReqs(nil, c.Rank())}}, &dataset.Settings{Options: dataset.Options{Layout: layout, Subfiles: subfiles, Records: 2, Durability: dataset.DurableNone}, Knobs: dataset.Knobs{Fs: mem}}))
		for rec := range int64(2) {
			var x []float32
			for q := range m.Reqs(c.Rank()) {
				for k := range q.Length {
					x = append(x, float32(q.Offset+k+3*rec))
				}
			}
			must(write.Put(w, 0, rec, x))
		}
		return w.Close(ctx)
	}))
	return mem
}

// readScattered reads both records with the runs mine and checks the values.
func readScattered(ctx context.Context, k *read.Collective, mine []decomp.Req) error {
	p := k.Plan(mine)
	got := [2][]float32{make([]float32, p.Total), make([]float32, p.Total)}
	must(p.Read(ctx, read.Get{Name: "T", Into: got[0]}))
	must(p.Read(ctx, read.Get{Name: "T", Record: 1, Into: got[1]}))
	for rec := range got {
		i := 0
		for _, q := range mine {
			for n := range q.Length {
				if want := float32(q.Offset + n + 3*int64(rec)); got[rec][i] != want {
					return fmt.Errorf("rank %d record %d element %d is %v, want %v", k.C.Rank(), rec, q.Offset+n, got[rec][i], want)
				}
				i++
			}
		}
	}
	return nil
}

// jointCost reads a scattered dataset collectively, with equal parts of the array on each rank. It returns the counted reads of
// the files, and the sizes of maps and data.
func jointCost(m *decomp.Map, layout dataset.Layout, subfiles, readers int) (c *vfs.Counter, maps, data int64) {
	c = vfs.Count(scatteredDataset(m, layout, subfiles))
	must(run(readers, func(ctx context.Context, co comm.Comm) error {
		co = commtest.Isolate(co)
		r := need(read.OpenCommWith(ctx, co, "d", nil, dataset.Knobs{Fs: c}))
		defer r.Close()
		return readScattered(ctx, r.Collective(co), decomp.Regular([]int64{m.Elems()}, readers).AppendReqs(nil, co.Rank()))
	}))
	for r := range m.Ranks() {
		maps += 8 * m.NumReqs(r)
	}
	return c, maps, 2 * 4 * m.Elems()
}

// TestJointCost checks that a collective read reads each part of the maps and data from the files once, in long pieces.
func TestJointCost(t *testing.T) {
	for _, x := range crashtest.Some(t, 1, []struct{ writers, subfiles, readers, pairs int }{{300, 7, 100, 1500}, {100, 10, 7, 4000}, {64, 1, 300, 4000}}) {
		for _, layout := range crashtest.Some(t, 1, []dataset.Layout{dataset.VariableCentric, dataset.ProcessCentric}) {
			t.Run(fmt.Sprintf("%v-%d-of-%d", layout, x.readers, x.writers), func(t *testing.T) {
				c, maps, data := jointCost(scattered(x.writers, x.pairs), layout, x.subfiles, x.readers)
				bytes, calls := c.Bytes(vfs.OpRead), c.Kind(vfs.OpRead)
				t.Logf("%d calls read %.1f MB, %d others; maps %.1f MB, data %.1f MB: %.3f", calls, float64(bytes)/1e6, c.Ops()-calls, float64(maps)/1e6, float64(data)/1e6, float64(bytes)/float64(maps+data))
				if float64(bytes) > 1.2*float64(maps+data) {
					t.Errorf("%d bytes of %d of maps and %d of data", bytes, maps, data)
				}
				most := 40*int64(x.subfiles) + 10*(maps+data)>>20 + 100
				if layout == dataset.ProcessCentric { // each blob has its own lists and one part of each record
					most += 6 * int64(x.writers)
				}
				if calls > most {
					t.Errorf("%d calls, want at most %d", calls, most)
				}
			})
		}
	}
}

// BenchmarkJoint: 4 ranks read a record that 16 ranks wrote, in other parts. First is the first read after an open, with the maps, and
// later is another read by the same plan.
func BenchmarkJoint(b *testing.B) {
	m := scattered(16, 4000)
	mem := scatteredDataset(m, dataset.VariableCentric, 1)
	bench := func(name string, plan func(co comm.Comm, r *read.Reader, was *read.ReadPlan) *read.ReadPlan) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(4 * m.Elems())
			must(run(4, func(ctx context.Context, co comm.Comm) error {
				r := need(read.OpenCommWith(ctx, co, "d", nil, dataset.Knobs{Fs: mem}))
				defer r.Close()
				var p *read.ReadPlan
				for range b.N {
					p = plan(co, r, p)
					must(p.Read(ctx, read.Get{Name: "T", Into: make([]float32, p.Total)}))
				}
				return nil
			}))
		})
	}
	fresh := func(co comm.Comm, r *read.Reader, _ *read.ReadPlan) *read.ReadPlan {
		return r.Collective(co).Plan(decomp.Regular([]int64{m.Elems()}, 4).AppendReqs(nil, co.Rank()))
	}
	bench("first", fresh)
	bench("later", func(co comm.Comm, r *read.Reader, was *read.ReadPlan) *read.ReadPlan {
		if was == nil {
			was = fresh(co, r, nil)
		}
		return was
	})
}
