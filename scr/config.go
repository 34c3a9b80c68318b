package scr

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"blobio/comm"
	"blobio/internal/base/vfs"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/config"
	"blobio/internal/scr/prefixdir"
)

// Flags describe the purpose of a dataset.
type Flags uint8

// A dataset has at least one of these flags.
const (
	Checkpoint Flags = 1 << iota // a run can restart from the dataset
	Output                       // the user wants the dataset: it is always flushed, and never deleted from the prefix directory
)

// Config is the configuration for Open. A nil *Config means that all fields have their defaults.
type Config struct {
	// Params are the parameters. The other ranks use the parameters of rank 0. If Params is nil, LoadParams reads them from the environment and the
	// files.
	Params *Params
	// FS is the file system of this rank; nil means the operating system's.
	FS vfs.FS
	// Node is the name of this rank's node; "" means the host name. Ranks with equal names share control and cache directories and
	// are lost together.
	Node string
	// NodeRoot, if set, is a prefix of the paths of control and cache directories. It stands for the private disk of a node if
	// several nodes share one file system. Recorded file names do not include it.
	NodeRoot string
	// Dir is the directory that relative file names refer to; "" means the working directory.
	Dir string
	// Clock returns the time and is used to measure durations; nil means time.Now.
	Clock func() time.Time
	// Logger gets messages for the user: warnings, and the names of rebuilt, fetched and dropped datasets. nil means slog.Default.
	Logger *slog.Logger
	// Strict makes Open fail if there are fewer failure groups than a scheme needs. Otherwise all ranks use SINGLE in this case, so
	// that a run on fewer nodes can still restart. Logger and Notes report this.
	Strict bool
	// NoCacheSync skips syncs of the caches. Then checkpoints survive the death of processes, and of as many nodes as the redundancy
	// allows, but not a power loss of all nodes. For caches in memory the option makes no difference.
	NoCacheSync bool
	// NoSync skips syncs of the application's files in the prefix directory.
	NoSync bool
	// Daemon lets the transfer process of each node (package transfer, blobio scr transfer) copy files in background flushes. This
	// process continues to copy after the run has died. It must be started separately. The run loop starts it with blobio scr run
	// --transfer, and sets BLOBIO_TRANSFER=1 in the environment, which has the same effect as Daemon.
	Daemon bool
	// DaemonWait is the maximum time that a background flush waits when there is no transfer process. Then the flush fails with
	// ErrMissing. The flush waits for a running process without a time limit. 0 means 30 s, and a negative value means no limit.
	DaemonWait time.Duration
	// Shared allows the prefix directory to be writable for its group. If the directory has the sticky bit, others may write to it
	// too. By default Open rejects a prefix directory that users other than the owner may write to; see docs/security.md.
	// BLOBIO_SHARED=1 in the environment has the same effect as Shared.
	Shared bool
}

// knobs are internal settings for tests.
type knobs struct {
	together bool                    // use file names in the cache as the original SCR does: they may be equal for ranks on different nodes
	hook     func(step string) error // called before each step of the protocol; if it returns an error, the call ends at once
}

// runloopTransfer has the value of runloop.EnvTransfer. The variable shows that the run loop has started transfer processes.
const runloopTransfer = "BLOBIO_TRANSFER"

func (c *Config) withDefaults() Config {
	var d Config
	if c != nil {
		d = *c
	}
	d.FS = vfs.OrOS(d.FS)
	if d.FS == vfs.OS && os.Getenv(runloopTransfer) == "1" {
		d.Daemon = true
	}
	if d.FS == vfs.OS && os.Getenv(prefixdir.EnvShared) == "1" {
		d.Shared = true
	}
	if d.Node == "" {
		if d.Node, _ = os.Hostname(); d.Node == "" {
			d.Node = "localhost"
		}
	}
	if d.DaemonWait == 0 {
		d.DaemonWait = 30 * time.Second
	}
	if d.Dir == "" {
		d.Dir, _ = os.Getwd()
	} else if d.FS == vfs.OS {
		if abs, err := filepath.Abs(d.Dir); err == nil { // makes the prefix directory absolute too
			d.Dir = abs
		}
	}
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	return d
}

// hookError is an error that a hook returned. It simulates the death of the rank.
type hookError struct{ err error }

