package runloop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"blobio/internal/base/vfs"
	"blobio/internal/scr/config"
)

func params(t *testing.T, env ...string) *config.Set {
	t.Helper()
	p, err := config.Load(config.Sources{Environ: env, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each test gets only nodes that passed all earlier ones. A failed node is never tested again.
func TestChecker(t *testing.T) {
	a, b := &fakeTest{bad: map[string]string{"n1": "x"}}, &fakeTest{bad: map[string]string{"n1": "y", "n2": "y"}}
	broken := &fakeTest{err: errTest, bad: map[string]string{"n3": "z"}}
	c := &Checker{Tests: []NodeTest{a.test(), broken.test(), b.test()}}
	fresh, skipped, err := c.Check(t.Context(), five)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Down{{"n1", "fake", "x"}, {"n2", "fake", "y"}}, fresh); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Skipped{{"fake", "test error"}}, skipped); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{{"n2", "n3", "n4", "n5"}}, b.tested); d != "" {
		t.Error(d)
	}
	b.bad, a.bad = nil, map[string]string{"n5": "late"}
	fresh, _, _ = c.Check(t.Context(), five)
	if d := cmp.Diff([]Down{{"n5", "fake", "late"}}, fresh); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{five, {"n3", "n4", "n5"}}, a.tested); d != "" {
		t.Error(d)
	}
	if got := c.DownNodes(); !slices.Equal(got, []string{"n1", "n2", "n5"}) {
		t.Error(got)
	}
}

// script is an Exec that answers each command line with a fixed text.
type script struct {
	mu    sync.Mutex
	asked []string
	reply func(ctx context.Context, line string) (string, error)
}

func (s *script) exec(ctx context.Context, argv []string) ([]byte, error) {
	line := strings.Join(argv, " ")
	s.mu.Lock()
	s.asked = append(s.asked, line)
	s.mu.Unlock()
	out, err := s.reply(ctx, line)
	return []byte(out), err
}

