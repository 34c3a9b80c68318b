package main

import (
	"errors"

	"github.com/spf13/cobra"

	"blobio/blob"
)

// hint says what to do about an error of a verb, or nothing.
func hint(cmd *cobra.Command, err error) string {
	family := ""
	if cmd.Parent() != nil {
		family = cmd.Parent().Name()
	}
	if errors.Is(err, blob.ErrInUse) && family != "scr" && family != "ff" {
		return "wait for it, or end it; what a dead writer left is taken over"
	}
	switch family {
	case "amr":
		return amrHint(cmd, err)
	case "versions":
		return versionsHint(cmd, err)
	case "scr":
		return scrHint(cmd, err)
	case "ff":
		if h, ok := ffHint(cmd, err); ok {
			return h
		}
	}
	return datasetHint(cmd, err)
}
