package kvtree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/durable"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
	"blobio/scr/kvtree"
)

func counter(n int) *kvtree.Tree {
	t := kvtree.New()
	t.Value("N").SetInt(n)
	t.Value("long").SetStr(strings.Repeat("x", 100*n))
	return t
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "index.scr")
	for n := range 3 {
		if err := kvtree.WriteFile(nil, name, counter(2-n)); err != nil {
			t.Fatal(err)
		}
		got, err := kvtree.ReadFile(nil, name, nil)
		if err != nil || !got.Equal(counter(2-n)) {
			t.Fatalf("%v", err)
		}
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("%d files left, %v", len(names), err)
	}
	if _, err := kvtree.ReadFile(nil, filepath.Join(dir, "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	var fe *kvtree.FormatError
	if err := os.WriteFile(name, []byte("hello, world, this is no tree"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := kvtree.ReadFile(nil, name, nil); !errors.As(err, &fe) || fe.File != name {
		t.Errorf("another file: %v", err)
	}
}

// TestWriteFileCrashAndFault checks that the file has the old or the new content after any fault or power loss.
func TestWriteFileCrashAndFault(t *testing.T) {
	setup := func() *vfs.Mem {
		mem := vfs.NewMem()
		if err := kvtree.WriteFile(mem, "f", counter(1)); err != nil {
			t.Fatal(err)
		}
		return mem
	}
	check := func(what string, fsys vfs.FS, mustBeNew bool) {
		t.Helper()
		got, err := kvtree.ReadFile(fsys, "f", nil)
		if err != nil || !got.Equal(counter(2)) && (mustBeNew || !got.Equal(counter(1))) {
			t.Errorf("%s: %v", what, err)
		}
		names, err := fsys.ReadDir(".")
		for _, e := range names {
			if e.Name() != "f" && !durable.IsTemp(e.Name()) {
				t.Errorf("%s: file %s left", what, e.Name())
			}
		}
		if err != nil || len(names) > 2 {
			t.Errorf("%s: %d files, %v", what, len(names), err)
		}
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{setup()}, Run: crashtest.One(func(fsys vfs.FS) error { return kvtree.WriteFile(fsys, "f", counter(2)) })}
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		if f.Err == nil {
			t.Errorf("%s: no error", f.When)
		}
		check(f.When, f.Mem[0], false)
		for seed := range int64(20) {
			check(fmt.Sprintf("%s, then a power cut", f.When), f.Mem[0].CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}), false)
		}
	}
	mem := setup()
	if err := kvtree.WriteFile(mem, "f", counter(2)); err != nil {
		t.Fatal(err)
	}
	check("power lost at the end", mem.CrashClone(vfs.CrashOptions{}), true)
}

