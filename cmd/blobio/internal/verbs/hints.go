package verbs

import (
	"errors"

	"github.com/spf13/cobra"

	"blobio/blob"
	"blobio/cmd/blobio/internal/dataset"
	"blobio/cmd/blobio/internal/fti"
	"blobio/cmd/blobio/internal/mesh"
	"blobio/cmd/blobio/internal/scrtools"
	"blobio/cmd/blobio/internal/versions"
)

// hint returns advice about an error of a verb, or "".
func hint(cmd *cobra.Command, err error) string {
	family := ""
	if cmd.Parent() != nil {
		family = cmd.Parent().Name()
	}
	if errors.Is(err, blob.ErrInUse) && family != "scr" {
		return "wait for the other writer or end it; if it is dead, the next writer takes over"
	}
	switch family {
	case "amr":
		return mesh.Hint(cmd, err)
	case "versions":
		return versions.Hint(cmd, err)
	case "scr":
		return scrtools.Hint(cmd, err)
	case "ff":
		if h, ok := fti.Hint(cmd, err); ok {
			return h
		}
	}
	return dataset.Hint(cmd, err)
}
