package versioned

import (
	"slices"
	"strings"

	"blobio/internal/durable"
)

// covers says whether a file is of it.
func (p *protection) covers(f *fileInfo) bool { return f.Gen == p.Gen && f.Born == p.Born }

// stray says whether a file is one of an array, but not one that the record names: one that was not finished is neither.
func (r *record) stray(name string) bool {
	switch {
	case isData(name):
		return !slices.ContainsFunc(r.Files, func(f fileInfo) bool { return f.Name == name })
	case isRedundancy(name):
		return !slices.ContainsFunc(r.Sets, func(p protection) bool { return strings.HasPrefix(name, p.Prefix) })
	}
	return durable.IsTemp(name)
}
