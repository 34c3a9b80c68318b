package blob

import (
	"blobio/blob/internal/convert"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
)

// ConvertOptions are the options of Convert. The zero value, or nil, writes everything to an ordinary CDF-5 file.
type ConvertOptions struct {
	Layout  Layout       // layout of the output if Blobs is set
	Blobs   bool         // write blobs in Layout; otherwise one canonical file
	Version cdf5.Version // version of a canonical file: CDF5 (default), CDF2 or CDF1

	NetCDF4 *NetCDF4Options // write the canonical file as netCDF-4 (HDF5); nil: as CDF

	Vars    []string // variables to convert, in the order of the source; nil: all
	Records *Range   // records to convert; nil: all
	Subset  Subset   // indices to convert; nil: all. If it selects only some, blobs need Ranks or Maps

	// The options up to DropUncovered are for output in blobs. Ranks is the number of ranks. Each variable gets the one of Maps with
	// its shape. Without Maps, Convert uses the source's maps if Ranks is 0 or equals the source's number. Otherwise it divides
	// canonical order equally.
	Ranks    int // up to 16,777,216
	Maps     []*decomp.Map
	MapOf    func(v *Variable) int // overrides the choice by shape: 1-based index in Maps, 0 for none
	Grouping Grouping              // Blocks (also for ByNode) or RoundRobin
	Subfiles int                   // default 1
	WideMaps bool                  // like Options.WideMaps; implied if the source has such maps
	Compress Compress              // like Options.Compress; in Collective.Convert one rank then does all the work

	DropUncovered bool                    // for blobs: drop elements that no rank of the maps owns; otherwise such a map is an error
	FillMissing   bool                    // with a Reader that has AllowMissing: replace elements of missing subfiles by fill values or zeros; otherwise they are an error
	ZeroFill      bool                    // elements that no blob covers become zeros instead of fill values
	Force         bool                    // replace an existing output
	Memory        int64                   // limit of buffers in bytes, at least 8 MiB; default 256 MiB
	Workers       int                     // up to 65,536; default GOMAXPROCS
	Durability    Durability              // default DurableCommit
	Progress      func(done, total int64) // in bytes of the output; called often, by several goroutines
}

// NetCDF4Options describe how Convert stores a netCDF-4 file. The zero value does not compress.
type NetCDF4Options = convert.NetCDF4Options

// Convert writes a dataset, or a part of it, as an ordinary netCDF file (CDF-5 by default), or as blobs for any number of ranks
// and subfiles. It verifies all data against the source's checksums (ErrChecksum), unless the Reader has VerifyNever. The output
// gets its name when it is complete and durable. After an interruption, simply run Convert again. Memory is limited to
// ConvertOptions.Memory plus the maps.
func Convert(ctx context.Context, r *Reader, out string, o *ConvertOptions) error {
	return convert.Convert(ctx, r.inner(), out, (*convert.ConvertOptions)(o))
}

// Convert is the function Convert run by all ranks, which need not share memory. Each rank converts some of the variables and
// records. All ranks pass the same name and options. ConvertOptions.Memory and Workers apply to each rank, and Progress reports
// the rank's own part. The output is the same, byte for byte. Collective.
func (k *Collective) Convert(ctx context.Context, out string, o *ConvertOptions) error {
	return convert.ConvertComm(ctx, k.ranks, k.r, out, (*convert.ConvertOptions)(o))
}

// Validate returns an error that describes the first fault of the options.
func (o *ConvertOptions) Validate() error { return (*convert.ConvertOptions)(o).Validate() }
