package crashtest

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Bubble calls synctest.Test and then empties each sync.Pool. A pool (of md5-simd) may keep a channel that was made in the
// bubble, and such a channel must not be used outside the bubble.
func Bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer func() {
		for range 2 { // the second collection empties a pool
			runtime.GC()
		}
	}()
	synctest.Test(t, f)
}
