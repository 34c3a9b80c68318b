package dataset

import (
	"bufio"
	"context"
	"io"
	"strings"

	"blobio/blob"
	"blobio/internal/cli"
)

// Exported for the tests.
type Checked = checked
type Extent = extent
type Recovered = recovered

// Waited follows a dataset without commits, whose writer may be alive or dead. The follower gives up if patience returns true.
func Waited(ctx context.Context, path string, patience func() bool) (int, string, error) {
	var out strings.Builder
	f := follower{e: &cli.Env{Out: bufio.NewWriter(&out)}, from: -1, hopeless: func(_ *blob.Watch, s *blob.Status) bool {
		return s.State.String() == "writing or died" && patience()
	}}
	err := f.run(ctx, path)
	f.e.Out.Flush()
	return f.e.Code, out.String(), err
}

// Followed returns the exit code of follow after its writer has finished. now is the status of the dataset at that time.
func Followed(now blob.Status) (int, error) {
	f := follower{e: &cli.Env{Out: bufio.NewWriter(io.Discard)}}
	err := f.end("d.nc", &now, false)
	return f.e.Code, err
}
