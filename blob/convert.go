package blob

import (
	"blobio/blob/internal/convert"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
)

// ConvertOptions are the options of Convert. With the zero value, or nil, Convert writes everything to an ordinary CDF-5 file.
type ConvertOptions struct {
	Layout  Layout       // layout of the output blobs
	Blobs   bool         // write blobs in Layout instead of one canonical file
	Version cdf5.Version // CDF version of a canonical file: CDF5 (default), CDF2 or CDF1

	NetCDF4 *NetCDF4Options // write the canonical file as netCDF-4 (HDF5); nil: in a CDF format

	Vars    []string // variables to convert, in the order of the source; nil: all
	Records *Range   // records to convert; nil: all
	Subset  Subset   // indices to convert; nil: all. With blobs, a Subset that leaves out indices needs Ranks or Maps

	// The options from Ranks to DropUncovered apply to blobs only. Ranks is the number of ranks of the output. Each decomposed
	// variable uses the first of Maps with its shape. Without Maps, Convert uses the source's maps if Ranks is 0 or the source's
	// number of ranks. Otherwise it divides each array equally in canonical order.
	Ranks    int // up to 16,777,216
	Maps     []*decomp.Map
	MapOf    func(v *Variable) int // selects the map instead: index in Maps, from 1; 0: none
	Grouping Grouping              // Blocks (also for ByNode) or RoundRobin
	Subfiles int                   // default 1
	WideMaps bool                  // like Options.WideMaps; implied if the source has wide maps
	Compress Compress              // like Options.Compress; in Collective.Convert one rank then does all the work

	DropUncovered bool                    // drop elements that the output's maps do not own; without it such a map is an error
	FillMissing   bool                    // write fill values or zeros for elements of missing subfiles, if the Reader has AllowMissing; otherwise they are an error
	ZeroFill      bool                    // write zeros instead of fill values for elements that no blob covers
	Force         bool                    // replace an existing output
	Memory        int64                   // limit of buffers in bytes, at least 8 MiB; default 256 MiB
	Workers       int                     // up to 65,536; default GOMAXPROCS
	Durability    Durability              // default DurableCommit
	Progress      func(done, total int64) // in bytes of the output; called often, by several goroutines
}

// NetCDF4Options describe how Convert stores a netCDF-4 file. The zero value does not compress.
type NetCDF4Options = convert.NetCDF4Options

// Convert writes a dataset, or a part of it, as an ordinary netCDF file (CDF-5 by default), or as blobs for any number of ranks
// and subfiles. It verifies all data against the source's checksums (ErrChecksum), unless the Reader has VerifyNever. The
// output gets its name when it is complete and durable. After an interruption, call Convert again. Memory is limited to
// ConvertOptions.Memory plus the size of the maps.
func Convert(ctx context.Context, r *Reader, out string, o *ConvertOptions) error {
	return convert.Convert(ctx, r.inner(), out, (*convert.ConvertOptions)(o))
}

// Convert is the collective form of the function Convert. The ranks need not share memory. Each rank converts some of the
// variables and records. All ranks pass the same name and options. ConvertOptions.Memory and Workers apply to each rank, and
// Progress reports the rank's own part. The output has the same bytes as the output of the function Convert. Collective.
func (k *Collective) Convert(ctx context.Context, out string, o *ConvertOptions) error {
	return convert.ConvertComm(ctx, k.ranks, k.r, out, (*convert.ConvertOptions)(o))
}

// Validate returns an error for the first invalid option.
func (o *ConvertOptions) Validate() error { return (*convert.ConvertOptions)(o).Validate() }
