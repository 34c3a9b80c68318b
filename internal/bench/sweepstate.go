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
	Run     int               `json:"run"`   // index in the order of the plan
	Point   int               `json:"point"` // index of the point
	Repeat  int               `json:"repeat"`
	Session int               `json:"session"`         // index in Sweep.Sessions
	Date    string            `json:"date"`            // RFC 3339
	Axes    SweepPoint        `json:"axes"`            // values of the axes that vary; Plan has the other axes
	Error   string            `json:"error,omitempty"` // reason why the run has no figures
	Nodes   int               `json:"nodes"`
	Files   int               `json:"subfiles"`
	Data    int64             `json:"data"`          // bytes put by all ranks
	Held    int64             `json:"held"`          // bytes in memory; further records repeat these data
	Bytes   int64             `json:"bytes"`         // size of all files
	Write   float64           `json:"write_seconds"` // seconds from create to the end of close on the slowest rank
	Read    float64           `json:"read_seconds"`  // seconds from open to the end of the last read
	Phases  map[string]Spread `json:"phases,omitempty"`

	Verified int64 `json:"verified"` // number of elements
}

// WriteRate returns bytes per second; 0 if unknown. ReadRate does the same for reading.
func (r *SweepRun) WriteRate() float64 { return perSecond(r.Data, r.Write) }
func (r *SweepRun) ReadRate() float64  { return perSecond(r.Data, r.Read) }

func perSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// SweepSession describes one run of the sweep command, which begins or resumes a sweep.
type SweepSession struct {
	Date       string `json:"date"`
	Host       Host   `json:"host"` // of the first rank
	Go         string `json:"go"`
	Blobio     string `json:"blobio"`
	Processes  int    `json:"processes"` // 0: ranks are goroutines
	FileSystem string `json:"file_system"`
	Targets    int    `json:"targets"` // 0: unknown
}

// Sweep holds all results of a sweep so far and is stored in a file.
type Sweep struct {
	Version  int            `json:"version"` // 1
	Plan     SweepPlan      `json:"plan"`
	Points   int            `json:"points"`
	Left     []SweepSkip    `json:"left_out"`
	All      int            `json:"all"` // number of runs in the plan
	Work     string         `json:"work"`
	Targets  int            `json:"targets"`
	Sessions []SweepSession `json:"sessions"`
	Runs     []SweepRun     `json:"runs"`            // by number; runs not done yet are missing
	Begun    *SweepBegun    `json:"begun,omitempty"` // the unfinished run
}

// SweepBegun counts the sessions that ended during a run.
type SweepBegun struct {
	Run   int `json:"run"`
	Times int `json:"times"`
}

const (
	sweepVersion = 1
	// mostBegun is the number of sessions that may end during the same run. Then the run counts as failed, so that the sweep
	// can continue.
	mostBegun = 3
)

// LoadSweep reads the results of a sweep; nil if there is no such file.
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

// save replaces the file, unless check returns an error because the lease is lost. save also replaces a partial file that a
// killed session has left.
func (s *Sweep) save(name string, check func() error) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return durable.Replace(vfs.OS, name, append(b, '\n'), durable.ReplaceOptions{Owner: "sweep", Check: check, Sync: true, SyncDir: true})
}

// position returns the index at which a run is stored.
func (s *Sweep) position(run int) int {
	k, _ := slices.BinarySearchFunc(s.Runs, run, func(r SweepRun, n int) int { return r.Run - n })
	return k
}

// missing returns the first missing run.
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

// Failed returns the number of failed runs.
func (s *Sweep) Failed() (n int) {
	for i := range s.Runs {
		if s.Runs[i].Error != "" {
			n++
		}
	}
	return n
}

// now returns the time in the form used in files.
func now() string { return time.Now().Format(time.RFC3339) }
