package main

import "github.com/spf13/cobra"

// Severities of findings.
const (
	sevError   = "error"
	sevWarning = "warning"
	sevNote    = "note"
)

// tally counts findings by severity.
type tally struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

func (t *tally) count(severity string) {
	switch severity {
	case sevError:
		t.Errors++
	case sevWarning:
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
	key            string // of the list in JSON
	one            func(path string) (T, error)
	print          func(T)
}

// run looks at all paths, prints, and sets the exit code.
func (k *checking[T]) run(cmd *cobra.Command, e *env, paths []string) error {
	out := []T{}
	for _, path := range paths {
		c, err := k.one(path)
		if err != nil {
			if err := e.pathFailed(cmd.Context(), cmd, k.count, err); err != nil {
				return err
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
		return e.printJSON(map[string]any{k.key: out})
	}
	return nil
}

// diffLines is how many differences are printed: two datasets that have
// nothing in common differ in thousands of attributes.
const diffLines = 40
