package scrtools

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/prefixdir"
)

type scrIndexFlags struct {
	long, rebuild, asJSON          bool
	add, drop, del, current, after string
}

// scrIndexVerbs are flags that exclude each other.
var scrIndexVerbs = []string{"add", "drop", "delete", "current", "drop-after", "rebuild"}

func newScrIndex(e *cli.Env) *cobra.Command {
	var f scrIndexFlags
	cmd := &cobra.Command{
		Use:   "index [PREFIX]",
		Short: "List the datasets of a prefix directory, or change the list",
		Long: `List the datasets of a prefix directory, newest first, or change the list.

VALID is YES for a complete dataset and NO for an incomplete one. TAKEN means that a newer
dataset has overwritten files. GONE means that files or metadata are missing or damaged. FAILED
means that a run could not start from the dataset. index only tests whether files exist; "scr
check" compares sizes and bytes. * in CUR marks the dataset from which the next run starts.
DATASET is a name or a number (DSET).

A lost or damaged index is rebuilt from the summaries of the datasets. To list datasets, it is
rebuilt only in memory, with a message. --rebuild and all changes rewrite the file. The damaged
file is kept as index.scr.damaged.

--drop takes a dataset off the list and keeps its files. --delete also removes its files. "scr
rebuild" completes a scavenged dataset and lists it.

Exit codes: 0 good, 1 the index is damaged, lacks existing datasets, or lists overwritten or
missing datasets as complete, 2 could not run.

Times in JSON are local.`,
		Example: `  blobio scr index /p/sim
  blobio scr index --current ckpt.12 /p/sim     # the next run starts from it
  blobio scr index --drop-after 12 /p/sim       # drop newer datasets
  blobio scr index --add 14 /p/sim              # list a dataset with a summary
  blobio scr index --delete ckpt.3 /p/sim       # files too
  blobio scr index --rebuild /p/sim             # from the summaries`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.long, "long", false, "also print times of creation, fetch and failure, and the job")
	fl.StringVarP(&f.add, "add", "a", "", "add `DATASET` to the list; its summary must exist")
	fl.StringVar(&f.drop, "drop", "", "take `DATASET` off the list; its files stay")
	fl.StringVar(&f.del, "delete", "", "remove `DATASET` with its files")
	fl.StringVarP(&f.current, "current", "c", "", "start the next run from `DATASET`; \"none\": no longer prefer a dataset")
	fl.StringVar(&f.after, "drop-after", "", "take all datasets newer than `DATASET` off the list")
	fl.BoolVar(&f.rebuild, "rebuild", false, "rebuild the list from the summaries; listed datasets stay")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"prefix": "", "generation": "", "current": "", "damage": "", "datasets": []scrIndexRow{}, "lost": []scrLostRow{}})
	return cmd
}

func (f *scrIndexFlags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	verb, err := onlyOne(cmd, scrIndexVerbs...)
	if err != nil {
		return err
	}
	if f.long && f.asJSON {
		return cli.Usagef("--long and --json cannot be combined")
	}
	d, err := scrPrefix(args)
	if err != nil {
		return err
	}
	if verb != "" {
		if err := f.change(cmd.Context(), e, d, verb); err != nil {
			return err
		}
		if !f.asJSON {
			return nil
		}
	}
	return f.print(e, d)
}

// scrIndexRow describes a dataset for JSON.
type scrIndexRow struct {
	ID         int      `json:"id"`
	Name       string   `json:"name"`
	Valid      bool     `json:"valid"`
	Complete   bool     `json:"complete"`
	Current    bool     `json:"current"`
	Checkpoint bool     `json:"checkpoint"`
	Output     bool     `json:"output"`
	Ckpt       int      `json:"ckpt,omitempty"`
	Files      int64    `json:"files"`
	Bytes      int64    `json:"bytes"`
	Created    string   `json:"created,omitempty"`
	Flushed    string   `json:"flushed,omitempty"`
	Fetched    []string `json:"fetched"`
	Failed     string   `json:"failed,omitempty"`
	TakenBy    int      `json:"taken_by,omitempty"`
	Gone       string   `json:"gone,omitempty"` // missing or damaged parts
	User       string   `json:"user,omitempty"`
	Job        string   `json:"job,omitempty"`
}

type scrLostRow struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// scrSound holds the faults, by name, of datasets that the index lists as complete.
type scrSound struct {
	taken map[string]*prefixdir.Taken
	gone  map[string]error
}

func newScrSound(d *prefixdir.Dir, x *prefixdir.Index) (*scrSound, error) {
	s := &scrSound{map[string]*prefixdir.Taken{}, map[string]error{}}
	over, there := d.Overwritten(x), d.Presence()
	for _, en := range x.Entries() {
		taken, err := over.Of(en)
		if err != nil {
			return nil, err
		}
		if taken != nil {
			s.taken[en.Name] = taken
			continue
		}
		gone, err := there.Of(en)
		if err != nil {
			return nil, err
		}
		if gone != nil {
			s.gone[en.Name] = gone
		}
	}
	return s, nil
}

// next returns the name of the dataset for the next run, if the index has one. "" means that the index names none, or that no
// candidate is sound.
func (s *scrSound) next(x *prefixdir.Index) string {
	if x.Current() == "" {
		return ""
	}
	for _, en := range x.Candidates() {
		if s.taken[en.Name] == nil && s.gone[en.Name] == nil {
			return en.Name
		}
	}
	return ""
}

