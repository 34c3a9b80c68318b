package bench

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"blobio/redset"
)

// SCRRow is one scheme. Times are in seconds; the jobs took turns in each run.
type SCRRow struct {
	Scheme  string    `json:"scheme"`
	Alone   []float64 `json:"write_seconds"`             // all ranks write their files, fresh
	Both    []float64 `json:"write_encode_seconds"`      // the same, until encoded
	Encode  []float64 `json:"encode_seconds"`            // of these, the encode
	Message []float64 `json:"encode_messages_seconds"`   // the encode, of ranks that share no memory
	Floor   []float64 `json:"floor_seconds"`             // in place of the encode: the least program, see stream
	Verify  []float64 `json:"verify_seconds"`            // a rebuild when nothing is lost
	Rebuild []float64 `json:"rebuild_seconds"`           // of one rank that lost everything; all bytes of all ranks are verified meanwhile
	Quick   []float64 `json:"rebuild_data_only_seconds"` // the same without verifying parity that is not needed
	Rest    []float64 `json:"rebuild_floor_seconds"`     // in place of a rebuild which verifies all: the least program, see stream
	Copy    []float64 `json:"copy_seconds"`              // of the file of one rank to a fresh file, by one goroutine
	Mark    float64   `json:"mark"`                      // of Ratio
	Real    float64   `json:"real_encode_rate"`          // of the real redset, bytes/s of original data; see realRedset
	RealReb float64   `json:"real_rebuild_seconds"`      // of the real redset
	// Processors are the seconds of all cores that the jobs took, by the job: what others on the machine do adds little to them.
	Processors map[string][]float64 `json:"cpu_seconds"`
}

// used is the least processor time of a job, in seconds.
func (r *SCRRow) used(job string) float64 {
	if len(r.Processors[job]) == 0 {
		return 0
	}
	return slices.Min(r.Processors[job])
}

// Ratio is the time from the first data write until encoded over that of the write alone.
func (r *SCRRow) Ratio() float64 { return median(r.Both) / median(r.Alone) }

// Best is Ratio of the least times: others on the machine only add to them.
func (r *SCRRow) Best() float64 { return slices.Min(r.Both) / slices.Min(r.Alone) }

// FloorRatio is Ratio of the floor.
func (r *SCRRow) FloorRatio() float64 { return 1 + median(r.Floor)/median(r.Alone) }

// RebuildRatio is the rate of the rebuild, in lost bytes, over that of the copy.
func (r *SCRRow) RebuildRatio() float64 { return median(r.Copy) / median(r.Rebuild) }

// BestFloor is FloorRatio of the least times.
func (r *SCRRow) BestFloor() float64 { return 1 + slices.Min(r.Floor)/slices.Min(r.Alone) }

// BestRebuild is RebuildRatio of the least times.
func (r *SCRRow) BestRebuild() float64 { return slices.Min(r.Copy) / slices.Min(r.Rebuild) }

// RebuildFloor is RebuildRatio of the floor.
func (r *SCRRow) RebuildFloor() float64 { return median(r.Copy) / median(r.Rest) }

// SCRReport is what SCRRates found.
type SCRReport struct {
	Size   int64    `json:"size"` // bytes of each rank
	Ranks  int      `json:"ranks"`
	Cores  int      `json:"cores"`
	Sync   bool     `json:"sync"`
	Raw    float64  `json:"raw_write_seconds"` // of the bytes of all ranks, into one file, the best way
	Read   float64  `json:"raw_read_seconds"`  // of as many bytes, into a buffer that stays in the cache
	Memory float64  `json:"memory_copy_rate"`  // bytes/s, on all cores
	Rows   []SCRRow `json:"rows"`
}

// realRedset are the figures of redset 0.4.0 with four processes of 256 MiB on memory storage, on a quiet machine of
// this kind but another processor: bytes/s of original data, and seconds of the rebuild of one rank.
var realRedset = map[redset.Scheme][2]float64{redset.XOR: {3540e6, 0.328}, redset.Partner: {2230e6, 0.346}, redset.RS: {1060e6, 0.883}}

