package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"blobio/internal/base/durable"
	"blobio/internal/base/vfs"
)

// SweepRun is one run of one point.
type SweepRun struct {
	Run     int               `json:"run"`   // from 0, in the order of the plan
	Point   int               `json:"point"` // from 0
	Repeat  int               `json:"repeat"`
	Session int               `json:"session"`         // of Sweep.Sessions
	Date    string            `json:"date"`            // RFC 3339
	Axes    SweepPoint        `json:"axes"`            // that differ; Plan has the others
	Error   string            `json:"error,omitempty"` // why there are no figures
	Nodes   int               `json:"nodes"`
	Files   int               `json:"subfiles"`
	Data    int64             `json:"data"`          // bytes that all ranks put
	Held    int64             `json:"held"`          // bytes of them that exist at a time; others repeat them
	Bytes   int64             `json:"bytes"`         // of all files
	Write   float64           `json:"write_seconds"` // from create to the end of close, of the slowest rank
	Read    float64           `json:"read_seconds"`  // from open to the end of the last read
	Phases  map[string]Spread `json:"phases,omitempty"`

	Verified int64 `json:"verified"` // elements
}

// WriteRate and ReadRate are in bytes a second; 0 if there is none.
func (r *SweepRun) WriteRate() float64 { return perSecond(r.Data, r.Write) }
func (r *SweepRun) ReadRate() float64  { return perSecond(r.Data, r.Read) }

func perSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// SweepSession is one start of a sweep.
type SweepSession struct {
	Date       string `json:"date"`
	Host       Host   `json:"host"` // of the first rank
	Go         string `json:"go"`
	Blobio     string `json:"blobio"`
	Processes  int    `json:"processes"` // 0: ranks are goroutines
	FileSystem string `json:"file_system"`
	Targets    int    `json:"targets"` // 0: not known
}

// Sweep is what a sweep has found so far; a file keeps it.
type Sweep struct {
	Version  int            `json:"version"` // 1
	Plan     SweepPlan      `json:"plan"`
	Points   int            `json:"points"`
	Left     []SweepSkip    `json:"left_out"`
	All      int            `json:"all"` // runs of the plan
	Work     string         `json:"work"`
	Targets  int            `json:"targets"`
	Sessions []SweepSession `json:"sessions"`
	Runs     []SweepRun     `json:"runs"`            // by number; those that were not run are missing
	Begun    *SweepBegun    `json:"begun,omitempty"` // the run that was not finished
}

// SweepBegun is a run that was begun, some times, and ended together with its session.
type SweepBegun struct {
	Run   int `json:"run"`
	Times int `json:"times"`
}

const (
	sweepVersion = 1
	// mostBegun is how often a run may end its session: after that it counts as failed, so that the sweep goes on behind it.
	mostBegun = 3
)

// LoadSweep reads what a sweep has found so far; nil if there is no such file.
func LoadSweep(name string) (*Sweep, error) {
	b, err := vfs.ReadText(name, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(Sweep)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case s.Version != sweepVersion:
		return nil, fmt.Errorf("%s: version %d, want %d", name, s.Version, sweepVersion)
	case s.All < 0 || s.All > mostRuns || len(s.Runs) > s.All || s.Points < 0 || s.Points > s.All:
		return nil, fmt.Errorf("%s: impossible counts: %d of %d runs, %d points", name, len(s.Runs), s.All, s.Points)
	}
	for i := range s.Runs {
		if r := &s.Runs[i]; r.Run < 0 || r.Run >= s.All || i > 0 && r.Run <= s.Runs[i-1].Run || r.Point < 0 || r.Point >= s.Points || r.Session < 0 || r.Session >= len(s.Sessions) {
			return nil, fmt.Errorf("%s: entry %d is invalid: run %d of point %d of session %d", name, i, r.Run, r.Point, r.Session)
		}
	}
	return s, nil
}

// save replaces the file, unless check has an error: the lease that allows it is lost. It also replaces a half file that a killed session has left.
func (s *Sweep) save(name string, check func() error) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return durable.Replace(vfs.OS, name, append(b, '\n'), durable.ReplaceOptions{Owner: "sweep", Check: check, Sync: true, SyncDir: true})
}

// position is where a run stands, or will.
func (s *Sweep) position(run int) int {
	k, _ := slices.BinarySearchFunc(s.Runs, run, func(r SweepRun, n int) int { return r.Run - n })
	return k
}

// missing is the first run that is not there.
func (s *Sweep) missing() int {
	for i := range s.Runs {
		if s.Runs[i].Run != i {
			return i
		}
	}
	return len(s.Runs)
}

// values returns the values of a run on all axes.
func (s *Sweep) values(r *SweepRun) SweepPoint {
	p := maps.Clone(r.Axes)
	if p == nil {
		p = SweepPoint{}
	}
	for name, list := range s.Plan.Axes {
		if _, ok := p[name]; !ok && len(list) > 0 {
			p[name] = list[0]
		}
	}
	return p
}

// Failed is how many runs have no figures.
func (s *Sweep) Failed() (n int) {
	for i := range s.Runs {
		if s.Runs[i].Error != "" {
			n++
		}
	}
	return n
}

// now is the time as files have it.
func now() string { return time.Now().Format(time.RFC3339) }
