package scrtools

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/scr/runlog"
)

type scrIntervalFlags struct {
	log        string
	cost, mtbf time.Duration
	asJSON     bool
}

func newScrInterval(e *cli.Env) *cobra.Command {
	var f scrIntervalFlags
	cmd := &cobra.Command{
		Use:   "interval [PREFIX]",
		Short: "Compute the checkpoint interval by the formulas of Young and Daly",
		Long: `Compute the best time between two checkpoints by the formulas of Young and Daly. The formulas
need the cost of a checkpoint and the mean time between failures (MTBF). The cost is the time
during which a checkpoint blocks the program, with its share of synchronous flushes. Both values
come from the log of the runs, PREFIX/.scr/log, or from --cost and --mtbf. Runs write the log if
SCR_LOG_ENABLE=1 is set.

The row "so far" is the compute time between two checkpoints in the logged runs.

A time is 90s, 5m, 6h30m, 2d, or a number of seconds.

Exit codes: 0 good, 2 could not run, or the log lacks data.

Times in JSON are in seconds. runs, failures, checkpoints and lasted come from the log.`,
		Example: `  blobio scr interval /p/sim
  blobio scr interval --mtbf 12h /p/sim                 # if the log has no failure yet
  blobio scr interval --cost 45s --mtbf 6h              # without a log
  blobio scr interval --json /p/sim | jq '.intervals[] | select(.method == "Daly").seconds'`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.log, "log", "", "read this log `FILE` instead of PREFIX/.scr/log")
	fl.Var(spanValue{&f.cost}, "cost", "cost of a checkpoint (default: from the log)")
	fl.Var(spanValue{&f.mtbf}, "mtbf", "mean time between failures (default: from the log)")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"log": "", "cost": 0, "mtbf": 0, "runs": 0, "failures": 0, "checkpoints": 0, "lasted": 0, "intervals": []paceRow{}})
	return cmd
}

// spanValue is a flag value that is a non-negative duration.
type spanValue struct{ p *time.Duration }

func (v spanValue) String() string {
	if v.p == nil || *v.p == 0 {
		return ""
	}
	return v.p.String()
}
func (v spanValue) Type() string { return "time" }
func (v spanValue) Set(s string) (err error) {
	*v.p, err = cli.ParseSpan(s)
	return err
}

// paceRow describes an interval for JSON.
type paceRow struct {
	Method  string  `json:"method"`
	Seconds float64 `json:"seconds"`
}

func span(s float64) time.Duration {
	if s >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(s * 1e9)
}

// paceLog holds the measurements from a log.
type paceLog struct {
	name       string
	stats      runlog.Stats
	skipped    int // number of invalid lines
	cost, mtbf time.Duration
	costErr    error
	mtbfErr    error
}

func readPaceLog(name string) (*paceLog, error) {
	l, err := runlog.ReadFile(vfs.OS, name)
	if err != nil {
		return nil, err
	}
	if len(l.Entries) == 0 && l.Skipped > 0 {
		return nil, fmt.Errorf("%s is not a log of SCR: none of its %s is valid", name, cli.Plural(l.Skipped, "line"))
	}
	p := &paceLog{name: name, stats: runlog.Analyze(l.Entries), skipped: l.Skipped}
	p.cost, p.costErr = p.stats.Blocked()
	p.mtbf, p.mtbfErr = p.stats.MTBF()
	return p, nil
}

// source finds the log. It returns nil if no log is needed.
func (f *scrIntervalFlags) source(cmd *cobra.Command, args []string) (*paceLog, error) {
	given := cmd.Flags().Changed
	switch {
	case given("log") && len(args) > 0:
		return nil, cli.Usagef("--log and a prefix directory cannot be combined")
	case given("log"):
		if f.log == "" {
			return nil, cli.Usagef("--log has no value, want the name of a file")
		}
		return readPaceLog(f.log)
	case given("cost") && given("mtbf") && len(args) == 0:
		return nil, nil
	}
	d, err := scrPrefix(args)
	if err != nil {
		return nil, err
	}
	name := d.File("log")
	if _, err := vfs.OS.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, cli.WithHint(fmt.Errorf("%s: no such log", name), "runs with SCR_LOG_ENABLE=1 write a log; or give --cost and --mtbf")
	}
	return readPaceLog(name)
}

