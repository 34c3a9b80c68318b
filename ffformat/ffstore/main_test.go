package ffstore

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

// must fails the test on an error. On a rank it ends only that rank.
func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
