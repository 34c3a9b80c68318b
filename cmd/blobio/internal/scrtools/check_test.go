package scrtools_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

// finds runs scr check, which must find errors. One line must contain all the words.
func finds(t *testing.T, args []string, words ...string) {
	t.Helper()
	r := clitest.Blobio(t, append([]string{"scr", "check"}, args...)...)
	if r.Code != cli.Findings {
		t.Errorf("exit code %d, want %d: %s%s", r.Code, cli.Findings, r.Out, r.Err)
	}
lines:
	for line := range strings.Lines(r.Out) {
		for _, w := range words {
			if !strings.Contains(line, w) {
				continue lines
			}
		}
		return
	}
	t.Errorf("no finding with %q:\n%s%s", words, r.Out, r.Err)
}

func TestScrCheckPrefix(t *testing.T) {
	p := clitest.ScrSets(t, 2)
	if got, want := clitest.Good(t, "scr", "check", p), p+": good; 2 datasets, 8 files, 1.56 KiB, all bytes match their checksums\n"; got != want {
		t.Fatalf("found %q, want %q", got, want)
	}
	clitest.Good(t, "scr", "check", "--id", "1", "--workers", "1", p)
	meta := func(id int, name string) string {
		return filepath.Join(p, ".scr", fmt.Sprintf("scr.dataset.%d", id), name)
	}
	cut := func(name string, n int64) func(t *testing.T) {
		return func(t *testing.T) { clitest.Check(t, os.Truncate(name, n)) }
	}
	flip := func(name string, at int) func(t *testing.T) {
		return func(t *testing.T) { clitest.FlipByte(t, name, at) }
	}
	remove := func(name string) func(t *testing.T) {
		return func(t *testing.T) { clitest.Check(t, os.Remove(name)) }
	}
	data := func(name string) string { return filepath.Join(p, "ckpt.2", name) }
	for _, c := range []struct {
		name   string
		do     func(t *testing.T)
		file   string // the changed file
		found  []string
		noData bool // found without reading data
	}{
		{"flipped", flip(data("a"), 7), data("a"), []string{"error: ", "ckpt.2/a: crc: 0x", ", want 0x"}, false},
		{"short", cut(data("c"), 10), data("c"), []string{"ckpt.2/c: size: 10, want 200"}, true},
		{"absent", remove(data("c")), data("c"), []string{"ckpt.2/c: absent, want a file of rank 1"}, true},
		{"container flipped", flip(data("ctr.1"), 50), data("ctr.1"), []string{"ckpt.2/s: crc: "}, false},
		{"container short", cut(data("ctr.1"), 50), data("ctr.1"), []string{"ctr.1: size (segment 1 of ckpt.2/s): 50, want at least 100"}, true},
		{"summary gone", remove(meta(2, "summary.scr")), meta(2, "summary.scr"), []string{"scr.dataset.2", "error: "}, true},
		{"summary flipped", flip(meta(2, "summary.scr"), 30), meta(2, "summary.scr"), []string{"summary.scr: "}, true},
		{"map gone", remove(meta(2, "rank2file")), meta(2, "rank2file"), []string{"rank2file: absent"}, true},
		{"map part torn", cut(meta(2, "rank2file.0.0"), 60), meta(2, "rank2file.0.0"), []string{"rank2file.0.0: 0x8: file size: "}, true},
		{"index torn", cut(filepath.Join(p, ".scr", "index.scr"), 40), filepath.Join(p, ".scr", "index.scr"), []string{"index.scr: 0x8: file size: "}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			was := clitest.Read(t, c.file)
			c.do(t)
			finds(t, []string{p}, c.found...)
			if c.noData {
				finds(t, []string{"--quick", p}, c.found...)
			}
			clitest.Check(t, os.WriteFile(c.file, was, 0o666))
			clitest.Good(t, "scr", "check", p)
		})
	}
	clitest.FlipByte(t, data("a"), 3)
	clitest.Good(t, "scr", "check", "--quick", p)
	clitest.Good(t, "scr", "check", "--id", "1", p)
	var out struct {
		Checked []struct {
			Errors, Bytes, Verified int
			Findings                []struct {
				Class   string
				Dataset int
			}
		}
	}
	r := clitest.Blobio(t, "scr", "check", "--json", p)
	clitest.Check(t, json.Unmarshal([]byte(r.Out), &out))
	if c := out.Checked[0]; r.Code != cli.Findings || c.Errors != 1 || c.Bytes != 1600 || c.Verified != 1400 || c.Findings[0].Class != "checksum mismatch" || c.Findings[0].Dataset != 2 {
		t.Errorf("JSON: %s", r.Out)
	}
}

