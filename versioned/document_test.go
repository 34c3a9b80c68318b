package versioned

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"blobio/comm"
	"blobio/internal/vfs"
)

// TestDocument: the store whose bytes docs/format-versions.md shows is the one that is written.
func TestDocument(t *testing.T) {
	if hostBig {
		t.Skip("SKIPPED: the document shows what a little-endian machine writes")
	}
	mem, st := memStore(t)
	at := time.Unix(1_700_000_000, 0)
	ranks(t, 1, func(ctx context.Context, c comm.Comm) error {
		a, err := Create(ctx, c, st, Spec{Name: "n", Type: Int16, Shape: []int64{300}, Chunk: 512}, &Options{Clock: func() time.Time { return at }})
		if err != nil {
			return err
		}
		if err := Put(ctx, a, []int64{0}, []int64{4}, []int16{1, 2, -1, 300}); err != nil {
			return err
		}
		if _, err := a.Inc(ctx, 1, "first"); err != nil {
			return err
		}
		return a.Close(ctx)
	})
	doc, err := os.ReadFile("../docs/format-versions.md")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := vfs.ReadFile(mem, "d/n/versions", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), string(rec)) {
		t.Errorf("the record in the document is another; it is\n%s", rec)
	}
	b, err := vfs.ReadFile(mem, "d/n/"+dataName(1, 1, 0), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
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

// TestDocumentedTests: the tests that docs/gvr.md names are there.
func TestDocumentedTests(t *testing.T) {
	doc, err := os.ReadFile("../docs/gvr.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	def := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	for _, dir := range []string{".", "../recovery", "../examples/amr-advection", "../cmd/blobio", "levels"} {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if !strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			b, err := os.ReadFile(dir + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range def.FindAllStringSubmatch(string(b), -1) {
				have[m[1]] = true
			}
		}
	}
	names := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`).FindAllString(string(doc), -1)
	for _, n := range names {
		if !have[n] {
			t.Errorf("docs/gvr.md names %s, which is not there", n)
		}
	}
	for _, row := range strings.Fields("V1 V2 V3 V4 V5 V6 V7 V8 V9 V10 V11 V12 V13 V14 V15 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 E1 E2 E3 E4 E5 E6 F1 F2 F3 F4") {
		line := regexp.MustCompile(`(?m)^\| ` + row + ` \|.*$`).FindString(string(doc))
		if !regexp.MustCompile(`\bTest[A-Z]\w*`).MatchString(line) {
			t.Errorf("docs/gvr.md has no row %s with a test", row)
		}
	}
}
