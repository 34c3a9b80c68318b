package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"blobio/internal/base/vfs"
)

// files returns a file system in memory with files below /d.
func files(t testing.TB, nameText ...string) vfs.FS {
	t.Helper()
	m := vfs.NewMem()
	for i := 0; i < len(nameText); i += 2 {
		if err := m.MkdirAll(filepath.Dir(nameText[i])); err != nil {
			t.Fatal(err)
		}
		if err := vfs.WriteFile(m, nameText[i], []byte(nameText[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// abs converts a slash path to an absolute path of this operating system.
func abs(name string) string {
	p, err := filepath.Abs(filepath.FromSlash(name))
	if err != nil {
		panic(err)
	}
	return p
}

// load reads a user file and a system file.
func load(t testing.TB, user, system string, environ ...string) *Set {
	t.Helper()
	s, err := Load(Sources{
		Environ: append([]string{}, environ...), Dir: abs("/d"), SystemFile: abs("/etc/scr.conf"),
		FS: files(t, abs("/d/.scrconf"), user, abs("/etc/scr.conf"), system),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// For each combination of the four sources, the first source that sets the parameter wins.
func TestPrecedence(t *testing.T) {
	for mask := range 16 {
		var environ []string
		var user, system string
		want, src := "10", Default
		if mask&8 != 0 {
			system, want, src = "\nSCR_FLUSH=4\n", "4", SystemFile
		}
		prog := mask&4 != 0
		if prog {
			want, src = "3", Program
		}
		if mask&2 != 0 {
			user, want, src = "SCR_FLUSH=2\n", "2", UserFile
		}
		if mask&1 != 0 {
			environ, want, src = []string{"SCR_FLUSH=1"}, "1", Environment
		}
		s := load(t, user, system, environ...)
		if prog {
			if _, _, err := s.Config("SCR_FLUSH=3"); err != nil {
				t.Fatal(err)
			}
		}
		v := s.Lookup("SCR_FLUSH")
		if v.Text != want || v.Origin.Source != src || s.IsSet("SCR_FLUSH") != (src != Default) {
			t.Errorf("places %04b: %+v, want %s of %v", mask, v, want, src)
		}
		if src == SystemFile && (v.Origin.Line != 2 || v.Origin.File != abs("/etc/scr.conf")) {
			t.Errorf("%+v", v.Origin)
		}
		// Another rank gets the same values.
		b, err := Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		other, err := Decode(b)
		if err != nil || other.Lookup("SCR_FLUSH") != v || !reflect.DeepEqual(Settings(other), Settings(s)) {
			t.Errorf("places %04b: another rank has %+v, %v", mask, other.Lookup("SCR_FLUSH"), err)
		}
	}
}

func TestUserFilePlace(t *testing.T) {
	m := files(t, abs("/d/.scrconf"), "SCR_FLUSH=1", abs("/p/.scrconf"), "SCR_FLUSH=2", abs("/c/my.conf"), "SCR_FLUSH=3", abs("/d/rel.conf"), "SCR_FLUSH=4")
	for _, c := range []struct{ environ, want string }{
		{"", "1"},
		{"SCR_PREFIX=" + abs("/p"), "2"},
		{"SCR_CONF_FILE=" + abs("/c/my.conf"), "3"},
		{"SCR_CONF_FILE=rel.conf", "4"},
		{"SCR_PREFIX=" + abs("/nowhere"), "10"}, // a missing file is treated as empty
	} {
		s, err := Load(Sources{Environ: []string{c.environ}, Dir: abs("/d"), FS: m})
		if err != nil || s.Get("SCR_FLUSH") != c.want {
			t.Errorf("%s: %v, want %s", c.environ, err, c.want)
		}
	}
	for _, o := range []Sources{{Environ: []string{"SCR_CONF_FILE=no.conf"}}, {Environ: []string{}, UserFile: "no.conf"}} {
		o.Dir, o.FS = abs("/d"), m
		if _, err := Load(o); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is named must be there: %v", err)
		}
	}
	s, err := Load(Sources{Environ: []string{"SCR_CONF_FILE=no.conf"}, UserFile: "rel.conf", Dir: abs("/d"), FS: m})
	if err != nil || s.Get("SCR_FLUSH") != "4" {
		t.Errorf("%v", err)
	}
}

func TestFileErrorsAreJoined(t *testing.T) {
	_, err := Load(Sources{Environ: []string{}, Dir: abs("/d"), SystemFile: abs("/etc/scr.conf"),
		FS: files(t, abs("/d/.scrconf"), "A=1\nSCR_FLUSH", abs("/etc/scr.conf"), "B=$NONE")})
	if err == nil || !strings.Contains(err.Error(), ".scrconf:2:10: ") || !strings.Contains(err.Error(), "scr.conf:1:3: NONE is not set") {
		t.Errorf("%v", err)
	}
}

func TestEnvironmentValuesAreExpanded(t *testing.T) {
	s := load(t, "", "SCR_CACHE_BASE=/ssd/$WHO", "WHO=me", "SCR_PREFIX=/p/${WHO}/$NOT_SET/x")
	if got := s.Get("SCR_PREFIX"); got != "/p/me//x" {
		t.Errorf("%q", got)
	}
	if got := s.Get("SCR_CACHE_BASE"); got != "/ssd/me" {
		t.Errorf("%q", got)
	}
}

func TestRestricted(t *testing.T) {
	sys := "SCR_RESTRICTED=scr_cntl_base,SCR_CACHE_BASE\nSCR_CNTL_BASE=/admin\n"
	s := load(t, "SCR_CACHE_BASE=/mine\nSCR_FLUSH=3", sys, "SCR_CNTL_BASE=/mine", "SCR_RESTRICTED=x")
	if s.Get("SCR_CNTL_BASE") != "/admin" || s.IsSet("SCR_CACHE_BASE") || s.Get("SCR_FLUSH") != "3" {
		t.Errorf("%v", Settings(s))
	}
	var notes []string
	for _, n := range s.Notes() {
		notes = append(notes, n.Msg)
	}
	want := []string{"SCR_CNTL_BASE is ignored, because the user may not set it", "SCR_RESTRICTED is ignored, because the user may not set it", "SCR_CACHE_BASE is ignored, because the user may not set it"}
	if !reflect.DeepEqual(notes, want) {
		t.Errorf("%q", notes)
	}
	// The user cannot set SCR_RESTRICTED.
	s = load(t, "SCR_RESTRICTED=SCR_FLUSH\nSCR_FLUSH=3", "")
	if s.Get("SCR_FLUSH") != "3" || s.Get("SCR_RESTRICTED") != "" {
		t.Error("the user's file restricts")
	}
}

func TestNotes(t *testing.T) {
	s := load(t, "SCR_FLUSH=1\nSCR_FLUSCH=3\nSCR_FLUSH=2\nSCR_FETCH=1 SCR_DEBUG=2\nGROUPS=a X=1\n", "SCR_CONF_FILE=x", "SCR_NOTHING=1")
	var got []string
	for _, n := range s.Notes() {
		got = append(got, filepath.Base(n.String()))
	}
	want := []string{
		"environment: unknown parameter SCR_NOTHING",
		".scrconf:1: SCR_FLUSH is set again in line 3",
		".scrconf:2: unknown parameter SCR_FLUSCH",
		".scrconf:4: SCR_DEBUG=2 has no effect after SCR_FETCH, which is not a descriptor; put the parameter on a separate line",
		"scr.conf:1: SCR_CONF_FILE has no effect in a file",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if s.Get("SCR_FLUSH") != "2" || s.Get("SCR_DEBUG") != "0" {
		t.Error("the last one counts")
	}
}

// The last of several settings wins, even if it repeats an earlier value.
func TestLastCounts(t *testing.T) {
	s := load(t, "SCR_FLUSH=1\nSCR_FLUSH=2\nSCR_FLUSH=1\n", "")
	check := func(s *Set) {
		t.Helper()
		if v := s.Lookup("SCR_FLUSH"); v.Text != "1" || v.Origin.Line != 3 {
			t.Errorf("%+v", v)
		}
	}
	check(s)
	b, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	check(other)
}

func TestConfig(t *testing.T) {
	s := load(t, "", "CKPT=5 TYPE=RS\n", "HERE=there")
	type step struct {
		text, value string
		ok          bool
		err         error
	}
	run := func(steps []step) {
		t.Helper()
		for _, c := range steps {
			v, ok, err := s.Config(c.text)
			if v != c.value || ok != c.ok || !errors.Is(err, c.err) {
				t.Errorf("Config(%q) = %q, %v, %v; want %+v", c.text, v, ok, err, c)
			}
		}
	}
	run([]step{
		{"SCR_FLUSH", "10", true, nil},
		{"scr_flush = 5", "", false, nil},
		{" SCR_FLUSH ", "5", true, nil},
		{"SCR_FLUSH=6", "", false, nil},
		{"SCR_FLUSH", "6", true, nil},
		{"SCR_FLUSH=", "", false, nil},
		{"SCR_FLUSH", "10", true, nil},
		{"SCR_PREFIX", "", false, nil},
		{"SCR_PREFIX=/x/$HERE/$NOT", "", false, nil},
		{"SCR_PREFIX", "/x/there/", true, nil},
		{"CKPT=5 TYPE", "RS", true, nil},
		{"CKPT=0 TYPE=XOR SET_SIZE=4", "", false, nil},
		{"CKPT=0 TYPE=SINGLE", "", false, nil},
		{"CKPT=0 TYPE", "SINGLE", true, nil},
		{"CKPT=0 SET_SIZE", "4", true, nil},
		{"CKPT=5 TYPE", "", false, nil}, // lines from different sources are not merged
		{"CKPT=0 SET_SIZE=", "", false, nil},
		{"CKPT=0 SET_SIZE", "", false, nil},
		{"CKPT=0 TYPE", "SINGLE", true, nil},
		{"CKPT=", "", false, nil},
		{"CKPT=5 TYPE", "RS", true, nil},
		{"SCR_CACHE_SIZE=2", "", false, ErrNotYours},
		{"SCR_LOG_ENABLE=1", "", false, ErrNotYours},
		{"CACHEDIR=/x", "", false, ErrNotYours},
		{"SCR_CACHE_SIZE", "1", true, nil},
		{"", "", false, ErrUsage},
		{"# x", "", false, ErrUsage},
		{"=5", "", false, ErrUsage},
		{"SCR_FLUSH==5", "", false, ErrUsage},
		{"SCR_FLUSH=5 SCR_FETCH=0", "", false, ErrUsage},
		{"A=1 B=2 C", "", false, ErrUsage},
	})
	s.Lock()
	run([]step{
		{"SCR_FLUSH=5", "", false, ErrLocked},
		{"SCR_FLUSH=", "", false, ErrLocked},
		{"SCR_FLUSH", "10", true, nil},
	})
}

func TestTyped(t *testing.T) {
	s := load(t, strings.Join([]string{
		"SCR_ENABLE=2", "SCR_FETCH=-1", "SCR_FLUSH=yes", "SCR_FLUSH_ASYNC_PERCENT=12.5", "SCR_CHECKPOINT_OVERHEAD=inf",
		"SCR_FLUSH_ASYNC_BW=1.5G", "SCR_END_TIME=1300000000", "SCR_HALT_SECONDS=90", "SCR_COPY_TYPE=partner", "SCR_FLUSH_TYPE=fast",
		"SCR_CONTAINER_SIZE=10x",
	}, "\n"), "")
	ok := func(got, want any, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	b, err := s.Flag("SCR_ENABLE")
	ok(b, true, err)
	b, err = s.Flag("SCR_FETCH")
	ok(b, true, err)
	b, err = s.Flag("SCR_DEBUG")
	ok(b, false, err)
	f, err := s.Float("SCR_FLUSH_ASYNC_PERCENT")
	ok(f, 12.5, err)
	n, err := s.Size("SCR_FLUSH_ASYNC_BW")
	ok(n, int64(3<<29), err)
	n, err = s.Size("SCR_FILE_BUF_SIZE")
	ok(n, int64(32<<20), err)
	n, err = s.Int("SCR_MIN_NODES")
	ok(n, int64(0), err)
	end, err := s.Time("SCR_END_TIME")
	ok(end, time.Unix(1300000000, 0), err)
	d, err := s.Seconds("SCR_HALT_SECONDS")
	ok(d, 90*time.Second, err)
	c, err := s.Choice("SCR_COPY_TYPE")
	ok(c, "PARTNER", err)

	err = s.Check()
	for _, want := range []string{
		`:3: SCR_FLUSH is "yes", want an integer`,
		`:5: SCR_CHECKPOINT_OVERHEAD is "inf", want a number`,
		`:10: SCR_FLUSH_TYPE is "fast", want one of SYNC, PTHREAD, BBAPI, DATAWARP`,
		`:11: SCR_CONTAINER_SIZE is "10x", want a size: 4096, 512k, 1.5m, 2GB`,
	} {
		if err == nil || !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestNegative checks that no source can set a negative count. 0 means none.
func TestNegative(t *testing.T) {
	for _, p := range Params() {
		if p.Kind != kindInteger && p.Kind != kindNumber {
			continue
		}
		for _, s := range []*Set{load(t, p.Name+"=-2\n", ""), load(t, "", p.Name+"=-2\n"), load(t, "", "", p.Name+"=-2")} {
			if s.Get(p.Name) != "-2" {
				continue // this source may not set it
			}
			var value *ValueError
			if err := s.Check(); (err == nil) != p.Negative || err != nil && (!errors.As(err, &value) || !strings.Contains(err.Error(), p.Name+` is "-2", want a`)) {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}

// TestByteOrderMark checks that a byte order mark is not read as part of the first name.
func TestByteOrderMark(t *testing.T) {
	s := load(t, "\ufeffSCR_FLUSH=5\n", "\ufeff# a comment\nSCR_DEBUG=2\n")
	if s.Get("SCR_FLUSH") != "5" || s.Get("SCR_DEBUG") != "2" || len(s.Notes()) != 0 {
		t.Error(s.Get("SCR_FLUSH"), s.Get("SCR_DEBUG"), s.Notes())
	}
}

func TestDefaultsAreValid(t *testing.T) {
	if err := load(t, "", "").Check(); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, p := range Params() {
		if seen[p.Name] || p.Help == "" || p.Gen == "" || !strings.HasPrefix(p.Name, "SCR_") || strings.HasSuffix(p.Help, ".") {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "4096": 4096, "1k": 1024, "1K": 1024, "1kb": 1024, "2GB": 2 << 30, "1.5m": 3 << 19, ".5k": 512, "1.k": 1024, "3b": 3,
		"1t": 1 << 40, "1p": 1 << 50, "7e": 7 << 60, "0.1k": 102, " 1 m ": 1 << 20, "9223372036854775807": 1<<63 - 1, "00012": 12,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "b", "-1", "+1", "1.5", "1..5k", "1 2", "1kk", "8e", "9223372036854775808", "1e5k", "0x10", "1/2k", "x", ".k", strings.Repeat("1", 50)} {
		if got, err := ParseSize(in); !errors.Is(err, ErrUsage) {
			t.Errorf("ParseSize(%q) = %d, %v", in, got, err)
		}
	}
}

func TestJob(t *testing.T) {
	s := load(t, "", "", "SCR_USER_NAME=u1", "USER=u2", "SLURM_JOBID=77", "PBS_JOBID=88", "SCR_CNTL_BASE=/c")
	job, err := JobOf(s)
	if dir := job.Control; err != nil || dir != filepath.FromSlash("/c/u1/scr.77") {
		t.Errorf("%s, %v", dir, err)
	}
	if s.Prefix() != abs("/d") {
		t.Errorf("%s", s.Prefix())
	}
	s = load(t, "", "", "SCR_JOB_ID=../../etc", "SCR_PREFIX=sub/dir")
	if _, err := JobOf(s); !errors.Is(err, ErrUsage) {
		t.Errorf("an allocation that climbs: %v", err)
	}
	if s.Prefix() != abs("/d/sub/dir") {
		t.Errorf("%s", s.Prefix())
	}
	s = load(t, "", "")
	if j, err := JobOf(s); j.User != "nobody" || j.ID != NoJob || err != nil {
		t.Errorf("%+v, %v", j, err)
	}
	for environ, want := range map[string]int64{"": 1, "SCR_RUNS=3": 3, "SCR_RETRIES=3": 4, "SCR_RUNS=0": 1, "SCR_RUNS=-1": Unlimited} {
		if n, err := Runs(load(t, "", "", environ)); n != want || err != nil {
			t.Errorf("%s: %d runs, %v", environ, n, err)
		}
	}
}

// Encode sends only SCR's variables, so that it never sends secrets from the environment.
func TestEncodeLeavesOut(t *testing.T) {
	b, err := Encode(load(t, "", "", "TOKEN=secret", "SCR_FLUSH=1"))
	if err != nil || strings.Contains(string(b), "secret") {
		t.Errorf("%v", err)
	}
	for i := range len(b) {
		if _, err := Decode(b[:i]); err == nil {
			t.Fatalf("decoded from %d of %d bytes", i, len(b))
		}
	}
}

func TestRealFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".scrconf"), []byte("SCR_FLUSH=7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Load(Sources{Environ: []string{}, Dir: dir, SystemFile: filepath.Join(dir, "none")})
	if err != nil || s.Get("SCR_FLUSH") != "7" {
		t.Errorf("%v", err)
	}
	if _, err := Load(Sources{}); err != nil {
		t.Errorf("the environment of this process: %v", err)
	}
	_ = fmt.Sprint(s.Notes())
}

// TestRelativeDir checks that the prefix directory is absolute even if Sources.Dir is relative.
func TestRelativeDir(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := Load(Sources{Environ: []string{}, Dir: "sim"})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Prefix(); !filepath.IsAbs(p) || filepath.Base(p) != "sim" {
		t.Errorf("Prefix is %q", p)
	}
}
