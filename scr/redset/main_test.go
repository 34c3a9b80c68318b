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

// must ends the test with an error; also on a rank, which then leaves the others.
func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
