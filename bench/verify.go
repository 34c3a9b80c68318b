package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/e3smcases"
	"blobio/internal/base/elem"
)

// verifyWindow is the number of elements compared at once.
const verifyWindow = 1 << 20

// verify reads every element in canonical order and compares it with the pattern. Elements that no rank owns must be the fill
// value.
func (p *replay) verify(ctx context.Context, r *blob.Reader, res *Result) error {
	if got := r.Records(); got != p.records {
		return fmt.Errorf("%s: %d records, want %d", res.Path, got, p.records)
	}
	type owners struct {
		ix  *decomp.Index
		cov decomp.Coverage
	}
	own := make([]owners, len(p.o.Maps))
	for d, m := range p.o.Maps {
		ix, err := m.Index()
		if err != nil {
			return err
		}
		own[d] = owners{ix, ix.Coverage()}
	}
	done, turn := int64(0), -1 // the processes take turns
	c := p.comm()
	for v := range p.c.Vars {
		cv := &p.c.Vars[v]
		t, atts := cv.FileType(p.o.Float)
		recs := int64(1)
		if cv.Record {
			recs = p.records
		}
		n := p.c.Elems(v)
		for rec := range recs {
			for lo := int64(0); lo < n; lo += verifyWindow {
				if turn++; turn%c.Size() != c.Rank() {
					continue
				}
				hi := min(n, lo+verifyWindow)
				got := cdf5.NewSlice(t, int(hi-lo))
				start := time.Now()
				if err := r.ReadRuns(ctx, cv.Name, rec, []decomp.Req{{Offset: lo, Length: hi - lo}}, got); err != nil {
					return err
				}
				res.Read += time.Since(start).Seconds()
				want := cdf5.NewSlice(t, int(hi-lo))
				if cv.Map == 0 {
					// Rank 0 of the first subfile writes the variable. It is rank 0 of the world in every grouping.
					if err := p.values.FillRange(want, v, rec, lo, 0); err != nil {
						return err
					}
				} else {
					o := &own[cv.Map-1]
					un, err := p.expect(want, v, rec, lo, hi, o.ix, o.cov.Uncovered > 0, t, atts)
					if err != nil {
						return err
					}
					res.Uncovered += un
				}
				gb, _ := cdf5.Bytes(got)
				wb, _ := cdf5.Bytes(want)
				if !bytes.Equal(gb, wb) {
					return mismatch(res.Path, cv.Name, rec, lo, gb, wb, t)
				}
				res.Verified += hi - lo
				done += int64(len(gb))
				p.o.Progress("verify", done, p.total/int64(c.Size()))
			}
		}
	}
	sums, err := c.AllreduceInt64(ctx, []int64{res.Verified, res.Uncovered}, comm.Sum)
	if err != nil {
		return err
	}
	most, err := c.AllreduceInt64(ctx, []int64{int64(res.Read * 1e9)}, comm.Max)
	if err != nil {
		return err
	}
	res.Read = float64(most[0]) / 1e9
	res.Verified, res.Uncovered = sums[0], sums[1]
	return nil
}

// expect computes the expected elements [lo, hi) of a decomposed variable, and counts the elements that no rank owns.
func (p *replay) expect(want any, v int, rec, lo, hi int64, ix *decomp.Index, holes bool, t cdf5.Type, atts []cdf5.Att) (uncovered int64, err error) {
	if p.o.Pattern != e3smcases.Reference {
		if err := p.values.FillRange(want, v, rec, lo, 0); err != nil || !holes {
			return 0, err
		}
	}
	wb, _ := cdf5.Bytes(want)
	size := int64(t.Size())
	fill := cdf5.FindAtt(atts, "_FillValue")
	if fill != nil && fill.Type != t {
		fill = nil
	}
	order := elem.HostOrder()
	at := lo
	gap := func(to int64) {
		if to > at {
			cdf5.FillBytes(wb[(at-lo)*size:(to-lo)*size], t, order, fill)
			uncovered += to - at
		}
	}
	for o := range ix.Range(lo, hi) {
		gap(o.Off)
		at = o.Off + o.Len
		if p.o.Pattern == e3smcases.Reference {
			one := cdf5.NewSlice(t, int(o.Len))
			if err := p.values.Fill(one, v, rec, e3smcases.Range(o.Off, o.Len), o.Rank); err != nil {
				return 0, err
			}
			ob, _ := cdf5.Bytes(one)
			copy(wb[(o.Off-lo)*size:], ob)
		}
	}
	gap(hi)
	return uncovered, nil
}

func mismatch(path, name string, rec, lo int64, got, want []byte, t cdf5.Type) error {
	size := t.Size()
	for i := 0; i < len(got); i += size {
		if !bytes.Equal(got[i:i+size], want[i:i+size]) {
			return fmt.Errorf("%s: variable %q, record %d, element %d: bytes %x, want %x", path, name, rec, lo+int64(i/size), got[i:i+size], want[i:i+size])
		}
	}
	return nil
}
