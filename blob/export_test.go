package blob

import (
	"context"

	"blobio/comm"
)

// CreateTuned is Create with what only tests set: from which mean size on ranks write themselves (0: the default), and
// whether aggregators get messages instead of shared memory.
func CreateTuned(ctx context.Context, c comm.Comm, name string, s *Schema, parts []Part, o *Options, ownMin int64, messages bool) (*Writer, error) {
	tuned := &settings{Options: *o, knobs: knobs{messages: messages}}
	tuned.OwnMin = ownMin
	return createWith(ctx, c, name, s, parts, tuned)
}
