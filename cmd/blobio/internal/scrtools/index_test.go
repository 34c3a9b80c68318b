package scrtools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

func TestScrIndexTable(t *testing.T) {
	p := clitest.ScrSets(t, 3)
	d := prefixdir.Open(nil, p)
	clitest.Check(t, d.Index.Update(context.Background(), func(x *prefixdir.Index) error {
		if err := x.MarkFailed("ckpt.2", clitest.ScrMade.Add(time.Hour)); err != nil {
			return err
		}
		return x.Add(prefixdir.Dataset{ID: 4, Name: "bad\x1b[2Jname", Output: true}, false)
	}))
	want := `
DSET  VALID   FLUSHED              CUR  CKPT  FILES  SIZE  NAME
   4  NO      -                            -      0   0 B  "bad\x1b[2Jname"
   3  YES     2026-11-21T06:30:00  *       3      4  800 B  ckpt.3
   2  FAILED  2026-11-21T06:30:00          2      4  800 B  ckpt.2
   1  YES     2026-11-21T06:30:00          1      4  800 B  ckpt.1
`
	want = strings.ReplaceAll(want, "FILES  SIZE", "FILES   SIZE")
	want = strings.ReplaceAll(want, "0   0 B", "0    0 B")
	if got := clitest.Good(t, "scr", "index", p); got != want[1:] {
		t.Errorf("found\n%swant%s", got, want)
	}
	t.Setenv("SCR_PREFIX", p)
	if got := clitest.Good(t, "scr", "index"); got != want[1:] {
		t.Errorf("by SCR_PREFIX:\n%s", got)
	}
	clitest.Shows(t, "2026-11-21T07:30:00  77   ckpt.2", "scr", "index", "--long")
	var out struct {
		Current  string
		Datasets []scrtools.ScrIndexRow
	}
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "scr", "index", "--json", p)), &out))
	if out.Current != "ckpt.3" || len(out.Datasets) != 4 || out.Datasets[2].Valid || !out.Datasets[2].Complete || out.Datasets[1].Bytes != 800 {
		t.Errorf("JSON: %+v", out)
	}
}

func TestScrIndexVectors(t *testing.T) {
	dir := testfiles.Dir(t, "scr", "xor_2_restarted_finalized", "prefix")
	want := `
DSET  VALID  FLUSHED              CUR  CKPT  FILES      SIZE  NAME
   6  YES    2026-11-21T01:46:23  *       6      8  8.25 KiB  ckpt.6
   3  YES    2026-11-21T01:46:22          3      8  8.25 KiB  ckpt.3
`
	if got := clitest.Good(t, "scr", "index", dir); got != want[1:] {
		t.Errorf("found\n%s", got)
	}
}

func TestScrIndexChanges(t *testing.T) {
	p := clitest.ScrSets(t, 4)
	ids := func() (s string) {
		t.Helper()
		var out struct{ Datasets []scrtools.ScrIndexRow }
		clitest.Check(t, json.Unmarshal([]byte(clitest.Blobio(t, "scr", "index", "--json", p).Out), &out))
		for _, r := range out.Datasets {
			s += fmt.Sprint(r.ID)
			if r.Current {
				s += "*"
			}
		}
		return s
	}
	step := func(want, words string, args ...string) {
		t.Helper()
		clitest.Shows(t, words, append(append([]string{"scr", "index"}, args...), p)...)
		if got := ids(); got != want {
			t.Errorf("%v: %s, want %s", args, got, want)
		}
	}
	step("432*1", "starts from ckpt.2", "--current", "2")
	step("4321", "no dataset is current", "--current", "none")
	step("4*321", "starts from ckpt.4", "--current", "ckpt.4")
	step("3*21", "its files remain", "--drop", "ckpt.4")
	step("3*21", "lists 3 datasets", "--rebuild")
	step("43*21", "dataset 4 ckpt.4 is listed", "--add", "4")
	step("43*1", "no longer listed", "--drop", "ckpt.2")
	step("1*", "2 datasets newer than ckpt.1", "--drop-after", "1")
	step("31*", "is listed", "--add", "ckpt.3")
	step("1*", "and its files are removed", "--delete", "3")
	if _, err := os.Stat(filepath.Join(p, "ckpt.3")); !os.IsNotExist(err) {
		t.Error("--delete left the files of ckpt.3")
	}
	if _, err := os.Stat(filepath.Join(p, "ckpt.2", "a")); err != nil {
		t.Error("--drop took the files of ckpt.2: ", err)
	}
}

