package subfile

import (
	"blobio/internal/subfile"
	"blobio/vfs"
)

// A Set is what a directory says of one dataset, before any file is opened: its path without number (Base), the paths of its
// subfiles by number, under final and partial names (Members, Partials), whether it is one file without a number (Single), and which
// of its records are there (Manifest, Next, Log).
type Set = subfile.Set

// A Manifest is the seal of a dataset: its files, their sizes, records and checksums. docs/format-manifest.md has its fields.
type Manifest = subfile.Manifest

// SetInfo describes the subfiles of one set of a manifest. Create writes one set, an append or a commit may add another.
type SetInfo = subfile.SetInfo

// Subfile describes one file of a set: its size, where its header is, and its checksums.
type Subfile = subfile.Subfile

// A State is what the manifests of a dataset say: which one is in force, with the commits of its log (Manifest), whether a writer is
// at work, or died (Writing), and which records are damaged in one of their two copies (Flaws).
type State = subfile.State

// Find looks for the dataset that path means: a base name, one of its files, an ordinary file, or a directory that holds exactly
// one dataset. Names decide, and no file is opened. A nil file system is the machine's.
func Find(fsys vfs.FS, path string) (*Set, error) { return subfile.Find(fsys, path) }

// List returns the datasets of subfiles in a directory, by name. Files without a number count only if nothing else is there; hidden
// files never. A Zarr directory is ErrUnsupported.
func List(fsys vfs.FS, dir string) ([]*Set, error) { return subfile.List(fsys, dir) }

// ReadState reads the manifests of the dataset base. A dataset without any was written by another program: no error, Manifest nil.
// One that was never finished gives blob.ErrNotCommitted and a State. A manifest that cannot be read is an error, and no State.
func ReadState(fsys vfs.FS, base string) (*State, error) { return subfile.ReadState(fsys, base) }

// Decode reads a manifest; name is for errors.
func Decode(b []byte, name string) (*Manifest, error) { return subfile.Decode(b, name) }

// Name returns the name of subfile i of the dataset base: "F_h0.nc.0000".
func Name(base string, i int) string { return subfile.Name(base, i) }

// Split takes a subfile's name apart: "x/F.nc.0012" gives "x/F.nc", 12. A partial name counts as the name that it will get. ok is
// false if the name does not end in a dot and at least four digits.
func Split(name string) (base string, i int, ok bool) { return subfile.Split(name) }

// Base returns the base name of the dataset that the file of this name belongs to: a subfile, a manifest, a log; any other name is
// its own base.
func Base(name string) string { return subfile.Base(name) }