func (f *scrIndexFlags) print(e *cli.Env, d *prefixdir.Dir) error {
	_, damaged := d.Index.Read()
	if errors.Is(damaged, fs.ErrPermission) {
		return damaged
	}
	x, rebuilt, _, err := d.Index.Load()
	if err != nil {
		return err
	}
	if errors.Is(damaged, fs.ErrNotExist) && x.Len() == 0 {
		rebuilt = false // no datasets to list
	}
	damage := ""
	if rebuilt && damaged != nil {
		damage = cli.ErrorText(damaged)
	}
	var lost []prefixdir.Found
	if !rebuilt {
		found, err := d.Datasets.Survey()
		if err != nil {
			return err
		}
		lost = x.Lost(found)
	}
	sound, err := newScrSound(d, x)
	if err != nil {
		return err
	}
	if rebuilt || len(lost) > 0 || len(sound.taken) > 0 || len(sound.gone) > 0 {
		e.Code = cli.Findings
	}
	next := sound.next(x)
	if f.asJSON {
		rows, missing := []scrIndexRow{}, []scrLostRow{}
		for _, en := range x.Entries() {
			rows = append(rows, scrRow(en, sound, next))
		}
		for _, s := range lost {
			missing = append(missing, scrLostRow{s.ID, s.Summary.Dataset.Name})
		}
		return e.PrintJSON(map[string]any{"prefix": d.Path, "generation": x.From.String(), "current": next, "damage": damage, "datasets": rows, "lost": missing})
	}
	if rebuilt {
		fmt.Fprintf(e.Out, "the index is lost or damaged; this list comes from the summaries (scr index --rebuild writes a new index):\n  %s\n", damage)
	}
	if x.Len() == 0 {
		fmt.Fprintf(e.Out, "%s: no datasets\n", d.Path)
	} else {
		f.table(e, x, sound, next)
	}
	for _, en := range x.Entries() {
		if by := sound.taken[en.Name]; by != nil {
			fmt.Fprintf(e.Out, "dataset %d %s is %v\n", en.ID, clean(en.Name), by)
		}
		if gone := sound.gone[en.Name]; gone != nil {
			fmt.Fprintf(e.Out, "dataset %d %s is incomplete: %s\n", en.ID, clean(en.Name), cli.ErrorText(gone))
		}
	}
	for _, s := range lost {
		fmt.Fprintf(e.Out, "dataset %d %s is %s, but not listed (scr index --add %d lists it)\n", s.ID, clean(s.Summary.Dataset.Name), s.State(), s.ID)
	}
	return nil
}

func (f *scrIndexFlags) table(e *cli.Env, x *prefixdir.Index, sound *scrSound, next string) {
	heads := []string{">DSET", "VALID", "FLUSHED", "CUR", ">CKPT", ">FILES", ">SIZE", "NAME"}
	if f.long {
		heads = slices.Insert(heads, 7, "CREATED", "FETCHED", "FAILED", "JOB")
	}
	t := e.NewTable("", heads...)
	for _, en := range x.Entries() {
		valid, cur, ckpt := "YES", "", "-"
		switch {
		case !en.Complete:
			valid = "NO"
		case sound.taken[en.Name] != nil:
			valid = "TAKEN"
		case sound.gone[en.Name] != nil:
			valid = "GONE"
		case !en.Failed.IsZero():
			valid = "FAILED"
		}
		if next != "" && en.Name == next && !en.Copy {
			cur = "*"
		}
		if en.Dataset.Checkpoint && en.Dataset.Ckpt > 0 {
			ckpt = strconv.Itoa(en.Dataset.Ckpt)
		}
		row := []any{en.ID, valid, scrStamp(en.Flushed), cur, ckpt, en.Dataset.Files, cli.HumanBytes(en.Dataset.Size), clean(en.Name)}
		if f.long {
			fetched := "-"
			if n := len(en.Fetched); n > 0 {
				fetched = scrStamp(en.Fetched[n-1])
			}
			row = slices.Insert(row, 7, any(scrStamp(en.Dataset.Created)), any(fetched), any(scrStamp(en.Failed)), any(clean(en.Dataset.JobID)))
		}
		t.Row(row...)
	}
	t.Flush()
}

func scrRow(en prefixdir.Entry, sound *scrSound, next string) scrIndexRow {
	taken, gone := sound.taken[en.Name], sound.gone[en.Name]
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return scrStamp(t)
	}
	ds := en.Dataset
	r := scrIndexRow{ID: en.ID, Name: en.Name, Valid: en.Complete && en.Failed.IsZero() && taken == nil && gone == nil, Complete: en.Complete, Current: next != "" && en.Name == next && !en.Copy, Checkpoint: ds.Checkpoint,
		Output: ds.Output, Ckpt: ds.Ckpt, Files: ds.Files, Bytes: ds.Size, Created: stamp(ds.Created), Flushed: stamp(en.Flushed), Fetched: []string{},
		Failed: stamp(en.Failed), User: ds.User, Job: ds.JobID}
	if taken != nil {
		r.TakenBy = taken.By.ID
	}
	if gone != nil {
		r.Gone = cli.ErrorText(gone)
	}
	for _, t := range en.Fetched {
		r.Fetched = append(r.Fetched, stamp(t))
	}
	return r
}
