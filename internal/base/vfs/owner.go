package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// OwnerFS is an optional interface of an FS. OS implements it. Other file systems have no owners, and owner checks always pass
// there.
type OwnerFS interface {
	Lstat(name string) (fs.FileInfo, error)                 // info of the name itself; a link is not followed
	CreateMode(name string, perm fs.FileMode) (File, error) // Create with these permissions, minus the umask
	MkdirMode(name string, perm fs.FileMode) error          // Mkdir with these permissions, minus the umask
}

// OwnerError is the reason why a file or folder is not trusted: another user owns the file or folder, or could change it. It
// wraps fs.ErrPermission.
type OwnerError struct {
	Name string
	Msg  string // the value found and the value wanted
}

// Error implements error.
func (e *OwnerError) Error() string { return e.Name + ": " + e.Msg }

// Unwrap returns fs.ErrPermission.
func (e *OwnerError) Unwrap() error { return fs.ErrPermission }

// Lstat is Stat, but does not follow a link if the file system has links.
func Lstat(fsys FS, name string) (fs.FileInfo, error) {
	if o, ok := fsys.(OwnerFS); ok {
		return o.Lstat(name)
	}
	return fsys.Stat(name)
}

// CreateMode is Create with permissions, if the file system has permissions.
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

// Access is the access that others may have to a file or folder.
type Access uint8

// The kinds of access.
const (
	// OwnOnly: only the owner may write. The group may write, too, if its number equals the number of the owner, because many
	// systems give each user a private group.
	OwnOnly Access = iota
	// Shared: the group may write, and others if the folder is sticky.
	Shared
	// AnyMode: anyone may write. AnyMode is for files in folders that were checked.
	AnyMode
)

// CheckOwner checks whether a file or folder can be trusted. The file or folder must belong to the effective user or to root
// and must not be a link. Other users may write to it only as far as access allows. Otherwise the error is an *OwnerError. A
// missing file gives the error of Lstat.
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

// trusted returns the names of the trusted users.
func trusted(me uint32) string {
	if me == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (this process) or 0", me)
}

// CheckWay is CheckOwner with OwnOnly for a folder and its parents, up to the first that belongs to root. If CheckWay succeeds,
// no other user can replace the folder. Others may write to a parent if it is sticky, like /tmp. A parent may be a link of the
// user or of root.
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

// MkdirOwn makes a folder and its missing parents for the user alone (mode 0700), durably. It checks an existing folder with
// CheckOwner, too: in a folder writable by all, another user could guess and take the name.
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

// CopyMeta gives the new file made the metadata of the file src, like SetMeta. The new file gets no permissions beyond the
// permissions of its creation. If CreateMode was called with the permissions of src, these are the permissions of src minus
// the umask.
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
