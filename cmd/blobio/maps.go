package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"blobio/decomp"
	"blobio/decomp/mapfile"
)

// mapFlags name map files and how their processes become ranks.
type mapFlags struct {
	files    []string
	slice    string
	unsorted bool
}

func (f *mapFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.files, "map", nil, "map file (.nc, .h5, .nc4); or several .dat, one for each map, in order")
	f.addHow(cmd)
}

func (f *mapFlags) addHow(cmd *cobra.Command) {
	choiceFlag(cmd, &f.slice, "slice", "correct", "requests of maps with fillers (I case): correct, reference (as E3SM-IO without -u) or fillers (with -u)", "correct", "reference", "fillers")
	cmd.Flags().BoolVar(&f.unsorted, "unsorted", false, "keep requests as they are in the map file, neither sorted nor merged (-q of E3SM-IO)")
}

func (f *mapFlags) options() mapfile.Options {
	o := mapfile.Options{Unsorted: f.unsorted}
	switch f.slice {
	case "reference":
		o.Slice = mapfile.Reference
	case "fillers":
		o.Slice = mapfile.WithFillers
	}
	return o
}

// checkRanks refuses numbers of ranks that no map has.
func checkRanks(n int) error {
	if n > decomp.MaxRanks {
		return usagef("--ranks %d, want at most %d", n, decomp.MaxRanks)
	}
	return nil
}

// load reads the map files for a number of ranks; 0 means that of their processes.
func (f *mapFlags) load(ranks int) ([]*decomp.Map, error) {
	file, err := mapfile.Open(f.files...)
	if err != nil {
		return nil, err
	}
	return f.deal(file, ranks)
}

func (f *mapFlags) deal(file *mapfile.File, ranks int) ([]*decomp.Map, error) {
	if ranks == 0 {
		ranks = file.Procs
	}
	if err := checkRanks(ranks); err != nil {
		return nil, err
	}
	var maps []*decomp.Map
	for k := range file.Maps {
		m, err := file.Maps[k].Map(ranks, f.options())
		if err != nil {
			return nil, fmt.Errorf("%s: D%d: %w", strings.Join(f.files, ", "), k+1, err)
		}
		maps = append(maps, m)
	}
	return maps, nil
}
