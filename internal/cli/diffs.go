package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// DiffLines is the maximum number of printed differences. Two unrelated datasets can differ in thousands of attributes.
const DiffLines = 40

// DiffFlags are the flags of the diff verbs.
type DiffFlags struct{ All, Quiet, AsJSON bool }

// Add adds the flags and the end of the help. most describes the output without --all; form is a sample of the JSON output.
func (f *DiffFlags) Add(cmd *cobra.Command, most string, form any) {
	cmd.Long += "\n\nExit codes: 0 equal, 1 different or damaged, 2 could not compare."
	fl := cmd.Flags()
	fl.BoolVarP(&f.All, "all", "a", false, most)
	fl.BoolVarP(&f.Quiet, "quiet", "q", false, "print nothing; only set the exit code")
	JSONFlag(cmd, &f.AsJSON, form)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if f.Quiet && f.AsJSON {
			return Usagef("--quiet and --json cannot be combined")
		}
		return nil
	}
}

// Report sets the exit code and prints the comparison: as JSON, or by text.
func (f *DiffFlags) Report(e *Env, equal bool, asJSON any, text func()) error {
	if !equal {
		e.Judge(Findings)
	}
	switch {
	case f.Quiet:
	case f.AsJSON:
		return e.PrintJSON(asJSON)
	default:
		text()
	}
	return nil
}

// More prints the number of differences not printed.
func (e *Env) More(n int64) { fmt.Fprintf(e.Out, "... and %d more (--all shows them)\n", n) }
