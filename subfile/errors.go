package subfile

import "blobio/internal/fault"

// pkg makes the errors of this package. Package blob names their classes.
const pkg fault.Pkg = "subfile"

func bad(file string, off int64, field string, class error, format string, args ...any) error {
	return pkg.At(file, off, field, class, format, args...)
}
