package blob

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/vfs"
	"blobio/subfile"
)

// anyOp is a put of a step of TestAheadAny.
type anyOp struct {
	v    VarID
	off  int64 // of the record, from that of the step on
	rank int   // -1: all
	part bool  // of a variable that is not decomposed
	f64  bool
}

// TestAheadAny: flushes that mostly repeat each other, and now and then differ in something on some ranks; what was lent is used again at once. The files are
// those of ranks that share a heap.
func TestAheadAny(t *testing.T) {
	checks(t, 1000)
	rapid.Check(t, func(t *rapid.T) {
		const cols, maxRec = 40, 12
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		s := NewSchema()
		tm, col, three := s.Dim("time", Unlimited), s.Dim("ncol", cols), s.Dim("three", 3)
		d := s.Decomp(col)
		s.Var("T", cdf5.Float, []DimID{tm, col}, Decomposed(d))
		s.Var("clock", cdf5.Double, []DimID{tm, three})
		s.Var("flag", cdf5.Short, []DimID{tm, col}, Decomposed(d))
		s.Var("area", cdf5.Double, []DimID{col}, Decomposed(d))
		runs := make([][]decomp.Req, ranks)
		for i := int64(0); i < cols; {
			n := min(rapid.Int64Range(1, 20).Draw(t, "n"), cols-i)
			r := rapid.IntRange(0, ranks-1).Draw(t, "r")
			runs[r] = append(runs[r], decomp.Req{Offset: i, Length: n})
			i += n
		}
		op := rapid.Custom(func(t *rapid.T) anyOp {
			o := anyOp{v: VarID(rapid.IntRange(0, 2).Draw(t, "v")), off: rapid.Int64Range(0, 1).Draw(t, "off"), rank: -1, f64: rapid.Bool().Draw(t, "f64")}
			if rapid.IntRange(0, 3).Draw(t, "one") == 0 {
				o.rank = rapid.IntRange(0, ranks-1).Draw(t, "rank")
			}
			if o.v == 1 {
				o.part = rapid.Bool().Draw(t, "part")
			}
			return o
		})
		template := rapid.SliceOfN(op, 1, 5).Draw(t, "template")
		type step struct {
			rec   int64
			ops   []anyOp
			flush int // 0: Flush, 1: FlushAsync, 2: FlushAsync and Wait
		}
		var steps []step
		rec := int64(0)
		for range rapid.IntRange(2, 8).Draw(t, "steps") {
			st := step{rec: rec, ops: template}
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				st.ops = append(append([]anyOp(nil), template...), op.Draw(t, "more"))
			case 1:
				k := rapid.IntRange(0, len(template)-1).Draw(t, "less")
				st.ops = append(append([]anyOp(nil), template[:k]...), template[k+1:]...)
			case 2:
				k := rapid.IntRange(0, len(template)-1).Draw(t, "other")
				st.ops = append([]anyOp(nil), template...)
				st.ops[k] = op.Draw(t, "op")
			}
			st.flush = max(0, rapid.IntRange(-3, 2).Draw(t, "flush"))
			steps = append(steps, st)
			if rapid.IntRange(0, 9).Draw(t, "jump") == 0 {
				rec = rapid.Int64Range(0, maxRec-2).Draw(t, "rec")
			} else {
				rec = min(rec+1, maxRec-2)
			}
		}
		o := settings{Options: Options{Subfiles: rapid.IntRange(1, min(2, ranks)).Draw(t, "subfiles"), Aggregators: rapid.IntRange(0, 2).Draw(t, "aggs")}}
		o.OwnMin = rapid.SampledFrom([]int64{0, 1, 20, 40, 1 << 40}).Draw(t, "ownMin")
		o.messages = rapid.IntRange(0, 3).Draw(t, "messages") == 0
		o.Retain = rapid.SampledFrom([]Retain{CopyOnPut, LendUntilFlush}).Draw(t, "retain")
		if rapid.IntRange(0, 2).Draw(t, "pc") == 0 {
			o.Layout, o.Records = ProcessCentric, maxRec
		}
		if rapid.IntRange(0, 6).Draw(t, "stripe") == 0 {
			o.Stripe.Size = 4096
		}
		split := rapid.IntRange(0, maxRec-1).Draw(t, "appendAt") // steps from here on are appended
		if o.Layout == ProcessCentric {
			split = len(steps)
		}
		var want [][]byte
		for _, apart := range []bool{false, true} {
			o := o
			mem := vfs.NewMem()
			o.fs = mem
			if err := run(ranks, func(ctx context.Context, c comm.Comm) error {
				r := c.Rank()
				if apart {
					c = comm.Isolate(c)
				}
				w, err := createWith(ctx, c, "d.nc", s, []Part{{d, runs[r]}}, &o)
				must(err)
				defer func() { w.Abort() }()
				var lent [][]float64
				var lent32 [][]float32
				for k, st := range steps {
					if k > 0 && k == split {
						must(w.Close(ctx))
						if w, err = appendWith(ctx, c, "d.nc", []Part{{d, runs[r]}}, &o); err != nil {
							return err
						}
					}
					for j, p := range st.ops {
						if p.rank >= 0 && p.rank != r || st.rec+p.off < w.first {
							continue
						}
						rec := st.rec + p.off
						n := w.putLen(p.v)
						start, count := []int64{0}, []int64{3}
						if p.part {
							start[0], count[0], n = int64(j%3), 1, 1
						}
						x := make([]float64, n)
						for i := range x {
							x[i] = float64(1 + k*1000 + j*100 + i + r*20)
							if p.v == 1 { // not decomposed: between two flushes there is one value
								x[i] = float64(1 + int64(k)*1000 + rec*7 + start[0] + int64(i))
							}
						}
						x32 := make([]float32, n)
						for i := range x {
							x32[i] = float32(x[i])
						}
						switch {
						case p.part && p.f64:
							err = PutAt(w, p.v, rec, start, count, x)
						case p.part:
							err = PutAt(w, p.v, rec, start, count, x32)
						case p.f64:
							err = Put(w, p.v, rec, x)
						default:
							err = Put(w, p.v, rec, x32)
						}
						must(err)
						lent, lent32 = append(lent, x), append(lent32, x32)
					}
					switch st.flush {
					case 0:
						err = w.Flush(ctx)
					case 1:
						if err = w.FlushAsync(ctx); err == nil {
							continue
						}
					case 2:
						err = errors.Join(w.FlushAsync(ctx), w.Wait(ctx))
					}
					must(err)
					for i := range lent {
						for j := range lent[i] {
							lent[i][j], lent32[i][j] = -77, -77
						}
					}
					lent, lent32 = nil, nil
				}
				return w.Close(ctx)
			}); err != nil {
				t.Fatal(err)
			}
			for _, f := range checkErrors(mem, "d.nc") {
				t.Errorf("apart %v: %v", apart, f)
			}
			for k := range o.Subfiles {
				got := need(slurp(mem, subfile.Name("d.nc", k)))
				if len(want) <= k {
					want = append(want, got)
				} else if !bytes.Equal(got, want[k]) {
					t.Errorf("subfile %d: %s", k, firstDiff(got, want[k]))
				}
			}
		}
	})
}
