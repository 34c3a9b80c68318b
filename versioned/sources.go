package versioned

import (
	"blobio/internal/base/vfs"
	"errors"
	"fmt"
)

// sources are where one process reads the files of versions.
type sources struct {
	stores  []*nodeStore // by node; nil: in the memory of another process
	copies  int          // on so many next nodes
	exposed exposures
	open    readers
}

// withFile calls f with a reader of the file, from its node or from a copy, until one succeeds. An
// error of f that is no damage of the file ends it.
func (s *sources) withFile(info *fileInfo, f func(x *reader) error) error {
	if info == nil {
		return fmt.Errorf("it was dropped while it was read: %w", ErrNoVersion)
	}
	var errs []error
	for k := range s.copies + 1 {
		node := (info.Node + k) % len(s.stores)
		if k > 0 && node == info.Node {
			break // all nodes were tried
		}
		x, err := s.reader(node, info)
		if err == nil {
			err = f(x)
			s.open.put(x)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reader returns a reader of a file that a node has; open.put must be called.
func (s *sources) reader(node int, info *fileInfo) (*reader, error) {
	return s.open.get(node, info, func() (vfs.File, error) {
		if st := s.stores[node]; st != nil {
			return st.fs.Open(st.path(info.Name))
		}
		if f := s.exposed.find(info.Name); f != nil {
			return f, nil
		}
		return nil, fmt.Errorf("%s of node %d is gone: %w", info.Name, node, ErrMissing)
	})
}
