package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryFunctionHasAPage checks that each function's name leads to a page with its declaration.
func TestEveryFunctionHasAPage(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second run replaces pages
		if err := write(dir, "../../blobio.h", "../../blobio_mpi.h", "../../pio/pio.h", "../../scr/scr.h", "../../fti/fti.h"); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, h := range []string{"blobio.h", "blobio_mpi.h", "pio/pio.h", "scr/scr.h", "fti/fti.h"} {
		b, err := os.ReadFile(filepath.Join("../..", h))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:BLOBIO|PIO|SCR|FTI)_API .*?\b((?:blobio_|PIOc_|SCR_|FTI_)\w+)\(`).FindAllStringSubmatch(string(b), -1) {
			n++
			page, err := os.ReadFile(filepath.Join(dir, m[1]+".3"))
			if err != nil {
				t.Error(err)
				continue
			}
			if !strings.Contains(string(page), m[1]+"(") || strings.Contains(string(page), "_API ") {
				t.Errorf("the page of %s does not declare it", m[1])
			}
		}
	}
	if n < 160 {
		t.Errorf("%d functions", n)
	}
}

func TestPartsWithoutAPage(t *testing.T) {
	for _, text := range []string{"/* ------- news */\nint x;\n", "/* no end\n"} {
		if _, err := parse("blobio.h", text); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
