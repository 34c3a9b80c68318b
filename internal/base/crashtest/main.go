package crashtest

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// Main runs the tests of a package in which most of the time goes to small disks that are made, copied and thrown away.
// Garbage is collected a fourth as often as is usual, unless memory gets short, something is timed or GOGC is set. Property
// tests try 30 draws, unless long histories are wanted or -rapid.checks is set.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(1 << 30)
	}
	if f := flag.Lookup("rapid.checks"); f != nil && f.Value.String() == f.DefValue && !Long() {
		if err := f.Value.Set("30"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
