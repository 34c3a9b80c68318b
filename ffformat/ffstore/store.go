package ffstore

import (
	"context"

	"blobio/comm"
	"blobio/ffformat"
	"blobio/internal/base/elem"
	"blobio/internal/base/fault"
)

// Store is one rank's part of a store of checkpoints. All methods that take a context are
// collective, but those that say otherwise. A Store is used by one goroutine at a time.
type Store struct {
	c      comm.Comm
	o      Options
	dir    string
	ledger ledger
	files  rankFiles
	logs   sideLogs

	order []int32 // of protection
	data  map[int32][]byte
	busy  bool // an incremental checkpoint is under way
}

// Protect names the memory of a variable, as FTI_Protect does: it is read by each checkpoint and
// filled by Recover. Protecting it again changes size and place. The slice stays the
// caller's. It is not collective; ranks may have different variables.
func (s *Store) Protect(id int32, data []byte) error {
	if s.busy {
		return fault.Usage("Protect of %d during an incremental checkpoint", id)
	}
	if _, ok := s.data[id]; !ok {
		s.order = append(s.order, id)
	}
	s.data[id] = data
	return nil
}

// List are the committed checkpoints that are kept, oldest first. It is not collective.
func (s *Store) List() []Info { return s.ledger.rec.list() }

// vars are the protected variables, in their order.
func (s *Store) vars() []ffformat.VarBuf {
	v := make([]ffformat.VarBuf, len(s.order))
	for i, id := range s.order {
		v[i] = ffformat.VarBuf{ID: id, Data: s.data[id]}
	}
	return v
}

// Close releases the files and lets others write to the directory. Nothing that is committed
// depends on it. It is to be called after errors, too; what can be released without the other
// ranks then is.
func (s *Store) Close(ctx context.Context) error {
	return comm.Agree(ctx, s.c, s.ledger.close())
}

// Bytes views a slice of numbers as its memory, for Protect.
func Bytes[T comm.Number](v []T) []byte { return elem.Bytes(v) }
