package ffformat

import (
	"testing"

	"blobio/internal/base/crashtest"
	"blobio/internal/base/testfiles"
)

func TestMain(m *testing.M) { crashtest.Main(m) }

var must = testfiles.Must
