package runloop

import (
	"context"
	"fmt"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
)

// Stop is the reason that ended the loop.
type Stop string

// The reasons.
const (
	Done        Stop = "done"          // the program ended with exit code 0
	Halted      Stop = "halted"        // a halt condition holds
	TooFewNodes Stop = "too few nodes" // fewer nodes are left than a run needs
	OwnNodeDown Stop = "own node down" // the node on which the loop runs is down
	NoRunsLeft  Stop = "no runs left"  // SCR_RUNS allows no more runs
	Interrupted Stop = "interrupted"   // a signal arrived
	NotStarted  Stop = "not started"   // the launcher could not start the program
)

// halt checks whether the halt file and the clock allow another run. first is true before the first run of this allocation. Then
// SCR_FINALIZE_CALLED comes from an earlier allocation and is ignored.
func halt(ctx context.Context, o *Options, first bool) (cadence.Verdict, error) {
	h, err := o.Dir.Halt.Read(ctx)
	if err != nil {
		return cadence.Verdict{}, fmt.Errorf("halt file: %w", err)
	}
	return cadence.Limits{Halt: h, HaltSeconds: o.HaltSeconds, EndTime: o.EndTime, RunLoop: !first}.Check(o.Clock.Now()), nil
}

// Need is the number of nodes that a run needs, and where the number comes from.
type Need struct {
	Nodes int    `json:"nodes"`
	From  string `json:"from"`
}

// need returns minimum, or else the number of nodes of the last run in nodes.scr, or else all.
func need(d *prefixdir.Dir, minimum, all int) (Need, error) {
	if minimum > 0 {
		return Need{minimum, "SCR_MIN_NODES"}, nil
	}
	n, ok, err := d.Nodes.Read()
	if err != nil {
		return Need{}, fmt.Errorf("nodes file: %w", err)
	}
	if ok && n > 0 {
		return Need{n, "nodes of the last run"}, nil
	}
	return Need{all, "all nodes"}, nil
}

// Prerun prepares an allocation. It creates .scr in the prefix directory and removes the flush and nodes files of an earlier
// allocation. It also removes SCR_FINALIZE_CALLED from the halt file, because otherwise the loop would end at once. did lists the
// changes.
func Prerun(ctx context.Context, d *prefixdir.Dir) (did []string, err error) {
	if err := d.Create(); err != nil {
		return nil, err
	}
	did = append(did, "made "+d.File("")+", if it was not there")
	if err := d.Prerun(); err != nil {
		return did, err
	}
	did = append(did, "removed flush.scr and nodes.scr of an earlier allocation, if there were any")
	h, err := d.Halt.Read(ctx)
	if err != nil {
		return did, err
	}
	if h.ExitReason == cadence.FinalizeCalled {
		err = d.Halt.Update(ctx, func(h *cadence.Halt) error {
			if h.ExitReason == cadence.FinalizeCalled {
				h.ExitReason = ""
			}
			return nil
		})
		if err != nil {
			return did, err
		}
		did = append(did, "took "+cadence.FinalizeCalled+" out of halt.scr: an earlier run ended well")
	}
	return did, nil
}

// FromParams sets options from parameters: Enable, Runs, MinNodes, HaltSeconds, EndTime, and the watchdog's times.
func (o *Options) FromParams(p *config.Set) error {
	on, err := p.Flag("SCR_ENABLE")
	if err != nil {
		return err
	}
	o.Plain = !on
	runs, err := config.Runs(p)
	if err != nil {
		return err
	}
	o.Runs = int(min(runs, config.Unlimited))
	least, err := p.Int("SCR_MIN_NODES")
	if err != nil {
		return err
	}
	o.MinNodes = int(min(max(least, 0), 1<<30))
	if o.HaltSeconds, err = p.Int("SCR_HALT_SECONDS"); err != nil {
		return err
	}
	if o.EndTime, err = p.Time("SCR_END_TIME"); err != nil {
		return err
	}
	dog, err := p.Flag("SCR_WATCHDOG")
	if err != nil || !dog {
		return err
	}
	w := &Watchdog{}
	if w.Timeout, err = p.Seconds("SCR_WATCHDOG_TIMEOUT"); err != nil {
		return err
	}
	if w.TimeoutPFS, err = p.Seconds("SCR_WATCHDOG_TIMEOUT_PFS"); err != nil {
		return err
	}
	if w.Timeout <= 0 {
		return fault.Usage("SCR_WATCHDOG is on, but SCR_WATCHDOG_TIMEOUT is not set")
	}
	o.Watchdog = w
	return nil
}

// defaultPause is the pause between two runs, as in SCR's scr_run.
const defaultPause = 60 * time.Second
