package scrtools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"blobio/cmd/blobio/internal/clitest"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
)

// flushDir makes a prefix directory whose flush file has checkpoints 3, 4 and 7, and output 5 and 6. Datasets 3 and 5 are safe.
func flushDir(t *testing.T) string {
	t.Helper()
	d := prefixdir.Open(nil, t.TempDir())
	clitest.Check(t, d.Create())
	f, err := d.Flush.Read()
	clitest.Check(t, err)
	put := func(id int, ckpt, output bool, at prefixdir.Location) {
		clitest.Check(t, f.Put(prefixdir.Dataset{ID: id, Name: "set." + string(rune('0'+id)), Checkpoint: ckpt, Output: output, Files: 8, Size: 4096}, at))
	}
	put(3, true, false, prefixdir.Cache|prefixdir.PFS)
	put(4, true, true, prefixdir.Cache)
	put(5, false, true, prefixdir.PFS)
	put(6, false, true, prefixdir.Cache|prefixdir.Flushing)
	put(7, true, false, prefixdir.Cache|prefixdir.SyncFlushing)
	clitest.Check(t, d.Flush.Write(f))
	return d.Path
}

func TestScrFlush(t *testing.T) {
	dir := flushDir(t)
	for _, c := range []struct {
		args string
		code int
		out  string
	}{
		{"--latest", 0, "7\n"},
		{"--need 3", 1, ""},
		{"--need 4", 0, ""},
		{"--need 5", 1, ""},
		{"--need 6", 0, ""},
		{"--need 99", 1, ""},
		{"--location 3", 0, "CACHE PFS\n"},
		{"--location 6", 0, "CACHE FLUSHING\n"},
		{"--location 7", 0, "CACHE SYNC_FLUSHING\n"},
		{"--location 1", 1, ""},
		{"--name 6", 0, "set.6\n"},
		{"--name 1", 1, ""},
		{"", 0, `DSET  KIND         SAFE  LOCATION             FILES      SIZE  NAME
   7  ckpt         NO    CACHE SYNC_FLUSHING      8  4.00 KiB  set.7
   6  output       NO    CACHE FLUSHING           8  4.00 KiB  set.6
   5  output       YES   PFS                      8  4.00 KiB  set.5
   4  ckpt+output  NO    CACHE                    8  4.00 KiB  set.4
   3  ckpt         YES   CACHE PFS                8  4.00 KiB  set.3
`},
	} {
		r := scrDo(t, append(append([]string{"flush"}, strings.Fields(c.args)...), dir)...)
		if r.Code != c.code || r.Out != c.out || r.Err != "" {
			t.Errorf("flush %s: %+v, want %d %q", c.args, r, c.code, c.out)
		}
	}
	var list struct{ Datasets []scrtools.ScrFlushRow }
	clitest.Check(t, json.Unmarshal([]byte(clitest.Good(t, "scr", "flush", "--json", dir)), &list))
	if len(list.Datasets) != 5 || list.Datasets[3].ID != 4 || !list.Datasets[3].NeedFlush || list.Datasets[2].NeedFlush || list.Datasets[2].Location[0] != "PFS" {
		t.Errorf("json: %+v", list)
	}

	clitest.Bad(t, cli.Findings, `"nodes": null`, "scr", "flush", "--nodes", "--json", dir)
	clitest.Bad(t, cli.Findings, "unknown, because no run", "scr", "flush", "--nodes", dir)
	clitest.Bad(t, cli.Failed, "cannot be combined", "scr", "flush", "--latest", "--need", "3", dir)
	clitest.Bad(t, cli.Failed, "want a positive number", "scr", "flush", "--need", "0", dir)
	clitest.Bad(t, cli.Failed, "want a positive number", "scr", "flush", "--need", "-1", dir)
	clitest.Bad(t, cli.Failed, "invalid argument", "scr", "flush", "--need", "four", dir)
	clitest.Check(t, os.WriteFile(filepath.Join(dir, ".scr", "flush.scr"), []byte("\x95\x1f\xc3\xf5\x00\x01"), 0o666))
	clitest.Bad(t, cli.Findings, "flush.scr", "scr", "flush", dir) // never "needs no flush"
	clitest.Bad(t, cli.Failed, "flush.scr", "scr", "flush", "--need", "4", dir)
	clitest.Check(t, os.Remove(filepath.Join(dir, ".scr", "flush.scr")))
	clitest.Shows(t, "no datasets", "scr", "flush", dir)
}

// In the flush file of the real SCR, checkpoint 4 was only in the caches when the run died.
func TestScrFlushOfSCR(t *testing.T) {
	prefix, _ := scrCluster(t)
	want := `DSET  KIND  SAFE  LOCATION   FILES      SIZE  NAME
   4  ckpt  NO    CACHE          8  8.25 KiB  ckpt.4
   3  ckpt  YES   CACHE PFS      8  8.25 KiB  ckpt.3
`
	if got := clitest.Good(t, "scr", "flush", prefix); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := clitest.Good(t, "scr", "flush", "--nodes", prefix); got != "4\n" {
		t.Errorf("%q nodes, want 4", got)
	}
	clitest.Good(t, "scr", "flush", "--need", "4", prefix)
	clitest.Bad(t, cli.Findings, "", "scr", "flush", "--need", "3", prefix)
}

// A deleted dataset must be neither called safe nor listed for saving. A dropped dataset stays as safe as before.
func TestScrFlushAfterDelete(t *testing.T) {
	prefix, _ := scrCluster(t)
	clitest.Good(t, "scr", "index", "--drop", "ckpt.3", prefix)
	clitest.Shows(t, ": good; ", "scr", "check", "--strict", prefix)
	if got := clitest.Good(t, "scr", "flush", "--location", "3", prefix); got != "CACHE PFS\n" {
		t.Errorf("dropped: %q", got)
	}
	clitest.Good(t, "scr", "index", "--add", "3", prefix)
	clitest.Good(t, "scr", "index", "--delete", "ckpt.3", prefix)
	clitest.Bad(t, cli.Findings, "", "scr", "flush", "--location", "3", prefix)
	if got := clitest.Good(t, "scr", "flush", "--latest", prefix); got != "4\n" {
		t.Errorf("deleted: %q", got)
	}
	clitest.Good(t, "scr", "check", "--strict", prefix)
}
