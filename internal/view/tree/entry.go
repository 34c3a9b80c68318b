package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/par"
	"blobio/internal/base/vfs"
	"blobio/internal/subfile"
)

// Kind is the kind of an entry.
type Kind uint8

// The kinds.
const (
	KindDir     Kind = iota + 1
	KindDataset      // one netCDF file, made of blobs or of a directory with a netCDF form
	KindPlain        // any other file, including an ordinary netCDF file
)

// String returns the kind in words.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "?"
}

var kinds = [...]string{"?", "directory", "dataset", "file"}

// An Entry is a name in a directory.
type Entry struct {
	Name    string // without directory; any bytes except "/" and 0
	Kind    Kind
	Size    int64     // bytes of the netCDF file, or of the plain file; 0 for a directory
	ModTime time.Time // for a dataset: the time of the commit
	ID      string    // changes with the content: for a dataset with its manifest's checksums, for other files with size and time; "" for a directory
	Line    string    // for a dataset: equal for the states of one writer that differ only in the number of records; otherwise equal to ID
	Growing bool      // for a dataset: its writer is active, or died
	File    string    // identifies a plain file regardless of its content, if the system can
	Records int64     // for a dataset
	Missing int       // for a dataset: number of missing subfiles
	Err     error     // the reason why the entry cannot be read; Size is then 0
	Parts   bool      // the entry is a directory that is also shown as a dataset

	Mode     fs.FileMode // permissions and owner; for a dataset taken from its manifest or subfile 0
	UID, GID uint32
}

// lookAtOnce is the number of entries of a directory examined concurrently.
const lookAtOnce = 16