func (e *hookError) Error() string { return e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// fatal reports whether the ranks cannot continue together after an error. An error that all ranks have got is not fatal.
func fatal(ctx context.Context, err error) bool {
	var h *hookError
	return ctx.Err() != nil || errors.Is(err, ErrBroken) || errors.As(err, &h)
}

type (
	// Params are the effective parameters of SCR. Get, Int and other methods return their values. Config sets them as SCR_Config
	// does.
	Params = config.Set
	// ParamSources are the sources from which LoadParams reads parameters.
	ParamSources = config.Sources
)

// LoadParams reads the parameters from the environment and the configuration files, as SCR does.
func LoadParams(from ParamSources) (*Params, error) { return config.Load(from) }

// params holds the parsed parameters that a session uses after Open.
type params struct {
	enable       bool
	prefix       string
	job          config.Job
	jobName      string
	cluster      string
	cachePurge   bool
	prefixPurge  bool
	prefixSize   int64
	distribute   bool
	fetch        bool
	fetchWidth   int
	fetchBypass  bool
	current      string
	global       bool
	flush        int64
	flushWidth   int
	flushRestart bool
	async        bool
	rate         int64
	percent      float64
	crcDelete    bool
	noSums       bool // the user has set SCR_CRC_ON_COPY=0: no checksums of files in the caches
	containers   bool
	containerMax int64
	metadata     bool
	haltSeconds  int64
	endTime      time.Time
	pace         cadence.Pace
}

// loadParams sends the settings of rank 0 to all ranks. If it fails, all ranks get the same error.
func loadParams(ctx context.Context, c comm.Comm, cfg *Config) (*config.Set, *params, error) {
	var b []byte
	var err error
	if c.Rank() == 0 {
		set := cfg.Params
		if set == nil {
			set, err = config.Load(config.Sources{FS: cfg.FS, SystemFile: config.DefaultSystemFile})
		}
		if err == nil {
			set.Lock()
			if err = set.Check(); err == nil {
				b, err = config.Encode(set)
			}
		}
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, nil, err
	}
	if b, err = c.Bcast(ctx, 0, b); err != nil {
		return nil, nil, err
	}
	set, err := config.Decode(b)
	if err == nil {
		set.Lock()
	}
	var p *params
	if err == nil {
		p, err = parseParams(set)
	}
	if err := comm.Agree(ctx, c, err); err != nil {
		return nil, nil, err
	}
	return set, p, nil
}

// reader calls several getters and keeps the first error.
type reader struct {
	set *config.Set
	err error
}

func get[T any](r *reader, f func(name string) (T, error), name string) T {
	v, err := f(name)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

func parseParams(set *config.Set) (*params, error) {
	r := &reader{set: set}
	p := &params{
		enable:       get(r, set.Flag, "SCR_ENABLE"),
		prefix:       set.Prefix(),
		jobName:      set.Get("SCR_JOB_NAME"),
		cluster:      set.Get("SCR_CLUSTER_NAME"),
		cachePurge:   get(r, set.Flag, "SCR_CACHE_PURGE"),
		prefixPurge:  get(r, set.Flag, "SCR_PREFIX_PURGE"),
		prefixSize:   get(r, set.Int, "SCR_PREFIX_SIZE"),
		distribute:   get(r, set.Flag, "SCR_DISTRIBUTE"),
		fetch:        get(r, set.Flag, "SCR_FETCH"),
		fetchWidth:   int(get(r, set.Int, "SCR_FETCH_WIDTH")),
		fetchBypass:  get(r, set.Flag, "SCR_FETCH_BYPASS"),
		current:      set.Get("SCR_CURRENT"),
		global:       get(r, set.Flag, "SCR_GLOBAL_RESTART"),
		flush:        get(r, set.Int, "SCR_FLUSH"),
		flushWidth:   int(get(r, set.Int, "SCR_FLUSH_WIDTH")),
		flushRestart: get(r, set.Flag, "SCR_FLUSH_ON_RESTART"),
		async:        get(r, set.Flag, "SCR_FLUSH_ASYNC"),
		rate:         get(r, set.Size, "SCR_FLUSH_ASYNC_BW"),
		percent:      get(r, set.Float, "SCR_FLUSH_ASYNC_PERCENT"),
		crcDelete:    get(r, set.Flag, "SCR_CRC_ON_DELETE"),
		noSums:       set.IsSet("SCR_CRC_ON_COPY") && !get(r, set.Flag, "SCR_CRC_ON_COPY"),
		containers:   get(r, set.Flag, "SCR_USE_CONTAINERS"),
		containerMax: get(r, set.Size, "SCR_CONTAINER_SIZE"),
		metadata:     get(r, set.Flag, "SCR_COPY_METADATA"),
		haltSeconds:  get(r, set.Int, "SCR_HALT_SECONDS"),
		endTime:      get(r, set.Time, "SCR_END_TIME"),
		pace: cadence.Pace{
			Interval: get(r, set.Int, "SCR_CHECKPOINT_INTERVAL"),
			Seconds:  get(r, set.Int, "SCR_CHECKPOINT_SECONDS"),
			Overhead: get(r, set.Float, "SCR_CHECKPOINT_OVERHEAD"),
		},
	}
	if t := get(r, set.Choice, "SCR_FLUSH_TYPE"); t == "PTHREAD" {
		p.async = true
	}
	var err error
	if p.job, err = config.JobOf(set); err != nil && r.err == nil {
		r.err = err
	}
	p.percent = max(p.percent, 0)
	p.fetchWidth, p.flushWidth = max(p.fetchWidth, 1), max(p.flushWidth, 1)
	if p.global {
		// Flush the cached datasets, and restart from the prefix directory, as the original SCR does.
		p.flushRestart = true
	}
	return p, r.err
}