func TestScrCheckWarnings(t *testing.T) {
	p := clitest.ScrSets(t, 2)
	d := prefixdir.Open(nil, p)
	clitest.Check(t, d.Index.Update(t.Context(), func(x *prefixdir.Index) error { return x.Remove("ckpt.2") }))
	clitest.Check(t, os.WriteFile(filepath.Join(p, ".scr", "flush.scr"), []byte("x"), 0o666))
	clitest.Check(t, os.Mkdir(filepath.Join(p, ".scr", "scr.dataset.9"), 0o777))
	r := clitest.Blobio(t, "scr", "check", p)
	clitest.Holds(t, r.Out, "ckpt.2, which is whole (scr index --add 2 lists it)", "flush.scr", "scr.dataset.9", ": 0 errors, 3 warnings")
	if r.Code != cli.Good {
		t.Errorf("exit code %d", r.Code)
	}
	clitest.Bad(t, cli.Findings, "", "scr", "check", "--strict", p)
}

// Datasets of SCR 3 have neither sizes nor checksums: only the number of files and their total size are known.
func TestScrCheckVectors(t *testing.T) {
	for _, name := range []string{"xor_1_after_crash", "partner_1_after_crash", "xor_2_restarted_finalized"} {
		root := testfiles.Dir(t, "scr", name)
		clitest.Shows(t, "there are no checksums", "scr", "check", "--notes", filepath.Join(root, "prefix"))
		nodes, err := os.ReadDir(filepath.Join(root, "nodes"))
		clitest.Check(t, err)
		for _, n := range nodes {
			got := clitest.Good(t, "scr", "check", "--strict", "--control", "/nodelocal/user1/scr.1145655="+filepath.Join(root, "nodes", n.Name(), "user1/scr.1145655"))
			clitest.Holds(t, got, "good; 2 datasets")
		}
	}
	p, _ := scrCluster(t)
	clitest.Check(t, os.Truncate(filepath.Join(p, "ckpt.3", "rank_1.0.ckpt"), 5))
	finds(t, []string{p}, "size of the files of ckpt.3: 7412, want 8444")
}

func TestScrCheckCache(t *testing.T) {
	p, control := scrCluster(t)
	c := control(1)
	_, dir, _ := strings.Cut(c, "=")
	set := filepath.Join(dir, "scr.dataset.4")
	args := []string{"--control", c}
	for _, x := range []struct {
		file  string
		do    func(name string)
		found []string
	}{
		{"rank_1.0.ckpt", func(n string) { clitest.Check(t, os.Remove(n)) }, []string{"rank_1.0.ckpt: absent, want a file of rank 1"}},
		{"rank_1.1.ckpt", func(n string) { clitest.Check(t, os.Truncate(n, 3)) }, []string{"rank_1.1.ckpt: size: 3, want 1037"}},
		{".scr/filemap_1", func(n string) { clitest.FlipByte(t, n, 40) }, []string{"filemap_1: "}},
		{".scr/reddesc.er.1.redset", func(n string) { clitest.FlipByte(t, n, 40) }, []string{"reddesc.er.1.redset: "}},
		{".scr/filemap_1", func(n string) { clitest.Check(t, os.Remove(n)) }, []string{"filemap_1: absent, want the file map of rank 1"}},
		{".scr/reddesc.er.1.redset", func(n string) { clitest.Check(t, os.Remove(n)) }, []string{"reddesc.er.1.redset: absent, want a file of rank 1"}},
		{".scr/reddesc.er.1.xor.grp_1_of_1.mem_2_of_4.redset", func(n string) { clitest.Check(t, os.Remove(n)) }, []string{"mem_2_of_4.redset: absent, want a file of rank 1"}},
		{".scr/reddescmap.er.1.xor.grp_1_of_1.mem_2_of_4.redset", func(n string) { clitest.Check(t, os.Remove(n)) }, []string{"mem_2_of_4.redset: absent, want a file of rank 1"}},
		{".scr/reddesc.er.shuffile", func(n string) { clitest.FlipByte(t, n, 40) }, []string{"reddesc.er.shuffile: "}},
		{".scr/reddesc.er.er", func(n string) { clitest.Check(t, os.Truncate(n, 20)) }, []string{"reddesc.er.er: "}},
		{"../cindex.scrinfo", func(n string) { clitest.Check(t, os.Truncate(n, 50)) }, []string{"cindex.scrinfo: 0x8: file size"}},
	} {
		name := filepath.Join(set, x.file)
		was := clitest.Read(t, name)
		x.do(name)
		finds(t, args, x.found...)
		clitest.Check(t, os.WriteFile(name, was, 0o666))
		clitest.Good(t, append([]string{"scr", "check"}, args...)...)
	}
	clitest.Check(t, os.Rename(filepath.Join(set, ".scr/reddesc.er.shuffile"), filepath.Join(set, "x")))
	clitest.Holds(t, clitest.Good(t, append([]string{"scr", "check"}, args...)...), "warning: ", "reddesc.er.shuffile: absent")
	clitest.Check(t, os.Rename(filepath.Join(set, "x"), filepath.Join(set, ".scr/reddesc.er.shuffile")))
	clitest.Check(t, os.Rename(set, set+"x"))
	finds(t, args, "scr.dataset.4: absent, want a folder")
	clitest.Check(t, os.Rename(set+"x", set))
	if got := clitest.Good(t, "scr", "check", "--control", c, "--control", control(2), p); strings.Count(got, ": good; ") != 3 {
		t.Errorf("two nodes and the prefix directory: %s", got)
	}
}

