package fault

import "errors"

// Classes of damage found while reading.
var (
	// ErrTruncated: the file is shorter than its metadata require.
	ErrTruncated = errors.New("truncated")
	// ErrChecksum: the bytes do not match their recorded checksum.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrCorrupt: a field holds a value that the format forbids.
	ErrCorrupt = errors.New("corrupt")
	// ErrVersion: the file has this format but an unknown version.
	ErrVersion = errors.New("unknown version")
	// ErrUnsupported: the file is valid but uses an unsupported feature.
	ErrUnsupported = errors.New("unsupported")
	// ErrNotFormat: the file has another format.
	ErrNotFormat = errors.New("not this format")
	// ErrTooLarge: a length exceeds a memory limit or a limit of the format.
	ErrTooLarge = errors.New("too large")
)

// Classes of misuse and of state.
var (
	// ErrNotCommitted: the dataset was never finished; it has a partial name or an uncommitted manifest.
	ErrNotCommitted = errors.New("not committed")
	// ErrMapMismatch: the decomposition maps differ from the maps of the dataset.
	ErrMapMismatch = errors.New("decomposition map mismatch")
	// ErrRange: a value does not fit the type of the file.
	ErrRange = errors.New("value out of range")
	// ErrExist: the output already exists.
	ErrExist = errors.New("already exists")
	// ErrMissing: a subfile or another part of the dataset is missing.
	ErrMissing = errors.New("missing")
	// ErrBroken: the object failed earlier and can no longer be used.
	ErrBroken = errors.New("broken by an earlier failure")
	// ErrInUse: another process is writing to the dataset.
	ErrInUse = errors.New("in use")
	// ErrChanged: a file was changed while it was being encoded.
	ErrChanged = errors.New("file changed while it was encoded")
	// ErrNoVersion: a version of an array does not exist or was dropped.
	ErrNoVersion = errors.New("no such version")
	// ErrTainted: a version of an array is marked as tainted.
	ErrTainted = errors.New("tainted")
	// ErrUsage: an argument is wrong.
	ErrUsage = errors.New("wrong argument")
)
