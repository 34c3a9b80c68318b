package durable

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"blobio/internal/base/vfs"
)

// TestReplaceCheck: when Check is called, the content is whole and synced under its temporary name. An error of Check
// prevents the rename.
func TestReplaceCheck(t *testing.T) {
	mem := vfs.NewMem()
	must(t, errors.Join(Replace(mem, "f", []byte("old"), ReplaceOptions{}), Replace(mem, "f.mine", []byte("of a dead writer"), ReplaceOptions{})))
	lost := errors.New("lost")
	for _, want := range []error{lost, nil} {
		err := Replace(mem, "f", []byte("new"), ReplaceOptions{Temp: "f.mine", Sync: true, SyncDir: true, Check: func() error {
			for name, text := range map[string]string{"f.mine": "new", "f": "old"} {
				if b, err := vfs.ReadFile(mem, name, 100); err != nil || string(b) != text {
					t.Errorf("%s when it is checked: %q, %v", name, b, err)
				}
			}
			return want
		}})
		if err != want {
			t.Errorf("%v, want %v", err, want)
		}
		text := map[error]string{lost: "old", nil: "new"}[want]
		if b, err := vfs.ReadFile(mem, "f", 100); err != nil || string(b) != text {
			t.Errorf("%q, %v, want %q", b, err, text)
		}
		if _, err := mem.Stat("f.mine"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the temporary file: %v", err)
		}
	}
}

// TestRemoveIf: RemoveIf renames the file to a unique name for the check, and restores the name unless it removes the
// file.
func TestRemoveIf(t *testing.T) {
	bad := errors.New("bad")
	for _, c := range []struct {
		goes bool
		err  error
		left []string
	}{{true, nil, nil}, {false, nil, []string{"f"}}, {true, bad, []string{"f"}}, {false, bad, []string{"f"}}} {
		mem := vfs.NewMem()
		must(t, Replace(mem, "f", nil, ReplaceOptions{}))
		asked := 0
		err := RemoveIf(mem, "f", "mine", func() (bool, error) {
			asked++
			if l := names(t, mem, "."); !slices.Equal(l, []string{"mine"}) {
				t.Errorf("while it is looked at: %v", l)
			}
			return c.goes, c.err
		})
		if l := names(t, mem, "."); !errors.Is(err, c.err) || asked != 1 || !slices.Equal(l, c.left) {
			t.Errorf("%v, %v: %v, asked %d times, left %v", c.goes, c.err, err, asked, l)
		}
	}
	if err := RemoveIf(vfs.NewMem(), "f", "mine", func() (bool, error) { t.Error("asked"); return true, nil }); err != nil {
		t.Errorf("what is not there: %v", err)
	}
}

// TestRenameAll: after any failure, another call completes the renames, and a later power cut undoes no rename.
func TestRenameAll(t *testing.T) {
	list := map[string]string{"a.part": "a", "b.part": "b"}
	boom := errors.New("boom")
	for done, at := false, int64(1); !done; at++ {
		mem := vfs.NewMem()
		for from := range list {
			must(t, Replace(mem, from, nil, ReplaceOptions{Sync: true, SyncDir: true}))
		}
		done = true
		_, err := RenameAll(vfs.NewFault(mem, func(op vfs.Op) error {
			if op.Seq != at {
				return nil
			}
			done = false
			return boom
		}), maps.All(list), true)
		if done != (err == nil) {
			t.Fatalf("operation %d: %v", at, err)
		}
		absent, err := RenameAll(mem, maps.All(list), true)
		if must(t, err); done && len(absent) != len(list) {
			t.Errorf("%v were renamed before, want all", absent)
		}
		if l := names(t, mem.CrashClone(vfs.CrashOptions{}), "."); !slices.Equal(l, []string{"a", "b"}) {
			t.Errorf("operation %d fails: %v", at, l)
		}
	}
}

func names(t *testing.T, fsys vfs.FS, dir string) (list []string) {
	t.Helper()
	entries := need(fsys.ReadDir(dir))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
