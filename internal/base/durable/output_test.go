package durable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

func begin(t *testing.T, fsys vfs.FS, name string, force bool) *Output {
	t.Helper()
	return need(NewOutput(context.Background(), fsys, name, OutputOptions{Force: force}))
}

func fill(t *testing.T, o *Output, s string) {
	t.Helper()
	need(o.File().WriteAt([]byte(s), 0))
}

func content(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name, 100)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func listing(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	return fmt.Sprint(names(t, fsys, filepath.Dir(name)))
}

// holds fails if the file has other content or its directory other files.
func holds(t *testing.T, when string, fsys vfs.FS, name, text, files string) {
	t.Helper()
	if got, list := content(t, fsys, name), listing(t, fsys, name); got != text || list != files {
		t.Fatalf("%s: %q, want %q; %s, want %s", when, got, text, list, files)
	}
}

// TestOutput: only one process at a time can write an output. A second writer gets an error that names the first, and changes
// nothing. Commit and Discard may be repeated.
func TestOutput(t *testing.T) {
	for where, p := range places(t) {
		t.Run(where, func(t *testing.T) {
			ctx := context.Background()
			a := begin(t, p.fs, p.name, false)
			fill(t, a, "one")
			was := listing(t, p.fs, p.name)
			for _, force := range []bool{false, true} {
				_, err := NewOutput(ctx, p.fs, p.name, OutputOptions{Force: force})
				var in *InUseError
				if !errors.As(err, &in) || in.Lost || in.Holder == nil || in.Holder.PID != os.Getpid() {
					t.Fatalf("second writer, force %v: %v", force, err)
				}
				if now := listing(t, p.fs, p.name); now != was || content(t, p.fs, a.Temp()) != "one" {
					t.Fatalf("the second writer made %s of %s", now, was)
				}
			}
			must(t, a.Commit())
			must(t, a.Commit())
			a.Discard()
			holds(t, "read", p.fs, p.name, "one", "[d.nc]")
			if _, err := NewOutput(ctx, p.fs, p.name, OutputOptions{}); !errors.Is(err, fault.ErrExist) {
				t.Errorf("without force: %v", err)
			}
			b := begin(t, p.fs, p.name, true)
			fill(t, b, "two")
			b.Discard()
			b.Discard()
			if err := b.Commit(); !errors.Is(err, fault.ErrBroken) {
				t.Errorf("Commit after Discard: %v", err)
			}
			b = begin(t, p.fs, p.name, true)
			fill(t, b, "three")
			must(t, b.Commit())
			holds(t, "read", p.fs, p.name, "three", "[d.nc]")
		})
	}
}

// TestOutputNames: NewOutput refuses an invalid file name and the name of a special file, and does not change the file.
func TestOutputNames(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o777))
	for _, force := range []bool{false, true} {
		for name, want := range map[string]error{"": fault.ErrUsage, dir + "/": fault.ErrUsage, dir + "/.": fault.ErrUsage, dir + "/..": fault.ErrUsage,
			dir + "/d": fault.ErrExist, dir + "/none/x": fs.ErrNotExist} {
			if _, err := NewOutput(context.Background(), vfs.OS, name, OutputOptions{Force: force}); !errors.Is(err, want) {
				t.Errorf("%q, force %v: %v, want %v", name, force, err, want)
			}
		}
	}
	if got := listing(t, vfs.OS, filepath.Join(dir, "x")); got != "[d]" {
		t.Error(got)
	}
	if err := Free(vfs.OS, filepath.Join(dir, "d"), true); !errors.Is(err, ErrKept) {
		t.Error(err)
	}
}

// TestHidden: HiddenOf reverses HiddenName, and no hidden name is the name of a subfile.
func TestHidden(t *testing.T) {
	for id, want := range map[string]string{"0123abcd9": "d/.x.0123abcd.partial", "0123456789": "d/.x.a1234567.partial"} {
		got := HiddenName("d/x", id)
		if of, ok := HiddenOf(filepath.Base(got)); got != want || !ok || of != "x" {
			t.Errorf("%s: %s, of %q %v", id, got, of, ok)
		}
	}
	for _, n := range []string{"", ".partial", "..partial", "..0123abcd.partial", "x.0123abcd.partial", ".x.0123abc.partial", ".x.0123abcg.partial", ".x.0123abcd"} {
		if of, ok := HiddenOf(n); ok {
			t.Errorf("%q: of %q", n, of)
		}
	}
}

