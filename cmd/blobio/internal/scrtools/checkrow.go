package scrtools

import (
	"fmt"

	"blobio/internal/cli"
)

// scrChecked is what was found in a prefix directory or on a node.
type scrChecked struct {
	Path     string `json:"path"`
	Datasets int    `json:"datasets"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Verified int64  `json:"verified"`
	cli.Found
}

func newScrChecked(paths ...string) (all []*scrChecked) {
	for _, p := range paths {
		all = append(all, &scrChecked{Path: p})
	}
	return all
}

func (f *scrCheckFlags) print(e *cli.Env, c *scrChecked) {
	facts := fmt.Sprintf("%s, %s, %s", cli.Plural(c.Datasets, "dataset"), cli.Plural(c.Files, "file"), cli.HumanBytes(c.Bytes))
	switch {
	case f.Quick, c.Bytes == 0:
	case c.Verified == c.Bytes && c.Errors > 0:
		facts += ", what was read matches checksums"
	case c.Verified == c.Bytes:
		facts += ", all of it matches checksums"
	case c.Verified == 0:
		facts += ", there are no checksums"
	default:
		facts += fmt.Sprintf(", checksums of %s", cli.HumanBytes(c.Verified))
	}
	f.Print(e, c.Path, &c.Found, facts)
}
