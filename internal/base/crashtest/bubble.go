package crashtest

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Bubble is synctest.Test and then empties each sync.Pool: a channel made in the bubble, as md5-simd keeps one, must not be used
// outside.
func Bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer func() {
		for range 2 { // the second collection empties a pool
			runtime.GC()
		}
	}()
	synctest.Test(t, f)
}
