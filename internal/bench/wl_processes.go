package bench

import (
	"context"
	"errors"
	"fmt"
)

// processCounts are those of the marks.
func (s *session) processCounts() []int {
	if s.Quick {
		return []int{1, 2}
	}
	return []int{1, 2, 4, 16}
}

// processes: ours under mpirun against the peers at the same number of processes.
func (s *session) processes(ctx context.Context) error {
	if _, err := s.tools(ctx); err != nil {
		return err
	}
	if len(s.MPI) == 0 {
		return fmt.Errorf("no blobio built with -tags mpi: %w", errSkip)
	}
	jobs, err := s.peerJobs()
	if err != nil {
		return err
	}
	if !s.Quick {
		jobs = []against{jobs[0], jobs[2]}
	}
	big, _ := s.fCase("h0", 64)
	big.Flush = 1
	jobs = append(jobs, against{fmt.Sprintf("F h0 ne%d", big.Maps.Ne), big})
	for _, a := range jobs {
		for _, n := range s.processCounts() {
			var list []runner
			for i, l := range layouts {
				list = append(list, s.ourRunner(l, a, n, true))
				p := []Peer{pnetCDFBlob, hdf5Blob}[i]
				if !s.box.Has(p) {
					s.skip(p.Name, errors.New("its library is not here"))
					continue
				}
				r, err := s.peerRunner(ctx, p, a, n)
				if err != nil {
					return err
				}
				list = append(list, r)
			}
			if err := s.race(ctx, false, list...); err != nil {
				return err
			}
		}
	}
	return nil
}
