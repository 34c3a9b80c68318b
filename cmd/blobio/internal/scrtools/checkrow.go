package scrtools

import (
	"errors"
	"fmt"

	"blobio/internal/cli"
	scrcheck "blobio/scr/check"
)

// scrChecked is what was found in a prefix directory or on a node.
type scrChecked struct {
	Path     string `json:"path"`
	Datasets int    `json:"datasets"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Verified int64  `json:"verified"`
	cli.Tally
	Findings []scrcheck.Finding `json:"findings"`
}

func newScrChecked(paths ...string) (all []*scrChecked) {
	for _, p := range paths {
		all = append(all, &scrChecked{Path: p, Findings: []scrcheck.Finding{}})
	}
	return all
}

func (c *scrChecked) add(x scrcheck.Finding) {
	x.Found = cli.ErrorText(errors.New(x.Found))
	c.Count(x.Severity)
	c.Findings = append(c.Findings, x)
}

func (f *scrCheckFlags) print(e *cli.Env, c *scrChecked) {
	for _, x := range c.Findings {
		if x.Severity != scrcheck.Note || f.notes {
			fmt.Fprintln(e.Out, x)
		}
	}
	verdict := c.Verdict(f.notes)
	verdict += fmt.Sprintf("; %s, %s, %s", cli.Plural(c.Datasets, "dataset"), cli.Plural(c.Files, "file"), cli.HumanBytes(c.Bytes))
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
		verdict += fmt.Sprintf(", checksums of %s", cli.HumanBytes(c.Verified))
	}
	fmt.Fprintf(e.Out, "%s: %s\n", c.Path, verdict)
}
