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

// PartialBy returns the name of a subfile before its commit: "F_h0.nc.0000.w1a2b3c4d.partial". The tag of the writer
// (Manifest.Writer) prevents that another writer opens, renames or replaces the file. Without a tag, PartialBy returns
// Partial(name), the name that older versions used.
func PartialBy(name, tag string) string {
	if tag != "" {
		name += "." + tag
	}
	return Partial(name)
}

// Final is the reverse of PartialBy. ok is false if the name is not a partial name.
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

// LogName returns the name of the commit log of the writer with this tag: "F_h0.nc.manifest.w1a2b3c4d.log".
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

// Split splits a subfile's name into base and number: "x/F.nc.0012" gives "x/F.nc", 12. A partial name gives the result of its
// final name. ok is false if the name does not end in a dot and at least four digits.
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

// Base returns the base name of the dataset that the named file belongs to. The file may be a subfile, a partial file, a manifest
// or a log. Any other name is its own base.
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

// BaseAmong returns Base for the files of a directory with these entries. "F.nc+1" is a dataset, not a set of "F.nc", if it has
// its own manifest, log or lease.
func BaseAmong(entries []fs.DirEntry) func(name string) string {
	own := recordedIn(entries)
	return func(name string) string {
		if b, _, ok := Split(name); ok && own[b] {
			return b
		}
		return Base(name)
	}
}

// recordedIn returns the datasets of a directory that have a manifest, a log or a lease.
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

// Dir returns the directory of the dataset base. It is never empty.
func Dir(base string) string { return filepath.Dir(base) }
