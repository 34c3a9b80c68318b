package scrtools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/scr/config"
	"blobio/internal/scr/runloop"
)

type scrParamsFlags struct {
	changed, long, manual, asJSON bool
	user, system, from            string
}

func newScrParams(e *cli.Env) *cobra.Command {
	var f scrParamsFlags
	cmd := &cobra.Command{
		Use:   "params [NAME...]",
		Short: "List all parameters with their values and sources",
		Long: `List all parameters of SCR with their values and sources: environment, user file
($SCR_CONF_FILE, else .scrconf in the prefix directory), system file, or default. Parameters
that a program sets are not included (see .scr/app.conf). NAME is the name of a parameter or a
part of a name: "flush" lists SCR_FLUSH, SCR_FLUSH_ASYNC and so on.

Lines of stores, groups and redundancy descriptors follow, if there are any. Settings without
effect and invalid values are reported with their file and line. --manual explains the sources
of parameters, the syntax of the files, all parameters and all descriptors.

Exit codes: 0 good, 1 a value is invalid, 2 could not run (a file cannot be read, no such
parameter).`,
		Example: `  blobio scr params                      # all of them
  blobio scr params --changed            # parameters that differ from the defaults
  blobio scr params --long flush crc     # with their meaning
  blobio scr params --manual | less      # parameters, files and descriptors explained
  SCR_FLUSH=5 blobio scr params SCR_FLUSH
  blobio scr params --user-file job.conf --system-file /etc/scr.conf`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.manual {
				return config.WriteManual(e.Out)
			}
			return f.run(e, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.changed, "changed", false, "list only parameters that are set")
	fl.BoolVarP(&f.long, "long", "l", false, "also print kind, default and meaning")
	fl.BoolVar(&f.manual, "manual", false, "only explain parameters, files and descriptors")
	fl.StringVar(&f.user, "user-file", "", "user `FILE`, instead of the user file of SCR")
	fl.StringVar(&f.system, "system-file", config.DefaultSystemFile, "system `FILE`; may be missing")
	fl.StringVar(&f.from, "dir", "", "base `DIR` of relative names, and prefix directory if SCR_PREFIX is not set (default: the working directory)")
	cli.JSONFlag(cmd, &f.asJSON, map[string]any{"params": []scrParam{}, "lines": []scrConfLine{}, "notes": []string{}, "errors": []string{}})
	_ = cmd.MarkFlagFilename("user-file")
	return cmd
}

// scrParam describes a parameter for JSON.
type scrParam struct {
	Name    string   `json:"name"`
	Value   string   `json:"value"`
	Set     bool     `json:"set"` // set explicitly, not a default
	Source  string   `json:"source"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Default string   `json:"default"`
	Kind    string   `json:"kind"`
	Choices []string `json:"choices,omitempty"`
	Gen     string   `json:"generations"`
	Help    string   `json:"help"`
}

// scrConfLine is a line of stores, groups or descriptors for JSON.
type scrConfLine struct {
	Line   string `json:"line"`
	Source string `json:"source"`
	File   string `json:"file,omitempty"`
	Number int    `json:"number,omitempty"`
}

func (f *scrParamsFlags) run(e *cli.Env, names []string) error {
	if f.from != "" {
		if err := runloop.NeedDir(f.from); err != nil {
			return err
		}
	}
	set, err := config.Load(config.Sources{Dir: f.from, UserFile: f.user, SystemFile: f.system})
	if err != nil {
		return err
	}
	rows, err := f.choose(config.Settings(set), names)
	if err != nil {
		return err
	}
	lines := []scrConfLine{}
	if len(names) == 0 {
		lines = scrConfLines(set)
	}
	notes, faults := []string{}, []string{}
	for _, n := range set.Notes() {
		notes = append(notes, n.String())
	}
	if err := set.Check(); err != nil {
		e.Code = cli.Findings
		for _, l := range strings.Split(err.Error(), "\n") {
			if x := cli.ErrorText(errors.New(l)); !slices.Contains(faults, x) { // skip an error that a descriptor has reported
				faults = append(faults, x)
			}
		}
	}
	if f.asJSON {
		return e.PrintJSON(map[string]any{"params": rows, "lines": lines, "notes": notes, "errors": faults})
	}
	if f.long {
		f.printLong(e, rows)
	} else if len(rows) > 0 {
		t := e.NewTable("", "NAME", "VALUE", "SET BY")
		for _, r := range rows {
			by := ""
			if r.Set {
				by = r.by()
			}
			t.Row(r.Name, scrValue(r.Value), by)
		}
		t.Flush()
	}
	if len(rows) == 0 && f.changed {
		fmt.Fprintln(e.Out, "no parameter is set: all have their defaults")
	}
	if len(lines) > 0 {
		fmt.Fprintln(e.Out)
		t := e.NewTable("", "LINE", "SET BY")
		for _, l := range lines {
			by := l.Source
			if l.File != "" {
				by = fmt.Sprintf("%s:%d", l.File, l.Number)
			}
			t.Row(clean(l.Line), by)
		}
		t.Flush()
	}
	for _, n := range notes {
		fmt.Fprintln(e.Out, "note: "+clean(n))
	}
	for _, x := range faults {
		fmt.Fprintln(e.Out, "error: "+clean(x))
	}
	return nil
}

// choose makes the rows of the requested settings.
func (f *scrParamsFlags) choose(all []config.Setting, names []string) ([]scrParam, error) {
	match := make([]string, len(names))
	for i, n := range names {
		match[i] = strings.ToUpper(n)
		if _, exact := config.Find(match[i]); !exact && !slices.ContainsFunc(all, func(s config.Setting) bool { return strings.Contains(s.Name, match[i]) }) {
			return nil, cli.WithHint(fmt.Errorf("no parameter %q", n), "scr params lists all parameters")
		}
	}
	rows := []scrParam{}
	for _, s := range all {
		if len(match) > 0 && !slices.ContainsFunc(match, func(m string) bool {
			if _, exact := config.Find(m); exact {
				return s.Name == m
			}
			return strings.Contains(s.Name, m)
		}) {
			continue
		}
		v := s.Value
		r := scrParam{Name: s.Name, Value: v.Text, Set: v.Origin.Source != config.Unset && v.Origin.Source != config.Default, Source: v.Origin.Source.String(),
			File: v.Origin.File, Line: v.Origin.Line, Default: s.Default, Kind: s.Kind.String(), Choices: s.Choices, Gen: s.Gen, Help: s.Help}
		if r.Set || !f.changed {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// by returns where a parameter was set.
func (r scrParam) by() string {
	if r.File != "" {
		return fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	return r.Source
}

func scrValue(s string) string {
	if s == "" {
		return "-"
	}
	return clean(s)
}

func (f *scrParamsFlags) printLong(e *cli.Env, rows []scrParam) {
	for i, r := range rows {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		fmt.Fprintf(e.Out, "%s = %s", r.Name, scrValue(r.Value))
		if r.Set {
			fmt.Fprintf(e.Out, "   (%s; default %s)", r.by(), scrValue(r.Default))
		}
		kind := r.Kind
		if len(r.Choices) > 0 {
			kind = strings.Join(r.Choices, ", ")
		}
		gen := "SCR generations " + r.Gen
		if r.Gen == "own" {
			gen = "blobio only"
		}
		fmt.Fprintf(e.Out, "    [%s; %s]\n", kind, gen)
		for _, l := range cli.Wrapped(r.Help) {
			fmt.Fprintln(e.Out, "    "+l)
		}
	}
}

// scrConfLines returns the effective lines of stores, groups and descriptors.
func scrConfLines(set *config.Set) []scrConfLine {
	lines := []scrConfLine{}
	for _, key := range []string{"GROUPS", "STORE", "CKPT", "CNTLDIR", "CACHEDIR", "CACHE"} {
		entries, from := config.Lines(set, key)
		for _, en := range entries {
			text := en.Key + "=" + en.Value
			for _, c := range en.Children {
				text += " " + c.Key + "=" + c.Value
			}
			lines = append(lines, scrConfLine{text, from.Source.String(), from.File, en.Line})
		}
	}
	return lines
}
