package convert

import (
	"context"
	"runtime"

	"blobio/blob/internal/dataset"
	"blobio/blob/internal/read"
	"blobio/blob/internal/write"
	"blobio/cdf5"
	"blobio/comm"
	"blobio/decomp"
	"blobio/internal/base/fault"
	"blobio/internal/subfile"
)

// ConvertOptions is blob.ConvertOptions.
type ConvertOptions struct {
	Layout  dataset.Layout // layout of the output if Blobs is set
	Blobs   bool           // write blobs in Layout; otherwise one canonical file
	Version cdf5.Version   // version of a canonical file: CDF5 (default), CDF2 or CDF1

	NetCDF4 *NetCDF4Options // write the canonical file as netCDF-4 (HDF5); nil: as a CDF file

	Vars    []string    // variables to convert, in the order of the source; nil: all
	Records *read.Range // records to convert; nil: all
	Subset  read.Subset // part of dimensions to convert; nil: whole dimensions. If this leaves out elements, blobs need Ranks or Maps

	Ranks    int // up to 16,777,216
	Maps     []*decomp.Map
	MapOf    func(v *dataset.Variable) int // index in Maps from 1, 0 for no map; overrides the choice by shape
	Grouping subfile.Grouping              // Blocks (also for ByNode) or RoundRobin
	Subfiles int                           // default 1
	WideMaps bool                          // like Options.WideMaps; set automatically if the source has wide maps
	Compress dataset.Compress              // like Options.Compress; with compression one rank of ConvertComm does all the work

	DropUncovered bool                    // for output in blobs: drop elements without an owner in the maps; otherwise a map that would lose elements is an error
	FillMissing   bool                    // with a Reader that has AllowMissing: elements of missing subfiles become fill values, or zeros with ZeroFill; otherwise they are an error
	ZeroFill      bool                    // elements that no blob covers become zeros instead of fill values
	Force         bool                    // replace an existing output
	Memory        int64                   // limit of buffers in bytes, at least 8 MiB; default 256 MiB
	Workers       int                     // at most 65,536; default GOMAXPROCS
	Durability    dataset.Durability      // default DurableCommit
	Progress      func(done, total int64) // bytes of the output; called often, by several goroutines
}

// maxRanks is the maximum number of ranks that one process writes, because each rank has an
// entry in several lists.
const maxRanks = decomp.MaxRanks

// Validate checks the options.
func (o *ConvertOptions) Validate() error {
	switch {
	case o == nil:
		return nil
	case o.Blobs && o.Layout > dataset.ProcessCentric:
		return fault.Usage("ConvertOptions.Layout %v, want variable-centric or process-centric", o.Layout)
	case o.Version > cdf5.CDF5 || o.Version != 0 && o.Version != cdf5.CDF1 && o.Version != cdf5.CDF2 && o.Version != cdf5.CDF5:
		return fault.Usage("ConvertOptions.Version %d, want 1, 2 or 5", o.Version)
	case o.NetCDF4 != nil && o.Blobs:
		return fault.Usage("ConvertOptions.NetCDF4 cannot be combined with Blobs")
	case o.NetCDF4 != nil && o.Version != 0:
		return fault.Usage("ConvertOptions.NetCDF4 cannot be combined with Version %d", o.Version)
	case o.NetCDF4.validate(o.Memory) != nil:
		return o.NetCDF4.validate(o.Memory)
	case o.Compress.Validate() != nil:
		return o.Compress.Validate()
	case o.Compress.On() && !o.Blobs:
		return o.Compress.Fits(dataset.Canonical)
	case o.Compress.Fits(o.Layout) != nil:
		return o.Compress.Fits(o.Layout)
	case o.Ranks < 0 || o.Ranks > maxRanks || o.Subfiles < 0 || o.Workers < 0 || o.Workers > dataset.MaxWorkers:
		return fault.Usage("ConvertOptions.Ranks %d, Subfiles %d and Workers %d, want Ranks 0 to %d, Subfiles >= 0 and Workers 0 to %d", o.Ranks, o.Subfiles, o.Workers, maxRanks, dataset.MaxWorkers)
	case o.Memory != 0 && o.Memory < 8<<20:
		return fault.Usage("ConvertOptions.Memory %d, want at least 8 MiB", o.Memory)
	case o.Records != nil && (o.Records.First < 0 || o.Records.End < o.Records.First):
		return fault.Usage("ConvertOptions.Records %d to %d is not a valid range", o.Records.First, o.Records.End)
	case o.Durability > dataset.DurableNone:
		return fault.Usage("ConvertOptions.Durability %d is unknown", o.Durability)
	}
	return nil
}

