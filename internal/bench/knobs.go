package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"blobio/blob"
	"blobio/internal/subfile"
)

// KnobKind is the kind of value that a knob accepts.
type KnobKind uint8

const (
	NumberKnob KnobKind = iota
	SizeKnob            // in bytes; users may add a unit
	WordKnob            // one of Words, or a word that Set accepts
	SwitchKnob          // yes or no
)

// Settings are the options that knobs set.
type Settings struct {
	Write blob.Options
	Read  blob.OpenOptions
}

// A Knob is an option of writers or readers that users set by name.
type Knob struct {
	Name  string
	Field string // field of blob.Options, or of blob.OpenOptions with the prefix "Open."
	Usage string
	Kind  KnobKind
	Words []string
	Def   string // default
	set   func(s *Settings, n int64, word string) error
}

// Set sets the knob. Numbers and sizes are decimal digits, switches "yes" or "no".
func (k *Knob) Set(s *Settings, value string) error {
	bad := func() error { return fmt.Errorf("%s %q, want %s", k.Name, value, k.wants()) }
	switch k.Kind {
	case NumberKnob, SizeKnob:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 || int64(int(n)) != n {
			return bad()
		}
		return k.set(s, n, value)
	case SwitchKnob:
		if value != "yes" && value != "no" {
			return bad()
		}
		n := int64(0)
		if value == "yes" {
			n = 1
		}
		return k.set(s, n, value)
	}
	n := slices.Index(k.Words, value)
	if n < 0 && k.Name != "compress" { // negative levels of compression are valid
		return bad()
	}
	return k.set(s, int64(n), value)
}

func (k *Knob) wants() string {
	switch k.Kind {
	case NumberKnob, SizeKnob:
		return "a number >= 0"
	case SwitchKnob:
		return "yes or no"
	}
	return strings.Join(k.Words, ", ")
}

// Knobs returns all options of blob's writers and readers except layout, records and force, which determine what is written.
func Knobs() []Knob {
	return []Knob{
		{"grouping", "Grouping", "rule that assigns ranks to subfiles", WordKnob, []string{"node", "block", "roundrobin"}, "node",
			func(s *Settings, n int64, _ string) error {
				s.Write.Grouping = []subfile.Grouping{subfile.ByNode, subfile.Blocks, subfile.RoundRobin}[n]
				return nil
			}},
		{"retain", "Retain", "time until which the program keeps the data of a put unchanged: copy (no time, because a put copies the data), flush or close", WordKnob, []string{"copy", "flush", "close"}, "flush",
			func(s *Settings, n int64, _ string) error { s.Write.Retain = blob.Retain(n); return nil }},
		{"durability", "Durability", "what a commit waits for: commit (data and names are on the disk), data, or none", WordKnob, []string{"commit", "data", "none"}, "commit",
			func(s *Settings, n int64, _ string) error { s.Write.Durability = blob.Durability(n); return nil }},
		{"commit-mode", "Renames", "how subfiles get their names: rename, manifest (final names at once; the manifest alone commits), or auto (rename for up to 64 subfiles)", WordKnob, []string{"auto", "rename", "manifest"}, "auto",
			func(s *Settings, n int64, _ string) error { s.Write.Renames = []int{0, math.MaxInt, -1}[n]; return nil }},
		{"incomplete", "FillIncomplete", "what a commit does with records that are not whole: hold, or fill", WordKnob, []string{"hold", "fill"}, "hold",
			func(s *Settings, n int64, _ string) error { s.Write.FillIncomplete = n == 1; return nil }},
		{"heartbeat", "Heartbeat", "seconds within which the writer gives a sign of life; 0: 15 where machines share the file system, else none", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error {
				s.Write.Heartbeat = time.Duration(min(n, 1<<20)) * time.Second
				return nil
			}},
		{"wide-maps", "WideMaps", "64-bit offsets in maps; only blobio reads such files", SwitchKnob, nil, "no",
			func(s *Settings, n int64, _ string) error { s.Write.WideMaps = n == 1; return nil }},
		{"compress", "Compress", "process-centric: compress losslessly: off, auto, zstd or shuffle+zstd, with :1 to :4 a level; only blobio reads such files", WordKnob, []string{"off", "auto", "zstd", "shuffle+zstd"}, "off",
			func(s *Settings, _ int64, word string) error { return s.Write.Compress.Set(word) }},
		{"copies", "Memory", "cap of the data that one process keeps in copies; 0: 2G", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.Memory = n; return nil }},
		{"buffer", "Buffer", "bytes that a worker gathers and writes at a time, 64K to 1G; 0: chosen by the library", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.Buffer = int(n); return nil }},
		{"workers", "Workers", "number of concurrent writers of one process; 0: one per core", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.Workers = int(n); return nil }},
		{"max-open", "MaxOpen", "maximum number of open files of a process that writes; 0: 256", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.MaxOpen = int(n); return nil }},
		{"aggregators", "Aggregators", "number of processes of a node that write the small pieces of all its ranks, if the ranks share no heap; 0: one for 4 processes, at most 4", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.Aggregators = int(n); return nil }},
		{"own-min", "OwnMin", "least mean size of pieces at which each rank writes its own pieces, if the ranks share no heap; 0: 128 KiB, without shared memory 64 KiB", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.OwnMin = n; return nil }},
		{"stripe-size", "Stripe.Size", "unit that the file system locks: Lustre's stripe size, GPFS' block size; 0: not known", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.Stripe.Size = n; return nil }},
		{"stripe-count", "Stripe.Count", "number of servers that store units in turn; needs --stripe-size; 0: not known", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Write.Stripe.Count = int(n); return nil }},
		{"read-memory", "Open.Memory", "cap of the buffers for reading, at least 1M; 0: 256M", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Read.Memory = n; return nil }},
		{"read-workers", "Open.Workers", "number of concurrent reads of one process; 0: one per core", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Read.Workers = int(n); return nil }},
		{"read-max-open", "Open.MaxOpen", "maximum number of open files of a process that reads; 0: 256", NumberKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Read.MaxOpen = int(n); return nil }},
		{"read-maps", "Open.Maps", "cap of the maps that one process keeps while it reads, at least 1M; 0: all", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Read.Maps = n; return nil }},
		{"read-max-header", "Open.MaxHeader", "longest header that is read; 0: 256M", SizeKnob, nil, "0",
			func(s *Settings, n int64, _ string) error { s.Read.MaxHeader = n; return nil }},
		{"checksums", "Open.Verify", "checksums that reading compares: whole (of pieces that are read whole), once, always, or never", WordKnob, []string{"whole", "once", "always", "never"}, "whole",
			func(s *Settings, n int64, _ string) error { s.Read.Verify = blob.Verification(n); return nil }},
		{"allow-missing", "Open.AllowMissing", "open a dataset with missing subfiles", SwitchKnob, nil, "no",
			func(s *Settings, n int64, _ string) error { s.Read.AllowMissing = n == 1; return nil }},
		{"missing-later", "Open.MissingLater", "open a dataset with missing subfiles; reading their elements is an error", SwitchKnob, nil, "no",
			func(s *Settings, n int64, _ string) error { s.Read.MissingLater = n == 1; return nil }},
	}
}
