package subfile

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"blobio/internal/base/durable"
)

const (
	partialSuffix  = ".partial"
	manifestSuffix = ".manifest"
	nextSuffix     = ".manifest.next"
	logSuffix      = ".log"
)

// Name returns the name of subfile i of the dataset base: "F_h0.nc.0000".
func Name(base string, i int) string { return fmt.Sprintf("%s.%04d", base, i) }

// Partial returns the name of an unfinished file: "out.nc.partial".
func Partial(name string) string { return name + partialSuffix }

// PartialBy returns the name under which a writer writes a subfile before its commit: "F_h0.nc.0000.w1a2b3c4d.partial". The
// tag is the writer's (Manifest.Writer), so that no other opens, renames or replaces it. Without a tag it
// is Partial(name), the name that older versions gave it.
func PartialBy(name, tag string) string {
	if tag != "" {
		name += "." + tag
	}
	return Partial(name)
}

// Final is the reverse of PartialBy. ok is false if the name is no partial one.
func Final(name string) (final, tag string, ok bool) {
	final, ok = strings.CutSuffix(name, partialSuffix)
	if !ok {
		return name, "", false
	}
	if dot := strings.LastIndexByte(final, '.'); dot > 0 && durable.IsTag(final[dot+1:]) {
		final, tag = final[:dot], final[dot+1:]
	}
	return final, tag, true
}

// ManifestName returns the name of the manifest of the dataset base.
func ManifestName(base string) string { return base + manifestSuffix }

// NextName returns the name of the manifest while its commit is being prepared.
func NextName(base string) string { return base + nextSuffix }

// LogName returns the name of the log of the dataset base to which the writer with this tag adds its commits: "F_h0.nc.manifest.w1a2b3c4d.log".
func LogName(base, tag string) string { return ManifestName(base) + "." + tag + logSuffix }

// LogOf is the reverse of LogName.
func LogOf(name string) (base, tag string, ok bool) {
	rest, ok := strings.CutSuffix(name, logSuffix)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 || !durable.IsTag(rest[dot+1:]) {
		return "", "", false
	}
	base, ok = strings.CutSuffix(rest[:dot], manifestSuffix)
	return base, rest[dot+1:], ok && base != "" && filepath.Base(base) != "."
}

// SetBase returns the base name of appended set k of the dataset base; set 0 is the base itself.
func SetBase(base string, k int) string {
	if k == 0 {
		return base
	}
	return fmt.Sprintf("%s+%d", base, k)
}

// Split takes a subfile's name apart: "x/F.nc.0012" gives "x/F.nc", 12. A
// partial name counts as the name that it will get. ok is false if the name
// does not end in a dot and at least four digits.
func Split(name string) (base string, i int, ok bool) {
	name, _, _ = Final(name)
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || filepath.Base(name)[0] == '.' && strings.Count(filepath.Base(name), ".") == 1 {
		return "", 0, false
	}
	digits := name[dot+1:]
	if len(digits) < 4 || len(digits) > 9 || len(digits) > 4 && digits[0] == '0' {
		return "", 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || digits[0] == '+' {
		return "", 0, false
	}
	return name[:dot], int(n), true
}

// Base returns the base name of the dataset that the file of this name belongs
// to: a subfile's, a partial's, a manifest's, a log's; any other name is its own base.
func Base(name string) string {
	for _, s := range []string{nextSuffix, manifestSuffix} {
		record, _, _ := Final(name)
		if b, ok := strings.CutSuffix(record, s); ok && filepath.Base(b) != "." {
			return b
		}
	}
	if b, _, ok := LogOf(name); ok {
		return b
	}
	if b, _, ok := Split(name); ok {
		if plus := strings.LastIndexByte(b, '+'); plus > 0 {
			if _, err := strconv.ParseUint(b[plus+1:], 10, 31); err == nil {
				return b[:plus]
			}
		}
		return b
	}
	return name
}

// BaseAmong returns Base for the files of one directory, whose entries it gets: "F.nc+1" is a dataset, and no set of "F.nc", if it has a manifest, a
// log or a lease of its own.
func BaseAmong(entries []fs.DirEntry) func(name string) string {
	own := recordedIn(entries)
	return func(name string) string {
		if b, _, ok := Split(name); ok && own[b] {
			return b
		}
		return Base(name)
	}
}

// recordedIn returns the names of datasets in a directory that have a manifest, a log or a lease.
func recordedIn(entries []fs.DirEntry) map[string]bool {
	own := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if b, ok := durable.LockOf(name); ok {
			own[b] = true
		} else if _, _, ok := Split(name); !ok && Base(name) != name {
			own[Base(name)] = true
		}
	}
	return own
}

// Dir returns the directory that holds the dataset base, never empty.
func Dir(base string) string { return filepath.Dir(base) }
