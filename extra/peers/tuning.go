package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tuning holds the settings of a peer: the MPI-IO of Open MPI, and hints.
type Tuning struct {
	IO    string   `json:"io"` // ompio, romio321, romio341; "": Open MPI's choice
	Hints []string `json:"hints,omitempty"`
}

func (t Tuning) String() string {
	return strings.TrimSpace(strings.Join(append([]string{t.IO}, t.Hints...), " "))
}

// tunings are tried, and the best is held against blobio. A quick test runs only the first.
func (b *toolbox) tunings(p Peer) []Tuning {
	hints := func(list ...string) (out []Tuning) {
		for _, h := range list {
			out = append(out, Tuning{Hints: strings.Fields(h)})
		}
		return out
	}
	switch p {
	case adios2Blob:
		return hints("", "StatsLevel=0", "StatsLevel=0 AggregationType=EveryoneWrites", "StatsLevel=0 AggregationType=EveryoneWrites step=record", "StatsLevel=0 step=record",
			"StatsLevel=0 AggregationType=TwoLevelShm NumSubFiles=1", "StatsLevel=0 AggregationType=TwoLevelShm NumSubFiles=2")
	case pnetCDFCanonical, netcdf4Canonical: // a run takes seconds
		return []Tuning{{IO: "ompio"}, {IO: b.romio}, {IO: b.romio, Hints: []string{"romio_ds_write=disable"}}}
	case rawProcesses:
		return hints("block=1048576", "block=262144", "block=4194304", "block=1048576 reserve=1", "block=4194304 reserve=1")
	case sumProcesses:
		return hints("work=1 block=262144", "work=1 block=65536", "work=1 block=1048576", "work=1 block=262144 reserve=1", "work=1 block=1048576 reserve=1")
	}
	list := []Tuning{
		{IO: "ompio"},
		{IO: b.romio},
		{IO: b.romio, Hints: []string{"romio_ds_write=disable"}},
		{IO: b.romio, Hints: []string{"romio_cb_write=disable", "romio_ds_write=disable"}},
		{IO: b.romio, Hints: []string{"romio_cb_write=enable", "cb_nodes=1"}},
	}
	if p == pnetCDFBlob {
		list = append(list, Tuning{IO: "ompio", Hints: []string{"nc_in_place_swap=enable"}},
			Tuning{IO: b.romio, Hints: []string{"nc_num_aggrs_per_node=1", "romio_ds_write=disable"}}) // from 1.14 on
	}
	return list
}

// environ passes the hints to a program that takes none: PnetCDF and ROMIO look into the environment.
func (t Tuning) environ(dir string) ([]string, error) {
	if len(t.Hints) == 0 {
		return nil, nil
	}
	name := filepath.Join(dir, "romio.hints")
	text := strings.ReplaceAll(strings.Join(t.Hints, "\n"), "=", " ") + "\n"
	return []string{"PNETCDF_HINTS=" + strings.Join(t.Hints, ";"), "ROMIO_HINTS=" + name}, os.WriteFile(name, []byte(text), 0o666)
}

// tune runs each tuning twice and returns the one with the least time, which is kept with the results.
func (s *session) tune(ctx context.Context, p Peer, who, data string, ranks int, once func(context.Context, Tuning) (Took, error)) (Tuning, error) {
	list := s.box.tunings(p)
	if s.NoTune {
		return list[0], nil
	}
	if s.Quick {
		list = list[:1]
	}
	i := slices.IndexFunc(s.res.Tunings, func(t Tuned) bool { return t.Who == who && t.Data == data && t.Ranks == ranks })
	if i >= 0 {
		return s.res.Tunings[i].Tuning, nil
	}
	best, least := list[0], -1.0
	for _, t := range list {
		for range 2 {
			if err := ctx.Err(); err != nil {
				return best, err
			}
			k, err := once(ctx, t)
			if ctx.Err() != nil {
				return best, ctx.Err()
			}
			if err != nil {
				s.Log(fmt.Sprintf("%s with %s: %v", who, t, err))
				break // some tunings are not available everywhere
			}
			if least < 0 || k.Seconds < least {
				best, least = t, k.Seconds
			}
			if s.Quick || k.Seconds > 2*least {
				break
			}
		}
	}
	if least < 0 {
		return best, fmt.Errorf("%s fails with every setting", who)
	}
	s.res.Tunings = append(s.res.Tunings, Tuned{Who: who, Data: data, Ranks: ranks, Tuning: best, Seconds: least})
	return best, nil
}

// Tuned is the best tuning of a peer that was found.
type Tuned struct {
	Who     string  `json:"who"`
	Data    string  `json:"data"`
	Ranks   int     `json:"ranks"`
	Tuning  Tuning  `json:"tuning"`
	Seconds float64 `json:"seconds"` // the least of its tries
}