func (f *scrIntervalFlags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	given := cmd.Flags().Changed
	if given("cost") && f.cost <= 0 || given("mtbf") && f.mtbf <= 0 {
		return cli.Usagef("--cost and --mtbf must be more than 0")
	}
	l, err := f.source(cmd, args)
	if err != nil {
		return err
	}
	if l != nil {
		if !given("cost") {
			f.cost, err = l.cost, l.costErr
			if err != nil {
				return cli.WithHint(fmt.Errorf("%s: the log has no checkpoint, so the cost of checkpoints is unknown", l.name), "give --cost")
			}
			if f.cost <= 0 {
				return cli.WithHint(fmt.Errorf("%s: the checkpoints were shorter than the time resolution of the log", l.name), "give --cost")
			}
		}
		if !given("mtbf") {
			if f.mtbf, err = l.noFailure(); err != nil {
				return err
			}
		}
	}
	rows := []paceRow{{"Young", runlog.Young(f.cost, f.mtbf).Seconds()}, {"Daly", runlog.Daly(f.cost, f.mtbf).Seconds()}}
	if rows[0].Seconds <= 0 || rows[1].Seconds <= 0 {
		return fmt.Errorf("cost %v and MTBF %v are too short to compute an interval", f.cost, f.mtbf)
	}
	if l != nil && l.stats.Computed > 0 {
		rows = append(rows, paceRow{"so far", l.stats.Computed.Seconds()})
	}
	if f.asJSON {
		return e.PrintJSON(f.json(l, rows))
	}
	f.print(e, l, rows)
	return nil
}

// noFailure returns the mean time between failures, or an error with the reason why it is unknown.
func (l *paceLog) noFailure() (time.Duration, error) {
	s := l.stats
	switch {
	case errors.Is(l.mtbfErr, runlog.ErrNoFailure):
		hint := "give --mtbf"
		if s.Lasted > 0 {
			hint += "; it is hardly less than " + cli.SpanText(s.Lasted)
		}
		return 0, cli.WithHint(fmt.Errorf("%s: the log has no failure in %s of %s, so the mean time between failures is unknown", l.name, cli.SpanText(s.Lasted), cli.Plural(s.Runs, "run")), hint)
	case l.mtbfErr != nil:
		return 0, l.mtbfErr
	case l.mtbf <= 0:
		return 0, cli.WithHint(fmt.Errorf("%s: the log has %s, but the runs were shorter than its time resolution of one second", l.name, cli.Plural(s.Failures, "failure")), "give --mtbf")
	}
	return l.mtbf, nil
}

func (f *scrIntervalFlags) json(l *paceLog, rows []paceRow) map[string]any {
	out := map[string]any{"log": "", "cost": f.cost.Seconds(), "mtbf": f.mtbf.Seconds(), "intervals": rows}
	if l != nil {
		out["log"], out["runs"], out["failures"], out["checkpoints"], out["lasted"] = l.name, l.stats.Runs, l.stats.Failures, l.stats.Checkpoints, l.stats.Lasted.Seconds()
	}
	return out
}

func (f *scrIntervalFlags) print(e *cli.Env, l *paceLog, rows []paceRow) {
	if l != nil {
		s := l.stats
		fmt.Fprintf(e.Out, "%s: %s, %s long, %s, %s", l.name, cli.Plural(s.Runs, "run"), cli.SpanText(s.Lasted), cli.Plural(s.Failures, "failure"), cli.Plural(s.Checkpoints, "checkpoint"))
		if l.skipped > 0 {
			fmt.Fprintf(e.Out, " (%s skipped as invalid)", cli.Plural(l.skipped, "line"))
		}
		fmt.Fprintln(e.Out)
	}
	fmt.Fprintf(e.Out, "cost of a checkpoint %s", cli.SpanText(f.cost))
	if l != nil && f.cost == l.cost && l.stats.FlushCost > 0 {
		fmt.Fprintf(e.Out, " (%s and %s of flushes)", cli.SpanText(l.stats.Cost), cli.SpanText(l.stats.FlushCost))
	}
	fmt.Fprintf(e.Out, ", mean time between failures %s\n\n", cli.SpanText(f.mtbf))

	t := e.NewTable("", "METHOD", ">INTERVAL")
	for _, r := range rows {
		t.Row(r.Method, cli.SpanText(span(r.Seconds)))
	}
	t.Flush()
	if daly := rows[1].Seconds; daly >= 1 {
		fmt.Fprintf(e.Out, "\nSCR_CHECKPOINT_SECONDS=%.0f asks for Daly's\n", math.Round(daly))
	} else {
		fmt.Fprintf(e.Out, "\nSCR_CHECKPOINT_OVERHEAD=%.3g asks for Daly's\n", 100*f.cost.Seconds()/(daly+f.cost.Seconds()))
	}
	if f.cost >= f.mtbf {
		fmt.Fprintln(e.Out, "a checkpoint takes longer than the time between failures, so such a run makes little progress: use cheaper checkpoints")
	}
}
