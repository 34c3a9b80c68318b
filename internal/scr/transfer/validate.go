package transfer

import (
	"blobio/internal/base/fault"
	"cmp"
	"path/filepath"
	"slices"
)

// validateAll checks the jobs and that no two of them write the same bytes.
func validateAll(jobs []Job) error {
	names := map[string]int{}
	type place struct {
		Segment
		job int
	}
	var places []place
	for i := range jobs {
		j := &jobs[i]
		if err := j.Validate(); err != nil {
			return &JobError{Index: i, Job: *j, Err: err}
		}
		if j.Out == nil {
			name := filepath.Clean(j.Dst)
			if first, ok := names[name]; ok {
				return &JobError{Index: i, Job: *j, Err: fault.Usage("job %d has the same destination", first)}
			}
			names[name] = i
			continue
		}
		for _, s := range j.Out {
			if s.Length > 0 {
				s.File = filepath.Clean(s.File)
				places = append(places, place{s, i})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	for i, p := range places {
		if first, ok := names[p.File]; ok {
			return &JobError{Index: p.job, Job: jobs[p.job], Err: fault.Usage("%s is the destination of job %d", p.File, first)}
		}
		if i > 0 && places[i-1].File == p.File && places[i-1].Offset+places[i-1].Length > p.Offset {
			return &JobError{Index: p.job, Job: jobs[p.job], Err: fault.Usage("the segment at %d of %s overlaps one of job %d", p.Offset, p.File, places[i-1].job)}
		}
	}
	return nil
}
