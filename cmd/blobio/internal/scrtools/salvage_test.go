package scrtools_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/internal/base/testfiles"
	"blobio/internal/cli"
	"blobio/internal/scr/config"
)

func scrDo(t *testing.T, args ...string) clitest.Result {
	t.Helper()
	return clitest.Blobio(t, append([]string{"scr"}, args...)...)
}

// scrCluster copies a real prefix directory and its nodes, and returns their paths.
func scrCluster(t *testing.T) (prefix string, control func(node int) string) {
	t.Helper()
	from, to := testfiles.Dir(t, "scr", "xor_1_after_crash"), t.TempDir()
	clitest.Check(t, filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o666)
	}))
	return filepath.Join(to, "prefix"), func(node int) string {
		return "/nodelocal/user1/scr.1145655=" + filepath.Join(to, fmt.Sprintf("nodes/node%d/user1/scr.1145655", node))
	}
}

const scrWas = "--was=/p/lscratchb/user1/simulation123"

// scrSums returns the checksums of the files of rank 2 of checkpoint 4.
func scrSums(t *testing.T, dir string) (all []uint32) {
	t.Helper()
	for i := range 2 {
		b := clitest.Read(t, filepath.Join(dir, fmt.Sprintf("rank_2.%d.ckpt", i)))
		all = append(all, crc32.ChecksumIEEE(b))
	}
	return all
}

func TestScrScavengeNodes(t *testing.T) {
	prefix, control := scrCluster(t)
	_, lost, _ := strings.Cut(control(2), "=")
	want := fmt.Sprint(scrSums(t, filepath.Join(lost, "scr.dataset.4")))

	clitest.Shows(t, "has no scavenged datasets", "scr", "rebuild", "-n", prefix)
	for _, n := range []int{0, 1} {
		clitest.Shows(t, fmt.Sprintf("rank %d: 2 files", n), "scr", "scavenge", "--id", "4", scrWas, "--control", control(n), prefix)
	}
	clitest.Bad(t, cli.Findings, "dataset 4 is not saved", "scr", "rebuild", scrWas, prefix)
	r := scrDo(t, "rebuild", "-n", scrWas, "--json", prefix)
	var list struct{ Datasets []scrtools.ScrScanned }
	if err := json.Unmarshal([]byte(r.Out), &list); r.Code != cli.Findings || err != nil || len(list.Datasets) != 1 || len(list.Datasets[0].Missing) != 2 ||
		list.Datasets[0].Missing[0].Rank != 2 || list.Datasets[0].Files != 4 || list.Datasets[0].Indexed {
		t.Fatalf("scan: %v %+v", err, r)
	}
	clitest.Shows(t, `"rank": 3`, "scr", "scavenge", "--id", "4", scrWas, "--json", "--control", control(3), prefix)
	clitest.Shows(t, "is complete: 8 files of 4 ranks, 8.25 KiB; 2 rebuilt", "scr", "rebuild", scrWas, "--no-index", prefix)
	if got := fmt.Sprint(scrSums(t, filepath.Join(prefix, "ckpt.4"))); got != want {
		t.Fatalf("rebuilt %s, want %s", got, want)
	}
	clitest.Shows(t, "not complete in the index", "scr", "rebuild", "-n", scrWas, prefix)
	if r := scrDo(t, "rebuild", scrWas, "--current", "--id", "4", prefix); r.Code != cli.Good {
		t.Fatalf("list: %+v", r)
	}
	clitest.Shows(t, `"safe": true`, "scr", "rebuild", scrWas, "--json", prefix)
	clitest.Shows(t, "complete in the prefix directory already", "scr", "scavenge", "--id", "4", scrWas, "--control", control(3), prefix)
	// One byte changes on disk.
	name := filepath.Join(prefix, "ckpt.4", "rank_0.0.ckpt")
	b := clitest.Read(t, name)
	b[99] ^= 1
	clitest.Check(t, os.WriteFile(name, b, 0o666))
	clitest.Bad(t, cli.Findings, "missing: rank 0: ckpt.4/rank_0.0.ckpt is damaged", "scr", "rebuild", "-n", scrWas, prefix)
	if r := scrDo(t, "rebuild", "-n", "--quick", scrWas, prefix); r.Code != cli.Good {
		t.Fatalf("quick: %+v", r)
	}
}

func TestScrScavengeAll(t *testing.T) {
	prefix, control := scrCluster(t)
	args := []string{"scavenge", scrWas, "--control", control(0), "--control", control(1), "--control", control(3), prefix}
	if r := scrDo(t, args...); r.Code != cli.Good || !strings.Contains(r.Out, "2 rebuilt") || !strings.Contains(r.Out, "starts from ckpt.4") {
		t.Fatalf("%+v", r)
	}
	if r := scrDo(t, args...); r.Code != cli.Good || !strings.Contains(r.Out, "nothing to save") {
		t.Fatalf("again: %+v", r)
	}
	prefix, control = scrCluster(t)
	if r := scrDo(t, "scavenge", scrWas, "--json", "--control", control(0), prefix); r.Code != cli.Findings || !strings.Contains(r.Out, `"current": "ckpt.3"`) || !strings.Contains(r.Out, `"ok": false`) {
		t.Fatalf("one node: %+v", r)
	}
}

