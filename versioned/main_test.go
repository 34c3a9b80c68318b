package versioned

import (
	"context"
	"testing"

	"blobio/internal/crashtest"
)

func TestMain(m *testing.M) { crashtest.Main(m) }

// tester is a test, a benchmark or a property.
type tester interface {
	Helper()
	Fatal(...any)
}

// must ends the test with an error; also on a rank, which then leaves the others.
func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inc commits the next version of an array.
func inc(ctx context.Context, t tester, a *Array) {
	t.Helper()
	_, err := a.Inc(ctx, 1, "")
	must(t, err)
}
