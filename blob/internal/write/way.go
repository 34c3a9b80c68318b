package write

import "cmp"

// From these mean sizes on, in bytes, each rank writes its own, if Options.OwnMin is 0: of the ranks' pieces of a variable (or with the
// process-centric layout all that they put). Each write takes the lock of the file; up to here that costs more than the copy into
// a window.
const (
	ownMinShared   = 128 << 10
	ownMinMessages = 64 << 10
)

// ownMin is the size that holds for the next flush. The team learns in the first flush whether it has shared memory.
func (e *Engine) ownMin() int64 {
	least := int64(ownMinShared)
	if t := e.team; t.mem == nil && (t.asked || e.opt.Messages) {
		least = ownMinMessages
	}
	return cmp.Or(e.opt.OwnMin, least)
}
