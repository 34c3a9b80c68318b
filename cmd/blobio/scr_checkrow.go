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
	Findings []scrFinding `json:"findings"`
}

// scrFinding is something that was found, as JSON has it.
type scrFinding struct {
	Severity string `json:"severity"`
	Dataset  int    `json:"dataset,omitempty"`
	File     string `json:"file"`
	Field    string `json:"field,omitempty"`
	Found    string `json:"found"`
	Wanted   string `json:"wanted,omitempty"`
	Class    string `json:"class,omitempty"`
	line     string
}

func newScrChecked(paths ...string) (all []*scrChecked) {
	for _, p := range paths {
		all = append(all, &scrChecked{Path: p, Findings: []scrFinding{}})
	}
	return all
}

func (c *scrChecked) add(x scrcheck.Finding) {
	x.Found = errorText(errors.New(x.Found))
	f := scrFinding{Severity: x.Severity.String(), Dataset: x.Dataset, File: x.File, Field: x.Where(), Found: x.Found, Wanted: x.Wanted, line: x.String()}
	if x.Err != nil {
		f.Class = x.Err.Error()
	}
	c.count(f.Severity)
	c.Findings = append(c.Findings, f)
}

func (f *scrCheckFlags) print(e *env, c *scrChecked) {
	for _, x := range c.Findings {
		if x.Severity != sevNote || f.notes {
			fmt.Fprintln(e.out, x.line)
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
