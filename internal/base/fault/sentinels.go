package fault

import "errors"

// Classes of damage found while reading.
var (
	// ErrTruncated: the file ends before what its own metadata promises.
	ErrTruncated = errors.New("truncated")
	// ErrChecksum: the bytes do not match their recorded checksum.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrCorrupt: a field holds a value that the format forbids.
	ErrCorrupt = errors.New("corrupt")
	// ErrVersion: the file is of this format, but of a version that is not known here.
	ErrVersion = errors.New("unknown version")
	// ErrUnsupported: the file is valid, but uses a feature that is not implemented here.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotFormat: the file is of another format altogether.
	ErrNotFormat = errors.New("not this format")
	// ErrTooLarge: a length is over the cap that protects memory, or over a limit of a format.
	ErrTooLarge = errors.New("too large")
)

// Classes of misuse and of state.
var (
	// ErrNotCommitted: the dataset was never finished (a partial name or an uncommitted manifest is there).
	ErrNotCommitted = errors.New("not committed")
	// ErrMapMismatch: the decomposition maps differ from the maps of the dataset.
	ErrMapMismatch = errors.New("decomposition map mismatch")
	// ErrRange: a value does not fit the type of the file.
	ErrRange = errors.New("value out of range")
	// ErrExist: the output is there already.
	ErrExist = errors.New("already exists")
	// ErrMissing: a subfile or another part of the dataset is not there.
	ErrMissing = errors.New("missing")
	// ErrBroken: the object failed earlier and can no longer be used.
	ErrBroken = errors.New("broken by an earlier failure")
	// ErrInUse: somebody else is writing to it.
	ErrInUse = errors.New("in use")
	// ErrChanged: a file was changed while it was being encoded.
	ErrChanged = errors.New("file changed while it was encoded")
	// ErrUsage: an argument is wrong.
	ErrUsage = errors.New("wrong argument")
)
