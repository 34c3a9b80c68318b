package bench

import (
	"context"
	"errors"
)

// canonical: one ordinary file in the end.
func (s *session) canonical(ctx context.Context) error {
	if _, err := s.tools(ctx); err != nil {
		return err
	}
	jobs, err := s.peerJobs()
	if err != nil {
		return err
	}
	small := jobs[0]
	small.job.Case, small.job.Records, small.name = "F_h1", 3, "F h1 "+s.capturedSize()+", 3 records"
	if s.Quick {
		if small.job.Maps, err = s.mapsOf("F"); err != nil {
			return err
		}
		jobs = jobs[:1]
	} else {
		jobs = []against{jobs[0], jobs[2]}
	}
	for _, a := range append(jobs, small) {
		var list []runner
		for _, l := range layouts {
			ranks := 16
			if s.Quick {
				ranks = 4
			}
			write := s.ourRunner(l, a, ranks, false)
			base, out := s.path("ours."+l.String()), s.path("canonical."+l.String())
			row := write.row
			row.What = "write and convert"
			list = append(list, runner{row: row,
				clear: func() error { return errors.Join(removeDataset(out), removeDataset(base)) },
				run: func(ctx context.Context) (Took, error) {
					w, err := write.run(ctx)
					if err != nil {
						return w, err
					}
					k, err := s.worker(ctx, Work{Op: "convert", Path: base, To: out}, false)
					k.Phases = map[string]float64{"write": w.Seconds, "convert": k.Seconds}
					k.Seconds += w.Seconds
					k.Memory, k.CPU, k.Data = max(k.Memory, w.Memory), k.CPU+w.CPU, w.Data
					return k, err
				},
				bound: func(ctx context.Context, r *Row) error {
					if err := errors.Join(removeDataset(out), removeDataset(base)); err != nil {
						return err
					}
					return s.rawWrites(writers(), false)(ctx, r)
				}})
		}
		peers := []Peer{pnetCDFCanonical}
		if a.name == small.name {
			peers = append(peers, netcdf4Canonical) // one call for each request: the larger ones take minutes
		}
		for _, p := range peers {
			if !s.box.Has(p) {
				s.skip(p.Name, errors.New("its library is not here"))
				continue
			}
			for _, n := range s.processCounts() {
				r, err := s.peerRunner(ctx, p, a, n, nil)
				if err != nil {
					return err
				}
				list = append(list, r)
			}
		}
		if err := s.race(ctx, false, list...); err != nil {
			return err
		}
	}
	return nil
}
