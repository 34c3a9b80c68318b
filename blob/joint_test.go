package blob

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/vfs"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"

	"pgregory.net/rapid"
)

// jointWant has the elements that one rank reads in one call.
type jointWant struct {
	runs []decomp.Req
	keep bool
}

// drawJoint draws the elements that each rank reads, out of elems: in any order, with repetitions, and none on some ranks.
func drawJoint(t *rapid.T, ranks int, elems int64) []jointWant {
	l := make([]jointWant, ranks)
	for i := range l {
		l[i].keep = rapid.Bool().Draw(t, "keep")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
		case 1: // an equal part of the array
			l[i].runs = decomp.Regular([]int64{elems}, ranks).AppendReqs(nil, i)
		default:
			for range rapid.IntRange(0, 6).Draw(t, "runs") {
				off := rapid.Int64Range(0, elems).Draw(t, "off")
				l[i].runs = append(l[i].runs, decomp.Req{Offset: off, Length: rapid.Int64Range(0, elems-off).Draw(t, "n")})
			}
		}
	}
	return l
}

// TestJointMetamorphic checks that a collective read returns the same data as reads by single ranks, for any writers and
// readers.
func TestJointMetamorphic(t *testing.T) {
	checks(t, 1500)
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t, 0)
		fsys := vfs.NewMem()
		t.Logf("%d ranks, %d records, vars %+v, %s", m.ranks, m.records, m.s.Vars, drawWrite(t, m, fsys, "d.nc"))
		ranks := rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 20)).Draw(t, "readers")
		apart := rapid.Bool().Draw(t, "apart")
		share, span := rapid.Int64Range(1, 100).Draw(t, "share"), rapid.Int64Range(1, 20).Draw(t, "span")
		o := &read.OpenOptions{Workers: 1 + m.ranks%3, Memory: 1 << 20, Verify: rapid.SampledFrom([]read.Verification{read.VerifyWhole, read.VerifyOnce, read.VerifyAlways, read.VerifyNever}).Draw(t, "verify")}
		type call struct {
			want []jointWant
			gets []read.Get
		}
		var calls []call
		for v := range m.s.Vars {
			sv := &m.s.Vars[v]
			if sv.Record && m.records == 0 {
				continue
			}
			c := call{want: drawJoint(t, ranks, m.s.Elems(dataset.VarID(v)))}
			for w := range m.s.Vars { // any variables of the same number of elements
				x := &m.s.Vars[w]
				if m.s.Elems(dataset.VarID(w)) != m.s.Elems(dataset.VarID(v)) || x.Record && m.records == 0 || w != v && rapid.Bool().Draw(t, "without") {
					continue
				}
				for range rapid.IntRange(1, 3).Draw(t, "records") {
					rec := int64(0)
					if x.Record {
						rec = rapid.Int64Range(0, m.records-1).Draw(t, "rec")
					}
					c.gets = append(c.gets, read.Get{Name: x.Name, Record: rec})
				}
			}
			calls = append(calls, c)
		}
		noError(t, run(ranks, func(ctx context.Context, c comm.Comm) error {
			c = isolateIf(c, apart)
			r := need(read.OpenCommWith(ctx, c, "d.nc", o, dataset.Knobs{Fs: fsys}))
			k := r.Collective(c)
			k.Share, k.Span = share, span
			for _, x := range calls {
				w := x.want[c.Rank()]
				p := k.Plan(w.runs)
				for again := range 2 {
					gets := slices.Clone(x.gets[:len(x.gets)*(again+1)/2])
					for i := range gets {
						v, _ := m.s.VarID(gets[i].Name)
						gets[i].Into, gets[i].Keep = cdf5.NewSlice(m.s.Vars[v].Type, int(p.Total)), w.keep
						if b, ok := cdf5.Bytes(gets[i].Into); ok {
							for j := range b {
								b[j] = 0x5a
							}
						}
					}
					must(p.Read(ctx, gets...))
					for i := range gets {
						must(jointRight(m, &gets[i], w.runs))
					}
				}
			}
			return r.Close()
		}))
	})
}

// jointRight checks the data read against the model.
func jointRight(m *model, g *read.Get, runs []decomp.Req) error {
	v, _ := m.s.VarID(g.Name)
	size := int64(m.s.Vars[v].Type.Size())
	whole, owners := m.bytes(v, g.Record, false), m.owners(v)
	var want []byte
	for _, q := range runs {
		for at := q.Offset; at < q.End(); at++ {
			if g.Keep && m.s.Vars[v].Decomp != 0 && owners[at] < 0 {
				want = append(want, bytes.Repeat([]byte{0x5a}, int(size))...)
			} else {
				want = append(want, whole[at*size:(at+1)*size]...)
			}
		}
	}
	if got := native(m.s.Vars[v].Type, g.Into); !bytes.Equal(got, want) {
		return fmt.Errorf("runs %v of %s record %d, keep %v: %s", runs, g.Name, g.Record, g.Keep, firstDiff(got, want))
	}
	return nil
}
