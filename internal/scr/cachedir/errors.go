package cachedir

import (
	"errors"

	"blobio/internal/fault"
)

func badField(file, field, format string, args ...any) error {
	return fault.In(file, field, fault.ErrCorrupt, format, args...)
}

// isDamage says whether an error is about the content of a file.
func isDamage(err error) bool {
	var damage *fault.FormatError
	return errors.As(err, &damage)
}