// Names returns the entries of a directory by name, with only Name, Kind and Parts set. Lookup returns the rest.
func (t *Tree) Names(dir string) ([]Entry, error) {
	name, err := t.real("list", dir)
	if err != nil {
		return nil, err
	}
	names, err := t.root.ReadDir(name)
	if err != nil {
		return nil, hide("list", dir, err)
	}
	there, bases, base := map[string]bool{}, map[string]bool{}, subfile.BaseAmong(names)
	for _, d := range names {
		there[d.Name()] = true
		if b := base(d.Name()); b != d.Name() {
			bases[b] = false
		}
	}
	ask := make([]string, 0, len(bases))
	for b := range bases {
		if !there[b] || t.free(filepath.Join(name, b)) {
			ask = append(ask, b)
		}
	}
	slices.Sort(ask)
	is, errs := make([]bool, len(ask)), make([]error, len(ask))
	states := make([]state, len(ask))
	par.Do(lookAtOnce, len(ask), func(i int) {
		var err error
		states[i], err = t.stateOf(filepath.Join(name, ask[i]))
		errs[i] = exhausted(err)
		is[i] = states[i].is || err != nil && there[subfile.ManifestName(ask[i])] && !isNone(err) // Lookup reports the error
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var list []Entry
	for i, b := range ask {
		bases[b] = is[i] || states[i].unfinished
		if is[i] {
			list = append(list, Entry{Name: b, Kind: KindDataset})
		}
	}
	for _, d := range names {
		if internal(d.Name()) || bases[base(d.Name())] {
			continue
		}
		k := KindPlain
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			if k, err = t.linked(path.Join(dir, d.Name())); err != nil {
				return nil, err
			}
			if k == 0 {
				continue
			}
		case d.IsDir():
			k = KindDir
		case !d.Type().IsRegular():
			continue
		}
		list = append(list, Entry{Name: d.Name(), Kind: k})
	}
	if list, err = t.addForms(name, list, there); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// free reports whether no file hides the dataset with this base name. A link without a target hides nothing.
func (t *Tree) free(base string) bool {
	if _, err := t.root.Stat(base); err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	stands, _ := subfile.StandIn(t.root, base) // opening the file reports the error
	return stands
}

// internal reports whether only blobio itself uses a name.
func internal(name string) bool {
	if _, tag, ok := subfile.Final(name); ok && tag != "" {
		return true
	}
	if name[0] != '.' {
		return false
	}
	_, hidden := durable.HiddenOf(name)
	_, lock := durable.LockOf(name)
	_, left := durable.LeftoverOf(name)
	return hidden || lock || left || durable.IsTemp(name)
}

// exhausted returns an error about a resource shortage of this process, or nil for any other error. A shortage is no reason to
// hide a name.
func exhausted(err error) error {
	if fault.Exhausted(err) {
		return err
	}
	return nil
}

// linked returns the kind of a symbolic link's target, 0 if the target is hidden.
func (t *Tree) linked(p string) (Kind, error) {
	name, err := t.real("stat", p)
	if err != nil {
		return 0, nil
	}
	info, err := t.root.Stat(name)
	switch {
	case err != nil:
		return 0, exhausted(err)
	case info.Mode().IsRegular():
		return KindPlain, nil
	case !info.IsDir():
		return 0, nil
	}
	for up := filepath.Dir(name); ; up = filepath.Dir(up) {
		above, err := t.root.Stat(up)
		if err != nil || os.SameFile(info, above) {
			return 0, exhausted(err)
		}
		if up == t.root.Dir() {
			return KindDir, nil
		}
	}
}

// hide converts errors about impossible paths, or paths outside the root, to fs.ErrNotExist.
func hide(op, path string, err error) error {
	if isNone(err) {
		return gone(op, path)
	}
	return err
}

// isNone reports whether an error means that nothing can exist at the path, or nothing within the root.
func isNone(err error) bool {
	return slices.ContainsFunc(none, func(class error) bool { return errors.Is(err, class) })
}

var none = []error{fs.ErrNotExist, vfs.ErrOutside, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG}

// Lookup returns the entry of a path. A missing or hidden path is fs.ErrNotExist.
func (t *Tree) Lookup(p string) (Entry, error) {
	name, e, st, err := t.look("stat", p)
	if err == nil && e.Kind == KindDir && p != "" {
		_, _, st, err := t.look("stat", p+suffix)
		e.Parts = err == nil && st.form != nil
	}
	if err != nil || e.Kind != KindDataset {
		return e, err
	}
	f, err := t.fact(name, st)
	if err == nil {
		err = exhausted(f.err)
	}
	if err != nil {
		return Entry{}, hide("stat", p, err)
	}
	e.Size, e.ID, e.Line, e.Growing, e.Records, e.Missing, e.Err = f.size, f.id, f.line, f.growing, f.records, len(f.missing), f.err
	return e, nil
}

// look returns the name, the entry and the state of a path. For a dataset it leaves out fields that require opening it.
func (t *Tree) look(op, p string) (name string, e Entry, st state, err error) {
	if name, err = t.real(op, p); err != nil {
		return "", e, st, err
	}
	if p != "" {
		e.Name = path.Base(p)
		if internal(e.Name) {
			return "", Entry{}, st, gone(op, p)
		}
	}
	info, err := t.root.Lstat(name)
	if t.free(name) {
		if st, err = t.stateOf(name); err != nil {
			return "", Entry{}, st, hide(op, p, err)
		}
		if !st.is {
			return "", Entry{}, st, gone(op, p)
		}
		e.Kind, e.ModTime, e.Mode, e.UID, e.GID = KindDataset, st.mod, st.mode, st.uid, st.gid
		return name, e, st, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		k, failed := t.linked(p)
		if failed != nil {
			return "", Entry{}, st, failed
		}
		if k == 0 {
			return "", Entry{}, st, gone(op, p)
		}
		info, err = t.root.Stat(name)
	}
	if err != nil {
		return "", Entry{}, st, hide(op, p, err)
	}
	e.ModTime, e.Mode = info.ModTime(), info.Mode().Perm()
	e.UID, e.GID = vfs.Owner(info)
	switch {
	case info.IsDir():
		e.Kind = KindDir
		return name, e, st, nil
	case !info.Mode().IsRegular():
		return "", Entry{}, st, gone(op, p)
	}
	of := subfile.Base(name)
	if own, _, ok := subfile.Split(name); ok && own != of {
		for _, record := range []string{subfile.NextName(own), subfile.ManifestName(own)} {
			if _, err := t.root.Lstat(record); err == nil { // a separate dataset, not a set of another dataset
				of = own
			}
		}
	}
	if of != name {
		if t.free(of) {
			whole, err := t.stateOf(of)
			if err = exhausted(err); err != nil {
				return "", Entry{}, st, err
			}
			if whole.is || whole.unfinished {
				return "", Entry{}, st, gone(op, p)
			}
		}
	}
	e.Kind, e.Size, e.ID, e.File = KindPlain, info.Size(), hash(vfs.Identity(info)), vfs.FileOf(info)
	return name, e, state{is: true, key: plainKey + vfs.Identity(info), mod: e.ModTime, mode: e.Mode}, nil
}

// hash returns a short hash of texts.
func hash(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
