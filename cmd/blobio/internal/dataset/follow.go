package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cdf5"
	"blobio/internal/base/par"
	"blobio/internal/cli"
	"blobio/internal/view/stats"
)

// followHelp is the help of ls --follow.
const followHelp = `
--follow prints each record as a model commits it: minimum, maximum and mean of each
variable, and the counts. It resembles "tail -f". Incomplete records are never shown. The
writer is not disturbed and may run on another machine. --follow starts with the next
record, or with the record of --from. If the dataset has a writer but no record yet,
--follow waits for the first record. With --wait, it also waits until the dataset exists.
--exec runs a shell command for each record, one at a time. The environment of the command
has BLOBIO_RECORD (from 0), BLOBIO_RECORDS (the number of committed records) and
BLOBIO_DATASET. If a command fails, --follow reports the failure and continues. The writer
counts as dead if its process has ended. A writer on another machine counts as dead if no
heartbeat arrives for two periods (15 seconds each by default). If a lease cannot be read,
--follow waits 30 seconds. Exit codes: 0 the writer has finished, 1 the writer died or may
have died, or a command failed, 2 the dataset cannot be read.
`

func (f *follower) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "follow", false, "print each record as it is committed, until the writer ends")
	fl.Int64Var(&f.from, "from", -1, "--follow: first `RECORD` to print, counted from 0 (default: the next record)")
	fl.StringVar(&f.exec, "exec", "", "--follow: shell `COMMAND` to run for each record")
	fl.BoolVar(&f.wait, "wait", false, "--follow: wait until the dataset exists")
}

// check returns an error for flags that conflict.
func (f *follower) check(cmd *cobra.Command, paths []string) error {
	switch {
	case !f.on:
		return cli.NotGiven(cmd, "needs --follow", "from", "exec", "wait")
	case len(paths) > 1:
		return cli.Usagef("--follow needs one dataset, found %d", len(paths))
	}
	return cli.NotGiven(cmd, "and --follow cannot be combined", "long", "stats", "by-record", "dimension", "allow-missing", "memory", "no-verify", "workers")
}

// follower is one run of ls --follow.
type follower struct {
	e          *cli.Env
	on         bool
	vars       []string
	from       int64
	exec       string
	wait, json bool
	hopeless   func(*blob.Watch, *blob.Status) bool
	head       bool // the column names have been printed
}

func (f *follower) run(ctx context.Context, path string) error {
	if f.from < -1 {
		return cli.Usagef("--from %d, want 0 or more", f.from)
	}
	watch := blob.NewWatch(nil, path)
	r, err := f.open(ctx, path, watch)
	if err != nil || r == nil {
		return err
	}
	defer r.Close()
	if err := checkVars(r, f.vars); err != nil {
		return err
	}
	if f.from < 0 {
		f.from = r.Records()
	}
	for rec, err := range r.NewRecords(ctx, f.from) {
		var died *blob.WriterDiedError
		if errors.As(err, &died) {
			return f.end(r.Base(), &died.Status, true)
		}
		if err == nil {
			err = f.record(ctx, r, rec)
		}
		if err != nil {
			return err
		}
	}
	s, err := watch.Look()
	if err != nil {
		return err
	}
	return f.end(r.Base(), s, false) // if another writer has begun, s describes that writer
}

// open waits until the dataset can be opened. It returns nil if the writer died before the first
// commit.
func (f *follower) open(ctx context.Context, path string, watch *blob.Watch) (*blob.Reader, error) {
	for {
		r, err := blob.Open(ctx, path, nil)
		if err == nil {
			return r, nil
		}
		none := errors.Is(err, fs.ErrNotExist)
		if !none && !errors.Is(err, blob.ErrNotCommitted) {
			return nil, err
		}
		s, serr := watch.Look()
		switch {
		case serr != nil && !(errors.Is(serr, fs.ErrNotExist) && f.wait):
			return nil, err // the error of Open is more useful than serr
		case serr == nil && !f.wait && (s.State == blob.Died || f.hopeless(watch, s)):
			return nil, f.end(path, s, true)
		}
		if err := par.Pause(ctx, watch.Next()); err != nil {
			return nil, err
		}
	}
}