// If a crash has cut an index from 773 to 40 bytes, the reference replaces it by an empty index and counts from 1 again. All
// earlier datasets become invisible.
func TestDefect2TornIndex(t *testing.T) {
	p := clitest.ScrSets(t, 3)
	whole := clitest.Good(t, "scr", "index", p)
	name := filepath.Join(p, ".scr", "index.scr")
	clitest.Check(t, os.Truncate(name, 40))
	r := clitest.Blobio(t, "scr", "index", p)
	if r.Code != cli.Findings || !strings.HasSuffix(r.Out, whole) || !strings.Contains(r.Out, "this list comes from the summaries") || !strings.Contains(r.Out, "index.scr") {
		t.Errorf("torn: %+v", r)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != 40 {
		t.Errorf("listing changed the index: %v %v", info, err)
	}
	clitest.Bad(t, cli.Findings, "truncated", "scr", "print", name)
	clitest.Bad(t, cli.Findings, "scr index --rebuild", "scr", "check", p)
	clitest.Good(t, "scr", "index", "--rebuild", p)
	if got := clitest.Good(t, "scr", "index", p); got != whole {
		t.Errorf("rebuilt:\n%s", got)
	}
	if b, err := os.ReadFile(name + ".damaged"); err != nil || len(b) != 40 {
		t.Errorf("the damaged index was not kept: %v", err)
	}
	clitest.Check(t, os.Remove(name))
	if r := clitest.Blobio(t, "scr", "index", p); r.Code != cli.Findings || !strings.HasSuffix(r.Out, whole) {
		t.Errorf("lost: %+v", r)
	}
}

func TestDefect2TornIndexOfTheReference(t *testing.T) {
	p, _ := scrCluster(t)
	whole := clitest.Good(t, "scr", "index", p)
	clitest.Check(t, os.Truncate(filepath.Join(p, ".scr", "index.scr"), 40))
	clitest.Bad(t, cli.Findings, "ckpt.3", "scr", "index", p)
	clitest.Good(t, "scr", "index", "--current", "ckpt.3", p)
	got := clitest.Good(t, "scr", "index", p)
	times := regexp.MustCompile(`\d+-\d+-\d+T\d+:\d+:\d+`) // of the copy
	if times.ReplaceAllString(got, "") != times.ReplaceAllString(whole, "") {
		t.Errorf("after a change:\n%swas\n%s", got, whole)
	}
}

// A dataset dropped and listed again must have the same summary as before, including foreign keys.
func TestScrIndexAddKeepsSummary(t *testing.T) {
	p := clitest.ScrSets(t, 2)
	name := filepath.Join(p, ".scr", "scr.dataset.1", "summary.scr")
	tree, err := kvtree.ReadFile(nil, name, nil)
	clitest.Check(t, err)
	tree.Value("FOREIGN").SetStr("key")
	clitest.Check(t, kvtree.WriteFile(nil, name, tree))
	was := clitest.Read(t, name)
	clitest.Good(t, "scr", "index", "--drop", "1", p)
	clitest.Good(t, "scr", "index", "--add", "1", p)
	got := clitest.Read(t, name)
	if string(got) != string(was) {
		t.Error("the summary is another one")
	}
	clitest.Good(t, "scr", "index", p)
}

func TestScrIndexUsage(t *testing.T) {
	p := clitest.ScrSets(t, 1)
	clitest.Bad(t, cli.Failed, "cannot be combined", "scr", "index", "--drop", "1", "--current", "1", p)
	clitest.Bad(t, cli.Failed, `no dataset "7"`, "scr", "index", "--drop", "7", p)
	clitest.Bad(t, cli.Failed, `no summary of dataset "7"`, "scr", "index", "--add", "7", p)
	clitest.Bad(t, cli.Failed, "--drop needs the name or number of a dataset", "scr", "index", "--drop", "", p)
	clitest.Bad(t, cli.Failed, "one too many", "scr", "index", p, p)
	clitest.Bad(t, cli.Failed, "no .scr in this directory", "scr", "index", t.TempDir())
	clitest.Bad(t, cli.Failed, "is a file", "scr", "index", filepath.Join(p, "ckpt.1", "a"))
	clitest.Bad(t, cli.Failed, "no such file", "scr", "index", filepath.Join(p, "nowhere"))
	clitest.Bad(t, cli.Failed, "unknown flag", "scr", "index", "--frob", p)
	clitest.Check(t, prefixdir.Open(nil, p).Index.Update(t.Context(), func(x *prefixdir.Index) error { return x.SetComplete("ckpt.1", false) }))
	clitest.Bad(t, cli.Failed, "which is not complete", "scr", "index", "--current", "1", p)
	empty := t.TempDir()
	clitest.Check(t, prefixdir.Open(nil, empty).Create())
	clitest.Shows(t, "no datasets", "scr", "index", empty)
}

func TestScrPrint(t *testing.T) {
	dir := t.TempDir()
	tree := kvtree.New()
	tree.SetKV("RANK", "0").Value("SIZE").SetUint64(1024)
	tree.Value("NAME\n").SetStr("two\tlines")
	name := filepath.Join(dir, "t.scr")
	clitest.Check(t, kvtree.WriteFile(nil, name, tree))
	for _, c := range []struct{ flag, want string }{
		{"--form=keyval", "  \"NAME\\n\" = \"two\\tlines\"\n  RANK\n    0\n      SIZE = 1024\n"},
		{"--form=tree", "  \"NAME\\n\"\n    \"two\\tlines\"\n  RANK\n    0\n      SIZE\n        1024\n"},
		{"--sort", "  \"NAME\\n\" = \"two\\tlines\"\n  RANK\n    0\n      SIZE = 1024\n"},
	} {
		if got := clitest.Good(t, "scr", "print", c.flag, name); got != c.want {
			t.Errorf("%s: %q, want %q", c.flag, got, c.want)
		}
	}
	got := clitest.Good(t, "scr", "print", "--json", name)
	var out struct {
		Files []struct {
			Bytes, Record, Payload int64
			Tree                   json.RawMessage
		}
	}
	clitest.Check(t, json.Unmarshal([]byte(got), &out))
	var flat strings.Builder
	for _, s := range strings.Fields(string(out.Files[0].Tree)) {
		flat.WriteString(s)
	}
	if flat.String() != `{"NAME\n":{"two\tlines":{}},"RANK":{"0":{"SIZE":{"1024":{}}}}}` {
		t.Errorf("JSON: %s", flat.String())
	}
	empty := filepath.Join(dir, "empty")
	clitest.Check(t, os.WriteFile(empty, nil, 0o666))
	if got := clitest.Good(t, "scr", "print", empty); got != "  (nothing)\n" {
		t.Errorf("empty: %q", got)
	}
	text := filepath.Join(dir, "text")
	clitest.Check(t, os.WriteFile(text, []byte("not a tree, but long enough to be read"), 0o666))
	clitest.Bad(t, cli.Failed, "not this format", "scr", "print", text)
	clitest.Bad(t, cli.Failed, "is a directory", "scr", "print", dir)
	clitest.Bad(t, cli.Failed, "needs a key/value file", "scr", "print")
	clitest.Bad(t, cli.Failed, "keyval, tree", "scr", "print", "--form", "xml", name)
	if r := clitest.Blobio(t, "scr", "print", text, name); r.Code != cli.Failed || !strings.Contains(r.Out, "SIZE = 1024") {
		t.Errorf("the file after one that cannot be read: %+v", r)
	}
}

func TestScrPrintRedundancy(t *testing.T) {
	dir := testfiles.Dir(t, "scr", "xor_1_after_crash", "nodes", "node0", "user1", "scr.1145655", "scr.dataset.4", ".scr")
	got := clitest.Good(t, "scr", "print", filepath.Join(dir, "reddesc.er.0.xor.grp_1_of_1.mem_1_of_4.redset"))
	clitest.Holds(t, got, "1745 bytes, crc 0x6e7ac76c; then payload, 741 bytes from offset 1745 (1 chunk of 741)\n  CHUNK = 741\n  DESC\n")
}

// The reference's reader reads beyond the end, crashes, or exhausts memory for five kinds of damage, even with a correct CRC.
func TestDefect3DamagedTrees(t *testing.T) {
	dir := testfiles.Dir(t, "kvtree_malformed")
	list, err := os.ReadDir(dir)
	clitest.Check(t, err)
	n := 0
	for _, en := range list {
		if !strings.HasSuffix(en.Name(), ".kvt") && !strings.HasSuffix(en.Name(), ".scr") && !strings.HasSuffix(en.Name(), ".bin") {
			continue
		}
		if n++; strings.HasPrefix(en.Name(), "deep") && !testfiles.Asked("JUDGES") {
			continue // 400 MB of indentation
		}
		name := filepath.Join(dir, en.Name())
		_, want := kvtree.ReadFile(nil, name, nil)
		r := clitest.Blobio(t, "scr", "print", name)
		if (r.Code == cli.Good) != (want == nil) || r.Code != cli.Good && (r.Out != "" || strings.Count(r.Err, "\n") != 1) {
			t.Errorf("%s: %+v, the library says %v", en.Name(), r, want)
		}
	}
	if n == 0 {
		t.Fatal("no files")
	}
}

func TestDefect3CountOverTheData(t *testing.T) {
	b, err := kvtree.Encode(func() *kvtree.Tree { t := kvtree.New(); t.Value("A").SetStr("b"); return t }())
	clitest.Check(t, err)
	b[20], b[21] = 0x7f, 0xff // elements of the root
	crc := crc32.ChecksumIEEE(b[:len(b)-4])
	for i := range 4 {
		b[len(b)-4+i] = byte(crc >> (24 - 8*i))
	}
	name := filepath.Join(t.TempDir(), "count")
	clitest.Check(t, os.WriteFile(name, b, 0o666))
	clitest.Bad(t, cli.Findings, "0x14", "scr", "print", name)
	r := clitest.Blobio(t, "scr", "print", "--json", name)
	if r.Code != cli.Findings || !strings.Contains(r.Out, `"error"`) {
		t.Errorf("JSON: %+v", r)
	}
}

// A dataset with a damaged map must not be reported as removed with its files, because the files are unknown.
func TestScrIndexDeleteDamagedMap(t *testing.T) {
	prefix, _ := scrCluster(t)
	m := filepath.Join(prefix, ".scr", "scr.dataset.3", "rank2file.0.0")
	clitest.Check(t, os.Truncate(m, 20))
	r := scrDo(t, "index", "--delete", "3", prefix)
	if r.Code != cli.Findings || !strings.Contains(r.Err, "are unknown") || !strings.Contains(r.Err, "--drop 3") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(m); err != nil {
		t.Error(err)
	}
	if r := scrDo(t, "index", prefix); !strings.Contains(r.Out, "ckpt.3") {
		t.Errorf("%+v", r)
	}
}

// TestScrIndexGone checks that a dataset with missing or damaged parts is not called complete, and that the run does not start
// from it.
func TestScrIndexGone(t *testing.T) {
	for _, c := range []struct{ remove, says string }{
		{"ckpt.3", "ckpt.3/a: missing"},
		{"ckpt.3/b", "ckpt.3/b: missing"},
		{"ckpt.3/ctr.1", "ckpt.3/ctr.1: missing"},
		{".scr/scr.dataset.3", "has no summary"},
		{".scr/scr.dataset.3/summary.scr", "has no summary"},
		{".scr/scr.dataset.3/rank2file", "rank2file"},
	} {
		p := clitest.ScrSets(t, 3)
		clitest.Check(t, os.RemoveAll(filepath.Join(p, c.remove)))
		r := clitest.Blobio(t, "scr", "index", p)
		if r.Code != cli.Findings || !strings.Contains(r.Out, "\n   3  GONE ") || !strings.Contains(r.Out, "dataset 3 ckpt.3 is incomplete: ") || !strings.Contains(r.Out, c.says) ||
			strings.Count(r.Out, " * ") != 1 || !strings.Contains(r.Out, "\n   2  YES    2026-11-21T06:30:00  * ") {
			t.Errorf("%s: %+v", c.remove, r)
		}
		var out struct {
			Current  string
			Datasets []scrtools.ScrIndexRow
		}
		clitest.Check(t, json.Unmarshal([]byte(clitest.Blobio(t, "scr", "index", "--json", p).Out), &out))
		if d := out.Datasets; out.Current != "ckpt.2" || d[0].Valid || d[0].Current || !strings.Contains(d[0].Gone, c.says) || !d[1].Valid || !d[1].Current || d[1].Gone != "" {
			t.Errorf("%s: JSON %+v", c.remove, out)
		}
		clitest.Bad(t, cli.Findings, "error: ", "scr", "check", "--quick", "--id", "3", p)
		clitest.Bad(t, cli.Failed, "incomplete", "scr", "index", "--current", "3", p)
	}
}
