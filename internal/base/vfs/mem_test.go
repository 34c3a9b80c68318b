package vfs

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tree lists a file system as "name=content" and "name/".
func tree(t *testing.T, fsys FS, dir string) string {
	t.Helper()
	list, err := fsys.ReadDir(dir)
	ok(t, err)
	var s []string
	for _, e := range list {
		name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
		if e.IsDir() {
			s = append(s, name+"/")
			if sub := tree(t, fsys, name); sub != "" {
				s = append(s, sub)
			}
			continue
		}
		s = append(s, name+"="+content(t, fsys, name))
	}
	return strings.Join(s, " ")
}

// TestCrashStrict: only synced names and contents survive.
func TestCrashStrict(t *testing.T) {
	m := NewMem()
	check := func(step, want string) {
		t.Helper()
		c := m.CrashClone(CrashOptions{})
		if got := tree(t, c, "."); got != want {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
		if got := tree(t, c.CrashClone(CrashOptions{}), "."); got != want {
			t.Errorf("%s: not all of the clone is durable: %q", step, got)
		}
	}
	f, err := m.Create("f")
	ok(t, err)
	_, err = f.WriteAt([]byte("one"), 0)
	ok(t, err)
	check("created", "")
	ok(t, f.Sync())
	check("file synced, name not", "")
	ok(t, m.SyncDir("."))
	check("both synced", "f=one")
	_, err = f.WriteAt([]byte("NEWER"), 0)
	ok(t, err)
	check("overwritten", "f=one")
	ok(t, f.Truncate(2))
	check("truncated", "f=one")
	ok(t, f.Sync())
	check("synced", "f=NE")
	ok(t, WriteFile(m, "g", []byte("gg")))
	ok(t, m.Rename("g", "f"))
	check("replaced", "f=NE")
	ok(t, m.SyncDir("."))
	check("replaced and synced", "f=gg")
	ok(t, m.Mkdir("d"))
	ok(t, WriteFile(m, "d/x", []byte("x")))
	ok(t, m.SyncDir("d"))
	check("directory whose name is not synced", "f=gg")
	ok(t, m.SyncDir("."))
	check("directory", "d/ d/x=x f=gg")
	ok(t, m.Rename("f", "d/f"))
	ok(t, m.SyncDir("d"))
	check("moved, only the new directory synced", "d/ d/f=gg d/x=x f=gg")
	ok(t, m.SyncDir("."))
	check("moved", "d/ d/f=gg d/x=x")
	ok(t, m.Remove("d/x"))
	check("removed", "d/ d/f=gg d/x=x")
	ok(t, m.SyncDir("d"))
	check("removed and synced", "d/ d/f=gg")
	h, err := m.Create("late")
	ok(t, err)
	ok(t, m.SyncDir("."))
	_, err = h.WriteAt([]byte("lost"), 0)
	ok(t, err)
	check("name synced, content not", "d/ d/f=gg late=")
	if got := tree(t, m, "."); got != "d/ d/f=gg late=lost" {
		t.Errorf("the clones changed the original: %q", got)
	}
}

// TestCrashRandom: in many random crashes, each state that may survive survives at least once, and no other state survives.
func TestCrashRandom(t *testing.T) {
	m := NewMem()
	f, err := m.Create("f")
	ok(t, err)
	old := bytes.Repeat([]byte("o"), 3*pageSize)
	_, err = f.WriteAt(old, 0)
	ok(t, err)
	ok(t, f.Sync())
	ok(t, WriteFile(m, "gone", []byte("g")))
	ok(t, m.SyncDir("."))
	_, err = f.WriteAt(bytes.Repeat([]byte("n"), 3*pageSize), pageSize) // pages 1, 2, and a new page 3
	ok(t, err)
	ok(t, WriteFile(m, "new", []byte("N")))
	ok(t, m.Rename("new", "newer"))
	ok(t, m.Remove("gone"))

	seen := map[string]int{}
	const clones = 2000
	for seed := range int64(clones) {
		c := m.CrashClone(CrashOptions{Rand: rand.New(rand.NewSource(seed))})
		s := content(t, c, "f")
		if len(s) < 3*pageSize || len(s) > 4*pageSize {
			t.Fatalf("size %d", len(s))
		}
		seen[fmt.Sprintf("size %d", len(s))]++
		for p := 0; p*pageSize < len(s); p++ {
			page := s[p*pageSize : min(len(s), (p+1)*pageSize)]
			if strings.Count(page, page[:1]) != len(page) {
				t.Fatalf("page %d is torn inside", p)
			}
			seen[fmt.Sprintf("page %d %q", p, page[:1])]++
		}
		names := ""
		list, err := c.ReadDir(".")
		ok(t, err)
		for _, e := range list {
			names += " " + e.Name()
		}
		seen["names"+names]++
		again := m.CrashClone(CrashOptions{Rand: rand.New(rand.NewSource(seed))})
		if seed < 20 && tree(t, again, ".") != tree(t, c, ".") {
			t.Fatal("the same seed gives another clone")
		}
	}
	for _, must := range []string{"size 12288", "size 16384", `page 0 "o"`, `page 1 "o"`, `page 1 "n"`, `page 2 "o"`,
		`page 2 "n"`, `page 3 "\x00"`, `page 3 "n"`, "names f", "names f gone", "names f new", "names f newer", "names f gone newer"} {
		if seen[must] < clones/50 {
			t.Errorf("%s: %d of %d times", must, seen[must], clones)
		}
		delete(seen, must)
	}
	delete(seen, "names f gone new")
	if len(seen) > 0 {
		t.Errorf("impossible states: %v", seen)
	}
}

// TestRenameIsAtomic: after any crash the name refers to the old or the new file.
func TestRenameIsAtomic(t *testing.T) {
	m := NewMem()
	ok(t, WriteFile(m, "name", []byte("old")))
	ok(t, m.SyncDir("."))
	ok(t, WriteFile(m, "name.next", []byte("new")))
	ok(t, m.Rename("name.next", "name"))
	seen := map[string]int{}
	for seed := range int64(200) {
		c := m.CrashClone(CrashOptions{Rand: rand.New(rand.NewSource(seed))})
		seen[content(t, c, "name")]++
	}
	if seen["old"] == 0 || seen["new"] == 0 || len(seen) != 2 {
		t.Errorf("%v", seen)
	}
}

func TestCapacity(t *testing.T) {
	m := NewMem()
	m.SetCapacity(10 * pageSize)
	f, err := m.Create("f")
	ok(t, err)
	n, err := f.WriteAt(make([]byte, 12*pageSize), 0)
	if n != 10*pageSize {
		t.Errorf("wrote %d", n)
	}
	wantIs(t, "full disk", err, ErrNoSpace)
	wantIs(t, "Allocate on a full disk", f.Allocate(0, 11*pageSize), ErrNoSpace)
	ok(t, f.Allocate(0, 10*pageSize))
	_, err = f.WriteAt(make([]byte, pageSize), 0) // existing pages may be overwritten
	ok(t, err)
	ok(t, f.Truncate(4*pageSize))
	if m.Used() != 4*pageSize {
		t.Errorf("used %d", m.Used())
	}
	g, err := m.Create("g")
	ok(t, err)
	_, err = g.WriteAt(make([]byte, 6*pageSize), 1<<40) // a hole needs no capacity
	ok(t, err)
	ok(t, m.Remove("f"))
	if m.Used() != 10*pageSize {
		t.Errorf("used %d while the removed file is open", m.Used())
	}
	ok(t, f.Close())
	if m.Used() != 6*pageSize {
		t.Errorf("used %d after it was closed", m.Used())
	}
	ok(t, g.Close())
	ok(t, WriteFile(m, "h", make([]byte, pageSize)))
	ok(t, m.Rename("h", "g"))
	if m.Used() != pageSize {
		t.Errorf("used %d after it was replaced", m.Used())
	}
}

// TestModel compares random writes, truncations and syncs with plain slices, and the strict
// crash clone with the slice at the last Sync.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := NewMem()
		f, err := m.Create("f")
		ok(t, err)
		ok(t, m.SyncDir("."))
		var now, durable []byte
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				off := rapid.IntRange(0, 4*pageSize).Draw(rt, "off")
				b := bytes.Repeat([]byte{rapid.Byte().Draw(rt, "byte")}, rapid.IntRange(0, 2*pageSize).Draw(rt, "len"))
				k := rapid.IntRange(0, len(b)).Draw(rt, "cut")
				if _, err := f.WritevAt([][]byte{b[:k], b[k:]}, int64(off)); err != nil {
					rt.Fatal(err)
				}
				if end := off + len(b); end > len(now) && len(b) > 0 {
					now = append(now, make([]byte, end-len(now))...)
				}
				copy(now[min(off, len(now)):], b)
			case 2:
				size := rapid.IntRange(0, 5*pageSize).Draw(rt, "size")
				if err := f.Truncate(int64(size)); err != nil {
					rt.Fatal(err)
				}
				now = append(now, make([]byte, max(0, size-len(now)))...)[:size:size]
			case 3:
				if err := f.Sync(); err != nil {
					rt.Fatal(err)
				}
				durable = bytes.Clone(now)
			case 4:
				if got := content(t, m.CrashClone(CrashOptions{}), "f"); got != string(durable) {
					rt.Fatalf("after a crash %d bytes, want %d, or other bytes", len(got), len(durable))
				}
				c := m.CrashClone(CrashOptions{Rand: rand.New(rand.NewSource(1))})
				if bytes.Equal(now, durable) && c.Used() > m.Used() {
					rt.Fatal("a clone takes more space")
				}
			}
			if got := content(t, m, "f"); got != string(now) {
				rt.Fatalf("%d bytes, want %d, or other bytes", len(got), len(now))
			}
		}
	})
}

