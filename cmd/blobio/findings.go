package main

import (
	"github.com/spf13/cobra"

	"blobio/internal/fault"
)

// report is the JSON of all verbs that check. The version changes when a field goes, or means something else.
type report struct {
	Version int          `json:"version"`
	Checked any          `json:"checked"`
	Failed  []failedPath `json:"failed,omitempty"`
}

// failedPath is a path that could not be looked at.
type failedPath struct {
	Path  string        `json:"path"`
	Error fault.Finding `json:"error"`
}

func failure(path string, err error) failedPath {
	return failedPath{path, fault.Of(fault.Error, "", err)}
}

// tally counts findings by severity.
type tally struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

func (t *tally) count(severity fault.Severity) {
	switch severity {
	case fault.Error:
		t.Errors++
	case fault.Warning:
		t.Warnings++
	default:
		t.Notes++
	}
}

func (t *tally) failed(strict bool) bool { return t.Errors > 0 || strict && t.Warnings > 0 }

// verdict says what was found; notes says that notes were printed.
func (t *tally) verdict(notes bool) string {
	v := "good"
	if t.Errors+t.Warnings > 0 {
		v = plural(t.Errors, "error") + ", " + plural(t.Warnings, "warning")
	}
	if t.Notes > 0 {
		v += ", " + plural(t.Notes, "note")
		if !notes {
			v += " (--notes shows them)"
		}
	}
	return v
}

// checking is what a verb does with each of its paths, of which there are count.
type checking[T interface{ failed(strict bool) bool }] struct {
	count          int
	strict, asJSON bool
	one            func(path string) (T, error)
	print          func(T)
}

// run looks at all paths, prints, and sets the exit code.
func (k *checking[T]) run(cmd *cobra.Command, e *env, paths []string) error {
	out, failed := []T{}, []failedPath{}
	var last error
	for _, path := range paths {
		c, err := k.one(path)
		if err != nil {
			failed = append(failed, failure(path, err))
			if last = e.pathFailed(cmd.Context(), cmd, k.count, err); last != nil {
				break
			}
			continue
		}
		out = append(out, c)
		if !k.asJSON {
			k.print(c)
		}
		if e.code == exitGood && c.failed(k.strict) {
			e.code = exitFindings
		}
	}
	if k.asJSON {
		if err := e.printJSON(report{1, out, failed}); err != nil {
			return err
		}
	}
	return last
}
