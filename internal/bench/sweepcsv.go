package bench

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteCSV writes a line for each run, including failed runs: first the point, then the figures. A missing figure is
// empty. Times are in seconds. A phase has minimum, mean and maximum over all ranks.
func (s *Sweep) WriteCSV(w io.Writer) error {
	axes := SweepAxes()
	head := []string{"sweep_version", "run", "point", "repeat", "session", "date", "error"}
	for _, a := range axes {
		head = append(head, strings.ReplaceAll(a.Name, "-", "_"))
	}
	head = append(head, "nodes", "subfiles_made", "data_bytes", "held_bytes", "file_bytes", "verified_elements", "write_s", "write_mib_s", "read_s", "read_mib_s")
	for _, p := range SweepPhases {
		head = append(head, p+"_min_s", p+"_avg_s", p+"_max_s")
	}
	out := csv.NewWriter(w)
	_ = out.Write(head) // Flush reports errors
	for i := range s.Runs {
		r := &s.Runs[i]
		line := []string{strconv.Itoa(s.Version), strconv.Itoa(r.Run), strconv.Itoa(r.Point), strconv.Itoa(r.Repeat), strconv.Itoa(r.Session), r.Date, r.Error}
		values := s.values(r)
		for _, a := range axes {
			line = append(line, values[a.Name])
		}
		number := func(x float64, ok bool) {
			if !ok {
				line = append(line, "")
				return
			}
			line = append(line, strconv.FormatFloat(x, 'g', 9, 64))
		}
		good := r.Error == ""
		for _, n := range []int64{int64(r.Nodes), int64(r.Files), r.Data, r.Held, r.Bytes, r.Verified} {
			number(float64(n), good)
			if good {
				line[len(line)-1] = strconv.FormatInt(n, 10)
			}
		}
		number(r.Write, good)
		number(r.WriteRate()/(1<<20), good)
		number(r.Read, r.Read > 0)
		number(r.ReadRate()/(1<<20), r.Read > 0)
		for _, p := range SweepPhases {
			x, ok := r.Phases[p]
			number(x.Min, ok)
			number(x.Avg, ok)
			number(x.Max, ok)
		}
		_ = out.Write(line)
	}
	out.Flush()
	return out.Error()
}

// A SweepMean summarizes the runs of one point: medians, and the range of the write time.
type SweepMean struct {
	Axes                  SweepPoint
	Runs, Failed          int
	Files                 int
	Data                  int64
	Write, Read           float64 // in seconds
	WriteLeast, WriteMost float64
	Phases                map[string]float64 // times of the slowest rank
	Error                 string             // of the first failed run
}

// Means summarizes the points that have run, in order.
func (s *Sweep) Means() (list []SweepMean) {
	byPoint := map[int][]*SweepRun{}
	for i := range s.Runs {
		byPoint[s.Runs[i].Point] = append(byPoint[s.Runs[i].Point], &s.Runs[i])
	}
	for p := range s.Points {
		runs := byPoint[p]
		if len(runs) == 0 {
			continue
		}
		m := SweepMean{Axes: s.values(runs[0]), Phases: map[string]float64{}}
		var write, read []float64
		phases := map[string][]float64{}
		for _, r := range runs {
			if r.Error != "" {
				if m.Failed++; m.Error == "" {
					m.Error = r.Error
				}
				continue
			}
			m.Runs++
			m.Data, m.Files = r.Data, r.Files
			write, read = append(write, r.Write), append(read, r.Read)
			for name, x := range r.Phases {
				phases[name] = append(phases[name], x.Max)
			}
		}
		if m.Runs > 0 {
			m.Write, m.Read, m.WriteLeast, m.WriteMost = median(write), median(read), slices.Min(write), slices.Max(write)
			for name, x := range phases {
				m.Phases[name] = median(x)
			}
		}
		list = append(list, m)
	}
	return list
}
