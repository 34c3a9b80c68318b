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

// Kind is what an entry is.
type Kind uint8

// The kinds.
const (
	KindDir     Kind = iota + 1
	KindDataset      // one netCDF file, of blobs or of a directory that has a netCDF form
	KindPlain        // any other file, an ordinary netCDF file too
)

// String is the kind in words.
func (k Kind) String() string {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return "?"
}

var kinds = [...]string{"?", "directory", "dataset", "file"}

// An Entry is a name in a directory.
type Entry struct {
	Name    string // without directory; any bytes but "/" and 0
	Kind    Kind
	Size    int64     // bytes of the netCDF file, or of the plain file; 0 of a directory
	ModTime time.Time // of a dataset: when it was committed
	ID      string    // changes when the content does: of a dataset with its manifest's checksums, of other files with size and time; "" of a directory
	Line    string    // of a dataset: the same for states of one writer, where a later one only has more records; else as ID
	Growing bool      // of a dataset: its writer goes on, or died
	File    string    // identifies a plain file, whatever is written to it, where the system can
	Records int64     // of a dataset
	Missing int       // of a dataset: subfiles that are not there
	Err     error     // why it cannot be read; Size is 0 then
	Parts   bool      // a directory of files that are shown as a dataset beside it

	Mode     fs.FileMode // permissions; of a dataset the permissions of its manifest, or of subfile 0; the owner too
	UID, GID uint32
}

// lookAtOnce is how many entries of a directory are looked at at the same time.
const lookAtOnce = 16

// Names returns what a directory shows, by name: only Name, Kind and Parts are set. Lookup has the rest.
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
		if !there[b] {
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
		is[i] = states[i].is || err != nil && there[subfile.ManifestName(ask[i])] && !isNone(err) // a lookup has the error
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

// internal says of a name that only blobio itself has a use for it.
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

// exhausted is an error of what this process has too little of, nil for any other one: that is no reason for not showing a name.
func exhausted(err error) error {
	if fault.Exhausted(err) {
		return err
	}
	return nil
}

// linked is what a symbolic link leads to, 0 if that is not shown.
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

// hide makes of errors that say that nothing can be there, or that it is outside the root, that it is not there.
func hide(op, path string, err error) error {
	if isNone(err) {
		return gone(op, path)
	}
	return err
}

// isNone says of an error that nothing can be there, or nothing within the root.
func isNone(err error) bool {
	return slices.ContainsFunc(none, func(class error) bool { return errors.Is(err, class) })
}

var none = []error{fs.ErrNotExist, vfs.ErrOutside, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG}

// Lookup returns the entry of a path. A path that is not there, or not shown, is fs.ErrNotExist.
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

// look returns the name and the entry of a path, of a dataset without the parts that need it open, and its state.
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
	if errors.Is(err, fs.ErrNotExist) {
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
			if _, err := t.root.Lstat(record); err == nil { // no set of another, but a dataset
				of = own
			}
		}
	}
	if of != name {
		if _, err := t.root.Lstat(of); errors.Is(err, fs.ErrNotExist) {
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

// hash is a short text for a long one.
func hash(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
