package zarr

import (
	"errors"
)

// ErrNoKey means that the store has no such key. Zarr readers replace a chunk without a key by fill values. So no other
// error may be reported as ErrNoKey.
var ErrNoKey = errors.New("no such key")
