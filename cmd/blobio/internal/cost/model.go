package cost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"blobio/internal/base/vfs"
	"blobio/internal/cli"
	"blobio/versioned/recovery"
)

// paperCost holds the times from the paper on recovery of Chombo with GVR, on 512 cores.
var paperCost = costModel{Levels: 4, Ratio: 2, Alloc: 0.61, Put: []float64{1.37, 1.37, 1.37, 1.37}, Box: 0.0081,
	Step: []float64{1.82, 2.86, 3.03, 3.16}, Reconfig: 1.58}

// costModel is the model in a JSON file. Times are in seconds.
type costModel struct {
	Levels   int       `json:"levels"`
	Ratio    int       `json:"ratio"`
	Alloc    float64   `json:"alloc"`
	Put      []float64 `json:"put"`
	Step     []float64 `json:"step"`
	Box      float64   `json:"box"`
	Reconfig float64   `json:"reconfig"`
	Latency  float64   `json:"latency"` // in fine steps
	Commit   float64   `json:"commit"`
	Anywhere bool      `json:"anywhere"`
}

func (m *costModel) model() *recovery.Model {
	return &recovery.Model{Ratio: m.Ratio, Alloc: m.Alloc, Put: m.Put, Box: m.Box, Step: m.Step, Reconfig: m.Reconfig, Latency: m.Latency, Commit: m.Commit, Anywhere: m.Anywhere}
}

// forAll repeats a single time for each level. If levels is invalid, it returns x, and a later
// check reports the error.
func forAll(x []float64, levels int) []float64 {
	if len(x) != 1 || levels < 1 || levels > 64 {
		return x
	}
	return slices.Repeat(x, levels)
}

// readCostModel reads the model from a file; without a name it returns the paper's.
func readCostModel(name string) (m costModel, err error) {
	if name == "" {
		return paperCost, nil
	}
	b, err := vfs.ReadText(name, 1<<20)
	if err != nil {
		return m, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, cli.WithHint(fmt.Errorf("%s: %w", name, err), "blobio cost --help describes the model file")
	}
	if m.Levels == 0 {
		m.Levels = len(m.Step)
	}
	m.Put, m.Step = forAll(m.Put, m.Levels), forAll(m.Step, m.Levels)
	if len(m.Put) != m.Levels || len(m.Step) != m.Levels {
		return m, fmt.Errorf("%s: %s: put and step need one time for each level, found %d and %d", name, cli.Plural(m.Levels, "level"), len(m.Put), len(m.Step))
	}
	if err := m.model().Validate(); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
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
