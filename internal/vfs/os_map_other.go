//go:build !linux && !darwin

package vfs

import "errors"

// Map implements Mapper.
func (f *osFile) Map(off, n int64) (*Mapping, error) { return nil, errors.ErrUnsupported }
