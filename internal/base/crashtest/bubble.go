package crashtest

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Bubble is synctest.Test, and empties each sync.Pool afterwards: a channel that is made in the bubble, as md5-simd keeps them, must not be
// used outside.
func Bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	defer func() {
		for range 2 { // a pool is emptied by the second
			runtime.GC()
		}
	}()
	synctest.Test(t, f)
}
