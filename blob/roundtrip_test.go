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
	"blobio/internal/base/vfs"
)

// toy is a small dataset with every kind of variable, and with maps that leave elements without an owner.
type toy struct {
	s            *dataset.Schema
	d1, d2       dataset.DecompID
	temp, flux   dataset.VarID
	area, mask   dataset.VarID
	time, date   dataset.VarID
	scale, never dataset.VarID
	maps         []*decomp.Map
	ranks        int
}

const (
	toyLev, toyCol = 5, 37
)

// newToy distributes columns round robin. The last two columns have no owner. With more than two ranks, the last rank owns
// nothing.
func newToy(ranks int) *toy {
	t := &toy{s: dataset.NewSchema(), ranks: ranks}
	s := t.s
	tm := s.Dim("time", dataset.Unlimited)
	lev := s.Dim("lev", toyLev)
	col := s.Dim("ncol", toyCol)
	ch := s.Dim("chars", 8)
	t.d1 = s.Decomp(col)
	t.d2 = s.Decomp(lev, col)
	s.GlobalAtt("title", "toy")
	s.GlobalAtt("np", 4)
	t.area = s.Var("area", cdf5.Double, []dataset.DimID{col}, dataset.Decomposed(t.d1), dataset.Att("units", "m2"))
	t.mask = s.Var("mask", cdf5.Short, []dataset.DimID{col}, dataset.Decomposed(t.d1))
	t.scale = s.Var("scale", cdf5.Float, []dataset.DimID{lev})
	t.temp = s.Var("T", cdf5.Float, []dataset.DimID{tm, lev, col}, dataset.Decomposed(t.d2), dataset.Att("units", "K"), dataset.Att("_FillValue", float32(-1)))
	t.flux = s.Var("FLUX", cdf5.Double, []dataset.DimID{tm, col}, dataset.Decomposed(t.d1))
	t.time = s.Var("time", cdf5.Double, []dataset.DimID{tm})
	t.date = s.Var("date_written", cdf5.Char, []dataset.DimID{tm, ch})
	t.never = s.Var("NEVER", cdf5.Int, []dataset.DimID{tm, col}, dataset.Decomposed(t.d1), dataset.Att("_FillValue", int32(-99)))
	owners := ranks
	if ranks > 2 {
		owners--
	}
	b1 := decomp.NewBuilder([]int64{toyCol}, ranks)
	b2 := decomp.NewBuilder([]int64{toyLev, toyCol}, ranks)
	for r := range ranks {
		var q1, q2 []decomp.Req
		if r < owners {
			for c := int64(r); c < toyCol-2; c += int64(owners) {
				q1 = append(q1, decomp.Req{Offset: c, Length: 1})
			}
			for l := range int64(toyLev) {
				for _, q := range q1 {
					q2 = append(q2, decomp.Req{Offset: l*toyCol + q.Offset, Length: 1})
				}
			}
		}
		must(b1.Set(r, decomp.SortCoalesce(q1, toyCol)))
		must(b2.Set(r, decomp.SortCoalesce(q2, toyCol)))
	}
	m1 := need(b1.Map())
	m2 := need(b2.Map())
	t.maps = []*decomp.Map{m1, m2}
	return t
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func need[T any](v T, err error) T {
	must(err)
	return v
}

func (t *toy) parts(rank int) []write.Part {
	return []write.Part{{Decomp: t.d1, Runs: t.maps[0].AppendReqs(nil, rank)}, {Decomp: t.d2, Runs: t.maps[1].AppendReqs(nil, rank)}}
}

// value returns a small number that differs for every variable, record and element.
func value(v dataset.VarID, rec, at int64) float64 { return float64(int64(v)*1000000 + rec*10000 + at) }

func elems(m *decomp.Map, rank int, f func(at int64) float64) (out []float64) {
	out = []float64{}
	for q := range m.Reqs(rank) {
		for k := range q.Length {
			out = append(out, f(q.Offset+k))
		}
	}
	return out
}

// put puts one record of all record variables and, if fixed is set, the fixed variables.
func (t *toy) put(w *write.Writer, rank int, rec int64, fixed bool) error {
	if fixed {
		must(write.Put(w, t.area, 0, elems(t.maps[0], rank, func(at int64) float64 { return value(t.area, 0, at) })))
		m := elems(t.maps[0], rank, func(at int64) float64 { return float64(at) })
		must(write.Put(w, t.mask, 0, m))
		must(write.PutAt(w, t.scale, 0, []int64{0}, []int64{3}, []float32{1, 2, 3}))
		must(write.PutAt(w, t.scale, 0, []int64{2}, []int64{3}, []float32{30, 4, 5}))
	}
	v := func(id dataset.VarID) int { i, _ := w.Job.Schema.VarID(t.s.Vars[id].Name); return int(i) }
	x := elems(t.maps[1], rank, func(at int64) float64 { return value(t.temp, rec, at) })
	if err := write.Put(w, dataset.VarID(v(t.temp)), rec, x); err != nil { // double to float
		return err
	}
	must(write.Put(w, dataset.VarID(v(t.flux)), rec, elems(t.maps[0], rank, func(at int64) float64 { return value(t.flux, rec, at) })))
	must(write.Put(w, dataset.VarID(v(t.time)), rec, []float64{float64(rec) + 0.5}))
	return write.Put(w, dataset.VarID(v(t.date)), rec, []byte(fmt.Sprintf("day %04d", rec)))
}

func (t *toy) write(ctx context.Context, c comm.Comm, name string, records int64, o *dataset.Settings) error {
	w, err := write.CreateWith(ctx, c, name, t.s, t.parts(c.Rank()), o)
	if err != nil {
		return err
	}
	for rec := range records {
		if err := t.put(w, c.Rank(), rec, rec == 0); err != nil {
			return err
		}
		if err := w.Flush(ctx); err != nil {
			return err
		}
	}
	return w.Close(ctx)
}

// check reads all variables of a dataset and compares them with the toy.
func (t *toy) check(tb testing.TB, name string, records int64) {
	tb.Helper()
	ctx := context.Background()
	onlyNotes(tb, "check", vfs.OS, name)
	r, err := read.Open(ctx, name, nil)
	noError(tb, err)
	defer r.Close()
	if r.Now().Data.Records != records {
		tb.Fatalf("%d records, want %d", r.Now().Data.Records, records)
	}
	got := make([]float64, records*toyLev*toyCol)
	noError(tb, r.Read(ctx, "T", nil, nil, got))
	for i, x := range got {
		rec, at := int64(i)/(toyLev*toyCol), int64(i)%(toyLev*toyCol)
		want := value(t.temp, rec, at)
		if at%toyCol >= toyCol-2 {
			want = -1
		}
		if x != want {
			tb.Fatalf("T[%d][%d] = %v, want %v", rec, at, x, want)
		}
	}
	if records > 0 {
		col := make([]float32, records*toyLev)
		noError(tb, r.Read(ctx, "T", []int64{0, 0, 3}, []int64{records, toyLev, 1}, col))
		for i, x := range col {
			if want := float32(value(t.temp, int64(i/toyLev), int64(i%toyLev)*toyCol+3)); x != want {
				tb.Fatalf("column: element %d = %v, want %v", i, x, want)
			}
		}
		never := make([]int64, records*toyCol)
		noError(tb, r.Read(ctx, "NEVER", nil, nil, never))
		for i, x := range never {
			if x != -99 {
				tb.Fatalf("NEVER[%d] = %d, want the fill value -99", i, x)
			}
		}
		date := make([]byte, 8)
		if err := r.Read(ctx, "date_written", []int64{records - 1, 0}, []int64{1, 8}, date); err != nil || string(date) != fmt.Sprintf("day %04d", records-1) {
			tb.Fatalf("date_written = %q, %v", date, err)
		}
		scale := make([]float32, toyLev)
		if err := r.Read(ctx, "scale", nil, nil, scale); err != nil || fmt.Sprint(scale) != "[1 2 30 4 5]" {
			tb.Fatalf("scale = %v, %v", scale, err)
		}
	}
}
