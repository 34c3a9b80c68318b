package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
)

// report is the JSON output of all check verbs. The version changes when a field is removed or changes its meaning.
type report struct {
	Version int          `json:"version"`
	Checked any          `json:"checked"`
	Failed  []failedPath `json:"failed,omitempty"`
}

// PrintReport prints a list of checked items as JSON.
func (e *Env) PrintReport(checked any) error { return e.PrintJSON(report{1, checked, nil}) }

// failedPath is a path that could not be checked.
type failedPath struct {
	Path  string        `json:"path"`
	Error fault.Finding `json:"error"`
}

// CheckFlags are the flags of the check verbs.
type CheckFlags struct {
	Quick, Strict, Notes, AsJSON bool
	Workers                      int
}

// checkHelp ends the help of the check verbs.
const checkHelp = `

Each finding is one line: severity, file, offset, field and message. An error means that data or
their protection are lost or untrustworthy. A warning means that something is wrong, but all
data can be read. A note (shown with --notes) is additional information. "unchecked" marks files
with unsupported features; they may be sound. check changes nothing.

Exit codes: 0 sound, 1 errors (with --strict also warnings), 2 a path or a part of it could not
be checked, or has another format.`

// Add adds the flags and the end of the help. quick and workers are the usage of --quick and --workers, or "" if the verb lacks
// the flag. checked is a sample of the JSON output for a path, from which the help lists the fields.
func (f *CheckFlags) Add(cmd *cobra.Command, quick, workers string, checked any) {
	cmd.Long += checkHelp
	fl := cmd.Flags()
	if quick != "" {
		fl.BoolVar(&f.Quick, "quick", false, quick)
	}
	fl.BoolVar(&f.Strict, "strict", false, "count warnings as errors in the exit code")
	fl.BoolVar(&f.Notes, "notes", false, "also print notes")
	if workers != "" {
		WorkersFlag(cmd, &f.Workers, workers)
	}
	JSONFlag(cmd, &f.AsJSON, report{Checked: []any{checked}, Failed: []failedPath{}})
}

// Found holds the findings at a path.
type Found struct {
	Errors    int         `json:"errors"`
	Warnings  int         `json:"warnings"`
	Notes     int         `json:"notes"`
	Unchecked int         `json:"unchecked"`
	Findings  findingList `json:"findings"` // in the order of the check; some verbs keep fewer findings than they count
}

// findingList marshals to a list even if it is empty.
type findingList []fault.Finding

func (l findingList) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]fault.Finding(l))
}

// Add counts a finding and keeps it.
func (c *Found) Add(x fault.Finding) {
	c.Count(x.Severity)
	c.Findings = append(c.Findings, x)
}

// Count counts a finding without keeping it.
func (c *Found) Count(severity fault.Severity) {
	switch severity {
	case fault.Error:
		c.Errors++
	case fault.Unchecked:
		c.Unchecked++
	case fault.Warning:
		c.Warnings++
	default:
		c.Notes++
	}
}

// foreign reports whether something was not checked because its format or a feature is unknown.
func (c *Found) foreign() bool {
	return slices.ContainsFunc(c.Findings, func(x fault.Finding) bool {
		return x.Severity == fault.Unchecked && unread(x.Err) && !strings.Contains(x.Msg, gitLFS)
	})
}

// Refuse adds the reason why a path cannot be checked: an error, an unknown format or an unknown version.
func (c *Found) Refuse(path string, err error) {
	x := fault.Of(fault.Error, path, err)
	if errors.Is(err, fault.ErrNotFormat) {
		x.Severity = fault.Unchecked
	}
	c.Add(x)
}

// Verdict returns the exit code for the findings; strict counts warnings as errors.
func (c *Found) Verdict(strict bool) int {
	switch {
	case c.Errors > 0 || strict && c.Warnings > 0:
		return Findings
	case c.Unchecked > 0:
		return Failed
	}
	return Good
}

// Print prints the findings at a path, and a verdict with the verb's additional facts.
func (f *CheckFlags) Print(e *Env, path string, c *Found, facts ...string) {
	for _, x := range c.Findings {
		if x.Severity != fault.Note || f.Notes {
			fmt.Fprintln(e.Out, x)
		}
	}
	verdict := "good"
	if c.Errors+c.Warnings > 0 {
		verdict = Plural(c.Errors, "error") + ", " + Plural(c.Warnings, "warning")
	}
	if c.Unchecked > 0 {
		if c.Errors+c.Warnings == 0 {
			verdict = "no error in the checked parts"
		}
		verdict += fmt.Sprintf(", %d unchecked", c.Unchecked)
	}
	if c.Notes > 0 {
		verdict += ", " + Plural(c.Notes, "note")
		if !f.Notes {
			verdict += " (--notes shows them)"
		}
	}
	if c.foreign() && e.WhatIs != nil {
		if what := e.WhatIs(path); what != "" {
			facts = append(facts, what)
		}
	}
	if f.Quick {
		facts = append(facts, "data not read")
	}
	fmt.Fprintf(e.Out, "%s: %s\n", Plain(path), strings.Join(append([]string{verdict}, facts...), "; "))
}

// Checking defines how a verb checks each of Count paths.
type Checking[T interface{ Verdict(strict bool) int }] struct {
	Flags *CheckFlags
	Count int
	One   func(path string) (T, error)
	Print func(T)
}

// Run checks all paths, prints the results, and sets the exit code.
func (k *Checking[T]) Run(cmd *cobra.Command, e *Env, paths []string) error {
	out, failed := []T{}, []failedPath{}
	var last error
	for _, path := range paths {
		c, err := k.One(path)
		if err != nil {
			failed = append(failed, failedPath{path, fault.Of(fault.Error, "", err)})
			if last = e.PathFailed(cmd.Context(), cmd, k.Count, err); last != nil {
				break
			}
			continue
		}
		out = append(out, c)
		if !k.Flags.AsJSON {
			k.Print(c)
		}
		e.Judge(c.Verdict(k.Flags.Strict))
	}
	if k.Flags.AsJSON {
		if err := e.PrintJSON(report{1, out, failed}); err != nil {
			return err
		}
	}
	return last
}
