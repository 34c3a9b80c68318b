package subfile

import "blobio/internal/base/fault"

func bad(file string, off int64, field string, class error, format string, args ...any) error {
	return fault.At(file, off, field, class, format, args...)
}
