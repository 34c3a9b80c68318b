package decomps

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/decomp"
	"blobio/decomp/mapfile"
	"blobio/internal/cli"
)

func New(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "decomp",
		Short: "Inspect, check, convert, generate and draw decomposition maps",
		Long: `A decomposition map assigns elements of an array to ranks. Maps are stored in map files and
in every dataset of blobs. Verbs that read maps accept both. Map files are PIO text (.dat),
CDF, HDF5 or netCDF-4; the format is detected by content.`,
		Example: `  blobio decomp info map_f_case_16p.nc
  blobio decomp convert piodecomp*.dat map.nc
  blobio decomp gen F f30.nc --ne 30 --ranks 512
  blobio decomp plot f30.nc --map D2 -o d2.png`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newDecompInfo(e), newDecompCheck(e), cli.AsWriter(newDecompConvert(e)), cli.AsWriter(newDecompGen(e)), cli.AsWriter(newDecompPlot(e)))
	return cmd
}

// mapSource is the source of maps: map files, or a dataset.
type mapSource struct {
	file   *mapfile.File
	format string
}

// openMaps reads the maps of map files, or of one blob dataset.
func openMaps(ctx context.Context, paths ...string) (*mapSource, error) {
	var blobErr error
	if len(paths) == 1 {
		r, err := blob.Open(ctx, paths[0], nil)
		if err == nil {
			defer r.Close()
			if r.Form().Layout != blob.Canonical {
				return mapsOf(ctx, r)
			}
		}
		blobErr = err
		if info, serr := os.Stat(paths[0]); err != nil && (serr != nil || info.IsDir()) {
			return nil, err // no file, or a directory, which may hold several files
		}
	}
	file, err := mapfile.Open(paths...)
	if err != nil {
		if errors.Is(err, blob.ErrNotFormat) && blobErr != nil && !errors.Is(blobErr, blob.ErrNotFormat) {
			err = blobErr // the path is a damaged or unfinished dataset
		} else if errors.Is(err, blob.ErrNotFormat) {
			err = cli.WithHint(err, "not a map file or a dataset of blobs")
		}
		return nil, err
	}
	return &mapSource{file, file.Format}, nil
}

func mapsOf(ctx context.Context, r *blob.Reader) (*mapSource, error) {
	var maps []*decomp.Map
	for d := range r.Schema().NumDecomps() {
		m, err := r.Map(ctx, blob.DecompID(d+1))
		if err != nil {
			return nil, err
		}
		maps = append(maps, m)
	}
	if len(maps) == 0 {
		return nil, fmt.Errorf("%s has no maps", r.Base())
	}
	file, err := mapfile.FromMaps(maps...)
	if err != nil {
		return nil, err
	}
	return &mapSource{file, r.Form().Layout.String() + " dataset"}, nil
}
