package scrtools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
	"blobio/scr/kvtree"
)

// reasonHalted is the reason written by --immediate.
const reasonHalted = "JOB_HALTED"

// scrHaltWords are the condition names for --unset.
var scrHaltWords = []string{"checkpoints", "before", "after", "seconds", "reason"}

type scrHaltFlags struct {
	checkpoints, seconds             int64
	before, after, reason            string
	unset                            []string
	immediate, remove, retry, asJSON bool
}

func newScrHalt(e *cli.Env) *cobra.Command {
	var f scrHaltFlags
	cmd := &cobra.Command{
		Use:   "halt [PREFIX]",
		Short: "Set or list the conditions on which a run halts",
		Long: `Set, remove or list the conditions on which a run halts. The file .scr/halt.scr is changed in
place under the lock of SCR, so changes during a run are safe. Without flags, halt lists the
conditions and reports whether one holds now.

A run checks the conditions after each checkpoint, and when it asks whether to checkpoint or to
exit. Nothing is killed. When a condition ends the run, the file records the reason as
ExitReason. "scr run" then starts no other run until --unset reason or --remove.

A TIME is 2026-11-21T18:00:00 (local, or with a zone), 18:00 (the next), +2h30m or +600 (seconds)
from now, or seconds since 1970. --before ends the run before the time, earlier by the value of
--seconds (or SCR_HALT_SECONDS). --seconds alone ends the run when no more than this time
remains of the allocation, which ends at SCR_END_TIME.

--retries is for scripts that restart a program. It tests whether another run may start.

Exit codes: 0 good (--retries: a condition holds, no other run may start), 1 the halt file is
damaged (--retries: another run may start), 2 could not run (--retries: or the halt file is
damaged).

Times in JSON are seconds since 1970, or null if not set. halt is true if a condition ends the
run (with --retries: if a condition forbids another run).`,
		Example: `  blobio scr halt --checkpoints 2 /p/sim        # after two more
  blobio scr halt --before +2h --seconds 900 /p/sim
  blobio scr halt --after 18:00 /p/sim
  blobio scr halt --immediate /p/sim            # at the next check
  blobio scr halt --unset before --unset reason /p/sim
  blobio scr halt --remove /p/sim               # all conditions
  while blobio scr halt --retries /p/sim; [ $? = 1 ]; do mpirun ./sim; done`,
		Args: cli.MaxArgs(1, "one prefix directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, e, args)
		},
	}
	fl := cmd.Flags()
	fl.Int64VarP(&f.checkpoints, "checkpoints", "c", 0, "end after `N` more checkpoints")
	fl.StringVarP(&f.before, "before", "b", "", "end before `TIME`")
	fl.StringVarP(&f.after, "after", "a", "", "end at the first check after `TIME`")
	fl.Int64Var(&f.seconds, "seconds", 0, "end when no more than `N` seconds remain of the allocation; 0: no limit")
	fl.StringVarP(&f.reason, "reason", "r", "", "end at the next check, for reason `TEXT`")
	fl.BoolVarP(&f.immediate, "immediate", "i", false, "end at the next check; same as --reason "+reasonHalted)
	fl.StringSliceVarP(&f.unset, "unset", "u", nil, "remove a condition: "+strings.Join(scrHaltWords, ", ")+" (repeatable)")
	fl.BoolVar(&f.remove, "remove", false, "remove all conditions")
	fl.BoolVar(&f.retry, "retries", false, "exit with 0 if no other run may start, otherwise with 1")
	cli.JSONFlag(cmd, &f.asJSON, scrHaltDesc{})
	_ = cmd.RegisterFlagCompletionFunc("unset", cobra.FixedCompletions(scrHaltWords, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// scrHaltDesc describes the halt file for JSON.
type scrHaltDesc struct {
	Prefix          string  `json:"prefix"`
	CheckpointsLeft *int64  `json:"checkpoints_left"`
	ExitBefore      *int64  `json:"exit_before"`
	ExitAfter       *int64  `json:"exit_after"`
	HaltSeconds     *int64  `json:"halt_seconds"`
	ExitReason      *string `json:"exit_reason"`
	Halt            bool    `json:"halt"`
	Why             string  `json:"why,omitempty"`
	Note            string  `json:"note,omitempty"`
}

// check interprets the flags. It returns a function that changes the conditions, or nil if nothing changes.
func (f *scrHaltFlags) check(cmd *cobra.Command, now time.Time) (func(h *cadence.Halt), error) {
	set := cmd.Flags().Changed
	var edits []func(h *cadence.Halt)
	edit := func(fn func(h *cadence.Halt)) { edits = append(edits, fn) }
	if f.remove {
		edit(func(h *cadence.Halt) { *h = cadence.Halt{} })
	}
	sets := 0
	for _, name := range scrHaltWords {
		if set(name) {
			sets++
		}
	}
	if set("immediate") {
		sets++
	}
	for _, word := range f.unset {
		var fn func(h *cadence.Halt)
		switch word {
		case "checkpoints":
			fn = func(h *cadence.Halt) { h.CheckpointsLeft = cadence.Field{} }
		case "before":
			fn = func(h *cadence.Halt) { h.ExitBefore = cadence.Field{} }
		case "after":
			fn = func(h *cadence.Halt) { h.ExitAfter = cadence.Field{} }
		case "seconds":
			fn = func(h *cadence.Halt) { h.HaltSeconds = cadence.Field{} }
		case "reason":
			fn = func(h *cadence.Halt) { h.ExitReason = "" }
		default:
			return nil, cli.Usagef("--unset %q, want %s", word, strings.Join(scrHaltWords, ", "))
		}
		if set(word) {
			return nil, cli.Usagef("--unset %s and --%s cannot be combined", word, word)
		}
		edit(fn)
	}
	switch {
	case f.immediate && set("reason"):
		return nil, cli.Usagef("--immediate and --reason cannot be combined")
	case f.remove && sets+len(f.unset) > 0:
		return nil, cli.Usagef("--remove removes all conditions and cannot be combined with other flags")
	case f.retry && len(edits)+sets > 0:
		return nil, cli.Usagef("--retries changes nothing and cannot be combined with flags that change conditions")
	case set("checkpoints") && f.checkpoints < 0:
		return nil, cli.Usagef("--checkpoints %d, want 0 or more", f.checkpoints)
	case set("seconds") && f.seconds < 0:
		return nil, cli.Usagef("--seconds %d, want 0 or more", f.seconds)
	case set("reason") && (f.reason == "" || strings.ContainsAny(f.reason, "\x00\n")):
		return nil, cli.Usagef("--reason %q, want one line of text", f.reason)
	}
	if set("checkpoints") {
		edit(func(h *cadence.Halt) { h.CheckpointsLeft = cadence.Int(f.checkpoints) })
	}
	if set("seconds") {
		edit(func(h *cadence.Halt) { h.HaltSeconds = cadence.Int(f.seconds) })
	}
	for _, x := range []struct {
		name, text string
		field      func(h *cadence.Halt) *cadence.Field
	}{
		{"before", f.before, func(h *cadence.Halt) *cadence.Field { return &h.ExitBefore }},
		{"after", f.after, func(h *cadence.Halt) *cadence.Field { return &h.ExitAfter }},
	} {
		if !set(x.name) {
			continue
		}
		at, err := scrTime(x.text, now)
		if err != nil {
			return nil, cli.Usagef("--%s: %v", x.name, err)
		}
		edit(func(h *cadence.Halt) { *x.field(h) = cadence.Int(at.Unix()) })
	}
	if f.immediate {
		edit(func(h *cadence.Halt) { h.ExitReason = reasonHalted })
	}
	if set("reason") {
		edit(func(h *cadence.Halt) { h.ExitReason = f.reason })
	}
	if len(edits) == 0 {
		return nil, nil
	}
	return func(h *cadence.Halt) {
		for _, fn := range edits {
			fn(h)
		}
	}, nil
}

func (f *scrHaltFlags) run(cmd *cobra.Command, e *cli.Env, args []string) error {
	ctx, now := cmd.Context(), time.Now()
	edit, err := f.check(cmd, now)
	if err != nil {
		return err
	}
	d, err := scrPrefix(args)
	if err != nil {
		return err
	}
	if edit != nil {
		if err := f.change(ctx, e, d, edit); err != nil {
			return scrLockHint(err)
		}
	}
	e.Answers = f.retry
	h, err := d.Halt.Read(ctx)
	if err != nil {
		if fault.IsDamage(err) {
			return cli.WithHint(err, "the conditions in the halt file are lost; scr halt --remove, or setting a condition, rewrites the file")
		}
		return scrLockHint(err)
	}
	l, err := scrLimits(d.Path, h, f.retry)
	if err != nil {
		return err
	}
	v := l.Check(now)
	if f.retry && !v.Halt {
		e.Code = cli.Findings
	}
	if f.asJSON {
		return e.PrintJSON(scrHaltJSON(d.Path, h, v))
	}
	if f.retry {
		if v.Halt {
			fmt.Fprintf(e.Out, "%s: %s\n", clean(v.Reason), v.Note)
		}
		return nil
	}
	printHalt(e, h, l, v, now)
	return nil
}

// change changes the halt file, even if a crash has damaged the file.
func (f *scrHaltFlags) change(ctx context.Context, e *cli.Env, d *prefixdir.Dir, edit func(h *cadence.Halt)) error {
	if _, err := vfs.OS.Stat(d.File("halt.scr")); errors.Is(err, fs.ErrNotExist) {
		var h cadence.Halt
		if edit(&h); h == (cadence.Halt{}) {
			return nil // do not create a file only to remove a condition
		}
	}
	_, lost := d.Halt.Read(ctx)
	if err := d.Halt.Update(ctx, func(h *cadence.Halt) error { edit(h); return nil }); err != nil {
		return err
	}
	var damage *fault.FormatError
	if errors.As(lost, &damage) {
		fmt.Fprintf(e.Stderr, "blobio: %s (the conditions in the halt file are lost; the file is kept as %s.damaged)\n", cli.ErrorText(lost), filepath.Base(damage.File))
	}
	return nil
}

// scrLockHint adds advice if files cannot be locked.
func scrLockHint(err error) error {
	if errors.Is(err, kvtree.ErrNoLocks) {
		return cli.WithHint(err, "changing the halt file needs a file system with flock; check the mount options")
	}
	return err
}

// scrLimits returns the conditions, with the limits of the allocation from the parameters.
func scrLimits(prefix string, h cadence.Halt, another bool) (cadence.Limits, error) {
	l := cadence.Limits{Halt: h, RunLoop: another}
	p, err := config.Load(config.Sources{Environ: append(os.Environ(), "SCR_PREFIX="+prefix), SystemFile: config.DefaultSystemFile})
	if err != nil {
		return l, err
	}
	if l.HaltSeconds, err = p.Int("SCR_HALT_SECONDS"); err != nil {
		return l, err
	}
	l.EndTime, err = p.Time("SCR_END_TIME")
	return l, err
}

func scrHaltJSON(prefix string, h cadence.Halt, v cadence.Verdict) scrHaltDesc {
	number := func(x cadence.Field) *int64 {
		if !x.Set {
			return nil
		}
		return &x.Value
	}
	d := scrHaltDesc{Prefix: prefix, CheckpointsLeft: number(h.CheckpointsLeft), ExitBefore: number(h.ExitBefore), ExitAfter: number(h.ExitAfter),
		HaltSeconds: number(h.HaltSeconds), Halt: v.Halt, Why: v.Reason, Note: v.Note}
	if h.ExitReason != "" {
		d.ExitReason = &h.ExitReason
	}
	return d
}

func printHalt(e *cli.Env, h cadence.Halt, l cadence.Limits, v cadence.Verdict, now time.Time) {
	t := e.NewTable("", "CONDITION", "VALUE", "")
	number := func(name string, x cadence.Field, note string) {
		if x.Set {
			t.Row(name, x.Value, note)
		}
	}
	moment := func(name string, x cadence.Field) {
		if x.Set {
			at := time.Unix(x.Value, 0)
			t.Row(name, scrStamp(at), "("+scrAway(at, now)+")")
		}
	}
	number("CheckpointsLeft", h.CheckpointsLeft, "")
	moment("ExitBefore", h.ExitBefore)
	moment("ExitAfter", h.ExitAfter)
	number("HaltSeconds", h.HaltSeconds, "")
	if h.ExitReason != "" {
		note := ""
		if h.ExitReason == cadence.FinalizeCalled {
			note = "(the last run ended by itself)"
		}
		t.Row("ExitReason", clean(h.ExitReason), note)
	}
	if len(t.Rows) == 1 {
		fmt.Fprintln(e.Out, "no halt conditions are set")
	} else {
		t.Flush()
	}
	if left, ok := l.Remaining(now); ok {
		fmt.Fprintf(e.Out, "the allocation ends at %s (%s remain)\n", scrStamp(l.EndTime), left.Round(time.Second))
	}
	if v.Halt {
		fmt.Fprintf(e.Out, "the run is to end: %s: %s\n", clean(v.Reason), v.Note)
	}
}

// scrAway describes the distance between a time and now.
func scrAway(at, now time.Time) string {
	if d := at.Sub(now).Round(time.Second); d > 0 {
		return "in " + cli.SpanText(d)
	} else if d < 0 {
		return cli.SpanText(-d) + " ago"
	}
	return "now"
}
