package runloop

import (
	"context"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
)

// Options are the options of Run.
type Options struct {
	Launcher Launcher
	// Launch describes the command to start: Args, Dir, Env, PerNode, Stdout, Stderr. Run sets the fields Run, Nodes and Down.
	Launch Launch
	Nodes  []string // nodes of the allocation
	Own    string   // the node on which the loop runs; "": none of the nodes, or not important

	Dir     *prefixdir.Dir
	Checker *Checker // nil: nodes are not tested

	Runs     int           // maximum number of runs; 0 means 1
	Use      int           // number of nodes of a run; 0: as many as a run needs
	MinNodes int           // minimum number of nodes of a run; 0: the number in nodes.scr from the last run, else Use, else all
	Pause    time.Duration // pause between two runs; 0: 60 s; negative: none
	Grace    time.Duration // time between asking a run to end and killing it; 0: 10 s

	HaltSeconds int64     // SCR_HALT_SECONDS, used if the halt file sets no value
	EndTime     time.Time // end of the allocation; zero: unknown
	Plain       bool      // SCR_ENABLE=0: one launch on all nodes without tests or salvage

	Watchdog  *Watchdog  // nil: none. If its Beat is nil, FileBeat of Dir is used
	Transfers *Transfers // processes that copy in the background during the runs; nil: none
	// Salvage is called after the last run. It saves datasets that exist only in the caches of the nodes that are up. If it is
	// nil, nothing is saved.
	Salvage func(ctx context.Context, up []string) error
	// Hurry is closed when a second signal arrives. Then the loop kills the run and skips the salvage.
	Hurry <-chan struct{}

	Clock Clock            // nil: SystemClock
	Log   *runlog.Logger   // gets events; nil: events are not logged
	Say   func(msg string) // prints messages for the user; nil: no messages
}

func (o *Options) fill() error {
	switch {
	case o.Launcher == nil || o.Dir == nil && !o.Plain:
		return fault.Usage("run loop has no launcher or no prefix directory")
	case len(o.Nodes) == 0 || len(o.Launch.Args) == 0:
		return fault.Usage("run loop has no nodes or no program")
	case o.Use < 0 || o.Use > len(o.Nodes):
		return fault.Usage("number of nodes to use is %d, want at most %d", o.Use, len(o.Nodes))
	case o.MinNodes > len(o.Nodes):
		return fault.Usage("a run needs %d nodes, but the allocation has %d", o.MinNodes, len(o.Nodes))
	}
	o.Nodes = hostlist.Union(o.Nodes)
	o.Runs = max(o.Runs, 1)
	o.Launch.PerNode = max(o.Launch.PerNode, 1)
	if o.Pause == 0 {
		o.Pause = defaultPause
	}
	o.Grace = orDefault(o.Grace, 10*time.Second)
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Checker == nil {
		o.Checker = &Checker{}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	if o.Watchdog != nil {
		w := *o.Watchdog
		if w.Beat == nil && o.Dir != nil {
			w.Beat = FileBeat(o.Dir)
		}
		o.Watchdog = &w
	}
	return nil
}
