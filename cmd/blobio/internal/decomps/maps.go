package decomps

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/decomp"
	"blobio/decomp/mapfile"
	"blobio/internal/cli"
)

// MapFlags select map files and the assignment of their processes to ranks.
type MapFlags struct {
	Files    []string
	slice    string
	unsorted bool
	Coalesce bool // see mapfile.Options
}

func (f *MapFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.Files, "map", nil, "map file (.nc, .h5, .nc4), or several .dat files, one for each map in order")
	f.addHow(cmd)
}

func (f *MapFlags) addHow(cmd *cobra.Command) {
	cli.ChoiceFlag(cmd, &f.slice, "slice", "correct", "requests of maps with fillers (I case): correct, reference (like E3SM-IO without -u) or fillers (like E3SM-IO with -u)", "correct", "reference", "fillers")
	cmd.Flags().BoolVar(&f.unsorted, "no-sort", false, "do not sort or merge the requests of the map file (-q of E3SM-IO)")
}

func (f *MapFlags) options() mapfile.Options {
	o := mapfile.Options{Unsorted: f.unsorted, Coalesce: f.Coalesce}
	switch f.slice {
	case "reference":
		o.Slice = "reference"
	case "fillers":
		o.Slice = "with-fillers"
	}
	return o
}

// CheckRanks rejects numbers of ranks that no map can have.
func CheckRanks(n int) error {
	if n > decomp.MaxRanks {
		return cli.Usagef("--ranks %d, want at most %d", n, decomp.MaxRanks)
	}
	return nil
}

// Load reads the map files for a number of ranks; 0 means the number of processes in the files.
func (f *MapFlags) Load(ranks int) ([]*decomp.Map, error) {
	file, err := mapfile.Open(f.Files...)
	if err != nil {
		return nil, err
	}
	return f.deal(file, ranks)
}

// LoadToWrite is Load for writing a dataset. It returns an error if a rank holds an index twice.
func (f *MapFlags) LoadToWrite(ranks int) ([]*decomp.Map, error) {
	file, err := mapfile.Open(f.Files...)
	if err != nil {
		return nil, err
	}
	for k := range file.Maps {
		m, err := file.Maps[k].Map(file.Procs, mapfile.Options{Unsorted: true})
		if err != nil {
			continue // f.deal reports the error
		}
		if r := m.Repeats(); r.Again > 0 {
			return nil, cli.Usagef("%s: D%d: %v; the first is index %d of rank %d: a map for writing must hold each index only once", strings.Join(f.Files, ", "), k+1, r, r.Off, r.Rank)
		}
	}
	return f.deal(file, ranks)
}

func (f *MapFlags) deal(file *mapfile.File, ranks int) ([]*decomp.Map, error) {
	if ranks == 0 {
		ranks = file.Procs
	}
	if err := CheckRanks(ranks); err != nil {
		return nil, err
	}
	var maps []*decomp.Map
	for k := range file.Maps {
		m, err := file.Maps[k].Map(ranks, f.options())
		if err != nil {
			return nil, fmt.Errorf("%s: D%d: %w", strings.Join(f.Files, ", "), k+1, err)
		}
		maps = append(maps, m)
	}
	return maps, nil
}
