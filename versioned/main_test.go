package versioned

import (
	"context"
	"testing"

	"blobio/comm"
	"blobio/internal/base/crashtest"
	"blobio/internal/base/elem"
)

func TestMain(m *testing.M) { crashtest.Main(m) }

// tester is a test, a benchmark or a rapid property.
type tester interface {
	Helper()
	Fatal(...any)
}

// must fails the test if err is not nil. If a rank calls it, it ends only this rank.
func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// floats creates array a with n numbers, 64 per chunk.
func floats(ctx context.Context, t tester, c comm.Comm, st *Store, n int64, o *Options) *Array {
	t.Helper()
	a, err := Create(ctx, c, st, Spec{Name: "a", Type: elem.Float64, Shape: []int64{n}, Chunk: 512}, o)
	must(t, err)
	return a
}

func inc(ctx context.Context, t tester, a *Array) {
	t.Helper()
	_, err := a.Inc(ctx, 1, "")
	must(t, err)
}
