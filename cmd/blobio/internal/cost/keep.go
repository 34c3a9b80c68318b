package cost

import (
	"fmt"
	"math"
	"slices"

	"blobio/internal/cli"
	"blobio/recovery"
)

// retentions says what must stay for errors that are found late; nothing without a latency.
func retentions(m *recovery.Model, rows []*costRow) (keeps []costKeep, spacing []costSpacing, err error) {
	if m.Latency == 0 {
		return nil, nil, nil
	}
	if m.Latency > 1<<40 {
		return nil, nil, cli.Usagef("--latency %v, want at most %d", m.Latency, int64(1)<<40)
	}
	late := int(math.Ceil(m.Latency))
	for _, r := range rows {
		levels, snapshots, err := r.planner.Keep(late)
		if err != nil {
			return nil, nil, err
		}
		keeps = append(keeps, costKeep{r.Cadence, levels, snapshots})
	}
	sub := m.Subcycling()
	for _, k := range []int{1, 2, 4, 8} {
		p := &recovery.Planner{Subcycling: sub, Cadence: make(recovery.Cadence, sub.Levels)}
		p.Cadence[0] = k
		_, n, err := p.Keep(late)
		if err != nil {
			return nil, nil, err
		}
		part := *m // each coarse step has its share of a snapshot
		part.Put, part.Commit = slices.Clone(m.Put), m.Commit/float64(k)
		for l := range part.Put {
			part.Put[l] /= float64(k)
		}
		x, err := part.Expected(p, 1)
		if err != nil {
			return nil, nil, err
		}
		spacing = append(spacing, costSpacing{k, n, x.Save, x.Lost + float64(k-1)/2*m.StepTime()})
	}
	return keeps, spacing, nil
}

func printRetentions(e *cli.Env, m *recovery.Model, keeps []costKeep, spacing []costSpacing) {
	if len(keeps) == 0 {
		return
	}
	fmt.Fprintf(e.Out, "\nWhat must stay for errors that are found up to %s fine steps later (Snapshots and Keep of a\nhierarchy; tainted versions do not count):\n\n", cli.NumberText(math.Ceil(m.Latency)))
	t := e.NewTable("", "CADENCE", ">SNAPSHOTS", ">VERSIONS OF A LEVEL", "BY LEVEL")
	for _, k := range keeps {
		t.Row(cadenceText(k.Cadence), k.Snapshots, slices.Max(k.Levels), cadenceText(k.Levels))
	}
	t.Flush()
	fmt.Fprint(e.Out, "\nSnapshots only, further apart: expected seconds of saving per coarse step, and lost by an error:\n\n")
	t = e.NewTable("", ">COARSE STEPS APART", ">SNAPSHOTS", ">SAVE", ">LOST")
	for _, s := range spacing {
		t.Row(s.Steps, s.Snapshots, secText(s.Save), secText(s.Lost))
	}
	t.Flush()
}
