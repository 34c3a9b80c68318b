package decomps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"blobio/decomp"
	"blobio/internal/cli"
)

func newDecompInfo(e *cli.Env) *cobra.Command {
	var how MapFlags
	var ranks int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info FILE...",
		Short: "Show statistics of maps",
		Long: `Show a table of the maps of each file: dimensions, ranks, requests and elements of a rank
(minimum, mean, maximum), imbalance (maximum over mean), lengths of requests, and the shares
of the array that are covered or have several owners.

Requests are sorted and merged as in a dataset. The number of ranks comes from the file or
from --ranks.

In JSON, repeated is the number of repeated indices of a rank. If requests are merged as in
E3SM-IO, repeated indices add repeated_adds elements. beyond is the number of indices past
the end of the array.`,
		Example: `  blobio decomp info map_f_case_16p.nc
  blobio decomp info --ranks 5 map_f_case_16p.nc   # distributed over 5 ranks
  blobio decomp info run/F_h0.nc                   # the maps of a dataset`,
		Args: cli.MinArgs(1, "a map file or a dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decompInfo(cmd, e, args, &how, ranks, asJSON)
		},
	}
	cmd.Flags().IntVar(&ranks, "ranks", 0, "number of ranks over which the processes of the map are distributed")
	how.addHow(cmd)
	cli.JSONFlag(cmd, &asJSON, map[string]any{"files": []*mapsInfo{}})
	return cmd
}

// The JSON output types for map files.
type (
	mapsInfo struct {
		Path      string    `json:"path"`
		Format    string    `json:"format"`
		Processes int       `json:"processes"`
		Maps      []mapInfo `json:"maps"`
	}
	mapInfo struct {
		Name       string     `json:"name"`
		Dims       []int64    `json:"dims"`
		Ranks      int        `json:"ranks"`
		Active     int        `json:"active_ranks"`
		Reqs       int64      `json:"requests"`
		Elems      int64      `json:"elements"`
		RankReqs   spread     `json:"requests_per_rank"`
		RankElems  spread     `json:"elements_per_rank"`
		Imbalance  float64    `json:"imbalance"`
		Run        spread     `json:"run_length"`
		Runs       []runCount `json:"run_lengths"`
		Covered    int64      `json:"covered"`
		Uncovered  int64      `json:"uncovered"`
		Overlapped int64      `json:"overlapped"`
		Repeated   int64      `json:"repeated"`
		Adds       int64      `json:"repeated_adds"`
		Unlisted   int        `json:"unlisted"`
		Beyond     int64      `json:"beyond"`

		again decomp.Repeats
	}
	spread struct {
		Min  int64   `json:"min"`
		Mean float64 `json:"mean"`
		Max  int64   `json:"max"`
	}
	runCount struct {
		From int64 `json:"from"` // first element
		To   int64 `json:"to"`
		Reqs int64 `json:"requests"`
	}
)

func (s spread) String() string { return fmt.Sprintf("%d/%s/%d", s.Min, short(s.Mean), s.Max) }

