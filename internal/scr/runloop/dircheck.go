package runloop

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
)

// DirCheck is the state of a directory. List, Capacity and Write are "" if there is no fault.
type DirCheck struct {
	Dir      string `json:"dir"`
	Want     int64  `json:"want"`     // required bytes, 0: not specified
	Total    int64  `json:"total"`    // size of its file system in bytes, -1: unknown
	Free     int64  `json:"free"`     // bytes that users may still write, -1: unknown
	List     string `json:"list"`     // why it cannot be listed
	Capacity string `json:"capacity"` // why its size is insufficient
	Write    string `json:"write"`    // why a file cannot be created, written, read and removed
}

// Err returns the first fault, or nil if the directory has no fault.
func (d DirCheck) Err() error {
	for _, s := range []string{d.List, d.Capacity, d.Write} {
		if s != "" {
			return fmt.Errorf("%s: %s", d.Dir, s)
		}
	}
	return nil
}

// Statfs returns the size of a file system and the space available to users, in bytes.
type Statfs func(dir string) (total, free int64, err error)

// CheckDir checks a directory of this node. It lists the directory and compares the required size with the size of the file
// system, or with the free space if free is set. Then it creates, writes, reads and removes a file. If space is nil, CheckDir
// asks the operating system.
func CheckDir(fsys vfs.FS, space Statfs, c config.Capacity, free bool) DirCheck {
	if space == nil {
		space = statfs
	}
	d := DirCheck{Dir: c.Dir, Want: c.Bytes, Total: -1, Free: -1}
	if info, err := fsys.Stat(c.Dir); err != nil {
		d.List = reason(err)
		return d
	} else if !info.IsDir() {
		d.List = "not a directory"
		return d
	}
	if _, err := fsys.ReadDir(c.Dir); err != nil {
		d.List = "cannot be listed: " + reason(err)
	}
	total, left, err := space(c.Dir)
	have, what := total, "the file system has"
	if free {
		have, what = left, "free are"
	}
	switch {
	case err == nil:
		d.Total, d.Free = total, left
		if have < c.Bytes {
			d.Capacity = fmt.Sprintf("%s %d bytes, want %d", what, have, c.Bytes)
		}
	case c.Bytes > 0:
		d.Capacity = "size not known: " + reason(err)
	}
	if err := tryWrite(fsys, c.Dir); err != nil {
		d.Write = reason(err)
	}
	return d
}

func tryWrite(fsys vfs.FS, dir string) (err error) {
	text := []byte("blobio node test\n")
	name := filepath.Join(dir, fmt.Sprintf(".blobio.nodetest.%016x", rand.Uint64())) // the name is random, because several nodes may share the directory
	if err := vfs.WriteFile(fsys, name, text); err != nil {
		return fmt.Errorf("a file cannot be written: %w", err)
	}
	got, err := vfs.ReadFile(fsys, name, 1<<10)
	if rerr := fsys.Remove(name); rerr != nil {
		return fmt.Errorf("a file cannot be removed: %w", rerr)
	}
	if err != nil {
		return fmt.Errorf("a file cannot be read: %w", err)
	}
	if string(got) != string(text) {
		return errors.New("bytes read from a file differ from the bytes written")
	}
	return nil
}

// reason returns an error without its file name, because the file name is printed separately.
func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) && err == error(p) {
		return p.Err.Error()
	}
	return err.Error()
}
