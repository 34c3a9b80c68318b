package scrtools

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/scr/cachedir"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runloop"
	"blobio/scr/kvtree"
)

// scrPrefix opens the prefix directory given by the arguments or the environment.
func scrPrefix(args []string) (*prefixdir.Dir, error) {
	path := cmp.Or(append(args, os.Getenv("SCR_PREFIX"), ".")...)
	if err := runloop.NeedDir(path); err != nil {
		return nil, err
	}
	d := prefixdir.Open(nil, path)
	d.Shared = os.Getenv(prefixdir.EnvShared) == "1"
	for _, name := range []string{prefixdir.MetaDir, "index.scr"} {
		switch _, err := vfs.OS.Stat(filepath.Join(path, name)); {
		case err == nil:
			return d, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	hint := "a prefix directory of SCR holds " + prefixdir.MetaDir
	if len(args) == 0 {
		hint = "give a prefix directory, or set SCR_PREFIX"
	}
	return nil, cli.WithHint(fmt.Errorf("%s: no %s in this directory", path, prefixdir.MetaDir), hint)
}

// onlyOne returns the flag of names that is given, or "". It returns an error if several flags are given.
func onlyOne(cmd *cobra.Command, names ...string) (given string, err error) {
	for _, n := range names {
		if !cmd.Flags().Changed(n) {
			continue
		}
		if given != "" {
			return "", cli.Usagef("--%s and --%s cannot be combined", given, n)
		}
		given = n
	}
	return given, nil
}

// scrTime parses a time: "YYYY-MM-DDThh:mm:ss" in local time or with a zone, "hh:mm" for the next such time of day, seconds since
// 1970, "now", "+2h30m" (a duration from now), or "+600" (seconds from now).
func scrTime(s string, now time.Time) (time.Time, error) {
	if s == "now" {
		return now, nil
	}
	if rest, ok := strings.CutPrefix(s, "+"); ok {
		if d, err := time.ParseDuration(rest); err == nil && d >= 0 {
			return now.Add(d), nil
		}
		if n, err := strconv.ParseUint(rest, 10, 32); err == nil {
			return now.Add(time.Duration(n) * time.Second), nil
		}
		return time.Time{}, fmt.Errorf("time %q, want a duration from now, such as \"+2h30m\", or \"+600\" (seconds)", s)
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 && n < 1<<37 {
		return time.Unix(n, 0), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse("15:04", s); err == nil { // the next time of day hh:mm
		at := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, time.Local)
		if at.Before(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at, nil
	}
	return time.Time{}, fmt.Errorf("time %q, want 2026-11-21T18:00:00, 18:00, +2h30m, or seconds since 1970", s)
}

// scrStamp formats a time as in the index, or returns "" if it is unknown.
func scrStamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02T15:04:05")
}

// clean makes a name from a file safe for a line of a terminal.
func clean(s string) string { return fault.Quoted(s) }

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// KnowsPrefix reports whether a path is a prefix directory.
func KnowsPrefix(path string) bool {
	return isDir(filepath.Join(path, prefixdir.MetaDir)) && !has(filepath.Join(path, prefixdir.MetaDir), "filemap_0") || isDir(path) && has(path, "index.scr")
}

// KnowsControl reports whether a path is the control directory of a node. The directory has the list of the files in the caches
// of the node.
func KnowsControl(path string) bool {
	return isDir(path) && (has(path, cachedir.CatalogName) || has(path, cachedir.MasterName))
}

// KnowsTree reports whether a path is a key/value file, damaged or not, such as the header of a redset file.
func KnowsTree(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() < 4 {
		return false
	}
	_, err := kvtree.ReadFileRecord(nil, path, nil)
	return err == nil || isTreeDamage(err) && !errors.Is(err, kvtree.ErrTruncated)
}
