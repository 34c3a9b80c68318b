package scr

import (
	"context"
	"time"

	"blobio/comm"
	"blobio/internal/scr/cadence"
	"blobio/internal/scr/config"
)

type (
	// Params are the parameters of SCR in effect: Get, Int, ... return their values, Config sets them as SCR_Config does.
	Params = config.Set
	// ParamSources are the places from which LoadParams takes parameters.
	ParamSources = config.Sources
)

// LoadParams reads the parameters from the environment and the configuration files, as SCR does.
func LoadParams(from ParamSources) (*Params, error) { return config.Load(from) }

// params are the parameters that a session looks at after Open, parsed once.
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
	containers   bool
	containerMax int64
	metadata     bool
	haltSeconds  int64
	endTime      time.Time
	pace         cadence.Pace
}

// loadParams gives all ranks the settings of rank 0. Faults are the same error on all ranks.
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

// reader collects the first error of many getters.
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
		// As the reference: what the caches hold goes to the prefix directory, and the restart is from there.
		p.flushRestart = true
	}
	return p, r.err
}
