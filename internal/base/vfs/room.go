package vfs

import (
	"blobio/internal/base/cache"
	"blobio/internal/base/fault"
)

// Descriptors is what all pools of open files of this process share: half of what the system lets it have open (RLIMIT_NOFILE). The rest is for
// files that are open for a moment, for connections, and for the program that this is a library of.
var Descriptors = cache.NewBudget(openLimit() / 2)

// spareAtOnce is how many files are closed where one more cannot be opened.
const spareAtOnce = 16

// withRoom opens something; while the process has too many files open, it closes some that nobody uses.
func withRoom[T any](open func() (T, error)) (T, error) {
	for {
		v, err := open()
		if !fault.Exhausted(err) || !Descriptors.Spare(spareAtOnce) {
			return v, err
		}
	}
}
