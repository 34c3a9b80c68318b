package scrtools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/salvage"
)

// scrSaved are the flags of the verbs for scavenged datasets.
type scrSaved struct {
	id     int
	was    string
	asJSON bool
}

func (f *scrSaved) flags(cmd *cobra.Command, id string, form ...any) {
	fl := cmd.Flags()
	fl.IntVar(&f.id, "id", 0, id)
	fl.StringVar(&f.was, "was", "", "former path of PREFIX when the datasets were written, if PREFIX was moved")
	cli.JSONFlag(cmd, &f.asJSON, form...)
}

func (f *scrSaved) open(args []string) (*prefixdir.Dir, error) {
	if f.id < 0 {
		return nil, cli.Usagef("--id %d, want a positive number", f.id)
	}
	return scrPrefix(args)
}

// ids returns the scavenged datasets, or only the requested dataset.
func (f *scrSaved) ids(d *prefixdir.Dir) ([]int, error) {
	ids, err := salvage.Datasets(d)
	if err != nil {
		return nil, err
	}
	if f.id > 0 {
		if !slices.Contains(ids, f.id) {
			return nil, fmt.Errorf("%s has no scavenged files of dataset %d", d.Path, f.id)
		}
		return []int{f.id}, nil
	}
	return ids, nil
}

// salvageText returns a dataset's error in one line.
func salvageText(err error) string {
	text := cli.ErrorText(err)
	if errors.Is(err, salvage.ErrOutside) {
		text += " (was PREFIX moved? see scr scavenge --was)"
	}
	return text
}

// scrOtherName is advice for the most common cause of an apparently empty cache.
const scrOtherName = "scr check --control lists the contents; if the directory had another name on the node, use --control THERE=HERE, and --cache THERE=HERE for its cache"

// scrLack describes the missing data of a rank.
type scrLack struct {
	Rank int    `json:"rank"`
	What string `json:"what"`
}

// scrScanned describes a scanned dataset.
type scrScanned struct {
	ID       int       `json:"id"`
	Name     string    `json:"name"`
	Ranks    int       `json:"ranks"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Indexed  bool      `json:"indexed"` // complete according to the index
	Verified bool      `json:"verified"`
	Missing  []scrLack `json:"missing"`
	Invalid  []string  `json:"invalid"`
	Unread   []string  `json:"unread"`

	outside bool // files have names outside the prefix directory
}

// scannedOf describes the scan of a dataset. x is the index.
func scannedOf(x *prefixdir.Index, id int, s *salvage.Scan, rep salvage.Report) scrScanned {
	row := scrScanned{outside: s.Outside, ID: id, Name: s.Dataset.Name, Ranks: s.Size, Verified: rep.Verified, Missing: []scrLack{}, Invalid: append([]string{}, rep.Invalid...), Unread: append([]string{}, s.Unread...)}
	if en, ok := x.Entry(s.Dataset.Name); ok && en.ID == id {
		row.Indexed = en.Complete
	}
	for _, r := range s.Ranks {
		for _, file := range r.Files {
			if file.State >= salvage.Present {
				row.Files++
				row.Bytes += file.Size
			}
		}
	}
	for _, r := range rep.Missing {
		row.Missing = append(row.Missing, scrLack{r, rep.Files[r]})
	}
	return row
}

// scan lists scavenged and missing data. It changes nothing.
func (f *scrSaved) scan(ctx context.Context, e *cli.Env, d *prefixdir.Dir, ids []int, quick bool) error {
	x, _, _, err := d.Index.Load()
	if err != nil {
		return err
	}
	all := []scrScanned{}
	for _, id := range ids {
		s, err := salvage.ScanDataset(ctx, salvage.Options{Prefix: d, Was: f.was, ID: id}, quick)
		if err != nil {
			return err
		}
		rep := s.Inspect()
		if !rep.OK() {
			e.Code = cli.Findings
		}
		all = append(all, scannedOf(x, id, s, rep))
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"datasets": all})
	}
	if len(all) == 0 {
		fmt.Fprintf(e.Out, "%s has no scavenged datasets\n", d.Path)
	}
	for i := range all {
		all[i].print(e)
	}
	return nil
}

func (s *scrScanned) print(e *cli.Env) {
	state := "not complete in the index"
	if s.Indexed {
		state = "complete in the index"
	}
	fmt.Fprintf(e.Out, "dataset %d %s: %s of %s, %s; %s\n", s.ID, cmp.Or(s.Name, "(no name)"), cli.Plural(s.Files, "file"), cli.Plural(s.Ranks, "rank"), cli.HumanBytes(s.Bytes), state)
	for _, m := range s.Missing {
		fmt.Fprintf(e.Out, "  missing: rank %d: %s\n", m.Rank, m.What)
	}
	for _, why := range s.Invalid {
		fmt.Fprintf(e.Out, "  invalid: %s\n", why)
	}
	for _, why := range s.Unread {
		fmt.Fprintf(e.Out, "  no checksums: %s\n", why)
	}
	if s.outside {
		fmt.Fprintln(e.Out, "  (was PREFIX moved? see --was)")
	}
}
