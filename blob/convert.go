package blob

import (
	"blobio/blob/internal/convert"
	"blobio/cdf5"
	"blobio/decomp"
	"context"
)

// ConvertOptions of Convert. The zero value, or nil, makes an ordinary CDF-5 file of everything.
type ConvertOptions struct {
	Layout  Layout       // of the output, if Blobs is set; its zero value is VariableCentric
	Blobs   bool         // write blobs in Layout; otherwise one canonical file
	Version cdf5.Version // of a canonical file: CDF5 (default), CDF2 or CDF1

	NetCDF4 *NetCDF4Options // write the canonical file as netCDF-4 (HDF5); nil: as CDF

	Vars    []string // variables to convert, in the order of the source; nil: all
	Records *Range   // records to convert; nil: all
	Subset  Subset   // what to convert along dimensions; nil: everything. Where it takes less, blobs need Ranks or Maps

	// Output in blobs. Ranks is their number. The maps are, in this order: Maps, each for the
	// variables of its shape; the source's own, if its ranks are as many (or Ranks is
	// 0); equal parts of canonical order.
	Ranks    int // up to 16,777,216
	Maps     []*decomp.Map
	MapOf    func(v *Variable) int // overrides the choice by shape: 1-based index in Maps, 0 for none
	Grouping Grouping              // Blocks (also for ByNode) or RoundRobin
	Subfiles int                   // default 1
	WideMaps bool                  // as Options.WideMaps; set by itself if the source has such maps
	Compress Compress              // as Options.Compress; of Collective.Convert one rank then does all the work

	DropUncovered bool                    // output in blobs: elements that no rank of the maps owns are dropped; without it a map that would lose some is an error
	FillMissing   bool                    // with a Reader that has AllowMissing: elements of missing subfiles become fill values, or zeros; otherwise they are an error
	ZeroFill      bool                    // elements that no blob covers become zeros instead of fill values
	Force         bool                    // replace what is there
	Memory        int64                   // cap of buffers in bytes, at least 8 MiB; default 256 MiB
	Workers       int                     // up to 65,536; default GOMAXPROCS
	Durability    Durability              // default DurableCommit
	Progress      func(done, total int64) // bytes of the output; called often, by several goroutines
}

// NetCDF4Options say how Convert stores a netCDF-4 file. The zero value does not compress.
type NetCDF4Options = convert.NetCDF4Options

// Convert writes a dataset, or part of it, in another layout: as an ordinary netCDF file (CDF-5 by default), or as blobs for
// any number of ranks and subfiles. All that it takes is compared with the source's checksums (ErrChecksum), unless the
// Reader has VerifyNever. The output appears under its name when it is whole and durable; a conversion that was cut
// short is simply started again. Memory is bounded by ConvertOptions.Memory, plus the maps.
func Convert(ctx context.Context, r *Reader, out string, o *ConvertOptions) error {
	return convert.Convert(ctx, r.inner(), out, (*convert.ConvertOptions)(o))
}

// Convert is the function Convert by all ranks, which need not share memory: each reads and
// writes some of the variables and records. All pass the same name and options.
// ConvertOptions.Memory and Workers are for each rank, Progress reports
// its own part. The output is the same, byte for byte. Collective.
func (k *Collective) Convert(ctx context.Context, out string, o *ConvertOptions) error {
	return convert.ConvertComm(ctx, k.ranks, k.r, out, (*convert.ConvertOptions)(o))
}

// Validate says what is wrong with the options.
func (o *ConvertOptions) Validate() error { return (*convert.ConvertOptions)(o).Validate() }
