package crashtest

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// Main runs the tests of a package that mostly make, copy and drop small disks. The garbage collector runs a quarter as often
// as by default, unless memory is short, a benchmark runs or GOGC is set. Property tests try 15 draws, unless BLOBIO_LONG or
// -rapid.checks is set.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(1 << 30)
	}
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue && !Long() {
		if err := f.Value.Set("15"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
