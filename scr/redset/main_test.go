package redset

import (
	"testing"

	"blobio/internal/base/crashtest"
)

func TestMain(m *testing.M) { crashtest.Main(m) }

// tester is a test, a benchmark or a property.
type tester interface {
	Helper()
	Fatal(...any)
}

// must ends the test with an error; on a rank it also ends the rank, which leaves the other ranks.
func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
