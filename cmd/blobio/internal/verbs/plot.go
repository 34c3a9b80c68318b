package verbs

import (
	"github.com/spf13/cobra"

	"blobio/internal/cli"
)

// newPlot has the help of plot. Its command lines become those of the family of the path.
func newPlot() *cobra.Command {
	return &cobra.Command{
		Use:   "plot PATH -o OUT",
		Short: "Draw a picture of what a path holds, as PNG or SVG",
		Long: `Draw what is at a path. The content tells what it is, and which flags apply:

  a map file, a dataset of blobs     who owns what            blobio decomp plot
  a checkpoint of Cello, a dataset
  of blocks                          the blocks, the curve    blobio amr plot
  a checkpoint file of FTI           its map                  blobio ff plot
  an array with versions             changes between them     blobio versions plot
  a prefix directory of SCR          overhead by interval     blobio scr interval`,
		Example: `  blobio plot map_f_case_16p.nc -o d1.png
  blobio plot Check-00 -o blocks.svg
  blobio plot Ckpt7-Rank0.fti -o map.png`,
		Args: cli.MinArgs(1, "a path"),
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
}
