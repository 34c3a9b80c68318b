package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Host is where a run took place.
type Host struct {
	System  string `json:"system"` // kernel
	Arch    string `json:"arch"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Memory  int64  `json:"memory"`          // bytes
	Load    string `json:"load"`            // average of a minute, before the run
	LoadEnd string `json:"load_at_the_end"` // of the run, which makes load itself
}

// String is the host in a line.
func (h Host) String() string {
	return fmt.Sprintf("%d cores of %s, %d GiB, %s %s", h.Cores, h.CPU, (h.Memory+1<<29)>>30, h.System, h.Arch)
}

// Results are what one run of the bench found: a file.
type Results struct {
	Version    int               `json:"version"` // 1
	Date       string            `json:"date"`    // RFC 3339
	Workloads  []string          `json:"workloads"`
	Host       Host              `json:"host"`
	FileSystem string            `json:"file_system"`
	Go         string            `json:"go"`
	Blobio     string            `json:"blobio"`
	Libraries  map[string]string `json:"libraries,omitempty"` // of the peers
	Runs       int               `json:"runs"`                // of each row
	Quick      bool              `json:"quick"`               // a smoke run: the figures mean nothing
	Rows       []Row             `json:"rows"`
	Growth     []Growth          `json:"growth,omitempty"`
	Profiles   []Profile         `json:"profiles,omitempty"`
	Skipped    []string          `json:"skipped,omitempty"` // what could not be measured, and why
}

// Profile says where processor time went.
type Profile struct {
	What  string   `json:"what"`
	Lines []string `json:"lines"` // share and function, most first
}

const resultsVersion = 1

func newResults(o *Options) *Results {
	fs, _ := fileSystem(o.Dir)
	r := &Results{Version: resultsVersion, Date: time.Now().Format(time.RFC3339), FileSystem: fs, Go: runtime.Version(), Runs: o.Runs, Quick: o.Quick,
		Host: Host{System: kernel(), Arch: runtime.GOARCH, CPU: cpuModel(), Cores: cores(), Memory: memoryTotal(), Load: loadAverage()}}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.Blobio = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				r.Blobio = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				r.Blobio += ", changed"
			}
		}
	}
	return r
}

// Name is what the file is called: date, workloads, file system.
func (r *Results) Name() string {
	what := strings.Join(r.Workloads, "+")
	if len(r.Workloads) > 3 {
		what = fmt.Sprintf("%d-workloads", len(r.Workloads))
	}
	day, _, _ := strings.Cut(r.Date, "T")
	clock := strings.ReplaceAll(r.Date[len(day)+1:min(len(r.Date), len(day)+6)], ":", "")
	return fmt.Sprintf("%s-%s-%s-%s.json", day, clock, what, strings.ReplaceAll(r.FileSystem, " ", "-"))
}

// Save writes the results as a file of the directory and returns its name.
func (r *Results) Save(dir string) (string, error) {
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	name := filepath.Join(dir, r.Name())
	return name, os.WriteFile(name, append(b, '\n'), 0o666)
}

// LoadResults reads a file of results.
func LoadResults(name string) (*Results, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := new(Results)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("bench: %s: %w", name, err)
	}
	if r.Version != resultsVersion {
		return nil, fmt.Errorf("bench: %s: version %d, want %d", name, r.Version, resultsVersion)
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; len(row.Seconds) == 0 || slices.Min(row.Seconds) <= 0 {
			return nil, fmt.Errorf("bench: %s: row %d (%s, %s) has no times", name, i, row.Data, row.Who)
		}
	}
	return r, nil
}
