package testfiles

// T is a test, a benchmark or a property.
type T interface {
	Helper()
	Fatal(...any)
}

// Must ends the test with an error. On a rank it ends only that rank, which leaves the others.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
