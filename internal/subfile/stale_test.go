package subfile

import (
	"io/fs"
	"testing"

	"blobio/internal/base/vfs"
)

// TestStale: a record that is replaced between open and read is read again by its name.
func TestStale(t *testing.T) {
	for _, class := range []error{fs.ErrNotExist, vfs.ErrStale} {
		for what, look := range map[string]func(vfs.FS) (string, error){
			"state": func(fsys vfs.FS) (string, error) {
				st, err := ReadState(fsys, "d")
				if err != nil {
					return "", err
				}
				return st.Manifest.ID, nil
			},
			"peek": func(fsys vfs.FS) (string, error) { id, _, err := Peek(fsys, "d"); return id, err },
		} {
			m := vfs.NewMem()
			must(t, WriteNext(m, "d", record("d", true), true, By{Tag: mine}))
			later := record("d", true)
			later.ID = "later"
			stale := true
			fsys := vfs.NewFault(m, func(op vfs.Op) error {
				if !stale || op.Kind != vfs.OpRead {
					return nil
				}
				stale = false
				must(t, WriteNext(m, "d", later, true, By{Tag: mine}))
				return &fs.PathError{Op: "read", Path: op.Name, Err: class}
			})
			if id, err := look(fsys); id != "later" || err != nil {
				t.Errorf("%s, %v: %q, %v", what, class, id, err)
			}
		}
	}
}
