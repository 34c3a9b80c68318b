package zarr

import (
	"errors"
)

// ErrNoKey means that the store has no such key. Zarr readers take a chunk without a key for fill values. So no other error,
// whatever its cause, may be reported as ErrNoKey.
var ErrNoKey = errors.New("no such key")
