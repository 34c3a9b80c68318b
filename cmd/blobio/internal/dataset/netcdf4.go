package dataset

import (
	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/cli"
)

// netcdf4Flags say how convert writes netCDF-4.
type netcdf4Flags struct {
	on        bool
	deflate   int
	zstd      int
	noShuffle bool
}

func (f *netcdf4Flags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "netcdf4", false, "the same as --format netcdf4: HDF5 with chunks of up to 4 MiB")
	fl.BoolVar(&f.on, "nc4", false, "the same as --netcdf4")
	_ = fl.MarkHidden("nc4")
	fl.IntVar(&f.deflate, "deflate", 0, "netCDF-4: compress by deflate, level 1 to 9; all programs read it")
	fl.IntVar(&f.zstd, "zstd", 0, "netCDF-4: compress by zstd, level 1 to 22; other programs need HDF5's zstd plugin (filter 32015)")
	fl.BoolVar(&f.noShuffle, "no-shuffle", false, "netCDF-4: compress without shuffling bytes first")
}

// options returns nil if the output is another. format is the flag of that name.
func (f *netcdf4Flags) options(cmd *cobra.Command, format *string) (*blob.NetCDF4Options, error) {
	if f.on {
		if cmd.Flags().Changed("format") && *format != "netcdf4" {
			return nil, cli.Usagef("--netcdf4 and --format %s, want one of them", *format)
		}
		*format = "netcdf4"
	}
	if *format != "netcdf4" {
		for _, name := range []string{"deflate", "zstd", "no-shuffle"} {
			if cmd.Flags().Changed(name) {
				return nil, cli.Usagef("--%s is for --netcdf4", name)
			}
		}
		return nil, nil
	}
	if f.deflate < 0 || f.deflate > 9 || f.zstd < 0 || f.zstd > 22 || f.deflate != 0 && f.zstd != 0 {
		return nil, cli.Usagef("--deflate %d --zstd %d, want one of them: 1 to 9, or 1 to 22", f.deflate, f.zstd)
	}
	return &blob.NetCDF4Options{Deflate: f.deflate, Zstd: f.zstd, NoShuffle: f.noShuffle}, nil
}
