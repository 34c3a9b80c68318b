package main

import (
	"errors"
	"fmt"

	scrcheck "blobio/scr/check"
)

// scrChecked is what was found in a prefix directory or on a node.
type scrChecked struct {
	Path     string `json:"path"`
	Datasets int    `json:"datasets"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Verified int64  `json:"verified"`
	tally
	Findings []scrcheck.Finding `json:"findings"`
}

func newScrChecked(paths ...string) (all []*scrChecked) {
	for _, p := range paths {
		all = append(all, &scrChecked{Path: p, Findings: []scrcheck.Finding{}})
	}
	return all
}

func (c *scrChecked) add(x scrcheck.Finding) {
	x.Found = errorText(errors.New(x.Found))
	c.count(x.Severity)
	c.Findings = append(c.Findings, x)
}

func (f *scrCheckFlags) print(e *env, c *scrChecked) {
	for _, x := range c.Findings {
		if x.Severity != scrcheck.Note || f.notes {
			fmt.Fprintln(e.out, x)
		}
	}
	verdict := c.verdict(f.notes)
	verdict += fmt.Sprintf("; %s, %s, %s", plural(c.Datasets, "dataset"), plural(c.Files, "file"), humanBytes(c.Bytes))
	switch {
	case f.quick:
		verdict += ", data not read"
	case c.Bytes == 0:
	case c.Verified == c.Bytes && c.Errors > 0:
		verdict += ", what was read matches checksums"
	case c.Verified == c.Bytes:
		verdict += ", all of it matches checksums"
	case c.Verified == 0:
		verdict += ", there are no checksums"
	default:
		verdict += fmt.Sprintf(", checksums of %s", humanBytes(c.Verified))
	}
	fmt.Fprintf(e.out, "%s: %s\n", c.Path, verdict)
}
