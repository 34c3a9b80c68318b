package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// OwnerFS is an optional interface of an FS; OS implements it. Other file systems have no
// owners, and the functions of this file that check them find nothing wrong.
type OwnerFS interface {
	Lstat(name string) (fs.FileInfo, error)                 // of the name itself: a link is not followed
	CreateMode(name string, perm fs.FileMode) (File, error) // Create with these permissions, under the umask
	MkdirMode(name string, perm fs.FileMode) error          // Mkdir with these permissions, under the umask
}

// OwnerError says why a file or folder is not trusted: another user owns it, or could change it. It wraps
// fs.ErrPermission.
type OwnerError struct {
	Name string
	Msg  string // found and wanted
}

// Error implements error.
func (e *OwnerError) Error() string { return e.Name + ": " + e.Msg }

// Unwrap returns fs.ErrPermission.
func (e *OwnerError) Unwrap() error { return fs.ErrPermission }

// Lstat is Stat that does not follow a link, where the file system can have any.
func Lstat(fsys FS, name string) (fs.FileInfo, error) {
	if o, ok := fsys.(OwnerFS); ok {
		return o.Lstat(name)
	}
	return fsys.Stat(name)
}

// CreateMode is Create with permissions, where the file system knows any.
func CreateMode(fsys FS, name string, perm fs.FileMode) (File, error) {
	if o, ok := fsys.(OwnerFS); ok {
		return o.CreateMode(name, perm)
	}
	return fsys.Create(name)
}

func mkdirMode(fsys FS, name string, perm fs.FileMode) error {
	if o, ok := fsys.(OwnerFS); ok {
		return o.MkdirMode(name, perm)
	}
	return fsys.Mkdir(name)
}

// Access is how much of a file or folder others may have.
type Access uint8

// The kinds of access.
const (
	// OwnOnly: nobody but its owner may write to it. The group may if it has the number of the owner: the private group
	// that many systems give to each user.
	OwnOnly Access = iota
	// Shared: its group may write to it, and others if it is sticky.
	Shared
	// AnyMode: whoever may write to it. For files in folders that were checked.
	AnyMode
)

// CheckOwner reports whether a file or folder can be obeyed: it belongs to the effective user or to root, is no link, and
// others may write to it only as access allows. Otherwise the error is an *OwnerError. If it is not there, the error
// is the one of Lstat.
func CheckOwner(fsys FS, name string, access Access) error {
	info, err := Lstat(fsys, name)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return &OwnerError{name, "found a symbolic link, want a file or directory"}
	}
	return checkInfo(name, info, access)
}

func checkInfo(name string, info fs.FileInfo, access Access) error {
	uid, gid, ok := ownerOf(info)
	if !ok {
		return nil
	}
	if me := effectiveUser(); uid != me && uid != 0 {
		return &OwnerError{name, fmt.Sprintf("belongs to user %d, want %s", uid, trusted(me))}
	}
	if access == AnyMode {
		return nil
	}
	mode := info.Mode()
	sticky := mode&fs.ModeSticky != 0
	others := mode&0o002 != 0 && !(access == Shared && sticky)
	group := mode&0o020 != 0 && gid != uid && access != Shared
	if others || group {
		return &OwnerError{name, fmt.Sprintf("mode %v lets users other than the owner write", mode)}
	}
	return nil
}

// trusted names the users that are.
func trusted(me uint32) string {
	if me == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (this process) or 0", me)
}

// CheckWay is CheckOwner of a folder, with OwnOnly, and of those that it lies in, up to the first that is root's: nobody
// else can put another folder in its place. The folders above may be written to by others if they are sticky, as /tmp is,
// and may be links of the user or of root.
func CheckWay(fsys FS, dir string) error {
	if err := CheckOwner(fsys, dir, OwnOnly); err != nil {
		return err
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for links := 0; filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		info, err := Lstat(fsys, at)
		if err != nil {
			return err
		}
		uid, _, ok := ownerOf(info)
		if !ok {
			return nil
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if me := effectiveUser(); uid != me && uid != 0 {
				return &OwnerError{at, fmt.Sprintf("link belongs to user %d, want %s", uid, trusted(me))}
			}
			if links++; links > 40 {
				return &OwnerError{at, "too many links"}
			}
			to, err := filepath.EvalSymlinks(at)
			if err != nil {
				return err
			}
			if at = filepath.Join(to, "."); at == filepath.Dir(at) {
				return nil // the root of the file system
			}
			if info, err = Lstat(fsys, at); err != nil {
				return err
			}
			if uid, _, ok = ownerOf(info); !ok {
				return nil
			}
		}
		access := OwnOnly
		if info.Mode()&fs.ModeSticky != 0 {
			access = Shared
		}
		if err := checkInfo(at, info, access); err != nil {
			return err
		}
		if uid == 0 {
			return nil
		}
	}
	return nil
}

// MkdirOwn makes a folder and its missing parents for the user alone (mode 0700), durably, and checks it with CheckOwner,
// also when it was there: names in folders where everybody may write can be guessed, and taken before.
func MkdirOwn(fsys FS, dir string) error {
	var missing []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		_, err := Lstat(fsys, d)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, d)
		if filepath.Dir(d) == d {
			break
		}
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := mkdirMode(fsys, missing[i], 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := SyncParent(fsys, missing[i]); err != nil {
			return err
		}
	}
	return CheckOwner(fsys, dir, OwnOnly)
}

// CopyMeta gives a file that was made just now what another one has besides its bytes, as SetMeta, but no rights that it
// was not made with: the rights of the source under the umask, if that is what CreateMode was asked for.
func CopyMeta(from FS, src string, to FS, made string) error {
	m, err := MetaOf(from, src)
	if err != nil {
		return err
	}
	info, err := Lstat(to, made)
	if err != nil {
		return err
	}
	if _, _, ok := ownerOf(info); ok {
		m.Mode &= ModeRegular | uint32(info.Mode().Perm())
	}
	return SetMeta(to, made, m)
}
