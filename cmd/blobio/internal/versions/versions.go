package versions

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/versioned/arrays"
	"blobio/versioned"
)

func New(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "versions",
		Short: "List, dump, convert, compare, check, rebuild, drop and taint the versions of arrays",
		Long: `A store of package versioned holds arrays with committed versions. Any range of any version can
be read. The arrays NAME.level0, NAME.level1, ... are the levels of an AMR hierarchy, and the
array NAME.global holds its snapshots.

ARRAY is the directory of an array: STORE/NAME.

Only drop, rebuild and taint change a store. Do not use them while a program has the store open.`,
		Example: `  blobio versions ls store                              # the arrays
  blobio versions ls store/rho                          # the versions of an array
  blobio versions dump store/rho --version 3 --elements 0:10
  blobio versions convert store/rho rho.nc              # all versions, for netCDF tools
  blobio versions diff store/rho --from 3 --to 5
  blobio versions check store
  blobio versions rebuild -n store                      # list the lost seals
  blobio versions drop store/rho --keep 3 --dry-run
  blobio versions taint store/rho --versions 5-7         # mark wrong versions`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newVersionsLs(e), newVersionsDump(e), cli.AsWriter(newVersionsConvert(e)), newVersionsDiff(e), newVersionsCheck(e), newVersionsRebuild(e), newVersionsDrop(e), newVersionsTaint(e))
	return cmd
}

// Hint returns advice about an error of a versions verb.
func Hint(cmd *cobra.Command, err error) string {
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe) && slices.Contains(cmd.Flags().Args(), pe.Path) && errors.Is(err, fs.ErrNotExist):
		return "" // the name does not exist, nothing to check
	case errors.Is(err, versioned.ErrKey) && cmd.Flags().Lookup("key-file") != nil:
		if cmd.Flags().Changed("key-file") {
			return "the store was made with another key, or without one"
		}
		return "--key-file names the file with the key"
	case errors.Is(err, versioned.ErrNoForm):
		return "blobio versions dump prints boxes and their data"
	case errors.Is(err, versioned.ErrNoVersion):
		return "blobio versions ls lists the existing versions"
	case errors.Is(err, versioned.ErrExist) && cmd.Flags().Lookup("force") != nil:
		return "--force replaces the output"
	case cmd.Name() == "rebuild" && errors.Is(err, versioned.ErrMissing):
		return "other nodes may have copies of the files"
	case (cli.IsFormatError(err) || errors.Is(err, fs.ErrNotExist)) && cmd.Name() != "check" && cmd.Name() != "rebuild":
		return "blobio versions check lists all faults"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its directory"
	}
	return ""
}

// versionsKey is the flag for the key of an encrypted store.
type versionsKey struct{ file string }

func (k *versionsKey) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.file, "key-file", "", "`FILE` with the key of an encrypted store: 16, 24 or 32 bytes, or as hex digits")
	_ = cmd.MarkFlagFilename("key-file")
}

func (k *versionsKey) read() ([]byte, error) {
	if k.file == "" {
		return nil, nil
	}
	b, err := vfs.ReadStream(k.file, 128) // larger than any key
	if err != nil && !errors.Is(err, vfs.ErrTooLong) {
		return nil, err
	}
	if x, err := hex.DecodeString(strings.TrimSpace(strings.TrimPrefix(string(b), vfs.ByteOrderMark))); err == nil && keyLen(len(x)) {
		return x, nil
	}
	if !keyLen(len(b)) {
		b = []byte(strings.TrimRight(string(b), "\r\n"))
	}
	if !keyLen(len(b)) {
		return nil, fmt.Errorf("%s: the key has a wrong length, want 16, 24 or 32 bytes, or twice as many hex digits", k.file)
	}
	return b, nil
}

func keyLen(n int) bool { return n == 16 || n == 24 || n == 32 }

// arraysOf returns the directories of the arrays given as arguments, or contained in store arguments.
func arraysOf(paths []string) (out []string, err error) {
	for _, p := range paths {
		if arrays.Is(p, nil) {
			out = append(out, filepath.Clean(p))
			continue
		}
		names, err := storeArrays(p)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			out = append(out, filepath.Join(p, n))
		}
	}
	return out, nil
}

// storeArrays lists the arrays of a store.
func storeArrays(dir string) ([]string, error) {
	out, err := arrays.List(dir, nil)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, cli.WithHint(fmt.Errorf("%s: no array in this directory", dir), "give the directory of a store (versioned.Store.Dir), or of an array in a store")
	}
	slices.SortFunc(out, func(a, b string) int { // level10 after level9
		na, la := arrays.Member(a)
		nb, lb := arrays.Member(b)
		if na != "" && na == nb {
			return la - lb
		}
		return strings.Compare(a, b)
	})
	return out, nil
}

func openVersions(dir string, key []byte) (*versioned.View, error) {
	return versioned.OpenView(dir, nil, key)
}

// one opens an array.
func (k *versionsKey) one(dir string) (*versioned.View, error) {
	key, err := k.read()
	if err != nil {
		return nil, err
	}
	if !arrays.Is(dir, nil) {
		if list, err := storeArrays(dir); err == nil {
			return nil, cli.WithHint(fmt.Errorf("%s is a store of %s, want the directory of one array", dir, cli.Plural(len(list), "array")), "for example "+filepath.Join(dir, list[0]))
		}
	}
	return openVersions(dir, key)
}

// findVersion returns the version with a number; -1 means the newest untainted version.
func findVersion(v *versioned.View, number int64) (versioned.VersionInfo, error) {
	all := v.Versions()
	i := slices.IndexFunc(all, func(x versioned.VersionInfo) bool { return x.Number == number })
	if number < 0 {
		i = newestOf(len(all), func(i int) bool { return all[i].Tainted })
	}
	if i >= 0 {
		return all[i], nil
	}
	return versioned.VersionInfo{}, fmt.Errorf("array %s: version %d: %w", v.Spec().Name, number, versioned.ErrNoVersion)
}

// newestOf returns the index of the newest untainted version among n versions. If all are tainted, it
// returns the index of the newest version.
func newestOf(n int, tainted func(i int) bool) int {
	for i := n - 1; i >= 0; i-- {
		if !tainted(i) {
			return i
		}
	}
	return n - 1
}

// versionValue is a flag value that is a version number.
type versionValue struct{ p *int64 }

func (v versionValue) String() string {
	if v.p == nil || *v.p < 0 {
		return ""
	}
	return strconv.FormatInt(*v.p, 10)
}
func (v versionValue) Type() string { return "number" }
func (v versionValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return errors.New("want the number of a version")
	}
	*v.p = n
	return nil
}

func nanosText(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05 UTC") }

// labelText formats a label in one line.
func labelText(s string) string {
	if s == "" {
		return "-"
	}
	if q := strconv.Quote(s); q != `"`+s+`"` || strings.Contains(s, " ") {
		return q
	}
	return s
}

// Knows reports whether a path is a store of versions, or an array in one.
func Knows(path string) bool {
	if arrays.Is(path, nil) {
		return true
	}
	list, err := arrays.List(path, nil)
	return err == nil && len(list) > 0
}
