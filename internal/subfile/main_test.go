package subfile

import (
	"testing"

	"blobio/internal/base/crashtest"
)

func TestMain(m *testing.M) { crashtest.Main(m) }
