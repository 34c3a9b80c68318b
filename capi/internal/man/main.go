// Command man writes manual pages of section 3 from the headers blobio.h, blobio_mpi.h, pio.h, scr.h and fti.h. Each family of
// functions gets a page, and each function a link to the page of its family.
//
//	go run ./internal/man DIR HEADER...      (in capi)
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "man: want a directory and headers")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(2)
	}
}

// write writes the pages of headers to a directory.
func write(dir string, headers ...string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, h := range headers {
		text, err := os.ReadFile(h)
		if err != nil {
			return err
		}
		all, err := parse(filepath.Base(h), string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", h, err)
		}
		for _, f := range all {
			p := f.page(all)
			var b bytes.Buffer
			p.WriteTo(&b)
			if err := os.WriteFile(filepath.Join(dir, p.File()), b.Bytes(), 0o666); err != nil {
				return err
			}
			for _, name := range f.functions() {
				link := filepath.Join(dir, p.Link(name))
				os.Remove(link)
				if err := os.Symlink(p.File(), link); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