// TestOutputMeanwhile: a file that another program creates under the name meanwhile is not replaced.
func TestOutputMeanwhile(t *testing.T) {
	mem := vfs.NewMem()
	o := begin(t, mem, "d.nc", false)
	fill(t, o, "new")
	must(t, vfs.WriteFile(mem, "d.nc", []byte("theirs")))
	if err := o.Commit(); !errors.Is(err, fault.ErrExist) {
		t.Errorf("Commit: %v", err)
	}
	boom := errors.New("boom")
	also := boom
	if _, err := NewOutput(context.Background(), mem, "e.nc", OutputOptions{Also: func() error { return also }}); !errors.Is(err, boom) {
		t.Errorf("Also at the beginning: %v", err)
	}
	also = nil
	o = need(NewOutput(context.Background(), mem, "e.nc", OutputOptions{Also: func() error { return also }}))
	also = boom
	if err := o.Commit(); !errors.Is(err, boom) {
		t.Errorf("Also at the end: %v", err)
	}
	holds(t, "read", mem, "d.nc", "theirs", "[d.nc]")
}

// TestOutputCrash: after a power cut at any operation, the name has all of the old or all of the new content. After Commit, it
// has the new content. The next writer is not blocked and leaves no other files.
func TestOutputCrash(t *testing.T) {
	for _, old := range []string{"", "old"} {
		mem := vfs.NewMem()
		if old != "" {
			must(t, vfs.WriteFile(mem, "d.nc", []byte(old)))
			must(t, mem.SyncDir("."))
		}
		write := func(fsys vfs.FS) {
			o := begin(t, fsys, "d.nc", true)
			fill(t, o, "new")
			must(t, o.Commit())
		}
		sc := crashtest.Scenario{Start: []*vfs.Mem{mem}, Torn: 2, Run: crashtest.One(func(fsys vfs.FS) error { write(fsys); return nil })}
		for _, cut := range sc.Cuts(t) {
			c := cut.Mem[0]
			got := content(t, c, "d.nc")
			if got != old && got != "new" || cut.Last && got != "new" {
				t.Fatalf("%s: %q", cut.When, got)
			}
			write(c)
			holds(t, "after "+cut.When, c, "d.nc", "new", "[d.nc]")
		}
	}
}

// TestOutputFaults: each operation fails once. An error other than an UnsureError leaves only the old content.
func TestOutputFaults(t *testing.T) { synctest.Test(t, testOutputFaults) }

func testOutputFaults(t *testing.T) {
	write := func(fsys vfs.FS) error {
		o, err := NewOutput(context.Background(), fsys, "d.nc", OutputOptions{Force: true})
		if err != nil {
			return err
		}
		defer o.Discard()
		if _, err := o.File().WriteAt([]byte("new"), 0); err != nil {
			return err
		}
		return o.Commit()
	}
	mem := vfs.NewMem()
	must(t, vfs.WriteFile(mem, "d.nc", []byte("old")))
	must(t, vfs.WriteFile(mem, ".d.nc.0123abcd.partial", nil))
	must(t, mem.SyncDir("."))
	boom := errors.New("boom")
	unsure := 0
	sc := crashtest.Scenario{Start: []*vfs.Mem{mem}, Run: crashtest.One(write)}
	for f := range sc.Faults(t, crashtest.Fails(boom)) {
		mem, hit, err, when := f.Mem[0], f.Op, f.Err, f.When
		var u *UnsureError
		got := content(t, mem, "d.nc")
		switch {
		case err == nil && got != "new", err != nil && !errors.Is(err, boom):
			t.Fatalf("%s: %q, %v", when, got, err)
		case err == nil && hit.Kind != vfs.OpClose && hit.Kind != vfs.OpRemove && !(hit.Name == LockName("d.nc")):
			t.Errorf("%s: no error", when)
		case errors.As(err, &u):
			unsure++
			if !u.Renamed || got != "new" || hit.Kind != vfs.OpSyncDir {
				t.Errorf("%s: %q, %v", when, got, err)
			}
		case err != nil && got != "old":
			t.Errorf("%s: %q, %v", when, got, err)
		}
		must(t, write(mem)) // no lock blocks it
		if l := listing(t, mem, "d.nc"); l != "[d.nc]" {
			t.Errorf("%s: left: %s", when, l)
		}
	}
	if unsure == 0 {
		t.Error("no error behind the rename")
	}
}

