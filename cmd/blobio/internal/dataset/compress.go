package dataset

import (
	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/internal/cli"
)

// CompressFlag adds --compress. more are words beside those of the process-centric layout, of which help tells.
func CompressFlag(cmd *cobra.Command, to *string, help string, more ...string) {
	cmd.Flags().StringVar(to, "compress", "off", help)
	_ = cmd.RegisterFlagCompletionFunc("compress", cobra.FixedCompletions(append([]string{"off", "auto", "zstd", "shuffle+zstd"}, more...), cobra.ShellCompDirectiveNoFileComp))
}

func ParseCompress(s string) (blob.Compress, error) {
	c, err := blob.ParseCompress(s)
	if err != nil {
		return c, cli.AsUsage(err)
	}
	return c, nil
}
