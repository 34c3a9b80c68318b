package dataset

import (
	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/cli"
)

// CompressFlag adds --compress.
func CompressFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "compress", "off", "process-centric: compress losslessly: auto, zstd or shuffle+zstd, with :1 to :4 a level; only blobio reads such files. The variable-centric layout (CDF-5) has no compression")
	_ = cmd.RegisterFlagCompletionFunc("compress", cobra.FixedCompletions([]string{"off", "auto", "zstd", "shuffle+zstd"}, cobra.ShellCompDirectiveNoFileComp))
}

func ParseCompress(s string) (blob.Compress, error) {
	c, err := blob.ParseCompress(s)
	if err != nil {
		return c, cli.AsUsage(err)
	}
	return c, nil
}