// TestOutputRenameUnsure: a rename that happens but returns an error gives an UnsureError.
func TestOutputRenameUnsure(t *testing.T) {
	mem := vfs.NewMem()
	boom := errors.New("boom")
	o := begin(t, vfs.NewFault(mem, func(op vfs.Op) error {
		if op.Kind != vfs.OpRename {
			return nil
		}
		return errors.Join(boom, mem.Rename(op.Name, op.New))
	}), "d.nc", false)
	var u *UnsureError
	if err := o.Commit(); !errors.As(err, &u) || !errors.Is(err, boom) || u.Renamed || u.Name != "d.nc" {
		t.Error(err)
	}
	if l := listing(t, mem, "d.nc"); l != "[d.nc]" {
		t.Error(l)
	}
}

// TestOutputNoSync: with NoSync, nothing is synced.
func TestOutputNoSync(t *testing.T) {
	for _, c := range []struct {
		o    OutputOptions
		want int
	}{{OutputOptions{}, 2}, {OutputOptions{NoSyncDir: true}, 1}, {OutputOptions{NoSync: true}, 0}} {
		n := 0
		o, err := NewOutput(context.Background(), vfs.NewFault(vfs.NewMem(), func(op vfs.Op) error {
			if op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir {
				n++
			}
			return nil
		}), "d.nc", c.o)
		must(t, err)
		must(t, o.Commit())
		if n != c.want {
			t.Errorf("%+v: %d syncs, want %d", c.o, n, c.want)
		}
	}
}

// TestOutputZombie: a writer that is stopped at any operation, loses its lease and wakes up changes nothing.
func TestOutputZombie(t *testing.T) { synctest.Test(t, testOutputZombie) }

func testOutputZombie(t *testing.T) {
	for n := int64(1); ; n++ {
		all := crashtest.NewMachines(vfs.NewMem())
		one, two := all.Machine(false), all.Machine(false)
		o := LeaseOptions{Boot: "one", Beat: 1 << 40} // operations are counted, so no heartbeat may come between them
		a := need(NewOutput(context.Background(), one, "d.nc", OutputOptions{Force: true, Lease: o}))
		fill(t, a, "zombie")
		stopped, done := one.StopAt(n), make(chan error, 1)
		go func() { done <- a.Commit() }()
		select {
		case <-stopped:
		case err := <-done:
			must(t, err)
			if n < 5 {
				t.Fatalf("%d operations in all", n)
			}
			return
		}
		was := content(t, two, "d.nc")
		o.Boot = "two"
		b, err := NewOutput(context.Background(), two, "d.nc", OutputOptions{Force: true, Lease: o})
		if errors.Is(err, fault.ErrInUse) {
			t.Fatal(err)
		}
		must(t, err)
		fill(t, b, "new")
		one.Go()
		err = <-done
		if got := content(t, two, "d.nc"); err == nil && was != "zombie" || got != was {
			t.Errorf("stopped at %d: %q became %q, %v", n, was, got, err)
		}
		released := err == nil // the stopped writer has removed b's lease instead of its own, so Commit of b returns ErrInUse
		err = b.Commit()
		if released && errors.Is(err, fault.ErrInUse) {
			continue
		}
		must(t, err)
		holds(t, fmt.Sprint("stopped at ", n), two, "d.nc", "new", "[d.nc]")
	}
}