// TestCrashTail: if a crash shortens a file, the lost bytes are zero when the file grows again.
func TestCrashTail(t *testing.T) {
	m := NewMem()
	f, err := m.Create("f")
	ok(t, err)
	_, err = f.WriteAt([]byte("0123456789"), 0)
	ok(t, err)
	ok(t, f.Sync())
	ok(t, m.SyncDir("."))
	_, err = f.WriteAt([]byte("abcdefghijklmnopqrst"), 0)
	ok(t, err)
	sizes := map[int64]bool{}
	for seed := range int64(100) {
		c := m.CrashClone(CrashOptions{Rand: rand.New(rand.NewSource(seed))})
		g, err := c.OpenRW("f")
		ok(t, err)
		size, err := g.Size()
		ok(t, err)
		sizes[size] = true
		ok(t, g.Truncate(30))
		b := make([]byte, 30)
		_, err = g.ReadAt(b, 0)
		ok(t, err)
		if tail := b[size:]; !bytes.Equal(tail, make([]byte, len(tail))) {
			t.Fatalf("seed %d: %d bytes, then %q", seed, size, tail)
		}
	}
	if !sizes[10] || !sizes[20] {
		t.Errorf("sizes %v, want 10 and 20 among them", sizes)
	}
}

// TestRemoveOfFullFolder: a folder with one file cannot be removed.
func TestRemoveOfFullFolder(t *testing.T) {
	m := NewMem()
	ok(t, m.Mkdir("d"))
	ok(t, WriteFile(m, "d/f", nil))
	if err := m.Remove("d"); err == nil {
		t.Error("a folder with a file in it was removed")
	}
	ok(t, m.Remove("d/f"))
	ok(t, m.Remove("d"))
}

func BenchmarkMemWrite(b *testing.B) {
	f, err := NewMem().Create("f")
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1<<20)
	b.SetBytes(int64(len(buf)))
	for i := 0; b.Loop(); i++ {
		if _, err := f.WriteAt(buf, int64(i%64)<<20); err != nil {
			b.Fatal(err)
		}
	}
}
