package versioned

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/elem"
	"blobio/internal/vfs"
)

// TestDocument: the store whose bytes docs/format-versions.md shows is the one that is written.
func TestDocument(t *testing.T) {
	if elem.HostBig {
		t.Skip("SKIPPED: the document shows what a little-endian machine writes")
	}
	mem, st := memStore(t)
	at := time.Unix(1_700_000_000, 0)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "n", Type: Int16, Shape: []int64{300}, Chunk: 512}, &Options{Clock: func() time.Time { return at }})
		must(t, err)
		must(t, Put(ctx, a, []int64{0}, []int64{4}, []int16{1, 2, -1, 300}))
		if _, err := a.Inc(ctx, 1, "first"); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	doc, err := os.ReadFile("../docs/format-versions.md")
	must(t, err)
	rec, err := vfs.ReadFile(mem, "d/n/versions", 1<<20)
	must(t, err)
	if !strings.Contains(string(doc), string(rec)) {
		t.Errorf("the record in the document is another; it is\n%s", rec)
	}
	b, err := vfs.ReadFile(mem, "d/n/"+dataName(1, 1, 0), 1<<20)
	must(t, err)
	var dump strings.Builder
	for off := 0; off < 64; off += 16 {
		fmt.Fprintf(&dump, "%07d", off)
		for _, x := range b[off : off+16] {
			fmt.Fprintf(&dump, " %02x", x)
		}
		dump.WriteByte('\n')
	}
	if !strings.Contains(string(doc), dump.String()) {
		t.Errorf("the bytes in the document are others; they are\n%s", dump.String())
	}
}
