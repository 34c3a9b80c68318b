package check_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"blobio/internal/scr/check"
)

// Check a prefix directory of SCR, first as it is and then without one file of a dataset.
func ExamplePrefix() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "prefix")
	if err := os.CopyFS(dir, os.DirFS("../../../testdata/scr/xor_2_restarted_finalized/prefix")); err != nil {
		log.Fatal(err)
	}
	look := func() {
		errors := 0
		o := &check.Options{Seen: func(_ int, s check.Seen) { fmt.Println("datasets:", s.Datasets, "files:", s.Files) }}
		for f := range check.Prefix(context.Background(), dir, o) {
			if f.Severity >= check.Error {
				fmt.Println(f.Severity, filepath.Base(f.File), f.Found)
				errors++
			}
		}
		fmt.Println("errors:", errors)
	}
	look()
	if err := os.Remove(filepath.Join(dir, "ckpt.6", "rank_2.0.ckpt")); err != nil {
		log.Fatal(err)
	}
	look()
	// Output:
	// datasets: 2 files: 16
	// errors: 0
	// error rank_2.0.ckpt absent
	// datasets: 2 files: 16
	// errors: 1
}
