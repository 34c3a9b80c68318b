package subfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"slices"
	"strings"
	"syscall"
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/testfiles"
	"blobio/internal/base/vfs"
)

var must = testfiles.Must

func need[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func names(t *testing.T, fsys vfs.FS) (list []string) {
	t.Helper()
	entries := need(fsys.ReadDir("."))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// left fails unless exactly these files are left.
func left(t *testing.T, what string, fsys vfs.FS, want ...string) {
	t.Helper()
	if got := names(t, fsys); !slices.Equal(got, want) {
		t.Errorf("%s: left\n%v, want\n%v", what, got, want)
	}
}

const (
	mine   = "w00000001"
	theirs = "w00000002"
)

// record describes a dataset of two subfiles in the current directory.
func record(base string, prepared bool) *Manifest {
	return &Manifest{ID: base + mine, Writer: mine, Layout: "process-centric", Base: base, Ranks: 2, Prepared: prepared,
		Sets: []SetInfo{{Base: base, Subfiles: make([]Subfile, 2)}}}
}

func content(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	b := need(vfs.ReadFile(fsys, name, 1<<20))
	return string(b)
}

// TestRecoverLeavesOthers: Recover removes all files that a dead writer of the dataset left. It removes no file of another
// dataset, even if the names are similar.
func TestRecoverLeavesOthers(t *testing.T) {
	others := []string{"e.nc.0000", "e.nc.0003", "e.nc.0001." + theirs + ".partial", "e.nc.0002.partial", "e.nc.manifest.next." + theirs + ".partial",
		"d.nc", "d.nc2.0000", "d.nc2.0000.partial", "d.nc.x.0000", "dd.nc.0000." + theirs + ".partial", "d.n.0000", "d.nc.2024", "d.nc+1.2024"}
	own := []string{"d.nc.0000", "d.nc.0007", "d.nc+1.0000", "d.nc.0000.partial", "d.nc.0001." + theirs + ".partial", "d.nc+1.0002.partial",
		"d.nc.manifest.next." + theirs + ".partial", "d.nc.manifest.partial"}
	for _, shared := range []bool{false, true} {
		m := vfs.NewMem()
		touch(t, m, others...)
		touch(t, m, own...)
		announced := record("d.nc", false) // never committed
		announced.Finals = true            // it lists d.nc.0000 and .0001
		must(t, WriteNext(m, "d.nc", announced, false, By{}))
		if got, err := Recover(m, "d.nc", By{Tag: mine, Shared: shared, Holds: func(_ string, i int) (bool, error) { return i < 10, nil }}); err != nil || got != nil {
			t.Fatalf("%v %v", got, err)
		}
		left(t, fmt.Sprint("shared ", shared), m, slices.Sorted(slices.Values(others))...)
	}
}

// TestLeftoverRecord: the unfinished record of a dead writer does not block other writers, and they do not overwrite it in
// place.
func TestLeftoverRecord(t *testing.T) {
	m := vfs.NewMem()
	touch(t, m, PartialBy(NextName("d"), mine))
	must(t, WriteNext(m, "d", record("d", true), true, By{Tag: mine}))
	left(t, "announced", m, NextName("d"))
}

// losing returns a By that loses its lease at the n-th check, after a call of at.
func losing(n int, at func()) By {
	return By{Tag: mine, Shared: true, Check: func() error {
		if n--; n == 0 {
			at()
			return fault.ErrInUse
		}
		return nil
	}}
}

// TestDiscard: a file that may belong to another writer is not removed.
func TestDiscard(t *testing.T) {
	for n := 1; n <= 3; n++ {
		m := vfs.NewMem()
		must(t, vfs.WriteFile(m, "d.0000", []byte("theirs")))
		err := losing(n, func() {}).discard(m, "d.0000")
		if n <= 2 {
			if !errors.Is(err, fault.ErrInUse) || content(t, m, "d.0000") != "theirs" || len(names(t, m)) != 1 {
				t.Errorf("lost at check %d: %v, %v", n, err, names(t, m))
			}
		} else if err != nil || len(names(t, m)) != 0 {
			t.Errorf("held: %v, %v", err, names(t, m))
		}
	}
	m := vfs.NewMem()
	must(t, By{Tag: mine}.discard(m, "d.0000")) // missing file
	touch(t, m, "d.0000", PartialBy("d.0001", mine))
	must(t, By{}.discard(m, "d.0000"))
	must(t, losing(1, func() { t.Error("what nobody else has is looked after") }).discard(m, PartialBy("d.0001", mine)))
	left(t, "left", m)
}

// TestNextOfAnother: a writer without the lease cannot put a record in force, and removes only its own record.
func TestNextOfAnother(t *testing.T) {
	m := vfs.NewMem()
	if err := WriteNext(m, "d", record("d", true), true, losing(1, func() {})); !errors.Is(err, fault.ErrInUse) || len(names(t, m)) != 0 {
		t.Errorf("%v, %v", err, names(t, m))
	}
	other := record("d", true)
	other.ID, other.Writer = "other", theirs
	must(t, WriteNext(m, "d", other, true, By{Tag: theirs}))
	next := content(t, m, NextName("d"))
	must(t, DropNext(m, "d", mine))
	if l := names(t, m); len(l) != 1 || content(t, m, NextName("d")) != next {
		t.Errorf("%v", l)
	}
	must(t, DropNext(m, "d", theirs))
	must(t, DropNext(m, "d", theirs))
	left(t, "then", m)
	must(t, vfs.WriteFile(m, NextName("d"), []byte("torn")))
	must(t, DropNext(m, "d", mine))
	left(t, "what cannot be read stays", m)
}

// TestFinishShared: where the lease may be lost without notice, the manifest is a copy of the writer's own record. The
// .manifest.next of a new writer stays.
func TestFinishShared(t *testing.T) {
	make := func() *vfs.Mem {
		m := vfs.NewMem()
		touch(t, m, PartialBy("d.0000", mine), PartialBy("d.0001", mine))
		must(t, WriteNext(m, "d", record("d", true), true, By{Tag: mine}))
		return m
	}
	m := make()
	must(t, Finish(m, "d", record("d", true), true, By{Tag: mine, Shared: true}))
	whole := []string{"d.0000", "d.0001", "d.manifest"}
	left(t, "then", m, whole...)
	after := m.CrashClone(vfs.CrashOptions{})
	left(t, "after a power cut", after, whole...)
	m = make()
	if err := Finish(m, "d", record("d", true), true, losing(1, func() {})); !errors.Is(err, fault.ErrInUse) {
		t.Error(err)
	}
	if l := names(t, m); slices.Contains(l, "d.manifest") || strings.Contains(fmt.Sprint(l), "partial") {
		t.Errorf("the lease is lost: %v", l)
	}
	// Another writer writes its .manifest.next while the manifest is renamed.
	m = make()
	other := record("d", false)
	other.ID, other.Writer = "other", theirs
	fsys := vfs.NewFault(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpRename && strings.HasSuffix(op.Name, "d.manifest."+mine+".partial") {
			return WriteNext(m, "d", other, true, By{Tag: theirs})
		}
		return nil
	})
	must(t, Finish(fsys, "d", record("d", true), true, By{Tag: mine, Shared: true}))
	got, err := readManifest(m, "d", NextName("d"))
	if err != nil || got.Writer != theirs {
		t.Errorf("the announcement of the other writer: %+v, %v", got, err)
	}
	if got, err := readManifest(m, "d", ManifestName("d")); err != nil || got.Writer != mine {
		t.Errorf("the manifest: %+v, %v", got, err)
	}
}

// TestFinishSharedCrash: a power cut at any operation leaves the commit whole.
func TestFinishSharedCrash(t *testing.T) {
	start := vfs.NewMem()
	for i := range 2 {
		must(t, vfs.WriteFile(start, PartialBy(Name("d", i), mine), []byte("data")))
	}
	must(t, WriteNext(start, "d", record("d", true), true, By{Tag: mine}))
	boom := errors.New("power")
	must(t, start.SyncDir("."))
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error {
		return Finish(fsys, "d", record("d", true), true, By{Tag: mine, Check: func() error { return nil }, Shared: true})
	})}
	for f := range sc.Faults(t, crashtest.Dies(boom)) {
		for seed := range int64(16) {
			after := f.Mem[0].CrashClone(vfs.CrashOptions{Rand: rand.New(rand.NewSource(seed))})
			if st, serr := ReadState(after, "d"); serr != nil || st.Manifest == nil || st.Manifest.Writer != mine || f.Err == nil && st.Pending {
				t.Fatalf("%s, seed %d: %+v, %v, %v", f.When, seed, st, serr, names(t, after))
			}
		}
	}
}

