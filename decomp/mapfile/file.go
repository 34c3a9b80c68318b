package mapfile

import (
	"errors"
	"io"
	"os"

	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/base/vfs"
)

// Limits of this package.
const (
	maxProcs = 1 << 21
	maxDims  = 64
	maxMaps  = 4096
)

// A File is the content of a map file: the maps D1, D2, ...
type File struct {
	Procs       int // number of map processes
	Maps        []Raw
	CommandLine string // command line of the program that made the file, "" if unknown
	Format      string // "PIO text", "CDF-5", "HDF5", "NetCDF-4", "CDF-1 (one map)", ...; not used by writers
}

// A Raw is a map as in the file: for map processes, with fillers, neither sorted nor merged.
type Raw struct {
	// Reqs has the requests of each map process (as a rank), including fillers.
	Reqs *decomp.Map
	// FillStarts has the number of requests of each process before its fillers. nil: the file does not have the numbers, and no
	// fillers are assumed.
	FillStarts []int64
	// Elems has the elements of each process before merging, in order. Its requests have length 1, or more where elements ascend.
	// nil: not in the file.
	Elems *decomp.Map
	// FullyCovered is the attribute fully_covered of the file; nil: not in the file.
	FullyCovered *bool
	// Unlisted is the number of processes without a list, even an empty one, in a PIO text. These processes have no elements. PIO
	// writes a list for each process, so such a file may be truncated.
	Unlisted int
	// Beyond is the number of offsets of a PIO text beyond the end of the array. PIO reads such offsets as holes, like 0. The
	// writer probably meant another array.
	Beyond int64
}

// FromMaps returns a File of maps, whose ranks become map processes. All maps must have the same number of ranks.
func FromMaps(maps ...*decomp.Map) (*File, error) {
	if len(maps) == 0 {
		return nil, fault.Usage("the file has no maps")
	}
	f := &File{Procs: maps[0].Ranks()}
	for i, m := range maps {
		if m.Ranks() != f.Procs {
			return nil, fault.Usage("map D%d has %d ranks, but D1 has %d", i+1, m.Ranks(), f.Procs)
		}
		f.Maps = append(f.Maps, Raw{Reqs: m})
	}
	return f, nil
}

// Dims returns the lengths of the decomposed dimensions, slowest first.
func (r *Raw) Dims() []int64 { return r.Reqs.Dims() }

// Procs returns the number of map processes.
func (r *Raw) Procs() int { return r.Reqs.Ranks() }

// NReqs returns the number of requests of a map process, including fillers.
func (r *Raw) NReqs(proc int) int64 { return r.Reqs.NumReqs(proc) }

// FillStart returns the number of requests of a map process without fillers.
func (r *Raw) FillStart(proc int) int64 {
	n := r.Reqs.NumReqs(proc)
	if r.FillStarts == nil || proc < 0 || proc >= len(r.FillStarts) {
		return n
	}
	return min(n, max(r.FillStarts[proc], 0))
}

// Open reads map files. Several paths are the maps D1, D2, ... of one run, in order, like PIO's .dat files with one map each. All
// must have the same number of processes.
func Open(paths ...string) (*File, error) {
	if len(paths) == 0 {
		return nil, fault.Usage("no map file is given")
	}
	var all *File
	for _, p := range paths {
		f, err := open(p)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = f
			continue
		}
		if f.Procs != all.Procs {
			return nil, fault.Usage("%s has %d processes, but %s has %d", p, f.Procs, paths[0], all.Procs)
		}
		all.Maps = append(all.Maps, f.Maps...)
		if f.Format != all.Format {
			all.Format += ", " + f.Format
		}
	}
	return all, nil
}

func open(path string) (f *File, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fault.At(path, -1, "", fault.ErrNotFormat, "the path is a directory%s", bpDirectory(path))
	} else if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, fault.Usage("%s: not a regular file", path)
	}
	r, err := vfs.OS.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	size, err := r.Size()
	if err != nil {
		return nil, err
	}
	return Read(r, size, path)
}

// Read reads a map file of the given size. name is for errors.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	kind, err := sniff(r, size, name)
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindDat:
		return readDat(r, size, name)
	case kindCDF:
		return readCDF(r, size, name)
	default:
		return readHDF5(r, size, name)
	}
}
