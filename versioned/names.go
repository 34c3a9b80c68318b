package versioned

import (
	"blobio/internal/base/fault"
	"blobio/internal/versioned/arrays"
	"errors"
	"fmt"
	"strings"
)

// Files of an array.
const (
	leftPrefix = "left-" // before the names of files that Rebuild had no use for
	dataExt    = ".fti"
)

var recordName, secondName = arrays.Seals[0], arrays.Seals[1]

func dataName(gen int, version int64, rank int) string {
	return fmt.Sprintf("g%d-v%d-r%d%s", gen, version, rank, dataExt)
}

// isData reports whether a name may be that of a data file.
func isData(name string) bool { return strings.HasSuffix(name, dataExt) && name[0] == 'g' }

// Classes of errors, re-exported.
var (
	ErrExist     = fault.ErrExist
	ErrMissing   = fault.ErrMissing
	ErrBroken    = fault.ErrBroken
	ErrChecksum  = fault.ErrChecksum
	ErrCorrupt   = fault.ErrCorrupt
	ErrNotFormat = fault.ErrNotFormat
)

var (
	// ErrNoVersion: there is no such version, or no longer.
	ErrNoVersion = errors.New("no such version")
	// ErrConflict: another program has changed the store since it was opened.
	ErrConflict = fault.ErrInUse
	// ErrTainted: the versions are marked as tainted. OpenAt opens one all the same.
	ErrTainted = errors.New("tainted")
	// ErrKey: the store is encrypted, and the key is missing or another one.
	ErrKey = errors.New("wrong key")
)