// TestOutputLost: a writer that has lost the lease does not commit, even if its hidden file was created after the new holder's
// sweep.
func TestOutputLost(t *testing.T) {
	mem := vfs.NewMem()
	o := begin(t, mem, "d.nc", true)
	fill(t, o, "new")
	must(t, mem.Remove(LockName("d.nc")))
	var in *InUseError
	if err := o.Commit(); !errors.As(err, &in) || !in.Lost {
		t.Errorf("Commit: %v", err)
	}
	if l := listing(t, mem, "d.nc"); l != "[]" {
		t.Error(l)
	}
}

// TestOutputLinks: links under the final or a hidden name are replaced or removed. Their targets stay.
func TestOutputLinks(t *testing.T) {
	for _, there := range []bool{true, false} {
		dir := t.TempDir()
		name, victim := filepath.Join(dir, "d.nc"), filepath.Join(dir, "victim")
		if there {
			must(t, os.WriteFile(victim, []byte("keep"), 0o666))
		}
		if err := os.Symlink(victim, name); err != nil {
			t.Skip(err)
		}
		must(t, os.Symlink(victim, HiddenName(name, "0123abcd")))
		if _, err := NewOutput(context.Background(), vfs.OS, name, OutputOptions{}); !errors.Is(err, fault.ErrExist) {
			t.Errorf("a link counts as there: %v", err)
		}
		o := begin(t, vfs.OS, name, true)
		fill(t, o, "new")
		must(t, o.Commit())
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() || content(t, vfs.OS, name) != "new" {
			t.Errorf("%v %v", info, err)
		}
		want, list := "", "[d.nc]"
		if there {
			want, list = "keep", "[d.nc victim]"
		}
		holds(t, "read", vfs.OS, victim, want, list)
	}
}

// TestOutputKilled: the next writer of an output removes the files of a killed process, and no others.
func TestOutputKilled(t *testing.T) {
	const env = "BLOBIO_TEST_OUTPUT"
	if name := os.Getenv(env); name != "" {
		o, err := NewOutput(context.Background(), vfs.OS, name, OutputOptions{})
		fmt.Println(err)
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		runtime.KeepAlive(o)
		os.Exit(0)
	}
	name := filepath.Join(t.TempDir(), "d.nc")
	if !vfs.OS.Local(name) {
		t.Skip("the directory for temporary files is not known to be this machine's alone")
	}
	for _, n := range []string{".d.nc.0123abc.partial", ".e.nc.0123abcd.partial", "d.nc.0123abcd.partial"} {
		must(t, os.WriteFile(filepath.Join(filepath.Dir(name), n), nil, 0o666))
	}
	child := exec.Command(os.Args[0], "-test.run=^TestOutputKilled$")
	child.Env = append(os.Environ(), env+"="+name)
	stdin := need(child.StdinPipe())
	defer stdin.Close()
	out := need(child.StdoutPipe())
	must(t, child.Start())
	defer child.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	must(t, child.Process.Kill())
	_ = child.Wait()
	if l, err := HiddenFiles(vfs.OS, name); err != nil || len(l) != 1 {
		t.Fatalf("%v %v", l, err)
	}
	o := begin(t, vfs.OS, name, false)
	if l, err := HiddenFiles(vfs.OS, name); err != nil || len(l) != 1 || l[0] != o.Temp() {
		t.Errorf("%v %v", l, err)
	}
	must(t, o.Commit())
	if l := listing(t, vfs.OS, name); l != "[.d.nc.0123abc.partial .e.nc.0123abcd.partial d.nc d.nc.0123abcd.partial]" {
		t.Error(l)
	}
}

// TestHiddenOfAnotherUser: a hidden file that only another user may remove blocks no writer.
func TestHiddenOfAnotherUser(t *testing.T) {
	mem := vfs.NewMem()
	const theirs = ".x.nc.deadbeef.partial"
	must(t, vfs.WriteFile(mem, theirs, []byte("theirs")))
	out := begin(t, vfs.NewFault(mem, vfs.FailOn(vfs.OpRemove, theirs, 0, fs.ErrPermission)), "x.nc", false)
	fill(t, out, "ours")
	must(t, out.Commit())
	if one, two := content(t, mem, "x.nc"), content(t, mem, theirs); one != "ours" || two != "theirs" {
		t.Errorf("%q, %q", one, two)
	}
}
