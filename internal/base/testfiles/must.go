package testfiles

// T is a test, a benchmark or a property.
type T interface {
	Helper()
	Fatal(...any)
}

// Must ends the test with an error. If the test runs ranks as goroutines, Must ends only the rank that calls it.
func Must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