// Print writes the report as Markdown.
func (r *SCRReport) Print(w io.Writer) error {
	total := float64(r.Size) * float64(r.Ranks)
	fmt.Fprintf(w, "%d ranks of %.0f MiB in one process, %d cores, data synced: %v. In the same run, MB/s: raw write %.0f, raw read %.0f, memory copy on all cores %.0f.\n\n",
		r.Ranks, float64(r.Size)/(1<<20), r.Cores, r.Sync, total/r.Raw/1e6, total/r.Read/1e6, r.Memory/1e6)
	ms := func(v []float64) string {
		return fmt.Sprintf("%.0f (%.0f to %.0f)", median(v)*1e3, slices.Min(v)*1e3, slices.Max(v)*1e3)
	}
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	head := func(cols ...string) {
		for _, c := range cols {
			fmt.Fprintf(t, "| %s\t", c)
		}
		fmt.Fprint(t, "|\n")
		for range cols {
			fmt.Fprint(t, "|---\t")
		}
		fmt.Fprint(t, "|\n")
	}
	head("scheme", "write alone, ms", "write and encode, ms", "ratio (of least times)", "mark", "ratio of the floor (of least times)", "encode, ms", "floor, ms", "encode, MB/s",
		"by messages, MB/s", "real redset, MB/s")
	for i := range r.Rows {
		x := &r.Rows[i]
		fmt.Fprintf(t, "| %s\t| %s\t| %s\t| %.2f (%.2f)\t| %.1f\t| %.2f (%.2f)\t| %s\t| %s\t| %.0f\t| %.0f\t| %.0f\t|\n", x.Scheme, ms(x.Alone), ms(x.Both), x.Ratio(), x.Best(), x.Mark,
			x.FloorRatio(), x.BestFloor(), ms(x.Encode), ms(x.Floor), total/median(x.Encode)/1e6, total/median(x.Message)/1e6, x.Real/1e6)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	head("rebuild of one rank", "ms", "lost MB/s", "copy, MB/s", "ratio (of least times)", "mark", "ratio of the floor", "floor, ms", "nothing lost, ms", "data only, ms", "ratio",
		"real redset, ms")
	for i := range r.Rows {
		x := &r.Rows[i]
		lost := float64(r.Size) / 1e6
		fmt.Fprintf(t, "| %s\t| %s\t| %.0f\t| %.0f\t| %.2f (%.2f)\t| 0.6\t| %.2f\t| %s\t| %s\t| %s\t| %.2f\t| %.0f\t|\n", x.Scheme, ms(x.Rebuild), lost/median(x.Rebuild),
			lost/median(x.Copy), x.RebuildRatio(), x.BestRebuild(), x.RebuildFloor(), ms(x.Rest), ms(x.Verify), ms(x.Quick), median(x.Copy)/median(x.Quick), x.RealReb*1e3)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Rows[0].used("write") == 0 {
		return nil // not known on this system
	}
	fmt.Fprintln(w)
	head("processor time of all cores, ms, least of the runs", "write alone", "encode", "least program", "ratio", "of the least program", "mark", "copy", "rebuild", "data only",
		"least program", "ratio with all cores busy", "of the least program", "of data only", "mark")
	for i := range r.Rows {
		x := &r.Rows[i]
		ms := func(job string) float64 { return x.used(job) * 1e3 }
		over := func(job string) float64 { return 1 + x.used(job)/x.used("write") }
		rate := func(job string) float64 { return x.used("copy") * float64(r.Cores) / x.used(job) }
		fmt.Fprintf(t, "| %s\t| %.0f\t| %.0f\t| %.0f\t| %.2f\t| %.2f\t| %.1f\t| %.0f\t| %.0f\t| %.0f\t| %.0f\t| %.2f\t| %.2f\t| %.2f\t| 0.6\t|\n", x.Scheme, ms("write"), ms("encode"), ms("least encode"),
			over("encode"), over("least encode"), x.Mark, ms("copy"), ms("rebuild"), ms("data only"), ms("least rebuild"), rate("rebuild"), rate("least rebuild"), rate("data only"))
	}
	return t.Flush()
}