// end prints how the writer ended.
func (f *follower) end(path string, s *blob.Status, died bool) error {
	if died {
		f.e.Code = cli.Findings
	}
	if f.json {
		b, err := json.Marshal(map[string]any{"status": s})
		if err == nil {
			_, err = fmt.Fprintf(f.e.Out, "%s\n", b)
		}
		return err
	}
	_, err := fmt.Fprintf(f.e.Out, "%s: %s\n", cli.Plain(path), cli.Plain(s.String()))
	return err
}

// record prints one record and runs the command.
func (f *follower) record(ctx context.Context, r *blob.Reader, rec int64) error {
	if err := f.print(ctx, r, rec); err != nil {
		return err
	}
	if err := f.e.Out.Flush(); err != nil {
		return err
	}
	if f.exec == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", f.exec) // found even if PATH is wrong
	cmd.Env = append(os.Environ(), "BLOBIO_RECORD="+strconv.FormatInt(rec, 10), "BLOBIO_RECORDS="+strconv.FormatInt(r.Records(), 10), "BLOBIO_DATASET="+r.Base())
	cmd.Stdout, cmd.Stderr = f.e.Stdout, f.e.Stderr
	err := cmd.Run()
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(f.e.Stderr, "blobio: record %d: the command of --exec failed: %v\n", rec, err)
		f.e.Code = cli.Findings
	}
	return ctx.Err()
}

// recordVars returns the variables to print: selected by the flags, or all numeric record variables.
func (f *follower) recordVars(s *blob.Schema) (names []string) {
	for _, v := range s.Vars() {
		asked := len(f.vars) == 0
		for _, n := range f.vars {
			asked = asked || n == v.Name
		}
		if asked && v.Record && v.Type != cdf5.Char {
			names = append(names, v.Name)
		}
	}
	return names
}

func (f *follower) print(ctx context.Context, r *blob.Reader, rec int64) error {
	names := f.recordVars(r.Schema())
	if len(names) == 0 {
		return nil
	}
	sub := blob.Subset{}
	for _, d := range r.Schema().Dims() {
		if d.Len == blob.Unlimited {
			sub[d.Name] = []blob.Span{{First: rec, Count: 1, Stride: 1}}
		}
	}
	part, err := r.View(names, sub)
	if err != nil {
		return err
	}
	vars := part.Schema().Vars()
	line := struct {
		Record    int64       `json:"record"`
		Committed int64       `json:"committed"`
		Vars      []namedSums `json:"variables"`
	}{Record: rec, Committed: r.Records()}
	for i := range vars {
		for _, text := range meantBy(r.Schema(), vars[i].Name).lines() {
			if !f.json && !f.head {
				fmt.Fprintf(f.e.Out, "note: %s\n", cli.Plain(text))
			}
		}
	}
	for row, err := range stats.Of(ctx, part, nil) {
		if err != nil {
			return err
		}
		if row.Record >= 0 {
			continue // the totals of the part follow, and the part has only this record
		}
		if f.json {
			line.Vars = append(line.Vars, namedSums{vars[row.Var].Name, meantBy(r.Schema(), vars[row.Var].Name), numbersOf(&row)})
			continue
		}
		if err := f.row(rec, &vars[row.Var], &row); err != nil {
			return err
		}
	}
	if !f.json {
		return nil
	}
	b, err := json.Marshal(line)
	if err == nil {
		_, err = fmt.Fprintf(f.e.Out, "%s\n", b)
	}
	return err
}

// namedSums holds the name and the statistics of a variable.
type namedSums struct {
	Name string `json:"name"`
	meant
	numbers
}

// row prints a line with fixed column widths, because later values are not known yet.
func (f *follower) row(rec int64, v *blob.Variable, row *stats.Row) error {
	const format = "%8v  %-16s %14s %14s %14s %10v %8v %8v\n"
	if !f.head {
		f.head = true
		fmt.Fprintf(f.e.Out, format, "RECORD", "VARIABLE", "MIN", "MAX", "MEAN", "VALUES", "FILL", "NAN")
	}
	low, high, mean := "-", "-", "-"
	if row.Values > 0 {
		low, high, mean = numberText(v, row.Min), numberText(v, row.Max), strings.TrimSpace(string(cli.AppendFloat(nil, row.Mean(), 7)))
	}
	_, err := fmt.Fprintf(f.e.Out, format, rec, cli.Plain(v.Name), low, high, mean, row.Values, row.Fill, row.NaN)
	return err
}