// TestFinishSharedFault: an error of any operation is returned, except an error of closing a file after reading.
func TestFinishSharedFault(t *testing.T) {
	start := vfs.NewMem()
	touch(t, start, PartialBy("d.0000", mine), PartialBy("d.0001", mine))
	must(t, WriteNext(start, "d", record("d", true), true, By{Tag: mine}))
	boom := errors.New("disk")
	sc := crashtest.Scenario{Start: []*vfs.Mem{start}, Run: crashtest.One(func(fsys vfs.FS) error {
		return Finish(fsys, "d", record("d", true), true, By{Tag: mine, Shared: true})
	})}
	for f := range sc.Faults(t, crashtest.Fails(boom)) {
		if !errors.Is(f.Err, boom) && f.Op.Kind != vfs.OpClose {
			t.Errorf("%s: %v, want %v", f.When, f.Err, boom)
		}
	}
}

// TestRehome: the subfiles are replaced by durable copies of the committed bytes, without the tail of an interrupted append.
func TestRehome(t *testing.T) {
	m := vfs.NewMem()
	d := record("d", true)
	for i := range d.Sets[0].Subfiles {
		must(t, vfs.WriteFile(m, Name("d", i), fmt.Appendf(nil, "committed %d and a tail", i)))
		d.Sets[0].Subfiles[i].Size = int64(len("committed 0"))
	}
	must(t, m.SyncDir("."))
	old, err := m.OpenRW("d.0001") // a former writer that is alive has the old file open
	must(t, err)
	must(t, Rehome(m, "d", d, By{Tag: mine}, true))
	_, err = old.WriteAt([]byte("XXXX"), 0)
	must(t, errors.Join(err, old.Sync(), old.Close()))
	for _, fsys := range []vfs.FS{m, m.CrashClone(vfs.CrashOptions{})} {
		for i := range 2 {
			if got, want := content(t, fsys, Name("d", i)), fmt.Sprintf("committed %d", i); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if l := names(t, fsys); len(l) != 2 {
			t.Errorf("%v", l)
		}
	}
	if err := Rehome(m, "d", d, losing(1, func() {}), true); !errors.Is(err, fault.ErrInUse) || content(t, m, "d.0000") != "committed 0" {
		t.Errorf("the lease is lost: %v", err)
	}
	d.Sets[0].Subfiles[0].Size++
	if err := Rehome(m, "d", d, By{Tag: theirs}, true); err == nil || content(t, m, "d.0000") != "committed 0" || strings.Contains(fmt.Sprint(names(t, m)), theirs) {
		t.Errorf("a file that is shorter than the manifest says: %v, %v", err, names(t, m))
	}
}

// TestDropNextUnread: DropNext keeps an unreadable commit, which may be another writer's, and returns the error.
func TestDropNextUnread(t *testing.T) {
	m := vfs.NewMem()
	must(t, WriteNext(m, "d", record("d", true), true, By{Tag: mine}))
	before := names(t, m)
	fsys := vfs.NewFault(m, func(op vfs.Op) error {
		if op.Kind == vfs.OpRead {
			return &fs.PathError{Op: "read", Path: op.Name, Err: syscall.EIO}
		}
		return nil
	})
	if err := DropNext(fsys, "d", "w0000beef"); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v, want EIO", err)
	}
	left(t, "left\n", m, before...)
}