func TestNodeTests(t *testing.T) {
	ok := `{"dirs": [{"dir": "/x", "want": 5}]}`
	bad := `{"dirs": [{"dir": "/x", "want": 5, "capacity": "the file system has 3 bytes, want 5"}]}`
	exit1 := errors.New("exit status 1")
	sh := func(s *script) *Shell { return &Shell{Argv: []string{"ssh", "{node}"}, Exec: s.exec} }
	dirs := []config.Capacity{{Dir: "/x", Bytes: 5}}
	for _, c := range []struct {
		name  string
		test  func(s *script) NodeTest
		reply func(ctx context.Context, line string) (string, error)
		want  map[string]string
		skip  string
	}{
		{"manager", func(s *script) NodeTest { return SlurmDown(s.exec) }, func(_ context.Context, line string) (string, error) {
			if !strings.Contains(line, "--nodes=n[1-3]") {
				return "", fmt.Errorf("asked %q", line)
			}
			return "n[2,7]\nm1\n", nil
		}, map[string]string{"n2": "sinfo reports it as down"}, ""},
		{"manager knows nothing", func(s *script) NodeTest { return SlurmDown(s.exec) }, func(context.Context, string) (string, error) { return "", nil }, map[string]string{}, ""},
		{"no manager", func(s *script) NodeTest { return SlurmDown(s.exec) }, func(context.Context, string) (string, error) { return "", exec.ErrNotFound }, nil, "sinfo"},
		{"manager talks nonsense", func(s *script) NodeTest { return SlurmDown(s.exec) }, func(context.Context, string) (string, error) { return "n[3", nil }, nil, "prints"},
		{"ping", func(s *script) NodeTest { return Ping(s.exec) }, func(_ context.Context, line string) (string, error) {
			if strings.HasSuffix(line, "n3") {
				return "", exit1
			}
			return "", nil
		}, map[string]string{"n3": "no answer to a ping: exit status 1"}, ""},
		{"ping hangs", func(s *script) NodeTest { return Ping(s.exec) }, func(ctx context.Context, line string) (string, error) {
			if strings.HasSuffix(line, "n3") {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "", nil // success counts even after the time limit
		}, map[string]string{"n3": "no answer to a ping: no answer within 10s"}, ""},
		{"nobody may ping", func(s *script) NodeTest { return Ping(s.exec) }, func(context.Context, string) (string, error) { return "", exit1 }, nil, "no node answers"},
		{"no ping", func(s *script) NodeTest { return Ping(s.exec) }, func(context.Context, string) (string, error) {
			return "", &exec.Error{Name: "ping", Err: exec.ErrNotFound}
		}, nil, "no ping command"},
		{"echo", func(s *script) NodeTest { return Echo(sh(s)) }, func(_ context.Context, line string) (string, error) {
			switch line {
			case "ssh n1 echo up":
				return "up\n", nil
			case "ssh n2 echo up":
				return "", errors.New("exit status 255: No route to host")
			}
			return "welcome\n", nil
		}, map[string]string{"n2": "ssh cannot run a command on the node: exit status 255: No route to host", "n3": `ssh cannot run a command on the node: the command "echo up" prints "welcome\n", want "up"`}, ""},
		{"no ssh", func(s *script) NodeTest { return Echo(sh(s)) }, func(context.Context, string) (string, error) { return "", exec.ErrNotFound }, nil, "not found"},
		{"directories", func(s *script) NodeTest { return Dirs(sh(s), dirs, false) }, func(_ context.Context, line string) (string, error) {
			switch line {
			case "ssh n1 blobio scr check-node --json --free=false --dir /x=5":
				return ok, nil
			case "ssh n2 blobio scr check-node --json --free=false --dir /x=5":
				return bad, exit1
			}
			return "sh: blobio: killed", exit1
		}, map[string]string{"n2": "/x: the file system has 3 bytes, want 5", "n3": "exit status 1"}, ""},
		{"excluded", func(*script) NodeTest { return Named("excluded", []string{"n2", "n9"}, "SCR_EXCLUDE_NODES") }, nil, map[string]string{"n2": "SCR_EXCLUDE_NODES"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{reply: c.reply}
			var got map[string]string
			var err error
			synctest.Test(t, func(t *testing.T) { got, err = c.test(s).Test(t.Context(), []string{"n1", "n2", "n3"}) })
			if c.skip != "" {
				if err == nil || !strings.Contains(err.Error(), c.skip) {
					t.Fatalf("error %v, want one that leaves the test out, and says %q", err, c.skip)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// An interrupted test excludes no node.
func TestInterruptedTest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{reply: func(ctx context.Context, _ string) (string, error) { cancel(); return "", ctx.Err() }}
	c := &Checker{Tests: []NodeTest{Echo(&Shell{Argv: []string{"ssh"}, Exec: s.exec})}}
	if _, _, err := c.Check(ctx, five); !errors.Is(err, context.Canceled) || len(c.Down()) != 0 {
		t.Fatal(err, c.Down())
	}
}

func TestCheckDir(t *testing.T) {
	space := func(string) (int64, int64, error) { return 1000, 300, nil }
	fail := func(op vfs.OpKind) vfs.FS {
		m := vfs.NewMem()
		m.MkdirAll("/d")
		return vfs.NewFault(m, vfs.FailOn(op, "", 0, errTest))
	}
	mem := vfs.NewMem()
	mem.MkdirAll("/d")
	vfs.WriteFile(mem, "/f", nil)
	for _, c := range []struct {
		name  string
		fs    vfs.FS
		space Statfs
		cap   config.Capacity
		free  bool
		want  string // text that the first finding must contain
	}{
		{"good", mem, space, config.Capacity{Dir: "/d", Bytes: 1000}, false, ""},
		{"good free", mem, space, config.Capacity{Dir: "/d", Bytes: 300}, true, ""},
		{"too small", mem, space, config.Capacity{Dir: "/d", Bytes: 1001}, false, "/d: the file system has 1000 bytes, want 1001"},
		{"too full", mem, space, config.Capacity{Dir: "/d", Bytes: 301}, true, "/d: free are 300 bytes, want 301"},
		{"no size", mem, func(string) (int64, int64, error) { return 0, 0, errTest }, config.Capacity{Dir: "/d", Bytes: 1}, false, "/d: size not known: test error"},
		{"no size needed", mem, func(string) (int64, int64, error) { return 0, 0, errTest }, config.Capacity{Dir: "/d"}, false, ""},
		{"not there", mem, space, config.Capacity{Dir: "/e"}, false, "/e: file does not exist"},
		{"a file", mem, space, config.Capacity{Dir: "/f"}, false, "/f: not a directory"},
		{"no list", fail(vfs.OpReadDir), space, config.Capacity{Dir: "/d"}, false, "/d: cannot be listed: test error"},
		{"no create", fail(vfs.OpCreate), space, config.Capacity{Dir: "/d"}, false, "/d: a file cannot be written: "},
		{"no write", fail(vfs.OpWrite), space, config.Capacity{Dir: "/d"}, false, "/d: a file cannot be written: "},
		{"no read", fail(vfs.OpOpen), space, config.Capacity{Dir: "/d"}, false, "/d: a file cannot be read: "},
		{"no remove", fail(vfs.OpRemove), space, config.Capacity{Dir: "/d"}, false, "/d: a file cannot be removed: "},
	} {
		d := CheckDir(c.fs, c.space, c.cap, c.free)
		got := ""
		if err := d.Err(); err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if list, err := mem.ReadDir("/d"); err != nil || len(list) != 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// Nodes that share a directory do not disturb each other.
func TestSharedDir(t *testing.T) {
	names := make([]string, 64)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i)
	}
	c := Dirs(&Here{Local: &Local{}}, []config.Capacity{{Dir: t.TempDir()}}, false)
	if bad, err := c.Test(t.Context(), names); err != nil || len(bad) != 0 {
		t.Error(bad, err)
	}
}

// A check of a real directory gets the size of the file system and finds a missing directory.
func TestCheckRealDir(t *testing.T) {
	dir := t.TempDir()
	if d := CheckDir(vfs.OS, nil, config.Capacity{Dir: dir, Bytes: 1}, false); d.Err() != nil || d.Total <= 0 || d.Free < 0 || d.Free > d.Total {
		t.Errorf("%+v", d)
	}
	if d := CheckDir(vfs.OS, nil, config.Capacity{Dir: dir, Bytes: 1 << 62}, false); d.Capacity == "" {
		t.Errorf("%+v", d)
	}
	if d := CheckDir(vfs.OS, nil, config.Capacity{Dir: filepath.Join(dir, "x")}, false); d.List == "" {
		t.Errorf("%+v", d)
	}
	if os.Getuid() > 0 {
		os.Chmod(dir, 0o555)
		defer os.Chmod(dir, 0o755)
		if d := CheckDir(vfs.OS, nil, config.Capacity{Dir: dir}, false); d.Write == "" {
			t.Errorf("%+v", d)
		}
	}
}

func TestFindNodes(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "nodes")
	os.WriteFile(file, []byte("a1\na1\na2\n"), 0o644)
	for _, c := range []struct{ given, env, want, from string }{
		{"n[1-2]", "SCR_NODELIST=x", "n1 n2", "--nodes"},
		{"", "SCR_NODELIST=x[1-2]|SLURM_JOB_NODELIST=y", "x1 x2", "SCR_NODELIST"},
		{"", "SLURM_JOB_NODELIST=y[3,5]", "y3 y5", "SLURM_JOB_NODELIST"},
		{"", "SLURM_NODELIST=y", "y", "SLURM_NODELIST"},
		{"", "PBS_NODEFILE=" + file, "a1 a2", "PBS_NODEFILE " + file},
		{"", "LSB_HOSTS=batch c1 c1 c2", "c1 c2", "LSB_HOSTS"},
		{"", "LSB_HOSTS=c1 c1", "c1", "LSB_HOSTS"},
		{"", "PBS_NODEFILE=" + file + ".none", "", ""},
		{"n[1-", "", "", ""},
	} {
		env := map[string]string{}
		for _, kv := range strings.Split(c.env, "|") {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		got, err := FindNodes(c.given, "--nodes", func(n string) (string, bool) { v, ok := env[n]; return v, ok })
		if c.want == "" {
			if err == nil {
				t.Errorf("%q %q: %v, want an error", c.given, c.env, got)
			}
			continue
		}
		if err != nil || strings.Join(got.Nodes, " ") != c.want || got.From != c.from {
			t.Errorf("%q %q: %v %v, want %q from %q", c.given, c.env, got, err, c.want, c.from)
		}
	}
	if got, err := FindNodes("", "", func(n string) (string, bool) { return "  ", n == "LSB_HOSTS" }); err != nil || got.From != "this host" {
		t.Errorf("LSB_HOSTS of blanks: %v %v", got, err)
	}
	if got, err := FindNodes("", "", func(string) (string, bool) { return "", false }); err != nil || len(got.Nodes) != 1 || got.From != "this host" {
		t.Error(got, err)
	}
}
