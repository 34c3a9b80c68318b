package cost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"blobio/internal/cli"
	"blobio/internal/vfs"
	"blobio/recovery"
)

// paperCost are the times of the paper on recovery of Chombo with GVR, 512 cores.
var paperCost = costModel{Levels: 4, Ratio: 2, Alloc: 0.61, Put: []float64{1.37, 1.37, 1.37, 1.37}, Box: 0.0081,
	Step: []float64{1.82, 2.86, 3.03, 3.16}, Reconfig: 1.58}

// costModel is the model as a file of JSON has it; seconds.
type costModel struct {
	Levels   int       `json:"levels"`
	Ratio    int       `json:"ratio"`
	Alloc    float64   `json:"alloc"`
	Put      []float64 `json:"put"`
	Step     []float64 `json:"step"`
	Box      float64   `json:"box"`
	Reconfig float64   `json:"reconfig"`
	Latency  float64   `json:"latency"` // fine steps
	Commit   float64   `json:"commit"`
	Anywhere bool      `json:"anywhere"`
}

func (m *costModel) model() *recovery.Model {
	return &recovery.Model{Ratio: m.Ratio, Alloc: m.Alloc, Put: m.Put, Box: m.Box, Step: m.Step, Reconfig: m.Reconfig, Latency: m.Latency, Commit: m.Commit, Anywhere: m.Anywhere}
}

func listOf(x []float64) string {
	s := make([]string, len(x))
	for i, v := range x {
		s[i] = cli.NumberText(v)
	}
	return strings.Join(s, ",")
}

// secondsValue is a flag of a time in seconds.
type secondsValue struct{ p *float64 }

func (v secondsValue) String() string {
	if v.p == nil {
		return ""
	}
	return cli.NumberText(*v.p)
}
func (v secondsValue) Type() string { return "time" }
func (v secondsValue) Set(s string) (err error) {
	*v.p, err = parseSeconds(s)
	return err
}

// parseSeconds reads a number of seconds, or a time as cli.ParseSpan does.
func parseSeconds(s string) (float64, error) {
	if x, err := strconv.ParseFloat(s, 64); err == nil && x >= 0 && !math.IsInf(x, 0) {
		return x, nil
	}
	d, err := cli.ParseSpan(s)
	return d.Seconds(), err
}

// forAll repeats a single time for each level, unless there are more levels than any model takes.
func forAll(x []float64, levels int) []float64 {
	if len(x) != 1 || levels < 1 || levels > 64 {
		return x
	}
	return slices.Repeat(x, levels)
}

// parseTimes reads a time for each level; one counts for all.
func parseTimes(flag, s string, levels int) ([]float64, error) {
	var out []float64
	for _, p := range strings.Split(s, ",") {
		x, err := parseSeconds(p)
		if err != nil {
			return nil, cli.Usagef("--%s: %v", flag, err)
		}
		out = append(out, x)
	}
	if out = forAll(out, levels); len(out) != levels {
		return nil, cli.Usagef("--%s: %s, there are %s", flag, cli.Plural(len(out), "time"), cli.Plural(levels, "level"))
	}
	return out, nil
}

// model is that of the paper, of the file, changed by the flags. paper says that nothing was.
func (f *costFlags) model(cmd *cobra.Command) (m costModel, paper bool, err error) {
	given := cmd.Flags().Changed
	m, paper = paperCost, true
	if f.file != "" {
		paper = false
		if m, err = readCostModel(f.file); err != nil {
			return m, false, err
		}
	}
	for _, x := range []struct {
		name string
		take func() error
	}{
		{"levels", func() error { m.Levels = f.given.Levels; return nil }},
		{"ratio", func() error { m.Ratio = f.given.Ratio; return nil }},
		{"put", func() error { m.Put, err = parseTimes("put", f.put, m.Levels); return err }},
		{"step", func() error { m.Step, err = parseTimes("step", f.step, m.Levels); return err }},
		{"box", func() error { m.Box = f.given.Box; return nil }},
		{"reconfig", func() error { m.Reconfig = f.given.Reconfig; return nil }},
		{"alloc", func() error { m.Alloc = f.given.Alloc; return nil }},
		{"latency", func() error { m.Latency = f.given.Latency; return nil }},
		{"commit", func() error { m.Commit = f.given.Commit; return nil }},
		{"anywhere", func() error { m.Anywhere = f.given.Anywhere; return nil }},
	} {
		if given(x.name) {
			paper = false
			if err := x.take(); err != nil {
				return m, false, err
			}
		}
	}
	if len(m.Put) != m.Levels || len(m.Step) != m.Levels {
		return m, false, cli.Usagef("%s: want as many times for --put (%d) and --step (%d)", cli.Plural(m.Levels, "level"), len(m.Put), len(m.Step))
	}
	if err := m.model().Validate(); err != nil {
		return m, false, cli.Usagef("%s", cli.ErrorText(err))
	}
	return m, paper, nil
}

func readCostModel(name string) (costModel, error) {
	m := costModel{}
	b, err := vfs.ReadText(name, 1<<20)
	if err != nil {
		return m, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, cli.WithHint(fmt.Errorf("%s: %w", name, err), "blobio cost --help shows what it holds")
	}
	if m.Levels == 0 {
		m.Levels = len(m.Step)
	}
	m.Put, m.Step = forAll(m.Put, m.Levels), forAll(m.Step, m.Levels)
	return m, nil
}

func parseRates(s string) (out []float64, err error) {
	for _, p := range strings.Split(s, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || !(x >= 0 && x < 1e9) {
			return nil, cli.Usagef("--errors %q, want numbers of errors per coarse step, as in 0.01,0.1,1", s)
		}
		out = append(out, x)
	}
	return out, nil
}