// The reference checks only the header of a redundancy file. It notices a truncated payload only when it needs the payload.
func TestDefect4TruncatedPayload(t *testing.T) {
	for _, set := range []string{"xor_1_after_crash", "partner_1_after_crash"} {
		root := t.TempDir()
		clitest.Check(t, os.CopyFS(root, os.DirFS(testfiles.Dir(t, "scr", set, "nodes", "node0"))))
		names := clitest.Glob(t, filepath.Join(root, "user1/scr.1145655/scr.dataset.4/.scr/reddesc.er.0.*.mem_*"))
		if len(names) != 1 {
			t.Fatal(names)
		}
		info, err := os.Stat(names[0])
		clitest.Check(t, err)
		clitest.Check(t, os.Truncate(names[0], info.Size()-1))
		finds(t, []string{"--control", "/nodelocal/user1/scr.1145655=" + filepath.Join(root, "user1/scr.1145655")}, "mem_1_of_4.redset: payload: ", " bytes, want ")
	}
}

func TestScrCheckUsage(t *testing.T) {
	p := clitest.ScrSets(t, 1)
	clitest.Bad(t, cli.Failed, "--cache needs --control", "scr", "check", "--cache", p)
	clitest.Bad(t, cli.Failed, "want a positive number", "scr", "check", "--workers", "-1", p)
	clitest.Bad(t, cli.Failed, "no dataset 7", "scr", "check", "--id", "7", p)
	clitest.Bad(t, cli.Failed, "no .scr in this directory", "scr", "check", t.TempDir())
	clitest.Bad(t, cli.Failed, "neither a catalogue cindex.scrinfo", "scr", "check", "--control", t.TempDir())
	clitest.Bad(t, cli.Failed, "no such file", "scr", "check", "--control", filepath.Join(p, "nowhere"))
}

// A check must change nothing.
func TestScrReadOnly(t *testing.T) {
	p, control := scrCluster(t)
	root := filepath.Dir(p)
	state := func() string {
		var b strings.Builder
		clitest.Check(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(name)
			fmt.Fprintln(&b, name, len(data), string(data))
			return err
		}))
		return b.String()
	}
	was := state()
	clitest.Good(t, "scr", "index", p)
	clitest.Good(t, "scr", "check", "--control", control(0), p)
	clitest.Good(t, "scr", "print", filepath.Join(p, ".scr", "index.scr"))
	if state() != was {
		t.Error("a verb that only looks changed something")
	}
}

// TestScrCheckUnlisted checks that an empty catalogue beside dataset folders is not good.
func TestScrCheckUnlisted(t *testing.T) {
	_, controls := ownCluster(t, nil)
	_, here, _ := strings.Cut(controls[0], "=")
	clitest.Good(t, "scr", "check", "--control", controls[0])
	catalog := filepath.Join(here, "cindex.scrinfo")
	for _, what := range []string{"no bytes", "no entries", "gone"} {
		switch what {
		case "no bytes":
			clitest.Check(t, os.Truncate(catalog, 0))
		case "no entries":
			clitest.Check(t, kvtree.WriteFile(nil, catalog, kvtree.New()))
		default:
			clitest.Check(t, os.Remove(catalog))
		}
		r := clitest.Blobio(t, "scr", "check", "--control", controls[0])
		if r.Code != cli.Good || strings.Contains(r.Out, "good") || !strings.Contains(r.Out, "scr.dataset.2 is there") || !strings.Contains(r.Out, "1 dataset") {
			t.Errorf("%s: %+v", what, r)
		}
		if r := clitest.Blobio(t, "scr", "check", "--strict", "--control", controls[0]); r.Code != cli.Findings {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
