package runloop

import (
	"context"
	"time"

	"blobio/internal/base/fault"
	"blobio/internal/scr/hostlist"
	"blobio/internal/scr/prefixdir"
	"blobio/internal/scr/runlog"
)

// Options of Run.
type Options struct {
	Launcher Launcher
	// Launch is the command to start: Args, Dir, Env, PerNode, Stdout, Stderr. Run, Nodes and Down are filled in.
	Launch Launch
	Nodes  []string // of the allocation
	Own    string   // the node that the loop runs on; "": none of them, or it does not matter

	Dir     *prefixdir.Dir
	Checker *Checker // nil: no node is tested

	Runs     int           // most runs; 0 is 1
	Use      int           // nodes of a run; 0: as many as it needs
	MinNodes int           // nodes that a run needs; 0: as many as nodes.scr says that the last run had, else Use, else all
	Pause    time.Duration // between two runs; 0: 60 s; negative: none
	Grace    time.Duration // from asking a run to end until it is ended; 0: 10 s

	HaltSeconds int64     // SCR_HALT_SECONDS, where the halt file says nothing
	EndTime     time.Time // of the allocation; zero: not known
	Plain       bool      // SCR_ENABLE=0: one launch on all nodes, and nothing else

	Watchdog  *Watchdog  // nil: none. Its Beat may be nil: FileBeat of Dir
	Transfers *Transfers // processes that copy in the background beside the runs; nil: none
	// Salvage saves datasets that are only in the caches of the nodes that are up, after the last run; nil: nothing is saved.
	Salvage func(ctx context.Context, up []string) error
	// Hurry, when it is closed, ends the run the hard way and leaves out the salvage: the second signal.
	Hurry <-chan struct{}

	Clock Clock            // nil: SystemClock
	Log   *runlog.Logger   // events; nil: none
	Say   func(msg string) // messages for people; nil: none
}

func (o *Options) fill() error {
	switch {
	case o.Launcher == nil || o.Dir == nil && !o.Plain:
		return fault.Usage("no launcher, or no prefix directory")
	case len(o.Nodes) == 0 || len(o.Launch.Args) == 0:
		return fault.Usage("no nodes, or no program")
	case o.Use < 0 || o.Use > len(o.Nodes):
		return fault.Usage("number of nodes to use is %d, want at most %d", o.Use, len(o.Nodes))
	case o.MinNodes > len(o.Nodes):
		return fault.Usage("a run needs %d nodes, and the allocation has %d", o.MinNodes, len(o.Nodes))
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
