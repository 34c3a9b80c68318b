package cli

import "github.com/spf13/cobra"

// Severities of findings.
const (
	sevError   = "error"
	sevWarning = "warning"
	SevNote    = "note"
)

// Tally counts findings by severity.
type Tally struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

func (t *Tally) Count(severity string) {
	switch severity {
	case sevError:
		t.Errors++
	case sevWarning:
		t.Warnings++
	default:
		t.Notes++
	}
}

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

// Checking is what a verb does with each of its paths, of which there are count.
type Checking[T interface{ Failing(strict bool) bool }] struct {
	Count          int
	Strict, AsJSON bool
	Key            string // of the list in JSON
	One            func(path string) (T, error)
	Print          func(T)
}

// Run looks at all paths, prints, and sets the exit code.
func (k *Checking[T]) Run(cmd *cobra.Command, e *Env, paths []string) error {
	out := []T{}
	for _, path := range paths {
		c, err := k.One(path)
		if err != nil {
			if err := e.PathFailed(cmd.Context(), cmd, k.Count, err); err != nil {
				return err
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
		return e.PrintJSON(map[string]any{k.Key: out})
	}
	return nil
}

// DiffLines is how many differences are printed: two datasets that have
// nothing in common differ in thousands of attributes.
const DiffLines = 40
