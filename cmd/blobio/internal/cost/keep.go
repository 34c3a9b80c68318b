package cost

import (
	"fmt"
	"math"
	"slices"

	"blobio/internal/cli"
	"blobio/versioned/recovery"
)

// costKeep is the number of versions to keep for errors found late.
type costKeep struct {
	Cadence   []int `json:"cadence"`
	Levels    []int `json:"levels"`
	Snapshots int   `json:"snapshots"`
}

// maxLatency limits the latency, in fine steps, for which versions are counted.
const maxLatency = 1 << 40

// retentions returns the versions to keep for errors found late; none without a latency.
func retentions(m *recovery.Model, rows []*costRow) ([]costKeep, error) {
	keeps := []costKeep{}
	if m.Latency == 0 {
		return keeps, nil
	}
	if m.Latency > maxLatency {
		return nil, fmt.Errorf("latency is %v fine steps, want at most %d", m.Latency, int64(maxLatency))
	}
	for _, r := range rows {
		levels, snapshots, err := r.planner.Keep(int(math.Ceil(m.Latency)))
		if err != nil {
			return nil, err
		}
		keeps = append(keeps, costKeep{r.Cadence, levels, snapshots})
	}
	return keeps, nil
}

func printRetentions(e *cli.Env, m *recovery.Model, keeps []costKeep) {
	if len(keeps) == 0 {
		return
	}
	fmt.Fprintf(e.Out, "\nSnapshots and versions to keep for errors that are detected up to %s fine steps later\n(options Snapshots and Keep of a hierarchy; tainted versions do not count):\n\n", cli.NumberText(math.Ceil(m.Latency)))
	t := e.NewTable("", "CADENCE", ">SNAPSHOTS", ">VERSIONS OF A LEVEL", "BY LEVEL")
	for _, k := range keeps {
		t.Row(cadenceText(k.Cadence), k.Snapshots, slices.Max(k.Levels), cadenceText(k.Levels))
	}
	t.Flush()
}
