package blob

import (
	"context"
	"fmt"
	"testing"

	"blobio/internal/durable"
	"blobio/internal/vfs"
)

// TestForeignLocks: hidden files of other programs whose names end in .lock are no leases of ours.
func TestForeignLocks(t *testing.T) {
	mem := vfs.NewMem()
	for name, text := range map[string]string{".hugo_build.lock": "", ".other.lock": "4711\n", ".json.lock": "{}"} {
		f, err := mem.Create(name)
		must(err)
		_, err = f.WriteAt([]byte(text), 0)
		must(err)
		must(f.Close())
	}
	l := need(durable.Acquire(context.Background(), mem, "d.nc", durable.LeaseOptions{}))
	if names, err := unfinishedIn(mem, "."); err != nil || fmt.Sprint(names) != "[d.nc]" {
		t.Errorf("%v %v", names, err)
	}
	must(l.Release())
}
