package subfile

import (
	"blobio/internal/subfile"
	"blobio/vfs"
)

// A Set describes the files of one dataset in a directory, found by their names alone. Base is its path without a subfile number.
// Members and Partials have the paths of its subfiles by number, under final and partial names. Single means one file without a
// number. Manifest, Next and Log report which records exist.
type Set = subfile.Set

// A Manifest is the seal of a dataset: its files, their sizes, records and checksums. docs/format-manifest.md has its fields.
type Manifest = subfile.Manifest

// SetInfo describes the subfiles of one set of a manifest. Create writes one set; an append or a commit may add another.
type SetInfo = subfile.SetInfo

// Subfile describes one file of a set: its size, the offset of its header, and its checksums.
type Subfile = subfile.Subfile

// A State is a dataset's state according to its manifests. Its field Manifest is the manifest in force, with the commits of its
// log. Writing means that a writer is active or has died. Flaws are the errors of records that have one damaged copy.
type State = subfile.State

// Find finds the dataset of path: a base name, one of its files, an ordinary file, or a directory with exactly one dataset. It
// reads names, and opens only a file that may be a copy of the dataset's manifest. A nil fsys means the file system of the
// operating system.
func Find(fsys vfs.FS, path string) (*Set, error) { return subfile.Find(fsys, path) }

// List returns the datasets of subfiles in a directory, sorted by name. List returns files without a number only if there are no
// datasets of subfiles. It never returns hidden files. A Zarr directory is ErrUnsupported.
func List(fsys vfs.FS, dir string) ([]*Set, error) { return subfile.List(fsys, dir) }

// ReadState reads the manifests of the dataset base. For a dataset of another program, Manifest is nil and there is no error. An
// unfinished dataset gives blob.ErrNotCommitted and a State. An unreadable manifest gives an error and no State.
func ReadState(fsys vfs.FS, base string) (*State, error) { return subfile.ReadState(fsys, base) }

// Decode reads a manifest. name is for error messages.
func Decode(b []byte, name string) (*Manifest, error) { return subfile.Decode(b, name) }

// Name returns the name of subfile i of the dataset base: "F_h0.nc.0000".
func Name(base string, i int) string { return subfile.Name(base, i) }

// Split splits a subfile's name into base and number: "x/F.nc.0012" gives "x/F.nc", 12. A partial name gives the result of its
// final name. ok is false if the name does not end in a dot and at least four digits.
func Split(name string) (base string, i int, ok bool) { return subfile.Split(name) }

// Base returns the base name of the dataset that the named file belongs to. The file may be a subfile, a manifest or a log. Any
// other name is its own base.
func Base(name string) string { return subfile.Base(name) }
