package scr

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"blobio/internal/scr/cachedir"
)

// TestRemainsOfOlder: a power cut of all nodes while the oldest dataset was being deleted from the caches, with the newest
// torn beyond repair. What is left of the oldest looks like one of fewer ranks, which is brought into the prefix directory; the
// restart is still from the newest, which was flushed.
func TestRemainsOfOlder(t *testing.T) {
	cl := fourNodes(t).set("SCR_COPY_TYPE", "XOR", "SCR_FLUSH", "1", "SCR_CACHE_SIZE", "2")
	must(t, cl.checkpoints(1, 2))
	dir := func(node, id int) string {
		return fmt.Sprintf("/nodes/node%d/local/user1/scr.77/scr.dataset.%d", node, id)
	}
	cl.log = &bytes.Buffer{}
	for n := range 2 {
		must(t, cachedir.RemoveAll(cl.fs, dir(n, 2)))
	}
	must(t, cachedir.RemoveAll(cl.fs, dir(3, 1)))
	removed := 0
	for n := range 3 {
		list, err := cl.fs.ReadDir(dir(n, 1) + "/.scr")
		must(t, err)
		for _, e := range list {
			if strings.HasPrefix(e.Name(), "filemap") {
				must(t, cl.fs.Remove(dir(n, 1)+"/.scr/"+e.Name()))
				removed++
			}
		}
	}
	if removed == 0 {
		t.Fatal("no file maps")
	}
	cl.mustRestart(2)
	if !strings.Contains(cl.log.String(), "another number of ranks") {
		t.Errorf("the remains were not taken for another dataset: %s", cl.log)
	}
	cl.mustRestart(2) // and again
}