func TestScrSalvageUsage(t *testing.T) {
	prefix := t.TempDir()
	clitest.Bad(t, cli.Failed, "no .scr", "scr", "rebuild", "-n", prefix)
	clitest.Check(t, os.Mkdir(filepath.Join(prefix, ".scr"), 0o777))
	for _, args := range [][]string{
		{"rebuild", "-n", prefix, prefix}, {"rebuild", "-n", "--id", "-1", prefix}, {"rebuild", "-n", "--id", "3", prefix}, {"rebuild", "-n", filepath.Join(prefix, "none")},
		{"rebuild", "--no-index", "--current", prefix}, {"rebuild", "-n", "--current", prefix}, {"rebuild", "--quick", prefix}, {"scavenge"}, {"scavenge", prefix}, {"scavenge", "--control", "=", prefix},
		{"scavenge", "--control", filepath.Join(prefix, "none"), prefix}, {"scavenge", "--control", prefix, "--cache", "/x=/none/there", prefix},
	} {
		if r := scrDo(t, args...); r.Code != cli.Failed {
			t.Errorf("%v: %+v", args, r)
		}
	}
	t.Setenv("SCR_PREFIX", prefix)
	clitest.Shows(t, prefix, "scr", "rebuild", "-n")
	clitest.Shows(t, "nothing to save", "scr", "scavenge", "--control", prefix, prefix)
}

// TestDefect9ScavengeMakesTheFolder checks that scavenge creates .scr/scr.dataset.<id>; scr_copy fails unless a script has
// created the folder. scavenge reports a directory without .scr, and names a file that is in the way of the folder.
func TestDefect9ScavengeMakesTheFolder(t *testing.T) {
	prefix, root := allocation(t), t.TempDir()
	clitest.Good(t, "scr", "run", "--only", "prerun", "-s", "SCR_CNTL_BASE=/local", "-s", "SCR_CACHE_BASE=/local", "--nodes", "n[1-4]", "--node-root", root, "--prefix", prefix)
	file := crashed(t, prefix, root)
	clitest.Check(t, os.RemoveAll(filepath.Join(prefix, ".scr")))
	clitest.Check(t, os.Mkdir(filepath.Join(prefix, ".scr"), 0o777))
	set, err := config.Load(config.Sources{})
	clitest.Check(t, err)
	job, err := config.JobOf(set)
	clitest.Check(t, err)
	there := job.Control
	from := func(node int) []string {
		here := there + "=" + filepath.Join(root, fmt.Sprint("n", node), there)
		return []string{"--id", "1", "--control", here, "--cache", here}
	}
	for node := 1; node <= 3; node++ {
		if r := scrDo(t, append(append([]string{"scavenge"}, from(node)...), prefix)...); r.Code != cli.Good {
			t.Fatalf("node %d: %+v", node, r)
		}
	}
	clitest.Shows(t, "is complete", "scr", "rebuild", prefix)
	for rank := range 4 {
		name, want := file(rank)
		if b, err := os.ReadFile(name); err != nil || string(b) != string(want) {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
	way := filepath.Join(prefix, ".scr", "scr.dataset.1")
	clitest.Check(t, os.RemoveAll(way))
	clitest.Check(t, os.WriteFile(way, nil, 0o666))
	if r := scrDo(t, append(append([]string{"scavenge"}, from(1)...), prefix)...); r.Code == cli.Good || !strings.Contains(r.Out+r.Err, way) {
		t.Errorf("a file in the way: %+v", r)
	}
	clitest.Check(t, os.RemoveAll(filepath.Join(prefix, ".scr")))
	if r := scrDo(t, append(append([]string{"scavenge"}, from(1)...), prefix)...); r.Code != cli.Failed || !strings.Contains(r.Err, "no .scr in this directory") {
		t.Errorf("no .scr: %+v", r)
	}
}

// The JSON must list files that could not be copied. Ranks without data have no number. Only if the nodes seem empty may the text
// suggest another name of their folders.
func TestScrScavengeTellsWhy(t *testing.T) {
	prefix, control := scrCluster(t)
	r := scrDo(t, "scavenge", "--json", "--control", control(0), "--control", control(1), prefix) // no --was
	var got struct {
		Failed []struct {
			Control, Error string
			ID             int
		}
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || r.Code != cli.Findings || len(got.Failed) != 2 || got.Failed[1].Control != control(1) ||
		got.Failed[1].ID != 4 || !strings.Contains(got.Failed[1].Error, "--was") {
		t.Errorf("%v: %+v", err, r)
	}
	if r := scrDo(t, "scavenge", "--control", control(0), prefix); r.Code != cli.Findings || strings.Contains(r.Out, "THERE=HERE") {
		t.Errorf("without --was: %+v", r)
	}
	if r := scrDo(t, "scavenge", scrWas, "--control", control(0), "--control", control(1), prefix); r.Code != cli.Findings || strings.Contains(r.Out, "-1") ||
		!strings.Contains(r.Out, "members without any file left: 1") {
		t.Errorf("two lost: %+v", r)
	}
	if r := scrDo(t, "rebuild", "-n", prefix); r.Code != cli.Findings || !strings.Contains(r.Out, "was PREFIX moved? see --was") || strings.Contains(r.Out, "salvage: ") {
		t.Errorf("scan: %+v", r)
	}
}

// A flipped byte in a cache of SCR 3 must not be saved as a good checkpoint.
func TestDefect1Scavenge(t *testing.T) {
	prefix, control := scrCluster(t)
	_, dir, _ := strings.Cut(control(1), "=")
	clitest.FlipByte(t, filepath.Join(dir, "scr.dataset.4", "rank_1.1.ckpt"), 77)
	args := []string{"scavenge", scrWas}
	for n := range 4 {
		args = append(args, "--control", control(n))
	}
	r := scrDo(t, append(args, prefix)...)
	if r.Code != cli.Findings || !strings.Contains(r.Out, "silent corruption at one of ranks [0 1 2 3]") || !strings.Contains(r.Out, "starts from ckpt.3") {
		t.Errorf("%+v", r)
	}
}
