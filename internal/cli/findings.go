package cli

import (
	"github.com/spf13/cobra"

	"blobio/internal/fault"
)

// report is the JSON of all verbs that check. The version changes when a field goes, or means something else.
type report struct {
	Version int          `json:"version"`
	Checked any          `json:"checked"`
	Failed  []FailedPath `json:"failed,omitempty"`
}

// PrintReport prints what was checked, a list, and what could not be looked at, as JSON.
func (e *Env) PrintReport(checked any, failed []FailedPath) error {
	return e.PrintJSON(report{1, checked, failed})
}

// FailedPath is a path that could not be looked at.
type FailedPath struct {
	Path  string        `json:"path"`
	Error fault.Finding `json:"error"`
}

// Failure says that path could not be looked at, and why.
func Failure(path string, err error) FailedPath {
	return FailedPath{path, fault.Of(fault.Error, "", err)}
}

// Tally counts findings by severity.
type Tally struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Count counts one finding.
func (t *Tally) Count(severity fault.Severity) {
	switch severity {
	case fault.Error:
		t.Errors++
	case fault.Warning:
		t.Warnings++
	default:
		t.Notes++
	}
}

// Failing says whether what was found makes the exit code 1.
func (t *Tally) Failing(strict bool) bool { return t.Errors > 0 || strict && t.Warnings > 0 }

// Verdict says what was found; notes says that notes were printed.
func (t *Tally) Verdict(notes bool) string {
	v := "good"
	if t.Errors+t.Warnings > 0 {
		v = Plural(t.Errors, "error") + ", " + Plural(t.Warnings, "warning")
	}
	if t.Notes > 0 {
		v += ", " + Plural(t.Notes, "note")
		if !notes {
			v += " (--notes shows them)"
		}
	}
	return v
}

// Checking is what a verb does with each of its paths, of which there are Count.
type Checking[T interface{ Failing(strict bool) bool }] struct {
	Count          int
	Strict, AsJSON bool
	One            func(path string) (T, error)
	Print          func(T)
}

// Run looks at all paths, prints, and sets the exit code.
func (k *Checking[T]) Run(cmd *cobra.Command, e *Env, paths []string) error {
	out, failed := []T{}, []FailedPath{}
	var last error
	for _, path := range paths {
		c, err := k.One(path)
		if err != nil {
			failed = append(failed, Failure(path, err))
			if last = e.PathFailed(cmd.Context(), cmd, k.Count, err); last != nil {
				break
			}
			continue
		}
		out = append(out, c)
		if !k.AsJSON {
			k.Print(c)
		}
		if e.Code == Good && c.Failing(k.Strict) {
			e.Code = Findings
		}
	}
	if k.AsJSON {
		if err := e.PrintReport(out, failed); err != nil {
			return err
		}
	}
	return last
}

// DiffLines is how many differences are printed: two datasets that have
// nothing in common differ in thousands of attributes.
const DiffLines = 40
