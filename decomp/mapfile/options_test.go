package mapfile

import (
	"fmt"
	"slices"
	"testing"

	"blobio/decomp"
)

// TestFactorAndUnsorted: -e multiplies the fastest dimension, offsets and lengths; -q keeps the requests of the file.
func TestFactorAndUnsorted(t *testing.T) {
	b := decomp.NewBuilder([]int64{2, 6}, 2)
	for p, reqs := range [][]decomp.Req{
		{{Offset: 8, Length: 1}, {Offset: 0, Length: 2}, {Offset: 2, Length: 1}, {Offset: 5, Length: 1}, {Offset: 6, Length: 1}},
		{{Offset: 3, Length: 2}, {Offset: 7, Length: 1}},
	} {
		must(b.Set(p, reqs))
	}
	m := need(b.Map())
	f := need(FromMaps(m))
	for _, c := range []struct {
		o    Options
		dims string
		want string
	}{
		// 5 ends a row and 6 begins a row, so the two are never merged
		{Options{}, "[2 6]", "[{0 3} {5 1} {6 1} {8 1}]"},
		{Options{Unsorted: true}, "[2 6]", "[{8 1} {0 2} {2 1} {5 1} {6 1}]"},
		{Options{Factor: 3}, "[2 18]", "[{0 9} {15 3} {18 3} {24 3}]"},
		{Options{Unsorted: true, Factor: 3}, "[2 18]", "[{24 3} {0 6} {6 3} {15 3} {18 3}]"},
	} {
		got := need(f.Maps[0].Map(2, c.o))
		if reqs := fmt.Sprint(got.AppendReqs(nil, 0)); reqs != c.want || fmt.Sprint(got.Dims()) != c.dims {
			t.Errorf("%+v: %v %s, want %s %s", c.o, got.Dims(), reqs, c.dims, c.want)
		}
	}
}

// TestRepeatedIndex: a rank with a repeated element gets no extra element, unless E3SM-IO's merge is requested.
func TestRepeatedIndex(t *testing.T) {
	f := need(readText("version 2001 npes 1 ndims 1\n8\n0 5\n1 2 2 4 5\n"))
	for _, c := range []struct {
		o    Options
		want []decomp.Req
	}{
		{Options{}, []decomp.Req{{Offset: 0, Length: 2}, {Offset: 1, Length: 1}, {Offset: 3, Length: 2}}},
		{Options{Unsorted: true}, []decomp.Req{{Offset: 0, Length: 2}, {Offset: 1, Length: 1}, {Offset: 3, Length: 2}}},
		{Options{Coalesce: true}, []decomp.Req{{Offset: 0, Length: 5}}},
	} {
		m := need(f.Maps[0].Map(1, c.o))
		if got := m.AppendReqs(nil, 0); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
	}
}
