package scrtools

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"blobio/internal/base/fault"
	"blobio/internal/cli"
)

func New(e *cli.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scr",
		Short: "Manage multi-level checkpoints: datasets, caches, halt conditions, hosts",
		Long: `SCR keeps checkpoints in caches on the nodes of a job, protects them against the loss of nodes,
and copies some of them to the prefix directory on the parallel file system. These verbs list,
check, repair and save datasets in prefix directories and caches, and control runs.

The verbs read files of all generations of SCR (1 to 3) and write files of SCR 3. PREFIX is the
directory that holds .scr. The default is $SCR_PREFIX, else the working directory.`,
		Example: `  blobio scr index /p/sim                        # list the datasets
  blobio scr check /p/sim                        # find errors
  blobio scr print /p/sim/.scr/index.scr         # any key/value tree
  blobio scr halt --checkpoints 2 /p/sim         # end the run after two more
  blobio scr interval /p/sim                     # how often to checkpoint
  blobio scr hostlist --count 'atlas[3,5-7]'
  blobio scr params --changed                    # parameters that are set, and their sources`,
	}
	cli.AsGroup(cmd)
	cmd.AddCommand(newScrIndex(e), newScrPrint(e), newScrCheck(e), newScrHalt(e), newScrFlush(e), newScrRebuild(e), newScrScavenge(e), newScrTransfer(e))
	cmd.AddCommand(newScrHostlist(e), newScrParams(e), newScrInterval(e))
	cmd.AddCommand(newScrRun(e), newScrCheckNode(e))
	return cmd
}

// Hint returns advice about an error of an scr verb.
func Hint(cmd *cobra.Command, err error) string {
	switch {
	case errors.Is(err, fault.ErrExist) && cli.CouldHelp(cmd, "force"):
		return "--force replaces the output"
	case errors.Is(err, fs.ErrPermission):
		return "check the permissions of the file and of its directory"
	}
	return ""
}