func TestUpdate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: no locks here")
	}
	o := &kvtree.Options{}
	ctx := context.Background()
	name := filepath.Join(t.TempDir(), "halt.scr")
	if _, err := kvtree.ReadLocked(ctx, nil, name, o); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	var wg sync.WaitGroup
	const workers, rounds = 4, 10
	for range workers {
		wg.Go(func() {
			for range rounds {
				err := kvtree.Update(ctx, nil, name, o, func(t *kvtree.Tree) error {
					n, err := t.Value("N").Int()
					if err != nil && !errors.Is(err, kvtree.ErrMissing) {
						return err
					}
					t.Value("N").SetInt(n + 1)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if tree, err := kvtree.ReadLocked(ctx, nil, name, o); err != nil || tree.Len() != 1 {
					t.Errorf("read: %v", err)
				}
			}
		})
	}
	wg.Wait()
	tree, err := kvtree.ReadFile(nil, name, &kvtree.Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := tree.Value("N").Int(); err != nil || n != workers*rounds {
		t.Errorf("%d, %v, want %d: updates were lost", n, err, workers*rounds)
	}

	// A change that fails, and a change without effect, must write nothing.
	before, _ := os.Stat(name)
	failed := errors.New("no")
	if err := kvtree.Update(ctx, nil, name, o, func(t *kvtree.Tree) error { t.UnsetAll(); return failed }); !errors.Is(err, failed) {
		t.Errorf("failed change: %v", err)
	}
	if err := kvtree.Update(ctx, nil, name, o, func(t *kvtree.Tree) error { return nil }); err != nil {
		t.Error(err)
	}
	if after, _ := os.Stat(name); !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Error("the file was written")
	}

	// A shorter tree makes the file shorter.
	if err := kvtree.Update(ctx, nil, name, o, func(t *kvtree.Tree) error { t.UnsetAll(); return nil }); err != nil {
		t.Error(err)
	}
	if st, _ := os.Stat(name); st.Size() != 28 {
		t.Errorf("%d bytes, want 28", st.Size())
	}

	// Other callers wait for the lock until ctx ends.
	synctest.Test(t, func(t *testing.T) {
		err := kvtree.Update(ctx, nil, name, o, func(*kvtree.Tree) error {
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			if _, err := kvtree.ReadLocked(short, nil, name, o); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("read of a locked file: %v", err)
			}
			short, cancel = context.WithTimeout(ctx, time.Minute)
			defer cancel()
			err := kvtree.Update(short, nil, name, o, func(*kvtree.Tree) error { t.Error("two at once"); return nil })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("update of a locked file: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})

	// Damage is an error, and the file is kept unless Options.Replace is set.
	torn := []byte("\x95\x1f\xc3\xf5torn")
	if err := os.WriteFile(name, torn, 0o666); err != nil {
		t.Fatal(err)
	}
	set := func(t *kvtree.Tree) error { t.Value("N").SetInt(1); return nil }
	if err := kvtree.Update(ctx, nil, name, o, set); !errors.Is(err, kvtree.ErrTruncated) || !bytes.Equal(read(t, name), torn) {
		t.Errorf("damaged file: %v", err)
	}
	if err := kvtree.Update(ctx, nil, name, &kvtree.Options{Replace: true}, set); err != nil {
		t.Error(err)
	}
	payload := append(read(t, name), "payload"...)
	if err := os.WriteFile(name, payload, 0o666); err != nil {
		t.Fatal(err)
	}
	set2 := func(t *kvtree.Tree) error { t.Value("N").SetInt(2); return nil }
	if err := kvtree.Update(ctx, nil, name, o, set2); !errors.Is(err, fault.ErrUsage) || !bytes.Equal(read(t, name), payload) {
		t.Errorf("file with a payload: %v", err)
	}
	if err := kvtree.CheckLocks(nil, filepath.Dir(name)); err != nil {
		t.Error(err)
	}
	if names, _ := os.ReadDir(filepath.Dir(name)); len(names) != 1 {
		t.Errorf("%d files left", len(names))
	}
}

// TestUpdateCrashAndFault checks that readers detect an interrupted write in place.
func TestUpdateCrashAndFault(t *testing.T) {
	o := &kvtree.Options{NoLock: true}
	setup := func() *vfs.Mem {
		mem := vfs.NewMem()
		if err := kvtree.WriteFile(mem, "f", counter(50)); err != nil {
			t.Fatal(err)
		}
		return mem
	}
	change := func(t *kvtree.Tree) error { t.UnsetAll(); t.Merge(counter(2)); return nil }
	check := func(what string, fsys vfs.FS) {
		t.Helper()
		got, err := kvtree.ReadFile(fsys, "f", nil)
		var fe *kvtree.FormatError
		if err != nil && !errors.As(err, &fe) || err == nil && !got.Equal(counter(50)) && !got.Equal(counter(2)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	sc := crashtest.Scenario{Start: []*vfs.Mem{setup()}, Run: crashtest.One(func(fsys vfs.FS) error { return kvtree.Update(context.Background(), fsys, "f", o, change) })}
	for f := range sc.Faults(t, crashtest.Fails(errors.New("injected"))) {
		if f.Err == nil {
			t.Errorf("%s: no error", f.When)
		}
		check(f.When, f.Mem[0])
		for seed := range int64(20) {
			check(fmt.Sprintf("%s, then a power cut", f.When), f.Mem[0].CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))}))
		}
	}
}

// TestFlockProgramHonoured checks that the lock is a flock(2) lock, which the program flock uses too.
func TestFlockProgramHonoured(t *testing.T) {
	flock, err := exec.LookPath("flock")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("SKIPPED: no program flock")
	}
	name := filepath.Join(t.TempDir(), "halt.scr")
	err = kvtree.Update(context.Background(), nil, name, nil, func(*kvtree.Tree) error {
		if err := exec.Command(flock, "-n", name, "true").Run(); err == nil {
			t.Error("flock got the lock")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := exec.Command(flock, "-n", name, "true").Run(); err != nil {
		t.Errorf("flock after the update: %v", err)
	}
}

// unlocked is the operating system's file system without working locks. Each descriptor locks a different file, as if flock had
// no effect.
type unlocked struct {
	vfs.FS
	dir string
	n   int
}

func (u *unlocked) OpenRW(name string) (vfs.File, error) {
	f, err := u.FS.OpenRW(name)
	if err != nil {
		return nil, err
	}
	u.n++
	other, err := vfs.OS.Create(filepath.Join(u.dir, strconv.Itoa(u.n)))
	if err != nil {
		return nil, err
	}
	return brokenLock{f, other}, nil
}

// brokenLock is a file whose lock is taken on another file.
type brokenLock struct {
	vfs.File
	other vfs.File
}

func (b brokenLock) Lock(exclusive bool) error { return vfs.Lock(b.other, exclusive) }

func (b brokenLock) Close() error { return errors.Join(b.File.Close(), b.other.Close()) }

func TestLocksThatDoNotWork(t *testing.T) {
	ctx := context.Background()
	set := func(t *kvtree.Tree) error { t.Value("N").SetInt(1); return nil }
	dir := t.TempDir()
	name := filepath.Join(dir, "halt.scr")
	if err := kvtree.WriteFile(nil, name, kvtree.New()); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		fsys := &unlocked{FS: vfs.OS, dir: t.TempDir()}
		if err := kvtree.Update(ctx, fsys, name, nil, set); !errors.Is(err, kvtree.ErrNoLocks) {
			t.Errorf("update: %v", err)
		}
		if err := kvtree.CheckLocks(fsys, dir); !errors.Is(err, kvtree.ErrNoLocks) {
			t.Errorf("check: %v", err)
		}
		if tree, err := kvtree.ReadFile(nil, name, nil); err != nil || tree.Len() != 0 {
			t.Errorf("the file was changed, %v", err)
		}
	}
	mem := vfs.NewMem()
	o := &kvtree.Options{NoLock: true}
	if err := kvtree.Update(ctx, mem, "f", o, set); err != nil {
		t.Errorf("without locks: %v", err)
	}
	if tree, err := kvtree.ReadLocked(ctx, mem.CrashClone(vfs.CrashOptions{}), "f", o); err != nil || tree.Len() != 1 {
		t.Errorf("after power loss: %v", err)
	}
	if err := kvtree.Update(ctx, mem, "f", &kvtree.Options{MaxDepth: -1}, set); !errors.Is(err, fault.ErrUsage) {
		t.Errorf("depth of -1: %v", err)
	}
}

// TestGatherVectors reads the files of a map that SCR gathered, an index and its parts. It writes each file again and compares it
// byte for byte.
func TestGatherVectors(t *testing.T) {
	dir := testfiles.Dir(t, "kvtree")
	for name, parts := range map[string]int{"gather_one": 1, "gather_two": 2} {
		t.Run(name, func(t *testing.T) {
			prefix := filepath.Join(dir, name, "rank2file")
			load := func(suffix string) *kvtree.Tree {
				b := read(t, prefix+suffix)
				tree, _, err := decode(b, &kvtree.Options{Strict: true})
				if err != nil {
					t.Fatal(err)
				}
				if again, err := kvtree.Encode(tree); err != nil || !bytes.Equal(again, b) {
					t.Errorf("%s%s is written otherwise: %v", prefix, suffix, err)
				}
				return tree
			}
			all, index := kvtree.New(), load("").Get("RANK")
			if index.Len() != parts {
				t.Errorf("%d parts, want %d", index.Len(), parts)
			}
			for _, entry := range index.All() {
				suffix, err := entry.Value("FILE").Str()
				if err != nil {
					t.Fatal(err)
				}
				all.Merge(load(suffix).Get("RANK"))
			}
			if all.Len() != 4 {
				t.Errorf("%d ranks, want 4", all.Len())
			}
			if name != "gather_two" {
				return
			}
			want := map[string]bool{} // a set, because the order of ranks depends on the order of the folder
			for line := range strings.Lines(string(read(t, filepath.Join(dir, name, "merged.tree.txt")))) {
				want[line] = true
			}
			for line := range strings.Lines(print(t, all, false)) {
				if !want[line] {
					t.Errorf("line %q is not in the reference's", line)
				}
			}
		})
	}
}

// TestLocked checks that any number of concurrent callers of Locked detect a running Update, and that they do not block callers
// that want the lock.
func TestLocked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tree")
	if held, err := kvtree.Locked(vfs.OS, name); held || err != nil {
		t.Errorf("no file: %v, %v", held, err)
	}
	err := kvtree.Update(t.Context(), vfs.OS, name, nil, func(*kvtree.Tree) error {
		for range 2 {
			if held, err := kvtree.Locked(nil, name); !held || err != nil {
				t.Errorf("in Update: %v, %v", held, err)
			}
		}
		return nil
	})
	if errors.Is(err, kvtree.ErrNoLocks) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if held, err := kvtree.Locked(vfs.OS, name); held || err != nil {
		t.Errorf("after Update: %v, %v", held, err)
	}
	if _, err := kvtree.Locked(vfs.NewMem(), "/none"); err != nil {
		t.Errorf("in memory, no file: %v", err)
	}
}
