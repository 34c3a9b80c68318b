package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"blobio/internal/base/vfs"
)

// Host is the machine of a run.
type Host struct {
	System  string `json:"system"` // kernel
	Arch    string `json:"arch"`
	CPU     string `json:"cpu"`
	Cores   int    `json:"cores"`
	Memory  int64  `json:"memory"`          // in bytes
	Load    string `json:"load"`            // one-minute average before the run
	LoadEnd string `json:"load_at_the_end"` // at the end of the run, which itself causes load
}

// String describes the host in one line.
func (h Host) String() string {
	return fmt.Sprintf("%d cores of %s, %d GiB, %s %s", h.Cores, h.CPU, (h.Memory+1<<29)>>30, h.System, h.Arch)
}

// Results are the results of one run of the bench, stored in a file.
type Results struct {
	Version    int      `json:"version"` // 1
	Date       string   `json:"date"`    // RFC 3339
	Workloads  []string `json:"workloads"`
	Host       Host     `json:"host"`
	FileSystem string   `json:"file_system"`
	Go         string   `json:"go"`
	Blobio     string   `json:"blobio"`
	Runs       int      `json:"runs"`  // runs of each row
	Quick      bool     `json:"quick"` // a smoke test: the figures are meaningless
	Rows       []Row    `json:"rows"`
	Skipped    []string `json:"skipped,omitempty"` // measurements that were not possible, with reasons
}

const resultsVersion = 1

func newResults(o *Options) *Results {
	system, _ := fileSystem(o.Dir)
	r := &Results{Version: resultsVersion, Rows: []Row{}, Date: time.Now().Format(time.RFC3339), FileSystem: system, Go: runtime.Version(), Runs: o.Runs, Quick: o.Quick,
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

// Name returns the file name: date, workloads, file system.
func (r *Results) Name() string {
	what := strings.Join(r.Workloads, "+")
	day, _, _ := strings.Cut(r.Date, "T")
	clock := strings.ReplaceAll(r.Date[len(day)+1:min(len(r.Date), len(day)+6)], ":", "")
	return fmt.Sprintf("%s-%s-%s-%s.json", day, clock, what, strings.ReplaceAll(r.FileSystem, " ", "-"))
}

// Save writes the results to a new file in the directory and returns its name. It creates a missing directory. It replaces no
// file: results of the same minute get a number. It removes a file that it cannot complete.
func (r *Results) Save(dir string) (string, error) { return r.save(vfs.OS, dir) }

func (r *Results) save(fsys vfs.FS, dir string) (string, error) {
	b, err := r.encode()
	if err != nil {
		return "", err
	}
	if err := fsys.MkdirAll(dir); err != nil {
		return "", err
	}
	stem := strings.TrimSuffix(r.Name(), ".json")
	for n := 1; ; n++ {
		name := filepath.Join(dir, stem+".json")
		if n > 1 {
			name = filepath.Join(dir, fmt.Sprintf("%s-%d.json", stem, n))
		}
		if err = vfs.WriteFile(fsys, name, b); !errors.Is(err, fs.ErrExist) || n == 1000 {
			return name, err
		}
	}
}

func (r *Results) encode() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", " ")
	return append(b, '\n'), err
}

// CanSave creates a directory and returns an error if results cannot be stored there. Call it before a long run.
func CanSave(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "blobio-results-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// maxJSON is the maximum size of a results file, in bytes.
const maxJSON = 256 << 20

// LoadResults reads a results file.
func LoadResults(name string) (*Results, error) {
	b, err := vfs.ReadText(name, maxJSON)
	if err != nil {
		return nil, err
	}
	r := new(Results)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if r.Version != resultsVersion {
		return nil, fmt.Errorf("%s: version %d, want %d", name, r.Version, resultsVersion)
	}
	if _, err := time.Parse(time.RFC3339, r.Date); err != nil {
		return nil, fmt.Errorf("%s: date: %w", name, err)
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; !row.measured() {
			return nil, fmt.Errorf("%s: row %d (%s, %s) has impossible times or sizes", name, i, row.Data, row.Who)
		}
	}
	return r, nil
}

// measured reports whether the figures are valid measurements, so that rates and shares are finite.
func (r *Row) measured() bool {
	times := func(s []float64) bool {
		return len(s) > 0 && slices.Min(s) > 1e-12 && slices.Max(s) < 1e9
	}
	if !times(r.Seconds) || r.Bytes < 0 || r.Bytes > 1<<60 || r.Ranks < 0 {
		return false
	}
	for i := range r.Bounds {
		if b := &r.Bounds[i]; !times(b.Seconds) || b.Bytes <= 0 || b.Bytes > 1<<60 {
			return false
		}
	}
	return true
}
