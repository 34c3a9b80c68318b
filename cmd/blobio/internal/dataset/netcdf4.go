package dataset

import (
	"cmp"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/base/codec"
	"blobio/internal/cli"
)

// netcdf4Flags are the flags for netCDF-4 output of convert.
type netcdf4Flags struct {
	on bool
}

func (f *netcdf4Flags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "netcdf4", false, "same as --format netcdf4: HDF5 with chunks of up to 4 MiB")
}

// options returns nil if the output is not netCDF-4. format, compress and chunk are the values of the flags with these names.
func (f *netcdf4Flags) options(cmd *cobra.Command, format *string, compress string, chunk int64) (*blob.NetCDF4Options, error) {
	if f.on {
		if cmd.Flags().Changed("format") && *format != "netcdf4" {
			return nil, cli.Usagef("--netcdf4 and --format %s cannot be combined", *format)
		}
		*format = "netcdf4"
	}
	if *format != "netcdf4" {
		return nil, nil
	}
	o, err := parseNetCDF4(compress)
	if err != nil {
		return nil, cli.AsUsage(err)
	}
	o.ChunkBytes = chunk
	return o, nil
}

// parseNetCDF4 parses --compress for netCDF-4. auto selects a compression that every program can read.
func parseNetCDF4(s string) (*blob.NetCDF4Options, error) {
	const maxDeflate, maxZstd = 9, 22
	name, level, err := codec.Choose(s, codec.Word{Name: "off"}, codec.Word{Name: "auto"}, codec.Word{Name: "deflate", Level: maxDeflate},
		codec.Word{Name: "shuffle+deflate", Level: maxDeflate}, codec.Word{Name: "zstd", Level: maxZstd}, codec.Word{Name: "shuffle+zstd", Level: maxZstd})
	if err != nil {
		return nil, err
	}
	o := &blob.NetCDF4Options{NoShuffle: name == "deflate" || name == "zstd"}
	switch name {
	case "auto", "deflate", "shuffle+deflate":
		o.Deflate = cmp.Or(level, 1)
	case "zstd", "shuffle+zstd":
		o.Zstd = cmp.Or(level, 3)
	}
	return o, nil
}