// short formats a mean with its significant digits.
func short(x float64) string {
	if x >= 100 || x == float64(int64(x)) {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

func decompInfo(cmd *cobra.Command, e *cli.Env, paths []string, how *MapFlags, ranks int, asJSON bool) error {
	if ranks < 0 {
		return cli.Usagef("--ranks %d, want a positive number", ranks)
	}
	ctx := cmd.Context()
	return cli.List(cmd, e, paths, asJSON, "files",
		func(path string) (*mapsInfo, error) { return infoOf(ctx, path, how, ranks) },
		func(info *mapsInfo) { printMaps(e, info) })
}

func infoOf(ctx context.Context, path string, how *MapFlags, ranks int) (*mapsInfo, error) {
	src, err := openMaps(ctx, path)
	if err != nil {
		return nil, err
	}
	maps, err := how.deal(src.file, ranks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	info := &mapsInfo{Path: path, Format: src.format, Processes: src.file.Procs}
	for k, m := range maps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		mi, err := newMapInfo(k, m)
		if err != nil {
			return nil, fmt.Errorf("%s: D%d: %w", path, k+1, err)
		}
		mi.Unlisted, mi.Beyond = src.file.Maps[k].Unlisted, src.file.Maps[k].Beyond
		info.Maps = append(info.Maps, mi)
	}
	return info, nil
}

func newMapInfo(k int, m *decomp.Map) (mapInfo, error) {
	s := m.Stats()
	cov, err := m.Coverage()
	if err != nil {
		return mapInfo{}, err
	}
	again := m.Repeats()
	mi := mapInfo{Name: fmt.Sprintf("D%d", k+1), Dims: m.Dims(), Ranks: s.Ranks, Active: s.Active, Reqs: s.Reqs, Elems: s.Elems,
		RankReqs: spread{s.MinReqs, s.MeanReqs, s.MaxReqs}, RankElems: spread{s.MinElems, s.MeanElems, s.MaxElems},
		Imbalance: s.Imbalance(), Run: spread{s.MinRun, s.MeanRun, s.MaxRun}, Runs: []runCount{},
		Covered: cov.Covered, Uncovered: cov.Uncovered, Overlapped: cov.Overlapped,
		Repeated: again.Again, Adds: again.Added, again: again}
	for i, n := range s.RunLengths {
		if n == 0 {
			continue
		}
		if i == 0 {
			mi.Runs = append(mi.Runs, runCount{0, 0, n})
		} else {
			mi.Runs = append(mi.Runs, runCount{1 << (i - 1), 1<<i - 1, n})
		}
	}
	return mi, nil
}

func printMaps(e *cli.Env, info *mapsInfo) {
	fmt.Fprintf(e.Out, "%s: %s, %s, %s\n", info.Path, info.Format, cli.Plural(len(info.Maps), "map"), cli.Plural(info.Processes, "rank"))
	t := e.NewTable("", "MAP", "DIMS", ">RANKS", ">REQUESTS", ">REQUESTS/RANK", ">ELEMENTS", ">ELEMENTS/RANK", ">IMBALANCE", ">RUN LENGTH", ">COVERED", ">OWNED TWICE")
	for _, m := range info.Maps {
		ranks := fmt.Sprint(m.Ranks)
		if m.Active != m.Ranks {
			ranks = fmt.Sprintf("%d of %d", m.Active, m.Ranks)
		}
		t.Row(m.Name, dimsText(m.Dims), ranks, m.Reqs, m.RankReqs, m.Elems, m.RankElems, fmt.Sprintf("%.2f", m.Imbalance), m.Run,
			percent(m.Covered, m.Covered+m.Uncovered), m.Overlapped)
	}
	t.Flush()
	for _, m := range info.Maps {
		if m.Repeated > 0 {
			fmt.Fprintf(e.Out, "%s: %v; the first is index %d of rank %d\n", m.Name, m.again, m.again.Off, m.again.Rank)
		}
		if m.Beyond > 0 {
			fmt.Fprintf(e.Out, "%s: %s\n", m.Name, beyondText(m.Beyond, m.Covered+m.Uncovered))
		}
		if m.Unlisted > 0 {
			fmt.Fprintf(e.Out, "%s: %d of the processes have no list of elements; the file may be truncated\n", m.Name, m.Unlisted)
		}
	}
	fmt.Fprintln(e.Out, "\nnumber of requests by length in elements (a/b/c above: minimum, mean, maximum):")
	printRuns(e, info.Maps)
}

// printRuns prints the number of requests of each length.
func printRuns(e *cli.Env, maps []mapInfo) {
	var from []int64
	label := map[int64]string{}
	for _, m := range maps {
		for _, r := range m.Runs {
			if !slices.Contains(from, r.From) {
				from = append(from, r.From)
			}
			if label[r.From] = fmt.Sprintf(">%d-%d", r.From, r.To); r.From == r.To {
				label[r.From] = fmt.Sprintf(">%d", r.From)
			}
		}
	}
	slices.Sort(from)
	heads := []string{"MAP"}
	for _, f := range from {
		heads = append(heads, label[f])
	}
	t := e.NewTable("", heads...)
	for _, m := range maps {
		row := []any{m.Name}
		for _, f := range from {
			n := int64(0)
			if i := slices.IndexFunc(m.Runs, func(r runCount) bool { return r.From == f }); i >= 0 {
				n = m.Runs[i].Reqs
			}
			row = append(row, n)
		}
		t.Row(row...)
	}
	t.Flush()
}

// dimsText formats lengths as 72 x 866.
func dimsText(dims []int64) string {
	s := make([]string, len(dims))
	for i, d := range dims {
		s[i] = fmt.Sprint(d)
	}
	return strings.Join(s, " x ")
}

func percent(n, of int64) string {
	switch {
	case of == 0:
		return "-"
	case n == of:
		return "all"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(of))
}
