//go:build !linux && !darwin && !windows

package runloop

import "errors"

func statfs(string) (total, free int64, err error) { return 0, 0, errors.ErrUnsupported }
