package zarr

import (
	"errors"
)

// ErrNoKey: the store has no such key. Readers of Zarr take a chunk without a key for fill values, so no other error may
// be reported as this one, whatever its cause.
var ErrNoKey = errors.New("no such key")