func (o *ConvertOptions) withDefaults() ConvertOptions {
	var v ConvertOptions
	if o != nil {
		v = *o
	}
	if v.Version == 0 {
		v.Version = cdf5.CDF5
	}
	if v.Memory == 0 {
		v.Memory = 256 << 20
	}
	if v.Workers == 0 {
		v.Workers = runtime.GOMAXPROCS(0)
	}
	if v.Subfiles == 0 {
		v.Subfiles = 1
	}
	if v.Grouping == subfile.ByNode {
		v.Grouping = subfile.Blocks
	}
	return v
}

// conversion is one Convert in progress.
type conversion struct {
	read.Selection // its schema is the schema of the output
	ranks          ranks
	o              ConvertOptions
	dataset.Knobs
	out string

	room     []byte      // memory that scratch reuses
	known    *read.Known // pieces whose checksums have been compared
	late     lateRecords
	progress progress
}

// Convert is blob.Convert.
func Convert(ctx context.Context, r *read.Reader, out string, o *ConvertOptions) error {
	return ConvertComm(ctx, comm.Self(), r, out, o)
}

// ConvertComm is blob.ConvertComm.
func ConvertComm(ctx context.Context, c comm.Comm, r *read.Reader, out string, o *ConvertOptions) error {
	return ConvertWith(ctx, c, r, out, o, dataset.Knobs{})
}

func ConvertWith(ctx context.Context, c comm.Comm, r *read.Reader, out string, o *ConvertOptions, k dataset.Knobs) error {
	r = r.Now()
	if k.Fs == nil {
		k.Fs = r.Files.Fs
	}
	v := &conversion{ranks: ranks{c}, Selection: read.Selection{R: r}, Knobs: k, out: out, known: read.NewKnown(), late: lateRecords{of: map[unit]*read.Late{}}}
	if err := v.ranks.agree(ctx, v.prepare(o)); err != nil {
		return err
	}
	if v.o.Blobs {
		return v.toBlobs(ctx)
	}
	if v.o.NetCDF4 != nil {
		return v.toNetCDF4(ctx)
	}
	return v.toCanonical(ctx)
}

func (c *conversion) prepare(o *ConvertOptions) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	if c.out == "" {
		return fault.Usage("convert: the output name is empty")
	}
	if b := subfile.Base(c.out); b != c.out && (o == nil || !o.Blobs) {
		return fault.Usage("convert: output %s has the name of a file of the dataset %s", c.out, b)
	}
	if o != nil && o.Blobs {
		if err := write.CheckNew(c.out); err != nil {
			return err
		}
	}
	c.o = o.withDefaults()
	c.progress.report = c.o.Progress
	if missing := c.R.Now().Data.Missing(); len(missing) > 0 && !c.o.FillMissing {
		if err := c.R.Files.Replaced(missing[0]); err != nil {
			return err
		}
		return fault.In(c.R.Files.Base, "subfiles", dataset.ErrMissing, "%d of %d are missing, the first is %s; ConvertOptions.FillMissing writes fill values for their elements",
			len(missing), c.R.Data.NumParts(), missing[0])
	}
	if c.Selection, err = c.R.Choose("convert", c.o.Vars, c.o.Records); err != nil {
		return err
	}
	return c.Restrict("convert", c.o.Subset)
}
