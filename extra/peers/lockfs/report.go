package lockfs

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Writes counts write calls.
type Writes struct {
	Writes    int64 `json:"writes"`
	Small     int64 `json:"small_writes"`     // less than a stripe unit
	Unaligned int64 `json:"unaligned_writes"` // that begin within a unit, or end within one before the end of the file
}

// Data counts what is done to the data of files.
type Data struct {
	Writes
	Bytes            int64 `json:"bytes"`
	ReadModifyWrites int64 `json:"read_modify_writes"` // pages read because a part of them was written
	Reads            int64 `json:"reads"`
	Locks            int64 `json:"locks"`      // asked for
	LockMoves        int64 `json:"lock_moves"` // taken from other clients
}

// FileCounts are the counts of one file, whether it still exists or not.
type FileCounts struct {
	Name string `json:"name"`
	Layout
	Size int64 `json:"size"`
	Data
	Units       int64   `json:"units"`                  // that were written
	SharedUnits int64   `json:"shared_units"`           // that several clients wrote
	FirstShared []int64 `json:"first_shared,omitempty"` // numbers of the first of them
}

// ClientCounts are the counts of one node.
type ClientCounts struct {
	Metadata map[string]int64 `json:"metadata"` // calls, by kind
	Data
	WaitSeconds float64 `json:"wait_seconds"` // for round trips, if one call follows the other
}

// ServerCounts are the counts of one server.
type ServerCounts struct {
	Calls       int64   `json:"calls"`
	Bytes       int64   `json:"bytes,omitempty"`
	BusySeconds float64 `json:"busy_seconds"`

	busy time.Duration
}

// Report is what all clients have done.
type Report struct {
	Version     int              `json:"version"`
	Metadata    map[string]int64 `json:"metadata"`
	MetaCalls   int64            `json:"metadata_calls"`
	SharedUnits int64            `json:"shared_units"`
	Total       Data             `json:"total"`
	// LeastSeconds is the busy time of the busiest server: no order of the calls takes less.
	LeastSeconds float64        `json:"least_seconds"`
	Clients      []ClientCounts `json:"clients"`
	Files        []FileCounts   `json:"files"`
	Meta         ServerCounts   `json:"metadata_server"`
	Storage      []ServerCounts `json:"storage_servers"`
}

// Report sends what clients still hold, and returns all counts.
func (s *Server) Report() *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Report{Version: 1, Metadata: map[string]int64{}}
	for _, f := range s.order {
		for i := range f.objects {
			o := &f.objects[i]
			for _, c := range slices.Sorted(maps.Keys(o.dirty)) {
				s.send(new(wait), o, o.dirty[c])
			}
			clear(o.dirty)
		}
		c, shared := f.counts, f.shared()
		c.Name, c.Layout, c.Size, c.SharedUnits = f.name, f.layout, f.size, int64(len(shared))
		c.FirstShared = shared[:min(8, len(shared))]
		for _, w := range f.writers {
			if w != 0 {
				c.Units++
			}
		}
		r.SharedUnits += c.SharedUnits
		r.Files = append(r.Files, c)
	}
	for i, c := range s.clients {
		c.Metadata = maps.Clone(c.Metadata)
		for k, n := range c.Metadata {
			r.Metadata[k] += n
			r.MetaCalls += n
		}
		c.WaitSeconds = s.waits[i].Seconds()
		r.Clients = append(r.Clients, c)
		r.Total.add(c.Data)
	}
	seconds := func(c ServerCounts) ServerCounts {
		c.BusySeconds = c.busy.Seconds()
		r.LeastSeconds = max(r.LeastSeconds, c.BusySeconds)
		return c
	}
	r.Meta = seconds(s.meta)
	for _, c := range s.storage {
		r.Storage = append(r.Storage, seconds(c))
	}
	return r
}

func (d *Data) add(e Data) {
	d.Writes.Writes += e.Writes.Writes
	d.Small += e.Small
	d.Unaligned += e.Unaligned
	d.Bytes += e.Bytes
	d.ReadModifyWrites += e.ReadModifyWrites
	d.Reads += e.Reads
	d.Locks += e.Locks
	d.LockMoves += e.LockMoves
}

// Print writes the counts as tables.
func (r *Report) Print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', tabwriter.AlignRight)
	data := func(d Data) string {
		return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d\t", d.Bytes, d.Writes.Writes, d.Small, d.Unaligned, d.ReadModifyWrites, d.Reads, d.LockMoves)
	}
	const heads = "BYTES\tWRITES\tSMALL\tUNALIGNED\tRMW\tREADS\tLOCK MOVES\t"
	fmt.Fprintf(t, "NODE\t%sMETADATA\tWAIT s\t\n", heads)
	for i, c := range r.Clients {
		n := int64(0)
		for _, k := range c.Metadata {
			n += k
		}
		fmt.Fprintf(t, "%d\t%s%d\t%.4f\t\n", i, data(c.Data), n, c.WaitSeconds)
	}
	fmt.Fprintf(t, "all\t%s%d\t\t\n", data(r.Total), r.MetaCalls)
	t.Flush()
	fmt.Fprintln(out)
	fmt.Fprintf(t, "%sUNITS\tSHARED\tSTRIPE\t FILE\n", heads)
	for _, f := range r.Files {
		if f.Writes.Writes+f.Reads > 0 {
			fmt.Fprintf(t, "%s%d\t%d\t%d x %d\t %s\n", data(f.Data), f.Units, f.SharedUnits, f.Count, f.Layout.Size, f.Name)
		}
	}
	t.Flush()
	fmt.Fprintln(out)
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(r.Metadata)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, r.Metadata[k]))
	}
	_, err := fmt.Fprintf(out, "metadata: %s\nbusiest server: %.4f s\n", strings.Join(kinds, ", "), r.LeastSeconds)
	return err
}
